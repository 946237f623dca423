// Package fit holds the arithmetic of memory: what a model's weights, its KV
// cache and its compute buffers weigh, and what of it fits a card.
//
// Everything is a pure function of a catalogue that is embedded in the package
// and parsed on first use. Sizes are bytes. MiB and GiB are powers of two;
// parameter counts are decimal, as model names are.
//
// All of it is safe for concurrent use. Models and cards come out of the
// catalogue as they are: do not change them.
//
// The figures agree with sizes that programs printed; docs/fit.md holds the
// table of errors, and a test keeps it true.
package fit
