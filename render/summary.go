package render

import (
	"fmt"
	"strconv"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/rules"
)

// event is what kind of failure an incident is, as far as a reader cares.
type event int

const (
	refused   event = iota // an allocation was refused
	killed                 // the system ended the program
	noCache                // the KV cache does not fit
	overShare              // an engine's budget is more than what is free
	overCard               // a compiler planned more than there is (XLA)
	noSystem               // a check found too little system memory
)

func eventOf(in *diagnose.Incident) event {
	f := in.Figures
	switch {
	case f.KilledRSS != nil, in.Framework == "linux-oom-killer", in.Framework == "kubernetes", in.Framework == "slurm":
		return killed
	case f.KVAvailable != nil && f.Requested == nil:
		return noCache
	case f.Desired != nil && f.Requested == nil && f.Utilization != nil:
		return overShare
	case f.Desired != nil && f.Requested == nil:
		return overCard
	case f.SystemRequired != nil && f.Requested == nil:
		return noSystem
	}
	return refused
}

// headline is the cause where it is likely, else what happened.
func headline(in *diagnose.Incident) inline {
	if c := in.Causes; len(c) > 0 && c[0].ID != "unknown" && c[0].Confidence >= likely {
		return prose(c[0].Title)
	}
	switch eventOf(in) {
	case killed:
		return prose("The system ended the program for using too much memory")
	case noCache:
		return prose("There is not enough room for the KV cache")
	case overShare:
		return prose(rules.Shown(in.Framework) + " found less free memory than its share")
	case noSystem:
		return prose("There is not enough system memory (RAM)")
	}
	if onHost(in) {
		return prose("The computer's memory (RAM) ran out")
	}
	switch where := device(in); where {
	case "":
		return prose("Memory ran out")
	case "the GPU":
		return prose("The graphics card ran out of memory")
	default:
		return prose(capital(where) + " ran out of memory")
	}
}

// sentence says what happened, in figures, to somebody who has not seen such a
// crash before.
func sentence(in *diagnose.Incident) inline {
	f := in.Figures
	switch eventOf(in) {
	case killed:
		return killedSentence(in)
	case noCache:
		return cacheSentence(in)
	case overShare:
		return shareSentence(in)
	case noSystem:
		return systemSentence(in)
	case overCard:
		return overCardSentence(in)
	}
	if f.Requested == nil {
		return heldSentence(in)
	}
	return refusedSentence(in)
}

// refusedSentence: so much was asked for, and so much there was.
func refusedSentence(in *diagnose.Incident) inline {
	f := in.Figures
	asked := fmt.Sprintf("%s asked%s for %s", rules.Shown(in.Framework), before(" ", device(in)), f.Requested)
	if limit := ceiling(f); limit != nil && f.Requested.Bytes > limit.Bytes {
		return prose(fmt.Sprintf("%s in one piece%s; all there is to have is %s.", asked, when(in), limit))
	}
	asked += " more" + when(in)
	switch room := in.Ledger["room"]; {
	case f.Free != nil && f.Free.Bytes >= f.Requested.Bytes:
		return prose(fmt.Sprintf("%s and was refused, though %s was free.", asked, f.Free))
	case f.Free != nil:
		return short(in, fmt.Sprintf("%s; %s was free", asked, orNothing(f.Free)))
	case room.Has() && room.Bytes >= 0 && ceiling(f) != nil:
		return short(in, fmt.Sprintf("%s; %s of the %s was left beside what this program had taken", asked, room, ceiling(f)))
	}
	return prose(asked + " and did not get it.")
}

// ceiling is all that there is to have: the card, or a limit below it.
func ceiling(f diagnose.Figures) *diagnose.Size {
	if f.Limit != nil && (f.Total == nil || f.Limit.Bytes < f.Total.Bytes) {
		return f.Limit
	}
	return f.Total
}

// short ends a sentence with what was lacking, where that is known.
func short(in *diagnose.Incident, told string) inline {
	lacking := in.Ledger["short"]
	if !lacking.Has() || lacking.Bytes <= 0 {
		return prose(told + ".")
	}
	return join(prose(told+": "), bold(lacking.String()+" short"), prose("."))
}

func killedSentence(in *diagnose.Incident) inline {
	f := in.Figures
	who := map[string]string{
		"linux-oom-killer": "Linux ended the program to save the system",
		"kubernetes":       "Kubernetes ended the container",
		"slurm":            "Slurm ended the job",
	}[in.Framework]
	if who == "" {
		who = "The system ended the program"
	}
	switch {
	case f.KilledRSS != nil && f.Limit != nil:
		return prose(fmt.Sprintf("%s: it held %s of system memory (RAM); its limit was %s.", who, f.KilledRSS, f.Limit))
	case f.KilledRSS != nil:
		return prose(fmt.Sprintf("%s: it held %s of system memory (RAM), and no more was to be had.", who, f.KilledRSS))
	case f.Limit != nil:
		return prose(fmt.Sprintf("%s: it went over its limit of %s of system memory (RAM).", who, f.Limit))
	}
	if len(in.Causes) > 0 && in.Causes[0].Confidence < nearlyCertain {
		return prose("The program was killed, as the system does when memory (RAM) runs out.")
	}
	return prose(who + ": system memory (RAM) ran out.")
}

func cacheSentence(in *diagnose.Incident) inline {
	f := in.Figures
	subject := rules.Shown(in.Framework) + " needs memory for the KV cache"
	if f.KVNeeded != nil {
		subject = fmt.Sprintf("The KV cache needs %s", f.KVNeeded)
		if f.MaxModelLen != nil {
			subject = fmt.Sprintf("One request of %s tokens needs %s of KV cache", thousands(f.MaxModelLen.Value), f.KVNeeded)
		}
	}
	if f.KVAvailable.Bytes <= 0 {
		return prose(subject + "; after the weights and the working memory nothing is left for it.")
	}
	return short(in, fmt.Sprintf("%s; after the weights and the working memory %s is left for it", subject, f.KVAvailable))
}

func shareSentence(in *diagnose.Incident) inline {
	f := in.Figures
	share := ""
	if f.Utilization != nil {
		share = fmt.Sprintf(" (a share of %s)", f.Utilization.Text)
	}
	told := fmt.Sprintf("%s was told to take %s%s%s", rules.Shown(in.Framework), f.Desired, before(" of ", device(in)), share)
	return against(in, told, f.Free, "is not free", "was free")
}

func systemSentence(in *diagnose.Incident) inline {
	f := in.Figures
	told := fmt.Sprintf("The model needs %s of system memory (RAM)", f.SystemRequired)
	return against(in, told, f.SystemAvailable, "is not there", "is available")
}

// against ends a sentence of what was wanted with what there was, and how much
// was missing.
func against(in *diagnose.Incident, told string, have *diagnose.Size, unsaid, said string) inline {
	if have == nil {
		return prose(told + ", and so much " + unsaid + ".")
	}
	return short(in, fmt.Sprintf("%s; %s %s", told, have, said))
}

// overCardSentence is for compilers that know before they start.
func overCardSentence(in *diagnose.Incident) inline {
	f := in.Figures
	told := fmt.Sprintf("%s planned to use %s%s", rules.Shown(in.Framework), f.Desired, before(" of ", device(in)))
	limit := ceiling(f)
	if limit == nil || f.Desired.Bytes <= limit.Bytes {
		return prose(told + ", and so much is not to be had.")
	}
	return short(in, fmt.Sprintf("%s; %s is all there is", told, limit))
}

// before puts a preposition before a word, if there is one.
func before(preposition, word string) string {
	if word == "" {
		return ""
	}
	return preposition + word
}

func orNothing(s *diagnose.Size) string {
	if s.Bytes == 0 {
		return "nothing"
	}
	return s.String()
}

// heldSentence is for messages that do not say how much was wanted.
func heldSentence(in *diagnose.Incident) inline {
	f := in.Figures
	told := rules.Shown(in.Framework) + " ran out of memory" + before(" on ", device(in)) + when(in)
	if onHost(in) {
		told = rules.Shown(in.Framework) + " ran out of system memory (RAM)" + when(in)
	}
	if len(in.Fixes) > 0 && in.Fixes[0].ID == "raise_shm_size" {
		told = rules.Shown(in.Framework) + " ran out of shared memory (/dev/shm)" + when(in)
	}
	switch {
	case f.Free != nil && f.Total != nil:
		return prose(fmt.Sprintf("%s: %s of %s was free.", told, f.Free, f.Total))
	case f.Total != nil:
		return prose(fmt.Sprintf("%s, which has %s.", told, f.Total))
	case f.Empty():
		return prose(told + ". The message has no figures.")
	}
	return prose(told + ".")
}

// thousands writes a count with separators: 131,072.
func thousands(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	for i := len(s) - 3; i > 0 && s[0] != '-' && v == float64(int64(v)); i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
