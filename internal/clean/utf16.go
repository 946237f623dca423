package clean

import (
	"bytes"
	"encoding/binary"
)

// UTF16 tells text in UTF-16 by its byte order mark, or, where a tool dropped
// the mark, by every other byte being zero. It returns nil for other text, and
// how long the mark is.
func UTF16(head []byte) (order binary.ByteOrder, mark int) {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return binary.LittleEndian, 2
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return binary.BigEndian, 2
	}
	var zeros [2]int
	for i, c := range head {
		if c == 0 {
			zeros[i%2]++
		}
	}
	half := len(head) / 2
	switch {
	case half < 4:
		return nil, 0
	case zeros[1]*10 >= half*7 && zeros[0]*10 < half:
		return binary.LittleEndian, 0
	case zeros[0]*10 >= half*7 && zeros[1]*10 < half:
		return binary.BigEndian, 0
	}
	return nil, 0
}
