package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVersionsIn(t *testing.T) {
	for log, want := range map[string]string{
		"INFO [api_server.py:1043] vLLM API server version 0.8.5.post1\nPyTorch version: 2.6.0+cu124\n": "vLLM 0.8.5.post1, PyTorch 2.6.0+cu124",
		"| NVIDIA-SMI 550.54.14   Driver Version: 550.54.14   CUDA Version: 12.4 |":                     "Driver 550.54.14, CUDA 12.4",
		"torch==2.1.0\ntorchvision==0.16.0\ntransformers==4.40.1\ntorch==2.1.2":                         "PyTorch 2.1.2, transformers 4.40.1",
		"ollama version is 0.5.7\nPython version: 3.10.6 (main)\nComfyUI version: v0.3.10":              "Ollama 0.5.7, Python 3.10.6, ComfyUI 0.3.10",
		"7.10 GiB is allocated by PyTorch, PyTorch 2.00 GiB, CUDA 12.5 GiB, torch version unknown":      "",
	} {
		assert.Equal(t, want, strings.Join(versionsIn(log), ", "))
	}
}
