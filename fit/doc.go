// Package fit holds the arithmetic of memory: what a model's weights, its KV
// cache and its compute buffers weigh, and what of it fits a card.
//
// Everything is a pure function of a catalogue that is embedded in the package
// and parsed on first use. Sizes are bytes. MiB and GiB are powers of two;
// parameter counts are decimal, as model names are.
//
// The figures agree with sizes that programs printed; docs/fit.md holds the
// table of errors, and a test keeps it true.
package fit
