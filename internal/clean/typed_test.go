package clean

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTyped(t *testing.T) {
	for _, s := range []string{
		"$ vllm serve a/b", "# python x.py", "> $ vllm serve a/b", "user@host:~/x$ vllm serve a/b", "(venv) [me@node1 x]$ python train.py", `PS C:\x> .\llama-server.exe -m a.gguf`, `C:\sd> python launch.py --medvram`, "(base) PS D:\\x> python main.py",
		"In [3]: !python train.py", "!pip install x", "+ python train.py --x", "❯ ollama run x", "me@mac x % python a.py", "root@5a1f:/work# vllm serve a/b", "2024-06-28T06:11:52.685300953Z $ python train.py",
		"vllm serve a/b", "python -m vllm.entrypoints.openai.api_server --model a", "CUDA_VISIBLE_DEVICES=0,1 torchrun train.py", "sudo docker run --gpus all vllm/vllm-openai --model a", "./llama-server -m a", `.\main.exe -m a`, `D:\x\python.exe server.py`,
		"export COMMANDLINE_ARGS=\"--medvram\"", "set COMMANDLINE_ARGS=--medvram", `CMD ["vllm", "serve", "a/b"]`, "command: vllm serve a/b", "- --model=a/b", "ExecStart=/usr/bin/ollama serve", "  --max-model-len 4096", "`vllm serve a/b`", "Command: vllm serve a/b",
		"zsh: abort      node-llama-cpp chat -m a.gguf -c 8192", "bash: line 1:  1374 Killed                  node x -m a", "[1]    4242 killed     node x -m a",
		"me  1234 99.9  3.1 123 456 pts/0 Rl+ 10:00 5:12 python server.py --model x",
	} {
		assert.True(t, Lines(s, 1)[0].Typed(), s)
	}
	for _, s := range []string{
		"I run vllm serve a/b", "you should try vllm serve evil/x --trust-remote-code", "INFO 11-18 18:07:17 [x.py:1] vllm serve a/b", "[rank0]: python x.py", "2025-10-16 09:06:59 DEBUG python x.py --model a", "the answer is: $ vllm serve a",
		"Loading model a/b", "see https://x/y", "RuntimeError: CUDA out of memory", "Usage: python x.py", "It costs 5 $ python",
	} {
		assert.False(t, Lines(s, 1)[0].Typed(), s)
	}
	assert.False(t, Lines(`ERROR x\nvllm serve a/b`, 1)[1].Typed())
}
