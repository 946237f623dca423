package diagnose

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// decode returns a log as UTF-8: UTF-16 with a byte order mark is converted
// (PowerShell's > writes it), invalid bytes become U+FFFD.
func decode(raw []byte) string {
	var order binary.ByteOrder
	switch {
	case len(raw) >= 2 && raw[0] == 0xff && raw[1] == 0xfe:
		order = binary.LittleEndian
	case len(raw) >= 2 && raw[0] == 0xfe && raw[1] == 0xff:
		order = binary.BigEndian
	default:
		return strings.ToValidUTF8(strings.TrimPrefix(string(raw), "\ufeff"), "\ufffd")
	}
	units := make([]uint16, 0, len(raw)/2)
	for i := 2; i+1 < len(raw); i += 2 {
		units = append(units, order.Uint16(raw[i:]))
	}
	return string(utf16.Decode(units))
}
