// Package build is what a binary knows of its making.
package build

import (
	_ "embed"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
)

// number is that of the next release, for which a tag has the same name with a
// "v" before it. A build from an archive without its history knows it too.
//
//go:embed VERSION
var number string

// Number is the version as a release has it: "0.1.0", with "-dev" behind it in
// what is no release.
func Number() string {
	info, _ := debug.ReadBuildInfo()
	return NumberOf(info)
}

// String is the version with what it was made from: "0.1.0-dev (commit
// 4e3cbae12ab3, go1.26.8)".
func String() string {
	info, _ := debug.ReadBuildInfo()
	return stringOf(info)
}

// release is how the Go command names a tagged commit; others have a time and a
// hash behind it.
var release = regexp.MustCompile(`^v(\d+\.\d+\.\d+)$`)

// NumberOf is the version of a binary with this information in it, nil for one
// without.
func NumberOf(info *debug.BuildInfo) string {
	plain := strings.TrimSpace(number)
	if info != nil {
		if m := release.FindStringSubmatch(info.Main.Version); m != nil {
			return m[1]
		}
	}
	return plain + "-dev"
}

func stringOf(info *debug.BuildInfo) string {
	if info == nil {
		return NumberOf(nil)
	}
	var from []string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			from = append(from, "commit "+s.Value[:min(len(s.Value), 12)])
		case s.Key == "vcs.modified" && s.Value == "true":
			from = append(from, "with changes")
		}
	}
	return fmt.Sprintf("%s (%s)", NumberOf(info), strings.Join(append(from, info.GoVersion), ", "))
}
