package fit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrFamily: a name that several models bear.
var ErrFamily = errors.New("several models have this name")

// Family lists the models whose names begin with a name, nil if the name means
// one of them or none: "deepseek-r1", "llama 3" (with 3.1 to 3.3), "flux".
// Their order is that of the catalogue, by families and sizes.
func Family(name string) []string {
	if strings.ContainsAny(name, `/\:`) {
		return nil // a repository, a path, a tag
	}
	words := telling(tokens(name))
	if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return sizeToken(w) > 0 }) {
		return nil
	}
	var ids []string
	for _, e := range loadCatalogue().entries {
		for _, known := range append([]string{e.ID}, e.Aliases...) {
			own := tokens(known[strings.LastIndexByte(known, '/')+1:])
			if len(own) > len(words) && startsWith(own, words) {
				ids = append(ids, e.ID)
				break
			}
		}
	}
	if len(ids) < 2 {
		return nil
	}
	return ids
}

// startsWith: the last word may be a version that goes on, 3 and 3.1.
func startsWith(words, start []string) bool {
	last := len(start) - 1
	return slices.Equal(words[:last], start[:last]) && (words[last] == start[last] || isVersion(start[last]) && strings.HasPrefix(words[last], start[last]+"."))
}

// work tells by words of a name what an unknown model makes, so that a model for
// videos is given no server for text.
var work = []struct{ kind, words string }{
	{"video", `video wan wan2 hunyuanvideo ltx ltxv cogvideo cogvideox mochi svd animatediff t2v i2v ti2v vid skyreels framepack`},
	{"pictures", `flux sdxl sd sd1 sd2 sd3 diffusion pixart kolors lumina auraflow chroma hidream kandinsky playground image img unet dalle sana cascade controlnet`},
	{"speech", `whisper wav2vec2 tts asr parakeet canary bark xtts kokoro musicgen audiogen audio voice speech vibevoice`},
	{"embeddings", `bge e5 gte embedding embed embeddings reranker rerank minilm mpnet bert roberta colbert clip siglip`},
	{"proteins", `esm esm2 esmfold alphafold openfold boltz rosettafold protein chai`},
}

// KindByName is what a model makes by the words of its name: "video",
// "pictures", "speech", "embeddings", "proteins", or "" for text and for names
// that do not say.
func KindByName(name string) string {
	have := append(words(strings.ToLower(name)), tokens(name)...)
	for _, k := range work {
		for w := range strings.FieldsSeq(k.words) {
			if slices.ContainsFunc(have, func(h string) bool { return h == w || len(w) >= 5 && strings.HasSuffix(h, w) }) {
				return k.kind
			}
		}
	}
	return ""
}

// familyError names the members, the shortest way to an answer.
func familyError(name string, ids []string) error {
	const enough = 14
	more := ""
	if len(ids) > enough {
		ids, more = ids[:enough], " and others"
	}
	return fmt.Errorf("%w: %q is %s%s; say which", ErrFamily, name, strings.Join(ids, ", "), more)
}
