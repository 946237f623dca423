package spans

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/workshop/cputime"
)

// marked are logs in which what a stranger wrote stands between « and ».
var marked = map[string]string{
	"vLLM":                       `INFO 01-02 03:04:05 [logger.py:39] Received request «chatcmpl-1: prompt: 'say \'hi\'\nvllm serve x', params: SamplingParams(n=1, stop=["a"], max_tokens=5), prompt_token_ids: [1, 2], lora_request: None.»`,
	"vLLM broken by a console":   "INFO 01-02 03:04:05 [logger.py:39] Received request «cmpl-1: prompt: 'aaaaaaa bbb»\n«bbb CUDA out of memory ccccccccccccccccccccccccccccccccccccccccccccccccccccccccc»\n«ddd', params: None»\nINFO 01-02 03:04:06 next",
	"SGLang":                     `[2026-01-02 03:04:05] Receive: obj=«GenerateReqInput(rid='a', text="it's", input_ids=None)»`,
	"TGI":                        `2026-01-02T03:04:05Z ERROR generate{parameters=GenerateParameters {« max_new_tokens: Some(20), stop: ["a}"] »}}: text_generation_router::infer: Server error: CUDA out of memory`,
	"Ollama":                     `time=2026-01-02T03:04:05Z level=DEBUG source=routes.go:1508 msg="chat request" images=0 prompt="«<|im_start|>user\nhi \"you\"<|im_end|>»" format=""`,
	"Ollama, numbers":            `time=2026-01-02T03:04:05Z level=DEBUG msg="loading cache slot" id=0 cache=0 prompt=26 used=0`,
	"llama-server":               `srv  log_server_r:« request: POST /v1/chat/completions 127.0.0.1 200»`,
	"chat JSON":                  `DEBUG body: {«"model":"evil/x","messages":[{"role":"user","content":"a } b"}],"n":1»} done`,
	"chat JSON in a string":      `DEBUG body="{«\"model\":\"evil/x\",\"messages\":[{\"role\":\"user\",\"content\":\"a \\\" } b\"}]»}" done`,
	"chat JSON in a JSON record": `{"level":"error","message":"CUDA out of memory","request":{«"messages":[{"role":"user","content":"x"}]»}}`,
	"prompt in a JSON record":    `{"level":"info","msg":"chat request","prompt":"«x»","n":1}`,
	"request of JSON":            `body {«"model":"evil","prompt":"x"»}`,
	"chat JSON, indented":        "2026-01-02 [DEBUG] {\n«  \"model\": \"evil/x\",»\n«  \"messages\": [»\n«    {\"role\": \"user\", \"content\": \"x\"}»\n«  ]»\n}\n",
	"a dictionary of Python":     `request: ChatCompletionRequest(«messages=[{'content': 'x', 'role': 'user'}], model='evil/x'»)`,
	"ChatML":                     "«<|im_start|>user»\n«CUDA out of memory<|im_end|>»\n«<|im_start|>assistant»\nINFO next",
	"marks of a tokenizer":       "print_info: BOS token = 1 '<|im_start|>'\nprint_info: EOS token = 2 '<|im_end|>'",
	"Llama 2":                    "prompt is «[INST] hi [/INST]» ok",
	"uvicorn":                    `INFO:     127.0.0.1:5555 - "POST «/v1/x?a=b» HTTP/1.1" 200 OK`,
	"nginx":                      `1.2.3.4 - «eve» [10/Oct/2025:13:55:36 +0000] "GET «/x» HTTP/1.1" 200 2326 «"http://a/" "Mozilla/5.0"»`,
	"GIN":                        `[GIN] 2026/01/02 - 03:04:05 | 200 | 1.5s | 127.0.0.1 | POST «    "/api/chat"»`,
	"headers":                    "User-Agent: «curl/8 CUDA out of memory»\nnext",
	"headers of JSON":            `{"headers":{"User-Agent":"«x»"}}`,
	"A1111":                      `*** Arguments: («'task(a)', 'it\'s', 512, ["x"]») {}`,
	"A1111's parameters":         "«a cat»\nNegative prompt: «ugly»\nSteps: «20, Sampler: Euler a, CFG scale: 7, Seed: 1, Size: 512x512, Model: x»\n",
	"ComfyUI":                    `{"6":{"inputs":{«"text":"x","clip":["4",1]},"class_type":"CLIPTextEncode"»}}`,
	"entities":                   "&quot;prompt&quot;: &quot;«CUDA out of memory»&quot;, ",
	"a prompt without quotes":    "prompt: «a cat»\nnegative_prompt: «ugly»\nheight: 512",
	"an option":                  `$ llama-cli -m a.gguf -p "«what is CUDA out of memory»" -n 5`,
	"a port":                     `$ docker run -p "8000:8000" -p "$PORT:1" x`,
	"pydantic":                   `  Input should be a valid list [type=list_type, input_value='«x»', input_type=str]`,
	"mail in a log":              "INFO 1\nINFO 2\nOn Mon, 5 Jan 2026, Eve wrote:\n«> CUDA out of memory»\n«> kill 1»\nINFO 3",
	"mail in a thread":           "Hi,\nOn Mon, 5 Jan 2026, Eve wrote:\n> CUDA out of memory\n> kill 1\nany idea?",
	"a log in quotes":            "> INFO 1\n> INFO 2\n> RuntimeError: CUDA out of memory",
	"chat in a log":              "INFO 1\nINFO 2\n«[10:32] <eve> run vllm serve x»\nINFO 3",
	"a shipper's record":         `{"content":"RuntimeError: CUDA out of memory","time":1}`,
	"a record of a request":      `{"method":"GET","path":"«/x y»","n":1} level=INFO method=GET path=«/z» n=2`,
	"prose":                      "it's a prompt, isn't it? The prompt is 'long'. prompt eval time = 12 ms",
}

func TestMarked(t *testing.T) {
	for name, text := range marked {
		log := strings.NewReplacer("«", "", "»", "").Replace(text)
		var b strings.Builder
		last := 0
		for _, x := range merged(log) {
			b.WriteString(log[last:x.From] + "«" + log[x.From:x.To] + "»")
			last = x.To
		}
		assert.Equal(t, text, b.String()+log[last:], name)
	}
}

// merged are the spans of a text, those that touch made one, cut at line ends.
func merged(s string) []Span {
	var out []Span
	for _, x := range Find(s) {
		for at := x.From; at < x.To; {
			end := min(endOfLine(s, at), x.To)
			if n := len(out); n > 0 && out[n-1].To == at {
				out[n-1].To = end
			} else if at < end {
				out = append(out, Span{at, end, x.Kind})
			}
			at = end + 1
		}
	}
	return out
}

func TestBlankKeepsLines(t *testing.T) {
	for name, text := range marked {
		assert.Equal(t, strings.Count(text, "\n"), strings.Count(Blank(strings.NewReplacer("«", "", "»", "").Replace(text)), "\n"), name)
	}
}

// TestLinear: each opening over and over, in one line and in many, whole and
// cut, takes time in proportion.
func TestLinear(t *testing.T) {
	const size = 128 << 10
	words := []string{"[", "{", "(", `"`, "'", `\"`, "> ", "<a> ", "GET ", "x wrote:\n> "}
	for _, r := range rows() {
		words = append(words, r.word, r.word+`: "`, `{"`+r.word+`": [{`, r.word+`=[1,`, `\"`+r.word+`\": \"`)
	}
	for _, w := range words {
		for _, text := range []string{strings.Repeat(w, size/len(w)), strings.Repeat(w+"\n ", 2500)} {
			require.Less(t, cputime.Least(most, func() { Find(text) }), most, "%q", w)
		}
	}
}

// most is a second for 1 MB, and much less for most.
const most = 125 * time.Millisecond
