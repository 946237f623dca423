package addon

import (
	"slices"
	"strings"
)

// Solid names the sizes of a node pack that makes objects, "" for any other.
func Solid(pack string) string {
	has := func(word string) bool { return strings.Contains(strings.ToLower(pack), word) }
	if slices.ContainsFunc([]string{"3d", "trellis", "mesh", "tripo", "voxel"}, has) {
		return "octree or texture resolution, number of faces"
	}
	return ""
}
