package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNoNetwork: nothing is ever sent anywhere, since there is nothing in the
// binary to send it with. net/netip and net/url only read addresses.
func TestNoNetwork(t *testing.T) {
	for _, os := range []string{"linux", "darwin", "windows"} {
		list := exec.Command("go", "list", "-deps", ".")
		list.Env = append(list.Environ(), "GOOS="+os, "CGO_ENABLED=0")
		out, err := list.Output()
		require.NoError(t, err)
		deps := strings.Fields(string(out))
		require.Contains(t, deps, "github.com/oomdoc/oomdoc/diagnose")
		for _, dep := range deps {
			switch {
			case dep == "net" && os == "windows":
				// golang.org/x/sys/windows, which terminals need, declares calls with
				// its types. What the linker keeps of it are four addresses and no
				// code that could send (go tool nm; x/sys 0.49).
			case dep == "net/netip", dep == "net/url", strings.HasPrefix(dep, "golang.org/x/net/html"):
			case dep == "net", strings.HasPrefix(dep, "net/"), strings.HasPrefix(dep, "crypto/tls"), strings.HasPrefix(dep, "golang.org/x/net/"), dep == "log/syslog", dep == "plugin":
				t.Errorf("the binary for %s has %s in it", os, dep)
			}
			assert.NotContains(t, dep, "grpc")
		}
	}
}
