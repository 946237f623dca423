package host

import "github.com/oomdoc/oomdoc/parsers/text"

var earlyOOMPattern = text.NewPattern(`toprocess(?<pid>\d{1,10})(?:uid\d{1,10})?"?(?<name>[^"]{1,32}?)"?:(?:badness|oom_score)\d{1,5},vmrss(?<rss>\d{1,9}mib)`)

// readEarlyOOM reads earlyoom 1.3 and later: 'sending SIGTERM to process 31415
// uid 1000 "python": badness 912, VmRSS 14230 MiB'.
func readEarlyOOM(m text.Message) int {
	k := m.Find(earlyOOMPattern, 200)
	if !k.Ok() {
		return m.End
	}
	x := kernelKill
	x.Figures.KilledRSS = k.Size("rss")
	victim(m, k)
	return m.Fail(x, m.Took(k))
}

var pressurePattern = text.NewPattern(`beingNUM%>NUM%`)

// swapPattern is the other reason: "due to memory used (16260780032) / total (16419115008)
// and swap used ... being more than 90.00%", in bytes (oomd_system_context in oomd-manager.c).
var swapPattern = text.NewPattern(`memoryused\(\d{1,15}\)/total\((?<oomd_ram_bytes>\d{1,15})\)andswapused\((?<oomd_swap_used_bytes>\d{1,15})\)/total\((?<oomd_swap_bytes>\d{1,15})\)`)

// readOOMDKill reads "systemd-oomd[840]: Killed /user.slice/...scope" where the
// reason was cut off.
func readOOMDKill(m text.Message) int {
	if !m.Mentions("systemd-oomd", "cgroupsforkilling") || m.Follows("dueto", 500) {
		return m.End
	}
	return m.Fail(oomdKill, m.End)
}

// readOOMD reads "systemd-oomd[840]: Killed /user.slice/... due to memory
// pressure for ... being 51.07% > 50.00% for > 20s with reclaim activity".
func readOOMD(m text.Message) int {
	m.Find(swapPattern, 160).States(m.Facts, nil)
	if m.Precedes("marked", 600) && !m.Precedes("killed", 600) {
		return m.End // "Marked ... for killing": the kill comes on its own line
	}
	k := m.Find(pressurePattern, 500)
	if !k.Ok() && !m.Follows("swapused", 120) {
		return m.End
	}
	return m.Fail(oomdKill, m.Took(k))
}

var jetsamPattern = text.NewPattern(`limit=?<?(?<limit>\d{1,9}mb)`)
var jetsamLimit = text.NewPattern(`jetsammemorylimit\([^)]{0,30}\)=(?<limit>\d{1,9}mb)`)

// readJetsam reads iOS's per-process limit.
func readJetsam(m text.Message) int {
	x := appleKill
	if m.Mentions("mlx", "metal") {
		x.Framework, x.Backend = "mlx", "metal"
	}
	return text.FailsIf(x, 0, 160, jetsamPattern)(m)
}
