package diagnose

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Decode reads one saved report. Fields that this version does not know are
// skipped; a report of another schema, or text after the report, is an error,
// and so is one of more than 8 MiB, 24 levels or 200,000 values. Nothing says
// that this program wrote it: show it by way of [Report.AsSaved].
func Decode(r io.Reader) (*Report, error) {
	raw, err := bounded(r)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	var report Report
	if err := d.Decode(&report); err != nil {
		return nil, decodeError(err)
	}
	if report.Schema != Schema {
		if strings.HasPrefix(report.Schema, "oomdoc.report.") {
			return nil, fmt.Errorf("its schema is %q and this version reads %s: use the oomdoc that wrote it", report.Schema, Schema)
		}
		return nil, fmt.Errorf("its field schema is not %q", Schema)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the report")
	}
	return withoutCredentials(&report), nil // older versions left keys in
}

// decodeError says it without Go's types, and without quoting the input.
func decodeError(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends too early")
	case errors.As(err, &wrong):
		return fmt.Errorf("its field %q holds a %s", wrong.Field, wrong.Value)
	}
	return fmt.Errorf("it is not JSON: %w", err)
}
