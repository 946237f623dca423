package fit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrCapability: the card's generation lacks what a format needs.
var ErrCapability = errors.New("the card cannot compute with it")

// Device is a card of this computer, as its driver tells.
type Device struct {
	Name string
	// Vendor is NVIDIA, AMD, Intel or Apple; NVIDIA if empty.
	Vendor string
	// Total and Free are bytes; Free leaves out what other programs hold now.
	Total, Free int64
	// Display: a screen hangs on it.
	Display bool
}

// displayReserve is what a desktop, a browser and Windows' own compositor take
// from a card that drives a screen: 0.3 to 1.5 GiB.
const displayReserve = 700 * MiB

// reserve is what must stay free on the cards of a setting: base follows from
// what was computed.
func (s Setting) reserve(base int64) int64 {
	switch {
	case s.Reserve < 0:
		return 0
	case s.Reserve > 0:
		return s.cards() * s.Reserve
	case s.Display:
		return base + displayReserve
	}
	return base
}

// card resolves what there is to put a model on, nil if the request does not
// say.
func (r *Request) card() (*PlanCard, error) {
	switch {
	case len(r.Devices) > 0 && r.Card == "" && r.VRAM == 0:
		return r.ownCards()
	case r.VRAM > 0 && r.Card == "":
		return &PlanCard{TotalBytes: r.VRAM, Basis: "given"}, nil
	case r.Card == "":
		return nil, nil
	}
	list, notes, err := r.cardList()
	if err != nil {
		return nil, err
	}
	first := list[0]
	r.Vendor = cmp.Or(r.Vendor, first.Vendor)
	card := &PlanCard{Name: first.Name, Basis: first.Basis, infos: list, notes: notes}
	if first.Kind == "soc" {
		card.ram = first.NominalBytes
	}
	least := first.TotalBytes
	for _, c := range list {
		if c.TotalBytes == 0 && r.VRAM == 0 {
			return nil, fmt.Errorf("%w: how much memory %s has depends on the RAM: say it behind the name, as in %q", ErrCard, c.Name, c.Name+" 64GB")
		}
		card.TotalBytes += c.TotalBytes
		least = min(least, c.TotalBytes)
		r.Display = r.Display || c.Kind == "consumer"
	}
	if len(list) > 1 {
		r.Cards, card.Count, card.Name = len(list), len(list), listName(list)
		r.even(card, least)
	}
	if r.VRAM > 0 {
		card.TotalBytes, card.Basis = r.VRAM, "given"
	}
	return card, nil
}

// even: programs that split every tensor use as much of each card as the smallest
// has.
func (r *Request) even(card *PlanCard, least int64) {
	n := int64(len(card.infos))
	switch {
	case card.TotalBytes == n*least:
	case slices.Contains([]string{"vllm", "sglang", "lmdeploy"}, r.Engine):
		card.TotalBytes = n * least
		card.notes = append(card.notes, fmt.Sprintf("%s splits every layer evenly, so that of each card it uses as much as the smallest has, %.1f GiB.", r.engineShown(), float64(least)/GiB))
	case r.llama():
		card.notes = append(card.notes, "The cards are not equal: layers go to them by their free memory (llama.cpp's -ts says otherwise).")
	}
}

func (r Request) engineShown() string {
	return map[string]string{"vllm": "vLLM", "sglang": "SGLang", "lmdeploy": "LMDeploy"}[r.Engine]
}

// ownCards are this computer's: what is free now is what there is.
func (r *Request) ownCards() (*PlanCard, error) {
	card := &PlanCard{Basis: "free on this computer"}
	var names []string
	least := int64(0)
	for _, d := range r.Devices {
		if r.tooSmall(d) {
			card.notes = append(card.notes, fmt.Sprintf("%s is left out: it has less than a third of the largest card.", d.Name))
			continue
		}
		info, ok := r.findCard(d.Name)
		if !ok {
			info = &CardInfo{Name: d.Name, TotalBytes: d.Total, Vendor: cmp.Or(d.Vendor, "NVIDIA")}
		}
		// The driver counts what it keeps for itself; a program sees less.
		free := d.Free
		if info.TotalBytes > 0 {
			free = min(free, info.TotalBytes)
		}
		card.infos, names = append(card.infos, info), append(names, info.Name)
		card.TotalBytes += free
		if least == 0 || free < least {
			least = free
		}
		card.OthersBytes += max(0, d.Total-d.Free)
		r.Vendor = cmp.Or(r.Vendor, info.Vendor)
		if info.Kind == "soc" {
			card.ram = d.Total
		}
	}
	card.Name = names[0]
	if len(names) > 1 {
		r.Cards, card.Count, card.Name = len(names), len(names), listName(card.infos)
		r.even(card, least)
	}
	return card, nil
}

// tooSmall: a second card that holds little makes the first one wait.
func (r *Request) tooSmall(d Device) bool {
	return slices.ContainsFunc(r.Devices, func(o Device) bool { return o.Total > 3*d.Total })
}

// cardList reads "RTX 3090", "2x3090", "3090+3060" and "3090, 3060 12GB".
func (r Request) cardList() (list []*CardInfo, notes []string, err error) {
	for _, part := range strings.FieldsFunc(r.Card, func(c rune) bool { return c == '+' || c == ',' }) {
		count, name := CountedCards(strings.TrimSpace(part))
		c, ok := r.findCard(name)
		if !ok {
			return nil, nil, fmt.Errorf("%w: %q", ErrCard, strings.TrimSpace(part))
		}
		if n := otherSizes(c, name); n != "" && r.VRAM == 0 {
			notes = append(notes, n)
		}
		for range count {
			list = append(list, c)
		}
	}
	if len(list) == 0 || len(list) > mostCards {
		return nil, nil, fmt.Errorf("%w: %q", ErrCard, r.Card)
	}
	return list, slices.Compact(notes), nil
}

func (r Request) findCard(name string) (*CardInfo, bool) {
	if c, ok := r.Own.card(name); ok {
		return c, true
	}
	return Card(name)
}

// otherSizes says which of several sizes was taken where a name leaves it open.
func otherSizes(c *CardInfo, name string) string {
	key := cardKey(name)
	if sizeInName().MatchString(name) || c.NominalBytes == 0 {
		return ""
	}
	var sizes []string
	for _, o := range loadCards().cards {
		base, _, _ := strings.Cut(cardKey(o.Name), strconv.FormatInt(o.NominalBytes/GiB, 10)+"gb")
		if o.NominalBytes > 0 && o.NominalBytes != c.NominalBytes && o.Vendor == c.Vendor && !strings.Contains(o.Name, "MIG") && !strings.Contains(o.Name, "Laptop") && !strings.Contains(o.Name, "modified") &&
			strings.TrimRight(base, "-") != "" && (base == key || strings.HasPrefix(base, key) && sameModel(base, key) || strings.HasSuffix(base, key)) {
			sizes = append(sizes, fmt.Sprintf("%d", o.NominalBytes/GiB))
		}
	}
	slices.Sort(sizes)
	if sizes = slices.Compact(sizes); len(sizes) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is also sold with %s GB; %d GB was taken: say %q for the other.", strings.TrimPrefix(c.Name, "NVIDIA "), strings.Join(sizes, " and "), c.NominalBytes/GiB, name+" "+sizes[0]+"GB")
}

// sameModel: what follows a name is a connector of the same chip, as in
// "a100sxm4", and no other chip, as in "3060ti".
func sameModel(longer, name string) bool {
	rest := strings.TrimPrefix(longer, name)
	return strings.HasPrefix(rest, "sxm") || strings.HasPrefix(rest, "pcie")
}

func listName(list []*CardInfo) string {
	if !slices.ContainsFunc(list, func(c *CardInfo) bool { return c.Name != list[0].Name }) {
		return fmt.Sprintf("%d x %s", len(list), list[0].Name)
	}
	var names []string
	for _, c := range list {
		names = append(names, strings.TrimPrefix(c.Name, "NVIDIA "))
	}
	return strings.Join(names, " + ")
}

// capable says what of a format or a cache type the cards cannot do, "" if they
// can. Only NVIDIA's compute capabilities are known well enough.
func (r Request) capable(card *PlanCard, name string) string {
	if card == nil || r.llama() {
		return ""
	}
	f, _ := lookupFormat(name, "")
	for _, c := range card.infos {
		have := c.Capability()
		need, why := r.leastCapability(f.name)
		if c.Vendor == "NVIDIA" && have > 0 && have < need {
			return fmt.Sprintf("%s needs compute capability %.1f, and %s has %.1f", why, need, c.Name, have)
		}
		if c.Vendor == "Apple" && r.Engine != "transformers" {
			return r.engine(nil) + " needs a card of NVIDIA or AMD"
		}
	}
	return ""
}

// leastCapability: FP8 and NVFP4 are computed by Ada and Hopper, and unpacked for
// Ampere by Marlin; older chips have neither.
func (r Request) leastCapability(format string) (need float64, what string) {
	switch {
	case strings.HasPrefix(format, "fp8"), format == "nvfp4", format == "mxfp4":
		return 8.0, format
	case strings.HasPrefix(format, "exl3"), r.Engine == "sglang":
		return 7.5, cmp.Or(map[string]string{"sglang": "SGLang"}[r.Engine], format)
	case strings.HasPrefix(format, "awq"), format == "int8" && r.Engine == "transformers":
		return 7.5, format
	case r.Engine == "vllm" || r.Engine == "lmdeploy":
		return 7.0, r.engineShown()
	}
	return 0, ""
}

// checkCapability refuses a format or cache type that was asked for and cannot
// run.
func (r Request) checkCapability(card *PlanCard) error {
	for _, f := range r.Formats {
		if why := r.capable(card, f); why != "" {
			return fmt.Errorf("%w: %s", ErrCapability, why)
		}
	}
	if strings.HasPrefix(strings.ToLower(r.KVType), "fp8") {
		if why := r.capable(card, "fp8"); why != "" {
			return fmt.Errorf("%w: a cache in %s", ErrCapability, why)
		}
	}
	return nil
}

// possible keeps the formats that the cards can compute with; chips before Ampere
// take 16 bits as fp16.
func (r Request) possible(card *PlanCard, formats []string) []string {
	if card == nil || len(r.Formats) > 0 || r.llama() {
		return formats
	}
	out := slices.DeleteFunc(slices.Clone(formats), func(f string) bool { return r.capable(card, f) != "" })
	if len(out) == 0 {
		return formats
	}
	for _, c := range card.infos {
		if c.Vendor == "NVIDIA" && c.Capability() > 0 && c.Capability() < 8 && !c.BF16 {
			if i := slices.Index(out, "bf16"); i >= 0 {
				out[i] = "fp16"
			}
		}
	}
	return out
}
