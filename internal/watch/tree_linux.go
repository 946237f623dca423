package watch

import (
	"bytes"
	"os"
	"strconv"
)

var pageSize = int64(os.Getpagesize())

// treeBytes adds up the resident memory of a process and of all that it
// started. Pages that processes share count in each of them.
func treeBytes(root int) int64 {
	children := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if parent, ok := parentOf(pid); ok {
				children[parent] = append(children[parent], pid)
			}
		}
	}
	sum, tree := int64(0), []int{root}
	for i := 0; i < len(tree); i++ {
		sum += resident(tree[i])
		tree = append(tree, children[tree[i]]...)
	}
	return sum
}

// parentOf reads /proc/PID/stat: "42 (a name) S 1 ...". The name may hold
// blanks and brackets.
func parentOf(pid int) (int, bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	f := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(f) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(f[1]))
	return parent, err == nil
}

// resident reads the second number of /proc/PID/statm, in pages.
func resident(pid int) int64 {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	f := bytes.Fields(raw)
	if err != nil || len(f) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(string(f[1]), 10, 64)
	return n * pageSize
}
