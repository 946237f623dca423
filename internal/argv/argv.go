// Package argv knows which words of a command line are not to be repeated to
// somebody who may only have read that line.
package argv

import "strings"

// runs are options that load or run code from elsewhere, and opens those that
// let others in or let them read files here. Names are normalised: lower case,
// "_" for "-", no dashes before them.
var (
	runs = words("trust_remote_code trust_repo plugin plugins plug_in plug_ins tool_parser_plugin reasoning_parser_plugin logits_processors logits_processor_pattern worker_cls worker_extension_cls " +
		"middleware hook hooks pre_hook post_hook init_script startup_script exec eval extension extensions load_extension custom_node custom_nodes front_end_version code_revision use_remote_code")
	opens = words("allowed_local_media_path allowed_media_domains media_path listen share enable_insecure_extension_access public_api api_streaming_url gradio_auth_path rpc allow_code disable_safe_unpickle " +
		"allow_credentials allowed_origins allowed_headers cors_allow_origins enable_cors_header privileged ngrok nowebui_auth tls_extra_sans enable_runtime_lora")
	// hosts open the machine where they name all of its addresses.
	hosts = words("host bind bind_address server_name listen_host hostname ip address")
)

func words(s string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		out[w] = true
	}
	return out
}

// Opens reports an option that loads or runs foreign code, or opens the machine.
// The name may have its dashes; the value may be empty.
func Opens(name, value string) bool {
	name = norm(name)
	value = strings.Trim(value, `'" `)
	return runs[name] || opens[name] || hosts[name] && everywhere(value) || remote(value)
}

// everywhere reports an address that stands for all of the machine's.
func everywhere(value string) bool {
	return value == "0.0.0.0" || value == "::" || value == "[::]" || value == "*" || strings.HasPrefix(value, "0.0.0.0:")
}

// remote reports a URL of another machine.
func remote(value string) bool {
	scheme, rest, ok := strings.Cut(value, "://")
	if !ok || scheme == "" || strings.ContainsAny(scheme, "/ ") {
		return false
	}
	for _, here := range [...]string{"localhost", "127.0.0.1", "[::1]"} {
		if strings.HasPrefix(rest, here) {
			return false
		}
	}
	return true
}

// Closed returns the words of a command without the options that [Opens], but
// for those that keep wants, and the names of the options left out. A switch
// takes the word behind it along only where that is a value: a model's name
// behind --trust-remote-code stays.
func Closed(command []string, keep func(name string) bool) (kept, left []string) {
	for i := 0; i < len(command); i++ {
		flag, value, joined := strings.Cut(command[i], "=")
		next := ""
		if !joined && i+1 < len(command) && !strings.HasPrefix(command[i+1], "-") {
			next = command[i+1]
			value = next
		}
		if len(flag) < 2 || flag[0] != '-' || !Opens(flag, value) || keep(flag) {
			kept = append(kept, command[i])
			continue
		}
		left = append(left, named(flag))
		if next != "" && !switches[norm(flag)] {
			i++
		}
	}
	return kept, left
}

// named is an option as a sentence may name it.
func named(flag string) string {
	if strings.Trim(norm(flag), "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return "an option"
	}
	return flag
}

// switches take no value.
var switches = words("trust_remote_code listen share enable_insecure_extension_access public_api allow_code disable_safe_unpickle allow_credentials enable_cors_header privileged use_remote_code")

func norm(flag string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimLeft(flag, "-")), "-", "_")
}
