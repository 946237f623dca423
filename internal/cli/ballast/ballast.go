// Package ballast keeps the garbage collector from running before main does.
//
// The packages that glamour imports allocate some megabytes while they
// initialise. The collector starts at four: it would run twice until a short
// report is out, and find next to nothing. That is a tenth of the whole run.
// Since it counts this package's memory as in use, it waits for 48 megabytes
// instead. Nothing touches that memory, so the system never provides it.
//
// debug.SetGCPercent would come too late: Go initialises packages in the order
// of their import paths, those first that wait for no other, and runtime/debug
// sorts behind all that glamour imports. This one waits for nothing.
package ballast

import "runtime"

var ballast = make([]byte, 24<<20)

// Release lets go of the memory. The collection that it has put off is the last
// one to count it.
func Release() {
	runtime.KeepAlive(ballast)
	ballast = nil
}
