package build

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVersion(t *testing.T) {
	plain := strings.TrimSpace(number)
	assert.Regexp(t, `^\d+\.\d+\.\d+$`, plain)
	info := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: version}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "4e3cbae0123456789abcdef"}
	for _, c := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{nil, plain + "-dev"},
		{info("(devel)"), plain + "-dev (go1.26.8)"},
		{info("v1.2.3", commit), "1.2.3 (commit 4e3cbae01234, go1.26.8)"},
		{info("v1.2.3"), "1.2.3 (go1.26.8)"}, // go install ...@v1.2.3
		{info("v1.2.4-0.20261122144830-4e3cbae01234", commit), plain + "-dev (commit 4e3cbae01234, go1.26.8)"},
		{info("v1.2.3+dirty", commit, debug.BuildSetting{Key: "vcs.modified", Value: "true"}), plain + "-dev (commit 4e3cbae01234, with changes, go1.26.8)"},
	} {
		assert.Equal(t, c.want, stringOf(c.info))
	}
}
