package clean

import "strings"

// Listing reports a line of ComfyUI's list of what is installed, whatever is at
// work: "   0.4 seconds: D:\ComfyUI\custom_nodes\ComfyUI-GGUF" (nodes.py,
// init_external_custom_nodes).
func Listing(line string) bool {
	return strings.Contains(line, " seconds") && strings.Contains(line, "custom_nodes")
}
