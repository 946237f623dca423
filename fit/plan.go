package fit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Request asks what of a model fits.
type Request struct {
	// Model is any name that Find takes. Known overrides it: a model read from
	// a GGUF or a config.json.
	Model string
	Known *Model
	Basis string
	// Card by name, or VRAM in bytes. Neither: the plan has needs only.
	Card string
	VRAM int64
	// Contexts and Formats are tried one by one; empty means the usual.
	Contexts []int
	Formats  []string
	Setting
}

// Errors of a request.
var (
	ErrModel = errors.New("unknown model")
	ErrCard  = errors.New("unknown card")
)

// Plan is the answer, in the shape of `oomdoc fit --json`.
type Plan struct {
	Schema string    `json:"schema"`
	Model  PlanModel `json:"model"`
	Card   *PlanCard `json:"card,omitempty"`
	Engine string    `json:"engine"`
	Rows   []Row     `json:"rows"`
	// Recommended is an index of Rows, -1 when nothing fits.
	Recommended int      `json:"recommended"`
	Command     string   `json:"command,omitempty"`
	Notes       []string `json:"notes,omitempty"`
}

// PlanModel is the model that was planned for.
type PlanModel struct {
	ID               string `json:"id"`
	Parameters       int64  `json:"parameters"`
	ActiveParameters int64  `json:"active_parameters"`
	Layers           int    `json:"layers,omitempty"`
	MaxContext       int    `json:"max_context,omitempty"`
	Basis            string `json:"basis"`
}

// PlanCard is the memory that was planned for.
type PlanCard struct {
	Name       string `json:"name,omitempty"`
	TotalBytes int64  `json:"total_bytes"`
	Basis      string `json:"basis"`
	// Count of cards of that name, of which TotalBytes is the sum; 0 for one.
	Count int `json:"count,omitempty"`
}

// Row is one format and context.
type Row struct {
	Format          string `json:"format"`
	Context         int    `json:"context"`
	KVType          string `json:"kv_type"`
	WeightsBytes    int64  `json:"weights_bytes"`
	CPUWeightsBytes int64  `json:"cpu_weights_bytes"`
	KVBytes         int64  `json:"kv_bytes"`
	ComputeBytes    int64  `json:"compute_bytes"`
	OverheadBytes   int64  `json:"overhead_bytes"`
	ReserveBytes    int64  `json:"reserve_bytes"`
	NeedBytes       int64  `json:"need_bytes"`
	HaveBytes       *int64 `json:"have_bytes,omitempty"`
	Verdict         string `json:"verdict"`
	SpareBytes      *int64 `json:"spare_bytes,omitempty"`
	GPULayers       int    `json:"gpu_layers,omitempty"`
	TotalLayers     int    `json:"total_layers,omitempty"`
	// CPUExpertLayers is llama.cpp's --n-cpu-moe: with all layers on the card, the
	// experts of so many stay in RAM.
	CPUExpertLayers int `json:"cpu_expert_layers,omitempty"`
}

// The usual formats by falling quality.
var (
	ggufLadder       = []string{"Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "IQ4_XS", "Q3_K_M", "IQ3_XXS", "Q2_K", "IQ2_XS"}
	checkpointLadder = []string{"bf16", "fp8", "awq-int4"}
	// The denoiser's; text encoders and VAE stay 16 bit.
	diffusionLadder = []string{"bf16", "fp8", "nf4"}
	// What transformers makes of a 16-bit checkpoint while it loads.
	bitsandbytesLadder = []string{"bf16", "int8", "nf4"}
)

// NewPlan says what of a model fits a card. It fails on a name, a format, a
// cache type or a card that it does not know.
func NewPlan(r Request) (Plan, error) {
	wanted := r.Setting.Context
	if r.Engine == "" && r.Known == nil {
		r.Engine = engineOf(Find(r.Model).Format)
	}
	r.Setting = r.Setting.defaults()
	m, pm, err := r.model()
	if err != nil {
		return Plan{}, err
	}
	if err := r.cacheType(); err != nil {
		return Plan{}, err
	}
	card, err := r.card()
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Schema: "oomdoc.fit.v1", Model: pm, Card: card, Engine: r.engine(m), Recommended: -1}
	contexts, preferred := r.contexts(m, wanted)
	for _, format := range r.formats(m) {
		need, err := r.needs(m, pm, card, format)
		if err != nil {
			return Plan{}, err
		}
		for _, context := range contexts {
			s := r.Setting
			s.Context = context
			n, err := need(s)
			if err != nil {
				return Plan{}, err
			}
			p.Rows = append(p.Rows, newRow(format, s, n, card))
		}
	}
	p.sort()
	p.recommend(preferred)
	p.finish(r, m)
	return p, nil
}

// model resolves the request to a shape, or to nil and a size.
func (r Request) model() (*Model, PlanModel, error) {
	match := Match{Model: r.Known, Basis: cmp.Or(r.Basis, "config")}
	if m, ok := ModelByID(r.Model); ok && r.Known == nil {
		match = Match{Model: m, Parameters: m.Parameters, ActiveParameters: m.ActiveParameters, Basis: "catalogue"}
	} else if r.Known == nil {
		match = Find(r.Model)
	} else {
		match.Parameters, match.ActiveParameters = r.Known.Parameters, r.Known.ActiveParameters
	}
	if match.Basis == "" {
		err := fmt.Errorf("%w: %q", ErrModel, r.Model)
		if near := Near(r.Model); len(near) > 0 {
			err = fmt.Errorf("%w: near are %s", err, strings.Join(near, ", "))
		}
		return nil, PlanModel{}, err
	}
	pm := PlanModel{ID: r.Model, Parameters: match.Parameters, ActiveParameters: cmp.Or(match.ActiveParameters, match.Parameters), Basis: match.Basis}
	if m := match.Model; m != nil {
		pm.ID, pm.Layers, pm.MaxContext = m.ID, m.Layers, m.Context
	}
	return match.Model, pm, nil
}

func (r *Request) card() (*PlanCard, error) {
	if r.VRAM > 0 && r.Card == "" {
		return &PlanCard{TotalBytes: r.VRAM, Basis: "given"}, nil
	}
	if r.Card == "" {
		return nil, nil
	}
	count, name := CountedCards(r.Card)
	c, ok := Card(name)
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrCard, r.Card)
	}
	r.Vendor = cmp.Or(r.Vendor, c.Vendor)
	card := &PlanCard{Name: c.Name, TotalBytes: c.TotalBytes, Basis: c.Basis}
	if r.VRAM > 0 {
		card.TotalBytes, card.Basis = r.VRAM, "given"
	}
	if card.TotalBytes == 0 {
		return nil, fmt.Errorf("%w: how much memory %s has depends on the RAM: say it behind the name, as in %q", ErrCard, c.Name, c.Name+" 64GB")
	}
	if count > 1 {
		r.Cards = count
		card.Name, card.Count = fmt.Sprintf("%d x %s", count, c.Name), count
		if r.VRAM == 0 {
			card.TotalBytes *= int64(count)
		}
	}
	return card, nil
}

func (r Request) engine(m *Model) string {
	if m != nil && m.Kind == "diffusion" {
		return "diffusers"
	}
	return cmp.Or(r.Engine, "llama.cpp")
}

// usualContexts are the columns of a table when none are asked for.
var usualContexts = []int{4096, 8192, 32768, 131072}

// cacheType refuses types that the engine does not have.
func (r Request) cacheType() error {
	known := []string{"f16", "fp16", "bf16", "float16", "bfloat16", "auto"}
	switch {
	case r.llama():
		known = append(KVTypes(), "fp16", "auto")
	case r.Engine == "vllm":
		known = append(known, "fp8", "fp8_e4m3", "fp8_e5m2")
	}
	if t := strings.ToLower(r.KVType); !slices.Contains(known, t) {
		return fmt.Errorf("%w: cache type %q of %s", ErrFormat, r.KVType, cmp.Or(r.Engine, "llama.cpp"))
	}
	return nil
}

// contexts are the contexts to try, and the one to recommend for, 0 for any.
func (r Request) contexts(m *Model, wanted int) (all []int, preferred int) {
	most := math.MaxInt
	if m != nil && m.Context > 0 {
		most = m.Context
	}
	switch {
	case len(r.Contexts) > 0:
		return r.Contexts, wanted
	case wanted > 0:
		return []int{min(wanted, most)}, 0
	case m != nil && m.Kind == "diffusion":
		return []int{r.Context}, 0
	}
	for _, n := range usualContexts {
		if n < most {
			all = append(all, n)
		}
	}
	if len(all) < len(usualContexts) {
		all = append(all, most)
	}
	return all, min(r.Context, most)
}

func (r Request) formats(m *Model) []string {
	switch {
	case len(r.Formats) > 0:
		return r.Formats
	case r.Known != nil && r.Known.file != nil:
		return []string{r.Known.file.Format}
	}
	if f := Find(r.Model).Format; f != "" && r.Known == nil && (!r.llama() || engineOf(f) == "") {
		if _, ok := lookupFormat(f, ""); ok {
			return []string{f}
		}
	}
	if r.Engine == "ollama" && ollamaTag(r.Model) {
		if f := ggufFormats(m); len(f) == 1 {
			return f
		}
		return []string{"Q4_K_M"} // the file behind a tag that names none
	}
	switch {
	case m != nil && m.Kind == "diffusion":
		return diffusionLadder
	case r.llama():
		return ggufFormats(m)
	}
	ladder := checkpointLadder
	if r.Engine == "transformers" {
		ladder = bitsandbytesLadder
	}
	if m != nil && m.Native != "" {
		return nativeLadder(m.Native, ladder)
	}
	return ladder
}

// nativeLadder begins with the format that a model was published in; larger ones
// hold no more, and one whose experts have 4 bits (gpt-oss) exists so only.
func nativeLadder(native string, ladder []string) []string {
	f, ok := lookupFormat(native, "")
	out := []string{native}
	if !ok || f.expertsOnly {
		return out
	}
	for _, name := range ladder {
		if other, ok := lookupFormat(name, ""); ok && other.bits < f.bits {
			out = append(out, name)
		}
	}
	return out
}

// ollamaTag: "qwen3:8b".
func ollamaTag(name string) bool {
	return strings.Contains(name, ":") && !strings.ContainsAny(name, `/\`)
}

// engineOf is the engine for a format that llama.cpp cannot read, "" for all
// others, and for those that only programs run that have no plan here (EXL2,
// MLX).
func engineOf(name string) string {
	f, ok := lookupFormat(name, "")
	switch {
	case !ok || name == "" || f.gguf != "":
		return ""
	case strings.HasPrefix(f.name, "gptq") || strings.HasPrefix(f.name, "awq") || strings.HasPrefix(f.name, "fp8") || f.name == "nvfp4":
		return "vllm"
	case strings.HasPrefix(f.name, "nf4") || f.name == "fp4" || f.name == "int8" || strings.HasPrefix(f.name, "hqq"):
		return "transformers"
	}
	return ""
}

// runs reports that an engine reads a format at all.
func (r Request) runs(name string) bool {
	f, ok := lookupFormat(name, "")
	return ok && (!r.llama() || f.gguf != "")
}

// ggufFormats are the formats to try for llama.cpp. A model that was published
// in MXFP4 (gpt-oss) keeps its experts so in every file: there is only one size.
func ggufFormats(m *Model) []string {
	if m != nil && m.Native == "mxfp4" {
		return []string{"MXFP4_MOE"}
	}
	return ggufLadder
}

// needs sizes a format at any setting: as much of it as fits the card.
func (r Request) needs(m *Model, pm PlanModel, card *PlanCard, format string) (func(Setting) (Need, error), error) {
	if m == nil {
		return func(s Setting) (Need, error) { return needOfSize(pm.Parameters, format, s) }, nil
	}
	z, err := m.sized(format)
	return func(s Setting) (Need, error) {
		if card == nil {
			return z.need(s, -1)
		}
		_, n, err := z.mostLayers(s, card.TotalBytes)
		return n, err
	}, err
}

func newRow(format string, s Setting, n Need, card *PlanCard) Row {
	row := Row{
		Format: format, Context: s.Context, KVType: s.KVType, WeightsBytes: n.Weights, CPUWeightsBytes: n.CPUWeights, KVBytes: n.KV,
		ComputeBytes: n.Compute, OverheadBytes: n.Overhead, ReserveBytes: n.Reserve, NeedBytes: n.Sum(),
		Verdict: "unknown", GPULayers: n.Layers, TotalLayers: n.Total, CPUExpertLayers: n.CPUExperts,
	}
	if card != nil {
		have, spare := card.TotalBytes, card.TotalBytes-n.Sum()
		row.HaveBytes, row.SpareBytes, row.Verdict = &have, &spare, n.verdict(have)
	}
	if row.Verdict == "offload" && n.Layers == 0 {
		row.Verdict = "no"
	}
	return row
}

// needOfSize guesses for a model of which only the size is known: weights and
// cache like those of the catalogue's models of that size, no layers.
func needOfSize(parameters int64, format string, s Setting) (Need, error) {
	w, ok := WeightBytes(parameters, format)
	if !ok {
		return Need{}, fmt.Errorf("%w: %q", ErrFormat, format)
	}
	like := likeSize(parameters)
	n, err := like.Need(format, s, -1)
	n.Weights = w
	n.CPUWeights = 0
	n.Layers, n.Total = 0, 0
	return n, err
}

// likeSize is the dense model of the catalogue nearest in size that has grouped
// queries, as nearly all since 2024.
func likeSize(parameters int64) *Model {
	var best *Model
	distance := func(m *Model) float64 {
		r := float64(m.Parameters) / float64(parameters)
		return max(r, 1/r)
	}
	for _, m := range loadCatalogue().models {
		if m.Kind == "llm" && m.MoE == nil && m.Pattern == "" && m.KVHeads < m.Heads && (best == nil || distance(m) < distance(best)) {
			best = m
		}
	}
	return best
}

// sort puts the best first: what fits before what is tight, offloaded or too
// large; among those the longer context, then the larger format. Formats that
// harm a model come after a better one with some layers in RAM.
func (p *Plan) sort() {
	slices.SortStableFunc(p.Rows, func(a, b Row) int {
		if c := cmp.Compare(p.rank(a), p.rank(b)); c != 0 {
			return c
		}
		switch a.Verdict {
		case "offload":
			return cmp.Or(cmp.Compare(p.coarse(a), p.coarse(b)), cmp.Compare(weightShare(b), weightShare(a)))
		case "no":
			return cmp.Compare(a.NeedBytes, b.NeedBytes)
		}
		return cmp.Or(cmp.Compare(p.coarse(a), p.coarse(b)), cmp.Compare(b.Context, a.Context), cmp.Compare(b.WeightsBytes, a.WeightsBytes))
	})
}

func (p *Plan) rank(r Row) int {
	harmful := p.bits(r) < 3.5
	switch {
	case (r.Verdict == "fits" || r.Verdict == "unknown") && !harmful:
		return 0
	case r.Verdict == "tight" && !harmful:
		return 1
	case r.Verdict == "offload" && p.coarse(r) == 0 && 2*r.GPULayers >= r.TotalLayers:
		return 2
	case r.Verdict == "no":
		return 5
	case r.Verdict == "offload":
		return 4
	}
	return 3
}

// bits a weight.
func (p *Plan) bits(r Row) float64 {
	return 8 * float64(r.WeightsBytes+r.CPUWeightsBytes) / float64(max(1, p.Model.Parameters))
}

// coarse is 1 for less than 4 bits a weight: a longer context is not worth that.
func (p *Plan) coarse(r Row) int {
	if p.bits(r) < 4 {
		return 1
	}
	return 0
}

// weightShare is how much of the weights lies on the card.
func weightShare(r Row) float64 {
	return float64(r.WeightsBytes) / float64(max(1, r.WeightsBytes+r.CPUWeightsBytes))
}

// recommend puts the best row with a context first, or leaves the best of all
// there where none with it runs.
func (p *Plan) recommend(context int) {
	if p.Card == nil || len(p.Rows) == 0 || p.Rows[0].Verdict == "no" {
		return
	}
	p.Recommended = 0
	i := slices.IndexFunc(p.Rows, func(r Row) bool { return r.Context == context && r.Verdict != "no" })
	if i > 0 {
		best := p.Rows[i]
		p.Rows = slices.Insert(slices.Delete(p.Rows, i, i+1), 0, best)
	}
}

func (p *Plan) finish(r Request, m *Model) {
	if p.Recommended >= 0 && p.Engine != "diffusers" && r.runs(p.Rows[p.Recommended].Format) {
		p.Command = command(r, p.Rows[p.Recommended])
	}
	p.Notes = p.notes(r, m)
}

func (p *Plan) notes(r Request, m *Model) []string {
	switch {
	case m == nil:
		return []string{"The shape of this model is not known: weights and cache are those of models of its size."}
	case m.Kind == "diffusion":
		return []string{"All parts of the pipeline are on the card; what a picture takes on top is not estimated."}
	}
	var notes []string
	if f := Find(r.Model).Format; r.Known == nil && r.llama() && engineOf(f) != "" && len(r.Formats) == 0 {
		notes = append(notes, fmt.Sprintf("%s is a format of %s (--engine %s); for %s these are GGUF files of the same model.", f, engineOf(f), engineOf(f), p.Engine))
	}
	if len(p.Rows) > 0 && !r.runs(p.Rows[0].Format) {
		notes = append(notes, fmt.Sprintf("%s does not read %s: the sizes hold for the program that does.", p.Engine, p.Rows[0].Format))
	}
	if m.compressed() {
		notes = append(notes, "Of DeepSeek-V4 only the cache is exact; its attention weights are what the published total leaves, and the working memory depends on the build: before the indexer was one operation (July 2026) it took several GiB more at long contexts.")
	}
	if m.Unverified {
		notes = append(notes, "The shape of this model is recalled, not read from its config.")
	}
	if m.VisionParameters > 0 && r.llama() {
		notes = append(notes, fmt.Sprintf("With images, the projector (mmproj) takes %.2f GiB more.", float64(2*m.VisionParameters)/GiB))
	}
	if p.Card == nil || len(p.Rows) == 0 {
		return notes
	}
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

// command is what to type for a row; "…" stands for what the user knows.
func command(r Request, row Row) string {
	switch r.Engine {
	case "ollama":
		c := ollamaServer(r.Setting) + fmt.Sprintf("ollama run …\n/set parameter num_ctx %d", row.Context)
		if row.GPULayers < row.TotalLayers {
			c += fmt.Sprintf("\n/set parameter num_gpu %d", row.GPULayers)
		}
		return c
	case "vllm":
		return "vllm serve … --max-model-len " + fmt.Sprint(row.Context) + vllmCards(r.Setting) + vllmUtilization(row) + vllmCacheType(row) + ifMore(" --max-num-seqs %d", r.Parallel)
	case "transformers":
		return transformersCall(row.Format, r.Cards)
	}
	layers := max(99, row.TotalLayers)
	if row.GPULayers < row.TotalLayers {
		layers = row.GPULayers
	}
	c := fmt.Sprintf("llama-server -m … -ngl %d", layers)
	if row.CPUExpertLayers > 0 {
		c += fmt.Sprintf(" --n-cpu-moe %d", row.CPUExpertLayers)
	}
	c += fmt.Sprintf(" -c %d", row.Context) + flashFlag(r.Setting)
	if row.KVType != "f16" {
		c += " -ctk " + row.KVType + " -ctv " + row.KVType
	}
	return c + ifMore(" -np %d", r.Parallel) + ifMore(" -ub %d", r.UBatch)
}

// ifMore is a flag with a number, nothing for none and for one.
func ifMore(flag string, n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(flag, n)
}

// ollamaServer is what only the server can be told, by its environment.
func ollamaServer(s Setting) string {
	env := ""
	if s.KVType != "f16" {
		env += "OLLAMA_FLASH_ATTENTION=1 OLLAMA_KV_CACHE_TYPE=" + s.KVType + " "
	}
	if s.Parallel > 1 {
		env += fmt.Sprintf("OLLAMA_NUM_PARALLEL=%d ", s.Parallel)
	}
	if env == "" {
		return ""
	}
	return env + "ollama serve &\n"
}

// transformersCall loads a model in Python. bitsandbytes makes 8 and 4 bits of
// a 16-bit checkpoint; the other formats are checkpoints of their own.
func transformersCall(format string, cards int) string {
	where := `{"": 0}`
	if cards > 1 {
		where = `"auto"`
	}
	quantize := ""
	switch format {
	case "int8":
		quantize = ", quantization_config=BitsAndBytesConfig(load_in_8bit=True)"
	case "nf4":
		quantize = `, quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype="bfloat16")`
	}
	return `model = AutoModelForCausalLM.from_pretrained("…", dtype="auto", device_map=` + where + quantize + ")"
}

// flashFlag: -fa takes a value since August 2025; before, it was a switch.
func flashFlag(s Setting) string {
	switch n := s.build(); {
	case n > 0 && n < 6300 && s.NoFlashAttention:
		return ""
	case n > 0 && n < 6300:
		return " -fa"
	case s.NoFlashAttention:
		return " -fa off"
	}
	return " -fa on"
}

func vllmCards(s Setting) string {
	if s.Cards < 2 {
		return ""
	}
	return fmt.Sprintf(" --tensor-parallel-size %d", s.Cards)
}

// vllmUtilization asks for more than the default 0.9 only where it must.
func vllmUtilization(row Row) string {
	for u := 90; u <= 98; u++ {
		if float64(row.NeedBytes) <= float64(*row.HaveBytes)*float64(u)/100 {
			if u == 90 {
				return ""
			}
			return fmt.Sprintf(" --gpu-memory-utilization 0.%d", u)
		}
	}
	return " --gpu-memory-utilization 0.98"
}

func vllmCacheType(row Row) string {
	if strings.HasPrefix(row.KVType, "fp8") {
		return " --kv-cache-dtype " + row.KVType
	}
	return ""
}

// Recommend is the best row for a model in have bytes at a context: the largest
// GGUF format that fits, else the layers of Q4_K_M that can be offloaded.
// It is false when not a single layer fits.
func (m *Model) Recommend(have int64, context int) (Row, bool) {
	return recommend(have, ggufFormats(m), func(format string) (Need, error) {
		_, n, err := m.MostLayers(format, Setting{Context: context}.defaults(), have)
		return n, err
	}, context)
}

// RecommendSize is Recommend for a model of which only the size is known.
func RecommendSize(parameters, have int64, context int) (Row, bool) {
	return recommend(have, ggufLadder, func(format string) (Need, error) {
		return needOfSize(parameters, format, Setting{Context: context}.defaults())
	}, context)
}

func recommend(have int64, formats []string, need func(string) (Need, error), context int) (Row, bool) {
	card := &PlanCard{TotalBytes: have}
	s := Setting{Context: context}.defaults()
	for _, verdict := range []string{"fits", "tight"} {
		for _, f := range formats {
			if n, err := need(f); err == nil && n.verdict(have) == verdict {
				return newRow(f, s, n, card), true
			}
		}
	}
	usual := "Q4_K_M"
	if len(formats) == 1 {
		usual = formats[0]
	}
	n, err := need(usual)
	row := newRow(usual, s, n, card)
	return row, err == nil && row.Verdict == "offload"
}
