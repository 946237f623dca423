package fit

import "sync"

// ggmlType is a block format of GGUF tensors.
type ggmlType struct {
	block int64 // weights in a block
	bytes int64 // bytes of a block
}

// ggmlTypes lists block sizes as in ggml/src/ggml-common.h (August 2026).
var ggmlTypes = sync.OnceValue(func() map[string]ggmlType {
	return map[string]ggmlType{
		"F32": {1, 4}, "F16": {1, 2}, "BF16": {1, 2},
		"Q4_0": {32, 18}, "Q4_1": {32, 20}, "Q5_0": {32, 22}, "Q5_1": {32, 24}, "Q8_0": {32, 34},
		"Q2_K": {256, 84}, "Q3_K": {256, 110}, "Q4_K": {256, 144}, "Q5_K": {256, 176}, "Q6_K": {256, 210},
		"IQ1_S": {256, 50}, "IQ1_M": {256, 56},
		"IQ2_XXS": {256, 66}, "IQ2_XS": {256, 74}, "IQ2_S": {256, 82},
		"IQ3_XXS": {256, 98}, "IQ3_S": {256, 110}, "IQ4_NL": {32, 18}, "IQ4_XS": {256, 136},
		"TQ1_0": {256, 54}, "TQ2_0": {256, 66},
		"MXFP4": {32, 17}, "NVFP4": {64, 36}, "Q1_0": {128, 18}, "Q2_0": {64, 18},
	}
})

// mixBase gives the block type that most tensors of a mixture have. The keys
// are the names that llama-quantize takes.
var mixBase = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"F32": "F32", "F16": "F16", "BF16": "BF16",
		"Q8_0": "Q8_0", "Q6_K": "Q6_K", "Q5_K_M": "Q5_K", "Q5_K_S": "Q5_K", "Q5_1": "Q5_1", "Q5_0": "Q5_0",
		"Q4_K_M": "Q4_K", "Q4_K_S": "Q4_K", "Q4_1": "Q4_1", "Q4_0": "Q4_0", "IQ4_NL": "IQ4_NL", "IQ4_XS": "IQ4_XS",
		"Q3_K_L": "Q3_K", "Q3_K_M": "Q3_K", "Q3_K_S": "Q3_K",
		"IQ3_M": "IQ3_S", "IQ3_S": "IQ3_S", "IQ3_XS": "IQ3_S", "IQ3_XXS": "IQ3_XXS",
		"Q2_K": "Q2_K", "Q2_K_S": "Q2_K",
		"IQ2_M": "IQ2_S", "IQ2_S": "IQ2_XS", "IQ2_XS": "IQ2_XS", "IQ2_XXS": "IQ2_XXS", "IQ1_M": "IQ1_M", "IQ1_S": "IQ1_S",
		"TQ2_0": "TQ2_0", "TQ1_0": "TQ1_0", "MXFP4_MOE": "Q8_0",
	}
})

// needsMatrix: mixtures that llama-quantize makes with an importance matrix
// only. Elsewhere a matrix changes a few tensors; files without are assumed.
var needsMatrix = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		"IQ3_XXS": true, "IQ2_M": true, "IQ2_S": true, "IQ2_XS": true, "IQ2_XXS": true, "IQ1_M": true, "IQ1_S": true, "Q2_K_S": true,
	}
})

// bytesOf is the size of a tensor in a block type. A row is padded to nothing:
// llama-quantize falls back to another type instead, see fallback.
func bytesOf(t tensor, typ string) int64 {
	g := ggmlTypes()[typ]
	return t.rows * t.count * (t.cols / g.block * g.bytes)
}

// GGUFBytes is the size of a matrix in a block type of GGUF files, false where
// there is no such type or a row is no whole number of blocks.
func GGUFBytes(typ string, rows, cols int64) (int64, bool) {
	g, ok := ggmlTypes()[typ]
	if !ok || cols%g.block != 0 {
		return 0, false
	}
	return bytesOf(tensor{rows: rows, cols: cols, count: 1}, typ), true
}
