package cli

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
)

// named puts the model's name into a command, where it is known and needs no
// quotes.
func named(p fit.Plan, name string, r fit.Request) string {
	if p.Recommended < 0 {
		return p.Command
	}
	before, after := "…", target(p, name, r)
	if p.Engine == "llama.cpp" && r.Known == nil {
		before, after = "-m …", "-hf "+after
		if strings.HasSuffix(after, " ") {
			return p.Command
		}
	}
	if after == "" || strings.HasPrefix(after, "-") && before == "…" || strings.ContainsFunc(strings.TrimPrefix(after, "-hf "), needsQuotes) {
		return p.Command
	}
	return strings.Replace(p.Command, before, after, 1)
}

// target is what the engine calls the recommended row: the user's name if its
// file has that format, else a name of the catalogue. It is empty where neither
// is known.
func target(p fit.Plan, name string, r fit.Request) string {
	format, own := p.Rows[p.Recommended].Format, fit.Find(name).Format
	repo := strings.Count(name, "/") == 1 && !strings.HasPrefix(name, ".") && r.Known == nil
	m, known := fit.ModelByID(p.Model.ID)
	switch p.Engine {
	case "llama.cpp":
		if r.Known != nil && strings.HasSuffix(name, ".gguf") {
			return shards(name)[0]
		}
		if repo && strings.Contains(strings.ToLower(name), "gguf") {
			base, _, _ := strings.Cut(name, ":")
			return base + ":" + format
		}
	case "ollama":
		tagged := format == "Q4_K_M" || format == "MXFP4_MOE"
		if strings.Contains(name, ":") && (own == format || own == "" && tagged) {
			return name
		}
		if known && tagged && r.Known == nil {
			return alias(m, func(a string) bool { return strings.Contains(a, ":") && !strings.Contains(a, "/") })
		}
	default:
		made := p.Engine == "transformers" && (format == "int8" || format == "nf4") // while loading
		published := made || format == "bf16" && (!known || m.Native == "") || known && format == m.Native
		if (repo || r.Basis == "config" && !strings.HasSuffix(name, ".json")) && (own == format || own == "" && published) {
			return name
		}
		if known && published && r.Known == nil {
			return alias(m, func(a string) bool { return strings.Contains(a, "/") })
		}
	}
	return ""
}

// alias is the first name of a model that is wanted, "" if it has none.
func alias(m *fit.Model, wanted func(string) bool) string {
	if i := slices.IndexFunc(m.Aliases, wanted); i >= 0 {
		return m.Aliases[i]
	}
	return ""
}

func needsQuotes(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune("_-./:", r)
}
