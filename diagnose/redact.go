package diagnose

import (
	"reflect"

	"github.com/oomdoc/oomdoc/internal/redact"
)

// Redacted returns a copy of the report to be shown to others: tokens,
// passwords, prompts, names of users and hosts, e-mail and IP addresses are
// masked in every text of it. Figures, versions and names of models stay.
func (r *Report) Redacted() *Report {
	out := redacted(reflect.ValueOf(r)).Interface().(*Report)
	out.Live.mask()
	return out
}

// redacted copies a value deeply: parts of a report are shared with the rules
// that made it.
func redacted(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		return reflect.ValueOf(redact.Text(v.String())).Convert(v.Type())
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(redacted(v.Elem()))
		return out
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(redacted(v.Field(i)))
			}
		}
		return out
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(redacted(v.Index(i)))
		}
		return out
	}
	return v // numbers, and the map of derived figures, which holds no text of a log
}
