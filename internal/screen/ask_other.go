//go:build !unix

package screen

import (
	"os"
	"time"
)

// ask does not ask: a console of Windows takes its answers as events.
func ask(_, _ *os.File, _ time.Duration) heard { return heard{} }
