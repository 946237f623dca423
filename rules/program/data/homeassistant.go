package data

import (
	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

// HomeAssistant is Home Assistant with its operating system, where readers have
// pages for everything and hardly a shell: core, Supervisor and add-ons are
// containers without limits of their own.
var HomeAssistant = program.Program{
	Name: "home-assistant", Shown: "Home Assistant", Language: "other",
	Proofs: []string{"hassio_supervisor", "hassos", "homeassistant kernel:", "[supervisor.homeassistant", "hassio_audio", "hassio_dns"},
	Cards: []cause.Card{{
		ID: "home-assistant/killed", Kinds: []fact.Kind{fact.KernelKill}, Unsaid: []string{"CONSTRAINT_MEMCG"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of RAM, and the system killed a process",
		Means:    "RAM was full.[[ The kernel killed {victim}, which used {held}.]] `python3` is usually Home Assistant itself, `node` an add-on such as Zigbee2MQTT. If it happens after hours or days, an integration or add-on probably leaks memory. If after every start, too much runs on it.",
		Not:      "Swap file commands for other Linux systems: Home Assistant OS has a read-only system partition.",
		Figures:  homeVictim,
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Find what uses the memory", Cost: "A day or two of watching.", Told: "Each add-on's page shows its RAM use; the System Monitor integration records the total. Turn off what you added or updated last, custom integrations (HACS) first. Then see whether the curve still climbs."},
			{Fix: "close_other_apps", Title: "Stop add-ons that you do not need", Cost: "Their functions.", Told: "Settings, Add-ons. Databases, ESPHome (compiling), Whisper, Frigate and Studio Code Server need most. Restart Home Assistant afterwards."},
			{Fix: "raise_memory_limit", Title: "Give the machine more RAM", Cost: "Free for a virtual machine, otherwise money.", Told: "Virtual machine: set 4 GB or more, with ballooning off. A Raspberry Pi with 1 or 2 GB is too small for several add-ons."},
		},
		Sources: []string{"https://www.home-assistant.io/integrations/systemmonitor/", "https://developers.home-assistant.io/docs/operating-system/partition/", "https://github.com/home-assistant/operating-system/issues/2595"},
	}},
}

// homeVictim is what the kernel ended, and what it held.
func homeVictim(c *ledger.Case) map[string]string {
	told := map[string]string{"victim": "", "held": ""}
	if x, ok := c.Fact("victim"); ok {
		told["victim"] = quote.Told(x.Text)
	}
	if c.F().ProcessUsed != nil {
		told["held"] = units.Amount(c.F().ProcessUsed.Bytes)
	}
	return told
}
