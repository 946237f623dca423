package fit

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

var formatPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^a-z0-9])((?:ud-)?i?q[1-8]_(?:k_xl|k_[sml]|k|0|1|xxs|xs|nl|s|m)|tq[12]_0|mxfp4(?:_moe)?|q4f16_1|(?:bf16|f16|f32|fp16|fp32))(?:[^a-z0-9]|$)`)
})

var bpwPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^a-z0-9.])(\d+(?:[._]\d+)?) ?bpw`)
})

// nameFormat reads the format from a name, in the spelling that Weights takes.
func nameFormat(part string) string {
	s := strings.ToLower(part)
	isGGUF := strings.Contains(s, "gguf") || strings.Contains(s, "ggml") || strings.HasSuffix(s, ".llamafile")
	if g := formatPattern().FindStringSubmatch(s); g != nil {
		f := g[1]
		if strings.HasPrefix(f, "mxfp4") && !isGGUF {
			return "mxfp4"
		}
		if f == "q4f16_1" {
			return "mlc-q4f16"
		}
		if strings.HasPrefix(f, "fp") || f == "bf16" && !isGGUF {
			return f
		}
		if f, ok := lookupFormat(f, ""); ok {
			return f.name
		}
	}
	if isGGUF {
		return "gguf"
	}
	if strings.Contains(s, "exl2") || strings.Contains(s, "exl3") || strings.Contains(s, "bpw") {
		return exlName(s)
	}
	return wordFormat(tokens(s))
}

// exlName: 4.65bpw, 4_65bpw, and without a point 31bpw for 3.1.
func exlName(s string) string {
	kind := "exl2"
	if strings.Contains(s, "exl3") {
		kind = "exl3"
	}
	bits := ""
	if g := bpwPattern().FindStringSubmatch(s); g != nil {
		bits = strings.ReplaceAll(g[1], "_", ".")
	} else if t := words(s); isVersion(t[len(t)-1]) && strings.Contains(t[len(t)-1], ".") {
		bits = t[len(t)-1] // a branch: QwQ-32B-exl2-3_0
	}
	b, err := strconv.ParseFloat(bits, 64)
	if err == nil && b >= 10 && b < 100 {
		b /= 10
	}
	if err != nil || b < 1 || b > 9 {
		return kind
	}
	return kind + "-" + strconv.FormatFloat(b, 'f', -1, 64)
}

func wordFormat(ts []string) string {
	has := func(ws ...string) bool {
		return slices.ContainsFunc(ws, func(w string) bool { return slices.Contains(ts, w) })
	}
	eight := has("8bit", "int8", "w8a16") || has("int", "w") && has("8")
	switch {
	case has("mlx"):
		for _, bits := range []string{"3bit", "4bit", "5bit", "6bit", "8bit"} {
			if has(bits) {
				return "mlx-" + bits
			}
		}
	case has("gptq") && eight:
		return "gptq-int8"
	case has("gptq") && has("3bit"):
		return "gptq-int3"
	case has("gptq") && has("32g"):
		return "gptq-int4-g32"
	case has("awq"):
		return "awq-int4"
	case has("gptq", "w4a16", "128g"):
		return "gptq-int4"
	case has("bnb", "nf4") && eight:
		return "int8"
	case has("bnb", "nf4"):
		return "nf4"
	case has("nvfp4", "fp4"):
		return "nvfp4"
	case has("fp8"):
		return "fp8"
	case has("w8a8", "int8", "8bit"):
		return "int8"
	case has("int4", "4bit"):
		return "gptq-int4"
	}
	return ""
}
