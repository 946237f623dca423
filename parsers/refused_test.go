package parsers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// TestRefusedInPassing: one line of a program without a parser of its own says
// that memory was refused, and its neighbour does not.
func TestRefusedInPassing(t *testing.T) {
	for name, c := range map[string]struct {
		log  string
		want fact.Kind // "" for no failure
	}{
		"killed, in French":       {"Caching all 373 images.\nProcessus arrêté\n", fact.ShellKilled},
		"killed, in a sentence":   {"Il processo è stato Ucciso da qualcuno", ""},
		"bwa":                     {"[E::bwa_idx_load] fail to allocate memory", fact.PlainHost},
		"tcmalloc refused":        {"tcmalloc: large alloc 17179869184 bytes == (nil) @  0x7f2a 0x7f2b", fact.PlainHost},
		"tcmalloc gave it":        {"tcmalloc: large alloc 17179869184 bytes == 0x55d4c000 @  0x7f2a 0x7f2b", ""},
		"httpd":                   {"(12)Cannot allocate memory: AH00159: fork: Unable to fork new process", fact.PlainHost},
		"httpd, another reason":   {"(2)No such file or directory: AH00558: could not open the log", ""},
		"Abaqus":                  {"***ERROR: THE REQUESTED MEMORY CANNOT BE ALLOCATED", fact.PlainHost},
		"iOS":                     {"EXC_RESOURCE -> Viewer[1234] exceeded mem limit: ActiveHard 1450 MB (fatal)", fact.PlainHost},
		"iOS, processor time":     {"EXC_RESOURCE -> Viewer[1234] CPU: 90% over 60 seconds", ""},
		"Android":                 {"lowmemorykiller: Kill 'org.example.app' (4321), uid 10110, oom_score_adj 900 to free 132456kB rss", fact.PlainHost},
		"WebAssembly":             {"RuntimeError: Aborted(OOM). Build with -sASSERTIONS for more info.", fact.PlainHost},
		"BigQuery":                {"Resources exceeded during query execution: The query could not be executed in the allotted memory.", fact.PlainHost},
		"Greenplum":               {"ERROR:  Canceling query because of high VMEM usage. current group id is 16437", fact.PlainHost},
		"npm":                     {"npm ERR! code ENOMEM\nnpm ERR! syscall spawn", fact.PlainHost},
		"npm, another code":       {"npm ERR! code ENOENT\nnpm ERR! syscall open", ""},
		"Windows' own list":       {"Windows successfully diagnosed a low virtual memory condition.", fact.PlainHost},
		"Thrust's algorithm":      {"terminate called after throwing an instance of 'thrust::system::system_error'\n  what():  parallel_for failed: out of memory", fact.PlainDevice},
		"MXNet behind its logger": {"[17:36:58] include/dmlc/./logging.h:308: [17:36:58] src/storage/./pooled_storage_manager.h:111: cudaMalloc failed: out of memory\n\nStack trace returned 10 entries:", fact.DeviceAlloc},
		"SGLang 0.1":              {"Prefill out of memory. This should nerver happen.\n#tokens: 7", fact.SGLangTokens},
		"systemd-oomd 248":        {"systemd-oomd[1003]: Memory pressure for /user.slice/user-1000.slice/user@1000.service is greater than 10 for more than 10 seconds and there was reclaim activity", fact.OOMD},
		"an allocator's dump":     {"bfc_allocator.cc:1119] Total size in pool: 89.77GiB memory_limit_: 89.77GiB available size: 153B curr_region_allocation_bytes_: 179.55GiB\nbfc_allocator.cc:1128] Stats: \nLimit:                        89.77GiB\nInUse:                        81.00GiB", fact.TFAlloc},
		"static TLS":              {"ImportError: /usr/lib/libgomp.so.1: cannot allocate memory in static TLS block", ""},
		"Thrust, without detail":  {"terminate called after throwing an instance of 'thrust::system::detail::bad_alloc'\n  what():  std::bad_alloc: out of memory", fact.RMMAlloc},
	} {
		t.Run(name, func(t *testing.T) {
			found := read(c.log).Failures
			if c.want == "" {
				assert.Empty(t, found)
				return
			}
			require.NotEmpty(t, found)
			assert.Equal(t, c.want, found[0].Kind)
		})
	}
}
