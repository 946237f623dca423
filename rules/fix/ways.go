package fix

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// The cases of a way that the log can rule out; other names always stand.
const (
	Training   = "Training"
	Using      = "Using a model"
	Generating = "Generating text"
	Pictures   = "Images or video"
	Text       = "Text"
	Sound      = "Audio"
)

// Way reports that a case is possible for who reads.
func Way(c *ledger.Case, of string) bool {
	work := c.Reader.Work
	switch of {
	case Training:
		return c.Training() || c.Phase != "inference" && (work == "" || slices.Contains(trained, work))
	case Using:
		ranked := work == "" && strings.HasPrefix(c.Failure.Source, "rank") // of a launch, which mostly trains
		return !c.Training() && !ranked && (ownCode(c) || !strings.HasSuffix(work, "-generation"))
	case Generating:
		return !c.Training() && (work == "" || work == "text-inference")
	case Text:
		return work == "" && c.Signal("vision") == nil && !ownCode(c) || strings.HasPrefix(work, "text") || work == "embedding"
	case Pictures:
		return !c.Training() && (work == "" && !ownCode(c) && c.Reader.Cards < 2 || slices.Contains(pictures, work) || work == "" && c.Signal("vision") != nil)
	case Sound:
		return work == "audio"
	case "A game or renderer":
		return c.Reader.Language != "python" && work == ""
	case "Linux", "Windows", "Mac", "macOS":
		return c.Reader.OS == "" || strings.HasPrefix(strings.ToLower(of), c.Reader.OS) || c.Reader.OS == "wsl" && of == "Linux"
	case "WSL", "WSL, Docker Desktop":
		return c.Reader.OS != "linux" && c.Reader.OS != "mac"
	case "Kubernetes", "Slurm":
		return of == "Slurm" && ledger.OnCluster(c) || of == "Kubernetes" && (c.Says("kubernetes") || c.Contains("kube"))
	case "Your own code", "Code of your own", "Python":
		return c.Reader.Edits == "" || c.Reader.Edits == "code"
	case "trtllm-serve":
		return !c.Says("triton-server") // the log shows which of its two servers it is
	}
	return true
}

// ownCode: the log shows frames of a script, whose author knows what it makes.
func ownCode(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool { return x.Own })
}

// Settled reports that the log shows the case, so that it need not be named.
func Settled(c *ledger.Case, of string) bool {
	work := c.Reader.Work
	switch of {
	case Training:
		return c.Training()
	case Using:
		return c.Phase == "inference"
	case Generating:
		return work == "text-inference"
	case Pictures:
		return slices.Contains(pictures, work)
	case "Linux", "Windows", "Mac", "macOS":
		return c.Reader.OS != ""
	}
	return of == Sound && work == "audio"
}
