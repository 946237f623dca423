package data

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

// heap is a runtime whose own heap was full, as its one card says.
func heap(name, shown, language string, proofs []string, k cause.Card, sources program.Sources) program.Program {
	k.ID, k.Kinds, k.Said, k.Weight, k.Figures = name+"/heap", refused, proofs, cause.Decisive, bounded
	if k.Cause == "" {
		k.Cause = cause.BudgetMisconfigured
	}
	return program.Program{Name: name, Shown: shown, Edits: "flags", Language: language, Proofs: proofs, Sources: sources, Cards: []cause.Card{k}, Useless: ownLimit, Remedies: first(k)}
}

// ofArea: what is full is an area of the kernel, whatever programs hold.
func ofArea(c *ledger.Case) string {
	if c.Near("alloc failed, req-size:", "cannot allocate DMA CBs", "use vmalloc=<size> to increase") {
		return "What is full is an area of the kernel's own; programs hold nothing of it."
	}
	return ""
}

// Runtimes with a heap of a size of their own, and boards whose RAM is fixed.
var (
	SBCL = heap("sbcl", "SBCL", "other", []string{"Heap exhausted during", "Heap exhausted, game over", "Dynamic-space-size bytes ="}, cause.Card{
		Headline: "filled its own heap[[ of {bound}]]",
		Means:    "SBCL reserves its heap (dynamic space) at the start and never enlarges it.[[ It was {bound} here.]] The machine may have much more. A collection copies what lives, so it can fail well before the heap is full of live data.",
		Not:      "Closing other programs, or swap: the heap stays as large as it was at the start.",
		Cures: []cause.Cure{
			told("raise_memory_limit", "Start it with a larger heap", "RAM", "`sbcl --dynamic-space-size 8GB`, before any `--eval` or `--load` (Maxima: `maxima -X '--dynamic-space-size 8192'`). A saved program keeps the size with `:save-runtime-options t`."),
			told("empty_cache", "If it fills that too: let data go", "some work", "Drop references to results that are done; `(room)` shows what lives. An endless recursion or loop that only collects fills any heap."),
		},
		Sources: []string{"sbcl/src/runtime/gencgc.c", "https://www.sbcl.org/manual/"},
	}, program.Sources{"https://www.sbcl.org/manual/": "--dynamic-space-size --eval --load"})

	LuaJIT = heap("lua", "The Lua interpreter", "other", []string{"unprotected error in call to Lua API (not enough memory)"}, cause.Card{
		Headline: "was refused memory for Lua's objects",
		Means:    "LuaJIT without GC64 keeps its objects in the lowest 1 to 4 GB of addresses, however much RAM there is; plain Lua and LuaJIT with GC64 (the default since 2.1 on most 64-bit systems) end only where the system refuses. The message does not say which of the two it was.",
		Cures: []cause.Cure{
			told("upgrade_version", "Use a build with GC64", "a rebuild", "A newer release of the program, or LuaJIT 2.1 (older ones: `make XCFLAGS=-DLUAJIT_ENABLE_GC64`)."),
			told("lower_batch_size", "Hold less in Lua at once", "some rewriting", "Huge strings and tables count; memory from `ffi.C.malloc` lies outside. Build long strings in parts and write them out."),
			told("close_other_apps", "If the machine was full, free RAM", "free", "`free -h` while it runs shows which case it is."),
		},
		Sources: []string{"LuaJIT/src/lj_alloc.c", "https://luajit.org/status.html"},
	}, nil)

	Emscripten = heap("emscripten", "The WebAssembly program", "cpp", []string{"Cannot enlarge memory arrays", "Failed to grow the heap from"}, cause.Card{
		Headline: "used up the memory that its build allows[[: {bound}]]",
		Means:    "A program that Emscripten compiled gets a memory whose size, or largest size, is set when it is built.[[ It had {bound}.]] The computer may have much more. Where growth was allowed, the browser refused a larger piece; a 32-bit module ends at 4 GB.",
		Not:      "`--max-old-space-size`: this memory lies outside JavaScript's heap.",
		Cures: []cause.Cure{
			told("lower_batch_size", "As its user: smaller input, a fresh tab", "detail or time", "Reload the page, which frees what earlier runs left; take a smaller file, or the desktop version of the program."),
			told("raise_memory_limit", "As its author: let memory grow", "a rebuild", "`-sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB`, or a larger `-sINITIAL_MEMORY` (before 2020 `-s TOTAL_MEMORY`)."),
			told("empty_cache", "If it only fails after a while: free what is done", "some work", "Objects of C++ that JavaScript holds are freed by `delete()` alone."),
		},
		Sources: []string{"emscripten/src/settings.js"},
	}, program.Sources{"emscripten/src/settings.js": "ALLOW_MEMORY_GROWTH MAXIMUM_MEMORY INITIAL_MEMORY"})

	Board = heap("microcontroller", "The firmware", "cpp", []string{"lvgl set Error flag", "lvgl was marked as failed", "lcd_rgb_panel_alloc_frame_buffers", "camera: Failed to allocate frame buffer", "no mem for frame buffer", "memory allocation failed, allocating"}, cause.Card{
		Cause: cause.HostMemory, Headline: "was refused memory of the board[[: {asked}]]",
		Means: "The RAM of a microcontroller is some hundred kilobytes, and one free block must hold the whole request: the sum of the free blocks can be larger. A frame buffer takes width x height x bytes of a pixel. External memory (PSRAM) is used only where the board has it and the firmware turns it on.",
		Not:   "Freeing memory on the PC: the request was made on the board.",
		Cures: []cause.Cure{
			told("raise_memory_limit", "Turn on PSRAM, if the board has it", "slower memory", "ESP-IDF: menuconfig, Component config, ESP PSRAM; Arduino: Tools, PSRAM; ESPHome: a `psram:` entry with the mode of the board. The start then prints its size."),
			told("lower_resolution", "Use a smaller buffer", "detail or speed", "A draw buffer of a tenth of the screen (ESPHome's lvgl: `buffer_size: 10%`), a smaller camera frame, one buffer instead of two."),
			told("fix_shape", "Ask for it first, and print what is free", "free", "Large buffers at the start, before Wi-Fi and displays. ESP-IDF: `heap_caps_get_largest_free_block(MALLOC_CAP_8BIT)`; MicroPython: `gc.collect()`, then `gc.mem_free()`."),
		},
		Sources: []string{"https://docs.espressif.com/projects/esp-idf/en/stable/esp32/api-reference/system/mem_alloc.html", "https://esphome.io/components/lvgl/", "https://docs.micropython.org/en/latest/reference/constrained.html"},
	}, nil)

	KernelPages = program.Program{
		Name: "linux-kernel", Shown: "The Linux kernel", Edits: "admin", Language: "other",
		Useless: map[string]func(*ledger.Case) string{"close_other_apps": ofArea, "add_swap": ofArea, "lower_num_workers": ofArea, "use_smaller_model": ofArea},
		Proofs:  []string{"page allocation failure", "alloc failed, req-size:", "use vmalloc=<size> to increase", "vmalloc: allocation failure", "cannot allocate DMA CBs"},
		Cards: []cause.Card{
			{
				ID: "linux-kernel/cma", Kinds: refused, Said: []string{"alloc failed, req-size:", "cannot allocate DMA CBs"},
				Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "could not give a driver one contiguous piece of memory",
				Means: "Cameras, displays, video and NPU drivers need pieces without gaps, mostly from an area that is reserved at the start (CMA); \"req-size\" counts pages, of 4 KiB as a rule. ret -12: no such piece was free; -16: pages in the way could not be moved, which a retry can get over. The rest of RAM may be free.",
				Not:   "Swap: it does not enlarge that area.",
				Cures: []cause.Cure{
					told("raise_memory_limit", "Reserve a larger area", "RAM for other uses", "`cma=256M` on the kernel's command line (Raspberry Pi: `dtoverlay=vc4-kms-v3d,cma-256` in config.txt), or `linux,cma` in the device tree. `grep Cma /proc/meminfo` shows size and rest."),
					told("lower_resolution", "Ask for less at a time", "detail", "A lower resolution, fewer buffers or streams; start what needs the large piece first after a reboot."),
				},
				Sources: []string{"linux/mm/cma.c", "https://www.kernel.org/doc/html/latest/admin-guide/kernel-parameters.html"},
			},
			{
				ID: "linux-kernel/vmalloc", Kinds: refused, Said: []string{"use vmalloc=<size> to increase"},
				Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "ran out of addresses for vmalloc",
				Means: "The kernel maps large tables and modules into an area of addresses of its own, small on 32-bit systems. That area is full; RAM need not be.",
				Not:   "More RAM or swap: on 32 bit, more RAM can even make that area smaller.",
				Cures: []cause.Cure{
					told("raise_memory_limit", "Enlarge the area", "addresses for RAM", "`vmalloc=512M` on the kernel's command line, then a restart; `grep Vmalloc /proc/meminfo` shows it."),
					told("upgrade_version", "Use a 64-bit kernel", "an installation", "There the area is many terabytes. If it is one already, something leaks in it: `/proc/vmallocinfo` names the callers."),
				},
				Sources: []string{"linux/mm/vmalloc.c", "https://www.kernel.org/doc/html/latest/admin-guide/kernel-parameters.html"},
			},
			{
				ID: "linux-kernel/pages", Kinds: refused, Said: []string{"page allocation failure", "vmalloc: allocation failure"},
				Cause: cause.HostMemory, Weight: cause.Strong, Headline: "did not get the memory pages that it asked for",
				Means: "The order tells how much in one piece: 2 to its power pages (order 0: one of 4 KiB as a rule, 4: 64 KiB, 9: 2 MiB). Order 0 means that its zone was empty at that moment; from 3 on, memory is often free but in too small pieces. Nothing was killed. Many drivers try again or take smaller pieces; if a device failed at the same second, this was why.",
				Cures: []cause.Cure{
					told("raise_memory_limit", "Let the kernel keep more free", "that much RAM", "`sudo sysctl vm.min_free_kbytes=131072` helps network and disk drivers, which cannot wait; for high orders `echo 1 | sudo tee /proc/sys/vm/compact_memory` as a test."),
					told("close_other_apps", "Order 0: find what fills RAM", "free", "The table below the message (Mem-Info) has it: anon is programs, slab the kernel's own, and the zone named in `mode` (DMA, DMA32) can be full by itself."),
					told("upgrade_version", "A high order, always from one driver: update the kernel", "a restart", "The call trace names the driver; newer ones ask for smaller pieces, or keep quiet about a failure that does not matter."),
				},
				Sources: []string{"linux/mm/page_alloc.c", "https://www.kernel.org/doc/html/latest/admin-guide/sysctl/vm.html"},
			},
		},
	}
)
