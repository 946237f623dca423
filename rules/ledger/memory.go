package ledger

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
)

// Memory is what filled the memory that ran out when it did. Its parts add up
// to the total, to the byte.
type Memory struct {
	TotalBytes int64 `json:"total_bytes"`
	// Of says what the total is: the card, a limit below that, or what was free
	// of the card before the program began.
	Of string `json:"of"`
	// Basis of the total: "estimate" where the card's name tells it.
	Basis string       `json:"basis"`
	Parts []MemoryPart `json:"parts"`
}

// What a total is of.
const (
	OfCard  = "card"
	OfLimit = "limit"
	OfFree  = "free_before"
)

// MemoryPart is a share of the memory. Its ID is one of the Part constants.
type MemoryPart struct {
	ID    string `json:"id"`
	Bytes int64  `json:"bytes"`
	// Basis is "log" for the log's figures and their differences, "estimate"
	// where the model's shape or the card's name gave it.
	Basis string `json:"basis"`
}

// What fills a card.
const (
	PartWeights   = "weights"
	PartCache     = "kv_cache"
	PartCompute   = "compute"           // activations, buffers of the computation, CUDA graphs
	PartTensors   = "tensors"           // the program's tensors where more is not known of them
	PartUnused    = "reserved_unused"   // taken by the program's allocator, not in use
	PartDriver    = "driver"            // contexts and libraries of this program
	PartLibraries = "libraries"         // of this program, outside PyTorch and more than a driver takes
	PartBuffers   = "other_allocations" // of this program, outside its allocator's heap (MPS)
	PartOthers    = "other_processes"
	PartUnknown   = "unaccounted" // neither stated as free nor as anybody's
	PartKept      = "outside_the_share"
	PartFree      = "free"
)

// Books hold parts against a total.
type Books struct {
	Memory
	// Rests is the basis of what is computed from the total.
	Rests string
}

// OpenBooks opens the books of so many bytes.
func OpenBooks(total int64, of string) *Books {
	return &Books{Memory{TotalBytes: total, Of: of, Basis: "log"}, "log"}
}

// Add books a part; parts of one kind are one.
func (l *Books) Add(id string, bytes int64, basis string) {
	if bytes == 0 {
		return
	}
	for i := range l.Parts {
		if l.Parts[i].ID == id {
			l.Parts[i].Bytes += bytes
			return
		}
	}
	l.Parts = append(l.Parts, MemoryPart{ID: id, Bytes: bytes, Basis: basis})
}

// Left is what no part has yet.
func (l *Books) Left() int64 {
	left := l.TotalBytes
	for _, p := range l.Parts {
		left -= p.Bytes
	}
	return left
}

// Rest books what is left; less than the figures' roundings is nothing.
func (l *Books) Rest(id string) {
	if n := l.Left(); n > Roundings || n < 0 || id == PartFree {
		l.Add(id, n, l.Rests)
	}
}

// Roundings is what figures of two decimals of a GiB can be off together.
const Roundings = 24 * units.MiB

// close returns the books. What is off by roundings only is made good where no
// figure is stated, else with the largest part; more is a contradiction, and
// then there is no answer.
func (l *Books) close() *Memory {
	if l == nil || l.TotalBytes <= 0 {
		return nil
	}
	l.Parts = slices.DeleteFunc(l.Parts, func(p MemoryPart) bool { return p.Bytes <= 0 && p.Bytes >= -Roundings })
	if len(l.Parts) < 2 {
		return nil
	}
	off := l.Left()
	if off > Roundings || off < -Roundings {
		return nil
	}
	largest := &l.Parts[0]
	for i := range l.Parts {
		if l.Parts[i].Bytes < 0 {
			return nil
		}
		if l.Parts[i].Bytes > largest.Bytes {
			largest = &l.Parts[i]
		}
	}
	for i := range l.Parts {
		switch l.Parts[i].ID {
		case PartUnknown, PartDriver, PartCompute, PartKept:
			if l.Parts[i].Bytes+off > 0 {
				largest = &l.Parts[i]
			}
		}
	}
	largest.Bytes += off
	return &l.Memory
}

// Sized is a size that the log gives under a name, in bytes; 0 for none.
func Sized(c *Case, name string) int64 {
	x, _ := c.Fact(name)
	return SizeOf(x.Size)
}

// FullSwap is a swap of at least half the RAM that was used up, nearly, when a
// program was ended; more of it only makes the end come later. 0 where it was
// not, or the log does not say.
func FullSwap(c *Case) int64 {
	ram, swap, used := Sized(c, "oomd_ram"), Sized(c, "oomd_swap"), Sized(c, "oomd_swap_used")
	if swap == 0 && Sized(c, "kernel_swap") > 0 {
		ram, swap = Sized(c, "kernel_ram"), Sized(c, "kernel_swap")
		used = swap - Sized(c, "kernel_swap_free")
	}
	if ram <= 0 || swap*2 < ram || used*10 < swap*8 {
		return 0
	}
	return swap
}
