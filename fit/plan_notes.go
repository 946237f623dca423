package fit

import (
	"fmt"
	"slices"
	"strings"
)

// notes says what the rows do not: on what they rest, and what else could be done.
func (p *Plan) notes(r Request, m *Model) []string {
	switch {
	case m == nil:
		return []string{p.guess(r)}
	case m.Kind == "diffusion":
		if len(p.Rows) == 0 {
			return nil
		}
		return m.pictureNotes(r.Setting, p.best())
	case m.Kind == "speech":
		return []string{"As faster-whisper runs it, with five beams and one file at a time (--parallel); working memory is an estimate from its published totals."}
	}
	var notes []string
	if m.newType != "" {
		notes = append(notes, fmt.Sprintf("model_type %q is not known here: sized by its fields as a usual decoder, which is within some percent for weights and right for the cache unless layers do other than attend.", m.newType))
	}
	if f := Find(r.Model).Format; r.Known == nil && r.llama() && engineOf(f) != "" && len(r.Formats) == 0 {
		notes = append(notes, fmt.Sprintf("%s is a format of %s (--engine %s); for %s these are GGUF files of the same model.", f, engineOf(f), engineOf(f), p.Engine))
	}
	if len(p.Rows) > 0 && !r.runs(p.Rows[0].Format) {
		notes = append(notes, fmt.Sprintf("%s does not read %s: the sizes hold for the program that does.", p.Engine, p.Rows[0].Format))
	}
	if m.compressed() {
		notes = append(notes, "Of DeepSeek-V4 only the cache is exact; its attention weights are what the published total leaves, and the working memory depends on the build: before the indexer was one operation (July 2026) it took several GiB more at long contexts.")
	}
	if m.Context > 0 && len(p.Rows) > 0 && slices.ContainsFunc(r.Contexts, func(n int) bool { return n > m.Context }) {
		notes = append(notes, fmt.Sprintf("The model was made for %d tokens of context; beyond that it needs stretched rotations (rope scaling) and gets worse.", m.Context))
	}
	if m.Unverified {
		notes = append(notes, "The shape of this model is recalled, not read from its config.")
	}
	switch {
	case m.VisionParameters > 0 && r.llama() && !r.Projector:
		notes = append(notes, fmt.Sprintf("With images, the projector takes %.2f GiB more: --mmproj counts it.", float64(2*m.VisionParameters+projectorBuffer)/GiB))
	case m.VisionParameters == 0 && r.Projector:
		notes = append(notes, "How large this model's projector is is not known: it is not counted.")
	}
	return append(notes, p.cardNotes(r, m)...)
}

// cardNotes say what else could be done with the card.
func (p *Plan) cardNotes(r Request, m *Model) []string {
	if p.Card == nil || len(p.Rows) == 0 {
		return nil
	}
	var notes []string
	s, best := r.Setting, p.best()
	s.Context = best.Context
	if m.MoE != nil && r.Engine == "ollama" && best.Verdict == "offload" {
		s.Engine = "llama.cpp"
		if n, ok := m.FewestCPUExperts(best.Format, s, p.Card.TotalBytes); ok {
			notes = append(notes, fmt.Sprintf("Faster: llama-server with -ngl 99 --n-cpu-moe %d, which leaves only experts in RAM; Ollama has no setting for that.", n))
		}
	}
	if r.Vendor == "Apple" && best.Verdict == "offload" {
		notes = append(notes, fmt.Sprintf("On a Mac the rest lies in the same memory: it must hold %.1f GiB in all, beside the system.", float64(best.NeedBytes+best.CPUWeightsBytes)/GiB))
	}
	notes = append(notes, p.coarseNote(best)...)
	notes = append(notes, r.olderBuild(m, best)...)
	if p.Recommended < 0 || best.Verdict == "offload" {
		return append(append(notes, largerCard(m, r.Setting, best)...), r.smallerModel(p.Card, best)...)
	}
	if n := m.LongestContext(best.Format, s, p.Card.TotalBytes-best.ReserveBytes); n > best.Context {
		notes = append(notes, fmt.Sprintf("%s has room for %d tokens.", best.Format, n))
	}
	return notes
}

// best is the recommended row, else the one that lacks least.
func (p *Plan) best() Row { return p.Rows[max(0, p.Recommended)] }

// coarseNote: below 4 bits a weight quality goes; some layers in RAM may be
// the better deal.
func (p *Plan) coarseNote(best Row) []string {
	if p.coarse(best) == 0 || best.Verdict != "fits" && best.Verdict != "tight" {
		return nil
	}
	for _, row := range p.Rows {
		if row.Verdict == "offload" && row.Context == best.Context && p.coarse(row) == 0 {
			return []string{fmt.Sprintf("%s loses quality that one notices; %s runs with %d of %d layers on the card, slower.", best.Format, row.Format, row.GPULayers, row.TotalLayers)}
		}
	}
	return []string{best.Format + " loses quality that one notices."}
}

// smallerModel names what would fit whole where less than half of a model does.
func (r Request) smallerModel(card *PlanCard, best Row) []string {
	if best.Verdict == "offload" && 2*best.GPULayers >= best.TotalLayers {
		return nil
	}
	r.Setting.Context = best.Context
	for _, m := range currentModels() {
		if c, ok := r.choice(m, card); ok {
			return []string{fmt.Sprintf("With so much outside the card a smaller model is faster and often no worse: %s in %s fits whole.", c.Model, c.Format)}
		}
	}
	return nil
}

// largerCard names the smallest size of card that holds all of a row.
func largerCard(m *Model, s Setting, row Row) []string {
	s.Context = row.Context
	n, err := m.Need(row.Format, s, -1)
	if err != nil {
		return nil
	}
	size, ok := SmallestCard(n.Sum()+n.Reserve, s.Vendor)
	if !ok {
		return []string{fmt.Sprintf("All of %s at %d tokens needs %.1f GiB: more than any one card has.", row.Format, row.Context, float64(n.Sum())/GiB)}
	}
	return []string{fmt.Sprintf("All of %s at %d tokens needs %.1f GiB: a card of %d GB, such as %s.", row.Format, row.Context, float64(n.Sum())/GiB, size.GB, strings.Join(size.Names, " or "))}
}

// olderBuild warns where an older llama.cpp would not hold what was recommended:
// many run one, and none says so.
func (r Request) olderBuild(m *Model, best Row) []string {
	if !r.server() || r.Version != "" || r.Engine == "ik_llama.cpp" || best.SpareBytes == nil || *best.SpareBytes < 0 {
		return nil
	}
	s := r.Setting
	s.Context, s.CPUExperts, s.Version = best.Context, best.CPUExpertLayers, "b9300"
	n, err := m.Need(best.Format, s, best.GPULayers)
	more := n.Sum() - best.NeedBytes
	if err != nil || more <= *best.SpareBytes {
		return nil
	}
	return []string{fmt.Sprintf("llama.cpp before June 2026 (%s) takes %d MiB more for this command, which is more than is free: say yours with --engine-version.", since(changeOneOutput), more/MiB)}
}

// guess says on what the figures of an unknown name rest, and which name may
// have been meant.
func (p *Plan) guess(r Request) string {
	told := fmt.Sprintf("%q is not known: this is what any model of %.3g B parameters takes, read from the digits in the name.", r.Model, float64(p.Model.Parameters)/1e9)
	if p.Model.Kind != "" {
		told = fmt.Sprintf("%q is not known; by its name it makes %s. Only its weights are estimated, from the digits in the name: no cache, and not what it computes with.", r.Model, p.Model.Kind)
	}
	if near := Near(r.Model); len(near) > 0 {
		told += " Did you mean " + near[0] + "?"
	}
	return told
}

// roomNotes say what room was taken, and what lies in RAM.
func (p *Plan) roomNotes(r Request) []string {
	if p.Card == nil || len(p.Rows) == 0 {
		return nil
	}
	best, notes := p.best(), slices.Clone(p.Card.notes)
	told := fmt.Sprintf("%.1f GiB should stay free on the card", float64(best.ReserveBytes)/GiB)
	switch {
	case r.Reserve > 0:
		told += ", as asked for."
	case r.Reserve < 0:
		told = ""
	case r.Display:
		told += ": such cards mostly drive a screen, and a desktop or Windows takes 0.3 to 1.5 GiB. --reserve says otherwise."
	default:
		told += " for the estimate's error; --reserve says otherwise."
	}
	if told != "" {
		notes = append(notes, told)
	}
	if r.llama() && p.Engine != "diffusers" && best.RAMBytes > 0 && (best.split() || best.RAMBytes > 4*GiB) {
		switch have := p.Card.RAMBytes; {
		case have == 0 && p.Card.ram == 0:
			notes = append(notes, fmt.Sprintf("RAM must hold %.1f GiB; whether yours does, --ram 64GiB tells. With less, llama.cpp reads weights from the disk again and again.", float64(best.RAMBytes)/GiB))
		case have > 0 && have < best.RAMBytes:
			notes = append(notes, fmt.Sprintf("RAM would have to hold %.1f GiB, and there are %.1f: it does not run, or from the disk, at a crawl.", float64(best.RAMBytes)/GiB, float64(have)/GiB))
		}
	}
	if n := best.TokensPerSecond; n > 0 && best.Verdict != "no" {
		notes = append(notes, fmt.Sprintf("At most about %.2g tokens a second for one request, by the bandwidth of the memory: an estimate, of which programs reach half to nine tenths.", n))
	}
	return notes
}

// split: some of the model is left in RAM on purpose.
func (r Row) split() bool { return r.CPUExpertLayers > 0 || r.GPULayers < r.TotalLayers }
