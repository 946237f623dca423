package spans

import (
	"slices"
	"strings"
)

// rows is the table: which words lead to what a stranger wrote, and how far it
// goes from there. Each line of it says which programs print it.
func rows() []row {
	return slices.Concat(requestRows(), promptRows(), chatRows(), webRows())
}

func each(read func(f *finder, at, end int), words ...string) []row {
	out := make([]row, len(words))
	for i, w := range words {
		out[i] = row{w, read}
	}
	return out
}

// less makes the reader of a word that is followed by so many bytes of what it
// reads: short words are looked for together with those, which is quicker.
func less(n int, read func(f *finder, at, end int)) func(f *finder, at, end int) {
	return func(f *finder, at, end int) { read(f, at, end-n) }
}

// requestRows are lines and structs that all belong to a request.
func requestRows() []row {
	return slices.Concat(
		each(toLineEnd(nil), "Received request ", "Added request ", "Aborted request ", "Finished request ", "Generated response "),                                                                 // vLLM, Aphrodite; an id is what the client sent
		each(toLineEnd(nil), "Receive: obj=", "Finish: obj="),                                                                                                                                       // SGLang, --log-requests
		each(toLineEnd(nil), "Enter generate, args:", "Enter chat, args:", "Enter async_chat, args:", "Enter async_generate, args:", "Enter create_embedding, args:", "Enter text_to_image, args:"), // Xinference
		each(toLineEnd(nil), "input modified to: ", "[Prompt Expansion] "),                                                                                                                          // LocalAI; Fooocus
		each(toLineEnd(nil), "log_server_request", "log_server_r:"),                                                                                                                                 // llama.cpp
		each(braces, "GenerateParameters {", "ChatRequest {", "CompletionRequest {", "GenerateRequest {"),                                                                                           // TGI
		each(braces, "Arguments: ("), // AUTOMATIC1111 and its forks (modules/call_queue.py)
		each(toLineEnd(infotext), "Negative prompt: "),
		each(toLineEnd(parameters), "Steps: "),
	)
}

// promptRows are keys whose value is text for a model, whoever prints them.
func promptRows() []row {
	return slices.Concat(
		each(prompted, "prompt", "prompts"),
		each(value(Prompt), "input_value", "raw_input", "user_input", "chat_input", "generated_text", "reasoning_content", "widgets_values", "guided_json", "guided_regex", "guided_grammar", "stop_strings"), // pydantic, webuis, clients
		each(content, "content", "inputs"), // messages of a chat
		each(numbers, "token_ids", "input_ids", "prompt_ids"),
		each(option, "--prompt ", "--system-prompt ", "--negative-prompt ", "--negative_prompt "),
		each(less(1, option), ` -p "`, ` -p '`),
	)
}

// chatRows are conversations: as JSON, and as chat templates write them.
func chatRows() []row {
	return slices.Concat(
		each(quotedKey(objectOf), "messages", "class_type", "sampling_params", "tool_calls", "chat_template_kwargs"),
		each(less(2, quotedKey(objectOf)), `role":`, `role':`), each(less(3, quotedKey(objectOf)), `role\":`, `role\':`), each(less(6, quotedKey(objectOf)), "role&quot;", "role&#39;:"),
		each(turn, turnStarts...),
		each(spoken, "USER: "),
	)
}

// webRows are what servers keep of HTTP.
func webRows() []row {
	return slices.Concat(
		each(accessLog, " HTTP/1.", " HTTP/2", " HTTP/3"),
		each(target, "[GIN]", "[LM STUDIO SERVER]"), // Ollama
		each(header, "User-Agent", "user_agent", "userAgent", "http_user_agent", "Referer", "http_referer", "X-Request-Id", "X-Forwarded-For"),
		each(targetKey, "request_uri", "requestUrl", "query"),
		each(less(1, targetKey), " uri=", " url=", " path="), each(less(2, targetKey), `uri":`, `url":`, `path":`),
		each(toLineEnd(noModel), "The model `", "model '"),
	)
}

// noModel wants an answer to who asked for a model that is not served.
func noModel(f *finder, _, end int) bool {
	return strings.Contains(f.s[end:min(f.lineEnd(end), end+200)], "does not exist")
}

// quotedKey wants the word to be a key: in quotes, or with what a call or a
// dictionary has behind it.
func quotedKey(read func(f *finder, at, end int)) func(f *finder, at, end int) {
	return func(f *finder, at, end int) {
		if at == 0 || end >= len(f.s) || wordly(f.s[at-1]) {
			return
		}
		if _, ok := f.markAt(end); ok && strings.IndexByte("\"';", f.s[at-1]) >= 0 {
			read(f, at, end)
			return
		}
		if rest := f.s[end:min(len(f.s), end+3)]; strings.HasPrefix(rest, "=[") || strings.HasPrefix(rest, "={") || strings.HasPrefix(rest, "=(") {
			read(f, at, end)
		}
	}
}

// prompted reads a prompt. One in quotes is a string; one without begins its
// line and goes on to the end of it.
func prompted(f *finder, at, end int) {
	if end < len(f.s) && (wordly(f.s[end]) || f.s[end] == '-') {
		return
	}
	begin, ok := f.behindKey(end)
	if !ok || begin >= len(f.s) {
		return
	}
	if at > 0 && strings.IndexByte("\"';", f.s[at-1]) >= 0 {
		objectOf(f, at, end)
		return
	}
	if f.value(begin, Prompt) {
		return
	}
	start, stop := f.line(at)
	if word := strings.TrimLeft(f.s[start:at], " *\t"); (word == "" || strings.EqualFold(word, "negative_")) && begin < stop && !number(f.s[begin:stop]) {
		f.add(begin, stop, Prompt)
	}
}

// number reports a value that is one: "prompt: 26 tokens".
func number(s string) bool { return digit(s[0]) || s[0] == '-' && len(s) > 1 && digit(s[1]) }

// content reads what a message says, where the line is one of a chat: shippers
// of logs have their lines under this key, too.
func content(f *finder, at, end int) {
	begin, ok := f.behindKey(end)
	if !ok || at == 0 || wordly(f.s[at-1]) {
		return
	}
	start, stop := f.line(at)
	near := f.s[max(start, at-1000):min(stop, at+1000)]
	if f.s[at:end] == "inputs" || strings.Contains(near, "role") || strings.Contains(near, "messages") || strings.Contains(near, "delta") {
		f.value(begin, Prompt)
	}
}

// option reads the value of an option that a prompt is given with.
func option(f *finder, at, end int) {
	if end >= len(f.s) {
		return
	}
	m, ok := f.markAt(end)
	if !ok {
		return
	}
	from := end + len(m.text)
	if to := f.closing(m, from, min(f.lineEnd(end), from+maxReach/4)); f.s[at:end] == " -p " && (to < from || !strings.Contains(f.s[from:to], " ") || strings.IndexByte("/.$", f.s[from]) >= 0) {
		return // a port, a directory
	}
	f.value(end, Prompt)
}

// infotext wants the lines that AUTOMATIC1111 writes into pictures. The prompt
// itself stands on the lines above, up to one that a log began.
func infotext(f *finder, at, end int) bool {
	start, stop := f.line(at)
	if strings.TrimLeft(f.s[start:at], " \t>|*") != "" {
		return true
	}
	settings := strings.Contains(f.s[stop:min(len(f.s), stop+maxReach/4)], "\nSteps: ")
	for n := 0; n < fewLines && start > 0; n++ {
		from := strings.LastIndexByte(f.s[max(0, start-1-maxReach/4):start-1], '\n') + 1 + max(0, start-1-maxReach/4)
		line := f.s[from : start-1]
		if strings.TrimSpace(line) == "" || record(line) && (n > 0 || !settings) {
			break
		}
		f.out = append(f.out, Span{from, endOfLine(f.s, from), Prompt})
		start = from
	}
	return true
}

// fewLines are as many as a prompt may have.
const fewLines = 12

// parameters wants the line of settings of such a text.
func parameters(f *finder, _, end int) bool {
	rest := f.s[end:min(f.lineEnd(end), end+200)]
	return strings.Contains(rest, "Sampler: ") && strings.Contains(rest, "Seed: ") || strings.Contains(rest, "CFG scale: ")
}
