//go:build !linux

package watch

import (
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// treeBytes adds up the resident memory of a process and of all that it
// started, as ps tells it. Windows has no ps: nothing is watched there but
// cards.
func treeBytes(root int) int64 {
	if runtime.GOOS == "windows" {
		return 0
	}
	out, err := exec.Command("ps", "-axo", "pid=,ppid=,rss=").Output()
	if err != nil {
		return 0
	}
	return sumTree(string(out), root)
}

// sumTree reads lines of process, parent and KiB.
func sumTree(table string, root int) int64 {
	children, held := map[int][]int{}, map[int]int64{}
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		pid, _ := strconv.Atoi(f[0])
		parent, _ := strconv.Atoi(f[1])
		kib, _ := strconv.ParseInt(f[2], 10, 64)
		children[parent] = append(children[parent], pid)
		held[pid] = kib << 10
	}
	sum, tree := int64(0), []int{root}
	for i := 0; i < len(tree); i++ {
		sum += held[tree[i]]
		tree = append(tree, children[tree[i]]...)
	}
	return sum
}
