package fit

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// CardInfo is what is known of an accelerator.
type CardInfo struct {
	Name    string
	Aliases []string
	Vendor  string
	// Kind is consumer, workstation, datacenter or soc.
	Kind string
	// TotalBytes is what a program sees: cudaMemGetInfo's total, which is
	// nominal less what the driver keeps, and 250 to 800 MiB under the total
	// of nvidia-smi. 0 where it depends on the RAM (Apple and other APUs).
	TotalBytes int64
	// Basis of TotalBytes: "seen in logs", "seen in logs of like cards", or
	// "nominal".
	Basis        string
	NominalBytes int64
	// SMIBytes is the total of nvidia-smi, 0 if not known.
	SMIBytes int64
	// SeenMiB are totals in real logs: the driver's share grows with its
	// version (an RTX 3090 lost 150 MiB from 2021 to 2026).
	SeenMiB, SeenWindowsMiB []int64
	// Compute is the compute capability (8.9), or the gfx target of AMD.
	Compute        string
	BF16, FP8, FP4 bool
}

// Capability returns the CUDA compute capability, 0 for other vendors.
func (c *CardInfo) Capability() float64 {
	f, err := strconv.ParseFloat(c.Compute, 64)
	if err != nil {
		return 0
	}
	return f
}

type cardIndex struct {
	cards []*CardInfo
	byKey map[string]*CardInfo
}

var loadCards = sync.OnceValue(func() *cardIndex {
	b, err := data.ReadFile("data/cards.tsv")
	if err != nil {
		panic("fit: " + err.Error())
	}
	var cards []*CardInfo
	for line := range strings.Lines(string(b)) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(f) == 10 && line[0] != '#' {
			cards = append(cards, parseCard(f))
		}
	}
	return newCardIndex(cards)
})

func newCardIndex(cards []*CardInfo) *cardIndex {
	x := &cardIndex{cards: cards, byKey: map[string]*CardInfo{}}
	for _, c := range x.cards {
		x.total(c)
	}
	for _, c := range x.cards {
		for _, k := range cardKeys(c) {
			if x.byKey[k] == nil {
				x.byKey[k] = c
			}
		}
	}
	return x
}

func parseCard(f []string) *CardInfo {
	c := &CardInfo{
		Name: f[0], Vendor: f[2], Kind: f[3], Compute: f[5],
		BF16: strings.Contains(f[6], "b"), FP8: strings.Contains(f[6], "8"), FP4: strings.Contains(f[6], "4"),
		SeenMiB: parseMiB(f[7]), SeenWindowsMiB: parseMiB(f[8]),
	}
	if f[1] != "" {
		c.Aliases = strings.Split(f[1], ",")
	}
	if n, err := strconv.ParseInt(f[4], 10, 64); err == nil {
		c.NominalBytes = n * GiB
	}
	if smi := parseMiB(f[9]); len(smi) > 0 {
		c.SMIBytes = smi[0] * MiB
	}
	return c
}

func parseMiB(list string) []int64 {
	var out []int64
	for s := range strings.SplitSeq(list, ",") {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// total sets TotalBytes: the smallest seen on Linux, of this card or of those
// of the same size and generation, else nominal less the driver's usual share.
func (x *cardIndex) total(c *CardInfo) {
	if len(c.SeenMiB) > 0 {
		c.TotalBytes, c.Basis = slices.Min(c.SeenMiB)*MiB, "seen in logs"
		return
	}
	if c.NominalBytes == 0 {
		return
	}
	for _, o := range x.cards {
		if o.NominalBytes == c.NominalBytes && o.Compute == c.Compute && o.Kind == c.Kind && len(o.SeenMiB) > 0 {
			if n := slices.Min(o.SeenMiB) * MiB; c.TotalBytes == 0 || n < c.TotalBytes {
				c.TotalBytes, c.Basis = n, "seen in logs of like cards"
			}
		}
	}
	if c.TotalBytes == 0 {
		c.TotalBytes, c.Basis = nominalTotal(c), "nominal"
	}
}

// nominalTotal: AMD's driver keeps 16 MiB; NVIDIA's 2 % of a consumer card,
// and ECC on GDDR6 another 6 %.
func nominalTotal(c *CardInfo) int64 {
	n := c.NominalBytes
	switch {
	case c.Vendor == "AMD":
		return n - 16*MiB
	case c.Vendor == "NVIDIA" && c.Kind == "datacenter" && slices.Contains([]string{"7.5", "8.6", "8.9"}, c.Compute):
		return n * 92 / 100
	}
	return n * 98 / 100
}

// Card finds a card by the name a program prints or a person writes: "NVIDIA
// GeForce RTX 4060", "rtx4060", "A100-80GB", "7900 XTX", "H100 80GB SXM",
// "Apple M2 Max 64GB".
func Card(name string) (*CardInfo, bool) { return loadCards().find(name) }

func (x *cardIndex) find(name string) (*CardInfo, bool) {
	key := cardKey(name)
	if c := x.byKey[key]; c != nil {
		return c, true
	}
	if c, ok := x.withMemory(key); ok {
		return c, true
	}
	// "A100 80", "4060 ti 16"
	if i := strings.LastIndexByte(strings.TrimSpace(name), ' '); i > 0 && isVersion(strings.TrimSpace(name)[i+1:]) {
		if c := x.byKey[key+"gb"]; c != nil {
			return c, true
		}
		if c, ok := x.withMemory(key + "gb"); ok {
			return c, true
		}
	}
	// The size stands elsewhere than at the end.
	g := sizeInName().FindStringSubmatchIndex(name)
	if g == nil {
		return nil, false
	}
	size := name[g[2]:g[3]] + "gb"
	return x.withMemory(cardKey(name[:g[0]]+" "+name[g[1]:]) + size)
}

var sizeInName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(\d{1,4})\s*gi?b?\b`) })

var (
	countBefore = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^\s*(\d{1,2})\s*[x×*]\s*(\S.*)$`) })
	countBehind = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(.*\S)\s*[x×*]\s*(\d{1,2})\s*$`) })
)

// mostCards in one computer.
const mostCards = 16

// CountedCards reads how many cards a name means: "2x3090", "4 x A100 40GB",
// "dual RTX 4090", "3090 x2", "3090,3090". It is 1 and the name itself where
// it does not say.
func CountedCards(name string) (int, string) {
	if g := countBefore().FindStringSubmatch(name); g != nil {
		return counted(g[1], g[2], name)
	}
	if g := countBehind().FindStringSubmatch(name); g != nil {
		return counted(g[2], g[1], name)
	}
	if rest, ok := strings.CutPrefix(strings.ToLower(name), "dual "); ok {
		return 2, rest
	}
	list := strings.FieldsFunc(name, func(r rune) bool { return r == ',' || r == '+' })
	if len(list) < 2 || len(list) > mostCards {
		return 1, name
	}
	for _, other := range list[1:] {
		if cardKey(other) != cardKey(list[0]) {
			return 1, name
		}
	}
	return len(list), strings.TrimSpace(list[0])
}

func counted(digits, card, name string) (int, string) {
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > mostCards {
		return 1, name
	}
	return n, card
}

// withMemory reads a size at the end of a name, "rtx3090 24gb", "m2max64gb".
func (x *cardIndex) withMemory(key string) (*CardInfo, bool) {
	cut, ok := strings.CutSuffix(key, "gb")
	if !ok {
		cut, ok = strings.CutSuffix(key, "g")
	}
	base := strings.TrimRight(cut, "0123456789")
	for i := len(base); ok && i < len(cut); i++ {
		gib, err := strconv.ParseInt(cut[i:], 10, 64)
		c := x.byKey[cut[:i]]
		if c == nil || err != nil || gib < 1 || gib > 1024 {
			continue
		}
		if c.NominalBytes == gib*GiB {
			return c, true
		}
		for _, o := range x.cards { // another size of that card
			if o.NominalBytes == gib*GiB && strings.HasPrefix(cardKey(o.Name), cut[:i]) && o.Kind == c.Kind && !strings.Contains(o.Name, "Laptop") {
				return o, true
			}
		}
		if c.NominalBytes == 0 {
			d := *c
			d.TotalBytes, d.Basis = sharedTotal(c, gib*GiB), "share of the RAM"
			d.NominalBytes = gib * GiB
			return &d, true
		}
	}
	return nil, false
}

// sharedTotal is the part of the RAM that a GPU without memory of its own may
// take. Apple's recommendedMaxWorkingSetSize: 2/3 of the RAM below 36 GiB, 3/4
// from there; newer macOS gives 74 to 84 %. Elsewhere about half.
func sharedTotal(c *CardInfo, ram int64) int64 {
	switch {
	case c.Vendor != "Apple":
		return ram / 2
	case ram < 36*GiB:
		return ram * 2 / 3
	}
	return ram * 3 / 4
}

var cardNoise = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("macbook pro", "", "macbook air", "", "macbook", "", "mac studio", "", "mac mini", "", "mac pro", "", "imac", "", "mobile", "laptop", "(r)", "", "(tm)", "", "nvidia", "", "geforce", "", "amd", "", "radeon", "", "apple", "", "intel",
		"", "graphics", "", "tesla", "", "generation", "", "quadro", "quadro", "laptop gpu", "laptop", " gpu", "", "instinct", "", "gib", "gb")
})

// cardKey strips brands and punctuation.
func cardKey(name string) string {
	s := cardNoise().Replace(strings.ToLower(name))
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return -1
	}, s)
}

// cardKeys are the keys under which a card is found: its names, and its names
// without the line (RTX, GTX, RX) in front of a number.
func cardKeys(c *CardInfo) []string {
	var keys []string
	for _, n := range append([]string{c.Name}, c.Aliases...) {
		k := cardKey(n)
		keys = append(keys, k)
		for _, line := range []string{"rtx", "gtx", "rx", "arc"} {
			if rest, ok := strings.CutPrefix(k, line); ok && len(rest) >= 4 {
				keys = append(keys, rest)
			}
		}
	}
	return keys
}

// Cards returns the catalogue of accelerators. Do not change them.
func Cards() []*CardInfo { return slices.Clone(loadCards().cards) }

// NearCards returns up to three names of cards spelled like name, best first.
func NearCards(name string) []string {
	key := cardKey(name)
	distance := func(c *CardInfo) int {
		d := math.MaxInt
		for _, k := range cardKeys(c) {
			d = min(d, editDistance(key, k))
		}
		return d
	}
	type hit struct {
		name     string
		distance int
	}
	var hits []hit
	for _, c := range loadCards().cards {
		if d := distance(c); d <= max(2, len(key)/3) {
			hits = append(hits, hit{c.Name, d})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, h := range hits[:min(3, len(hits))] {
		names = append(names, h.name)
	}
	return names
}

// CardSize is a size that cards are sold in.
type CardSize struct {
	GB int64
	// Bytes is what a program sees of the first of them.
	Bytes int64
	// Names are up to two cards of that size, for an example.
	Names []string
}

// SmallestCard is the smallest size of card of which some offer need bytes to
// a program, and two that do; false if none does. An empty vendor means NVIDIA.
// Laptop GPUs and cards older than 2018 are left out.
func SmallestCard(need int64, vendor string) (CardSize, bool) {
	var best CardSize
	for _, c := range loadCards().cards {
		gb := c.NominalBytes / GiB
		if c.Vendor != cmp.Or(vendor, "NVIDIA") || c.TotalBytes == 0 || c.TotalBytes < need || !sold(c) || best.GB > 0 && gb > best.GB {
			continue
		}
		if best.GB == 0 || gb < best.GB {
			best = CardSize{GB: gb, Bytes: c.TotalBytes}
		}
		if len(best.Names) < 2 {
			best.Names = append(best.Names, c.Name)
		}
	}
	return best, best.GB > 0
}

// sold: what one would recommend to get.
func sold(c *CardInfo) bool {
	for _, word := range []string{"Laptop", "modified", "MIG"} {
		if strings.Contains(c.Name, word) || strings.HasSuffix(c.Name, " D") {
			return false
		}
	}
	switch c.Vendor {
	case "NVIDIA":
		return c.Kind != "soc" && c.Capability() >= 7.5
	case "AMD":
		return c.Kind != "soc" && (strings.HasPrefix(c.Compute, "gfx9") || strings.HasPrefix(c.Compute, "gfx1"))
	}
	return c.Kind != "soc"
}
