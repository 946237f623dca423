package apps

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/quote"
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
		Headline: "lost a process to the kernel: the machine's RAM was used up",
		Means:    "RAM and swap were full.[[ The kernel ended {victim}, which held {held}.]] A `python3` in a container is mostly Home Assistant itself, `node` an add-on such as Zigbee2MQTT. Where it happens after hours or days, an integration or an add-on grows; after each start, there is too much on it for its RAM.",
		Not:      "Commands for a swap file as on other Linux systems: its own partition is read-only.",
		Figures:  homeVictim,
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Find what grows", Cost: "a day or two of watching", Told: "The System Monitor integration records memory use. Each add-on's page shows its own share of RAM. Then turn off the integration or add-on that was added or updated last, custom ones (HACS) first, and look whether the curve still climbs."},
			{Fix: "close_other_apps", Title: "Stop add-ons that you can do without", Cost: "their functions", Told: "Settings, Add-ons: databases, ESPHome (compiling), Whisper, Frigate and Studio Code Server take most. Restart Home Assistant afterwards."},
			{Fix: "raise_memory_limit", Title: "Give the machine more RAM", Cost: "none for a virtual machine, money else", Told: "Virtual machine: 4 GB or more in its settings, with ballooning off. A Raspberry Pi with 1 or 2 GB is too small for several add-ons."},
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
