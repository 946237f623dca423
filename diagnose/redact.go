package diagnose

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/redact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
)

// Redacted returns a copy of the report to be shown to others: keys, passwords,
// prompts, names of users, hosts, folders and files, e-mail and IP addresses and
// telephone numbers are masked in every text of it, each name by one pseudonym
// (USER1, HOST2, KEY1). Figures, versions and names of models stay. Names that
// only the log gives away are masked by a [Redactor] that read it.
func (r *Report) Redacted() *Report { return NewRedactor().Report(r) }

// Redactor masks what is private in one log and in reports on it, each name by
// the same pseudonym throughout. It learns from the log first:
//
//	red := diagnose.NewRedactor()
//	report, err := diagnose.Read(ctx, io.TeeReader(log, red))
//	shared := red.Report(report)
//
// It keeps names, not text: at most 20,000 of them and one line. It is safe for
// concurrent use.
type Redactor struct {
	mu     sync.Mutex
	masker *redact.Masker
	line   []byte // begun and not ended
}

// NewRedactor returns one that has read nothing.
func NewRedactor() *Redactor {
	w := vocabulary()
	return &Redactor{masker: redact.New(w.read, w.written)}
}

// mostOfLine is what is looked at of a line at once, in bytes.
const mostOfLine = 64 << 10

// Write learns the names in a piece of the log, which may end within a line. It
// never fails.
func (r *Redactor) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 && len(r.line)+len(p) < mostOfLine {
			r.line = append(r.line, p...)
			return n, nil
		}
		if end < 0 || len(r.line)+end >= mostOfLine {
			end = max(min(len(p), mostOfLine-len(r.line))-1, 0)
		}
		r.line = append(r.line, p[:end+1]...)
		r.flush()
		p = p[end+1:]
	}
	return n, nil
}

func (r *Redactor) flush() {
	line := bytes.ReplaceAll(r.line, []byte{0}, nil) // UTF-16
	r.masker.Learn(strings.TrimRight(string(line), "\r\n"))
	r.line = r.line[:0]
}

// Log returns a log as UTF-8 with what is private masked and terminal codes left
// out. Lines keep their numbers, and the report on it has the same causes and
// figures. A log without anything private comes back as it is. It takes about
// four times the log's size in memory.
func (r *Redactor) Log(log []byte) []byte {
	text, err := io.ReadAll(utf8Reader(bytes.NewReader(log)))
	if err != nil {
		text = log // a reader of bytes has no errors of its own
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return []byte(r.masker.Log(string(text)))
}

// Report returns a copy of a report, masked. The report stays as it is.
func (r *Redactor) Report(report *Report) *Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
	mapped(report, func(s string) string { r.masker.Learn(s); return s })
	out := mapped(report, r.masker.Text)
	out.Live.mask()
	return out
}

// withoutCredentials is a report in which no key of the log stands: itself, or a
// copy where one does.
func withoutCredentials(report *Report) *Report {
	if !holdsCredentials(report) {
		return report
	}
	return mapped(report, redact.Credentials)
}

// vocabulary are the words of the field: no name that is one of them is masked
// but where it stands as a name.
var vocabulary = sync.OnceValue(func() (w struct{ read, written redact.Words }) {
	var written []string
	for _, c := range cause.All() {
		written = append(append(written, c.Title), c.Doc()...)
	}
	for _, f := range fix.Fixes() {
		written = append(append(written, f.Title), f.Doc()...)
	}
	w.read, w.written = redact.WordsOf(reader().ScanWords().Search.Words()), redact.WordsOf(written)
	return w
})

// mapped returns a deep copy of a report, its texts changed: parts of a report
// are shared with the rules that made it.
func mapped(report *Report, text func(string) string) *Report {
	out := *report
	mapTexts(reflect.ValueOf(&out).Elem(), text)
	return &out
}

// mapTexts changes the texts of a value in place, of which everything that it
// only points to is copied before.
func mapTexts(v reflect.Value, text func(string) string) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); s != "" {
			v.SetString(text(s))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			out := reflect.New(v.Type().Elem())
			out.Elem().Set(v.Elem())
			mapTexts(out.Elem(), text)
			v.Set(out)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				mapTexts(f, text)
			}
		}
	case reflect.Slice:
		if !v.IsNil() {
			out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(out, v)
			for i := range v.Len() {
				mapTexts(out.Index(i), text)
			}
			v.Set(out)
		}
	} // numbers, and the map of derived figures, which holds no text of a log
}
