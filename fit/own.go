package fit

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Own are models and cards of one's own. They come before the built-in ones. The
// zero value has none.
type Own struct {
	entries []*entry
	names   *nameIndex
	cards   *cardIndex
}

// mostOwn bounds a catalogue that is read.
const mostOwn = 4096

// ReadModels adds models in the format of fit/data/models.json: a list of
// objects with the fields of Model. A model may name a "base", an id of one in
// this file or of the built-in ones, and say only what is another.
func (o *Own) ReadModels(r io.Reader) error {
	var lines []json.RawMessage
	if err := json.NewDecoder(io.LimitReader(r, 1<<24)).Decode(&lines); err != nil {
		return fmt.Errorf("%w: a catalogue is a list of models: %w", ErrFile, err)
	}
	if len(lines) > mostOwn {
		return fmt.Errorf("%w: more than %d models", ErrFile, mostOwn)
	}
	known := map[string]*entry{}
	for _, e := range o.entries {
		known[e.ID] = e
	}
	for i, line := range lines {
		e := &entry{line: line}
		if err := json.Unmarshal(line, e); err != nil || e.ID == "" {
			return fmt.Errorf("%w: model %d of the catalogue has no id", ErrFile, i+1)
		}
		if e.Base != "" {
			if e.base = known[e.Base]; e.base == nil {
				e.base = loadCatalogue().byID[e.Base]
			}
			if e.base == nil {
				return fmt.Errorf("%w: the base %q of model %q is not known", ErrFile, e.Base, e.ID)
			}
		}
		if err := e.check(); err != nil {
			return err
		}
		known[e.ID] = e
		o.entries = append(o.entries, e)
	}
	o.names = newNameIndex(o.entries)
	return nil
}

// check decodes a model that somebody wrote and refuses what cannot be computed
// with.
func (e *entry) check() error {
	m := new(Model)
	if e.base != nil {
		if err := json.Unmarshal(e.base.line, m); err != nil {
			return fmt.Errorf("%w: model %q: %w", ErrFile, e.ID, err)
		}
		m.Aliases = nil
	}
	if err := json.Unmarshal(e.line, m); err != nil {
		return fmt.Errorf("%w: model %q: %w", ErrFile, e.ID, err)
	}
	switch {
	case m.Kind == "diffusion" && m.Parameters > 0 && len(m.Components) < 100:
	case m.Layers < 1 || m.Layers > 4096 || m.DecoderLayers > 4096 || m.Hidden < 1 || m.Heads < 1 || m.KVHeads < 1 || m.HeadDim < 1 || m.Vocab < 1 || tooLarge(m):
		return fmt.Errorf("%w: model %q lacks layers, hidden, heads, kv_heads, head_dim or vocab", ErrFile, e.ID)
	case m.Pattern != "" && len(m.Pattern) != m.Layers || m.SharedLayers > m.Layers || len(m.FFNLayers) > 0 && len(m.FFNLayers) != m.Layers:
		return fmt.Errorf("%w: model %q has a pattern of another length than its %d layers", ErrFile, e.ID, m.Layers)
	}
	if m.ValueDim == 0 {
		m.ValueDim = m.HeadDim
	}
	if m.Kind == "" {
		m.Kind = "llm"
	}
	if m.Parameters == 0 {
		for _, t := range m.tensors() {
			m.Parameters += t.elements()
		}
	}
	e.whole = m
	e.once.Do(func() {})
	return nil
}

// ReadCards adds cards in the format of fit/data/cards.tsv: ten columns with
// tabs between, of which name, vendor and nominal GiB must be filled.
func (o *Own) ReadCards(r io.Reader) error {
	b, err := io.ReadAll(io.LimitReader(r, 1<<22))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	cards := []*CardInfo{}
	if o.cards != nil {
		cards = o.cards.cards
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) > 10 || len(f) < 5 {
			return fmt.Errorf("%w: line %d of the cards has %d columns, not 10", ErrFile, n, len(f))
		}
		c := parseCard(slices.Concat(f, make([]string, 10-len(f))))
		if c.Name == "" || c.Vendor == "" || c.NominalBytes <= 0 && len(c.SeenMiB) == 0 || len(cards) > mostOwn {
			return fmt.Errorf("%w: line %d of the cards lacks a name, a vendor or a size in GiB", ErrFile, n)
		}
		cards = append(cards, c)
	}
	o.cards = newCardIndex(cards)
	return nil
}

func (o *Own) model(name string) *Model {
	if o == nil || o.names == nil {
		return nil
	}
	for _, e := range o.entries {
		if e.ID == name || slices.Contains(e.Aliases, name) {
			return e.model()
		}
	}
	for _, part := range nameParts(name) {
		if m := o.names.find(part); m != nil {
			return m
		}
	}
	return nil
}

func (o *Own) card(name string) (*CardInfo, bool) {
	if o == nil || o.cards == nil {
		return nil, false
	}
	return o.cards.find(name)
}
