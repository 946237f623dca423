package fit

import (
	"fmt"
	"slices"
)

// PyTorchAllocation is what the caching allocator asks the driver for, and so
// what "Tried to allocate" prints: 2 MiB for anything up to 1 MiB, 20 MiB below
// 10 MiB, else the next multiple of 2 MiB (c10/cuda/CUDACachingAllocator.cpp,
// kSmallBuffer, kLargeBuffer, kRoundLarge).
func PyTorchAllocation(bytes int64) int64 {
	switch {
	case bytes <= MiB:
		return 2 * MiB
	case bytes < 10*MiB:
		return 20 * MiB
	}
	return (bytes + 2*MiB - 1) / (2 * MiB) * (2 * MiB)
}

// Part is a tensor of a model that has the size of a failed allocation.
type Part struct {
	// What it is: "MLP matrix", "head", "logits of 4096 tokens"...
	What string
	// Arithmetic with the numbers in it, "4096 x 14336 x 2".
	Arithmetic string
	Bytes      int64
}

// Explain returns the tensors of the model that PyTorch would report as this
// allocation, give or take slack bytes (5 MiB where GiB are printed with two
// decimals). 2 and 20 MiB explain nothing. A size has often several causes:
// accept one only with the phase of the log.
func (m *Model) Explain(allocation, slack int64) []Part {
	if allocation <= 20*MiB || m.Layers == 0 {
		return nil
	}
	var out []Part
	for _, p := range m.parts() {
		if d := PyTorchAllocation(p.Bytes) - allocation; d >= -slack && d <= slack {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b Part) int { return len(a.What) - len(b.What) })
	return slices.CompactFunc(out, func(a, b Part) bool { return a.What == b.What })
}

// parts lists the allocations that a model is known to fail on.
func (m *Model) parts() []Part {
	var out []Part
	add := func(what string, factors ...int64) {
		p := Part{What: what, Bytes: 1}
		for i, f := range factors {
			if i > 0 {
				p.Arithmetic += " x "
			}
			p.Arithmetic += fmt.Sprint(f)
			p.Bytes *= f
		}
		out = append(out, p)
	}
	for _, bytes := range []int64{1, 2, 4} {
		precision := map[int64]string{1: "8 bit", 2: "16 bit", 4: "32 bit"}[bytes]
		if m.FFN > 0 {
			add("MLP matrix, "+precision, m.Hidden, m.FFN, bytes)
			add("fused gate and up, "+precision, 2, m.Hidden, m.FFN, bytes)
		}
		add("attention projection, "+precision, m.Hidden, m.Heads*m.HeadDim, bytes)
		add("embedding or head, "+precision, m.Vocab, m.Hidden, bytes)
		if e := m.MoE; e != nil {
			add("experts' w13 of a layer, "+precision, e.Experts, 2*e.FFN, m.Hidden, bytes)
			add("experts' w2 of a layer, "+precision, e.Experts, e.FFN, m.Hidden, bytes)
		}
	}
	for n := int64(128); n <= 1<<17; n *= 2 {
		add(fmt.Sprintf("logits of %d tokens, 32 bit", n), n, m.Vocab, 4)
		add(fmt.Sprintf("logits of %d tokens, 16 bit", n), n, m.Vocab, 2)
		add(fmt.Sprintf("sort of the logits of %d sequences", n), n, m.Vocab, 12)
		add(fmt.Sprintf("attention matrix of %d tokens, 16 bit", n), m.Heads, n, n, 2)
		add(fmt.Sprintf("attention matrix of %d tokens, 32 bit", n), m.Heads, n, n, 4)
		if m.FFN > 0 {
			add(fmt.Sprintf("MLP rows of %d tokens, 16 bit", n), n, m.FFN, 2)
			add(fmt.Sprintf("fused MLP rows of %d tokens, 16 bit", n), n, 2*m.FFN, 2)
		}
	}
	return out
}
