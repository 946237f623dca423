package fit

import (
	"strconv"
	"strings"
	"sync"
)

// ramBandwidth of a usual desktop, two channels of DDR4 or DDR5, in bytes a
// second.
const ramBandwidth = 50e9

// bandwidths are the memory bandwidths of cards in bytes a second, by the
// makers' data sheets.
var bandwidths = sync.OnceValue(func() map[string]float64 {
	b, err := data.ReadFile("data/bandwidth.tsv")
	if err != nil {
		panic("fit: " + err.Error())
	}
	all := map[string]float64{}
	for line := range strings.Lines(string(b)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if n, err := strconv.ParseFloat(value, 64); ok && err == nil {
			all[name] = n * 1e9
		}
	}
	return all
})

// Bandwidth of the card's memory in bytes a second, 0 if not known.
func (c *CardInfo) Bandwidth() float64 {
	known := bandwidths()
	key := cardKey(c.Name)
	if n := known[key]; n > 0 {
		return n
	}
	// The name without its size: a100sxm480gb.
	return known[strings.TrimSuffix(key, strconv.FormatInt(c.NominalBytes/GiB, 10)+"gb")]
}

// tokensPerSecond is a bound for one request: every token reads the weights that
// it meets, and half of a full cache, once. Real programs reach half to nine
// tenths of it. 0 where the bandwidth of a card is not known.
func (p *Plan) tokensPerSecond(r Row) float64 {
	if p.Engine == "diffusers" || p.Engine == "faster-whisper" || p.Model.Kind != "" || p.Card == nil || len(p.Card.infos) == 0 || p.Model.Parameters == 0 || r.Verdict == "no" {
		return 0
	}
	slowest := 0.0
	for _, c := range p.Card.infos {
		b := c.Bandwidth()
		if b == 0 {
			return 0
		}
		if slowest == 0 || b < slowest {
			slowest = b
		}
	}
	met := float64(p.Model.ActiveParameters) / float64(p.Model.Parameters)
	if r.CPUExpertLayers == 0 && r.GPULayers == r.TotalLayers {
		r.CPUWeightsBytes = 0 // embeddings: one row of them
	}
	seconds := (float64(r.WeightsBytes)*met+float64(r.KVBytes)/2)/slowest + float64(r.CPUWeightsBytes)*met/ramBandwidth
	if seconds <= 0 {
		return 0
	}
	return 1 / seconds
}
