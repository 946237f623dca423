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
		return "The kernel's own area is full; programs hold nothing of it."
	}
	return ""
}

// Runtimes with a heap of a size of their own, and boards whose RAM is fixed.
var (
	SBCL = heap("sbcl", "SBCL", "other", []string{"Heap exhausted during", "Heap exhausted, game over", "Dynamic-space-size bytes ="}, cause.Card{
		Headline: "ran out of its own heap[[ ({bound})]]",
		Means:    "SBCL reserves its heap (dynamic space) at the start and never enlarges it; the machine may have much more. Garbage collection copies live data, so it can fail well before the heap is full.",
		Not:      "Closing other programs, or swap: the heap keeps its size.",
		Cures: []cause.Cure{
			told("raise_memory_limit", "Start it with a larger heap", "RAM", "`sbcl --dynamic-space-size 8GB`, before any `--eval` or `--load`. Maxima: `maxima -X '--dynamic-space-size 8192'`. A saved program keeps the size if you save it with `:save-runtime-options t`."),
			told("empty_cache", "If it fills that too, release data", "some work", "Drop references to results that you no longer need; `(room)` shows what is alive. An endless recursion, or a loop that only collects, fills any heap."),
		},
		Sources: []string{"sbcl/src/runtime/gencgc.c", "https://www.sbcl.org/manual/"},
	}, program.Sources{"https://www.sbcl.org/manual/": "--dynamic-space-size --eval --load"})

	LuaJIT = heap("lua", "The Lua interpreter", "other", []string{"unprotected error in call to Lua API (not enough memory)"}, cause.Card{
		Headline: "ran out of memory for Lua objects",
		Means:    "The message has two possible reasons. LuaJIT without GC64 can use only 1 to 4 GB for its objects, however much RAM there is. Plain Lua, and LuaJIT with GC64 (the default on most 64-bit systems since 2.1), fail only if the system has no memory left.",
		Cures: []cause.Cure{
			told("upgrade_version", "Use a build with GC64", "a rebuild", "Install a newer release of the program, or LuaJIT 2.1 (to build older ones with it: `make XCFLAGS=-DLUAJIT_ENABLE_GC64`)."),
			told("lower_batch_size", "Hold less in Lua at once", "some rewriting", "Huge strings and tables count; memory from `ffi.C.malloc` does not. Build long strings in parts, and write them out."),
			told("close_other_apps", "If the machine was full, free RAM", "free", "Watch `free -h` while it runs: if much stays available, it is LuaJIT's own limit."),
		},
		Sources: []string{"LuaJIT/src/lj_alloc.c", "https://luajit.org/status.html"},
	}, nil)

	Emscripten = heap("emscripten", "The WebAssembly program", "cpp", []string{"Cannot enlarge memory arrays", "Failed to grow the heap from"}, cause.Card{
		Headline: "used up the memory that its build allows[[ ({bound})]]",
		Means:    "The size of a WebAssembly program's memory, or its maximum, is set when it is built; the computer may have much more. If growth was allowed, the browser refused to enlarge it. A 32-bit program cannot exceed 4 GB.",
		Not:      "`--max-old-space-size`: this memory is outside the JavaScript heap.",
		Cures: []cause.Cure{
			told("lower_batch_size", "As a user, reload the page and use a smaller input", "detail or time", "Reloading frees what earlier runs left. Or use the desktop version of the program."),
			told("raise_memory_limit", "As the developer, let memory grow", "a rebuild", "Build with `-sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB`, or a larger `-sINITIAL_MEMORY` (before 2020: `-s TOTAL_MEMORY`)."),
			told("empty_cache", "If it fails only after a while, free old objects", "some work", "JavaScript never frees C++ objects by itself: call `delete()` on each."),
		},
		Sources: []string{"emscripten/src/settings.js"},
	}, program.Sources{"emscripten/src/settings.js": "ALLOW_MEMORY_GROWTH MAXIMUM_MEMORY INITIAL_MEMORY"})

	Board = heap("microcontroller", "The firmware", "cpp", []string{"lvgl set Error flag", "lvgl was marked as failed", "lcd_rgb_panel_alloc_frame_buffers", "camera: Failed to allocate frame buffer", "no mem for frame buffer", "memory allocation failed, allocating"}, cause.Card{
		Cause: cause.HostMemory, Headline: "ran out of memory on the board[[ ({asked} was refused)]]",
		Means: "A microcontroller has only some hundred kilobytes of RAM, and one free block must hold the whole request. A frame buffer takes width x height x bytes per pixel. External memory (PSRAM) is used only if the board has it and the firmware turns it on.",
		Not:   "Freeing memory on the PC: the board ran out, not the PC.",
		Cures: []cause.Cure{
			told("raise_memory_limit", "Turn on PSRAM, if the board has it", "slower memory", "Arduino: Tools, PSRAM. ESPHome: a `psram:` entry with the board's mode. ESP-IDF: menuconfig, Component config, ESP PSRAM. The boot log then prints its size."),
			told("lower_resolution", "Use a smaller buffer", "detail or speed", "Use a draw buffer of a tenth of the screen (ESPHome lvgl: `buffer_size: 10%`), a smaller camera frame, or one buffer instead of two."),
			told("fix_shape", "Allocate it first, and print what is free", "free", "Allocate large buffers at the start, before Wi-Fi and displays. ESP-IDF: `heap_caps_get_largest_free_block(MALLOC_CAP_8BIT)`. MicroPython: `gc.collect()`, then `gc.mem_free()`."),
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
				Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "had no contiguous memory for a driver (CMA)",
				Means: "Cameras, displays, video and NPU drivers need memory without gaps, mostly from an area that is reserved at boot (CMA). \"req-size\" counts pages, usually of 4 KiB. ret -12 means that no such block was free; -16 that pages in the way could not be moved, so a retry may work. The rest of RAM may be free.",
				Not:   "Swap: it does not enlarge that area.",
				Cures: []cause.Cure{
					told("raise_memory_limit", "Reserve a larger area", "RAM for other uses", "Put `cma=256M` on the kernel's command line (Raspberry Pi: `dtoverlay=vc4-kms-v3d,cma-256` in config.txt), then reboot. `grep Cma /proc/meminfo` shows its size and what is free."),
					told("lower_resolution", "Use less at a time", "detail", "Use a lower resolution, or fewer buffers or streams. After a reboot start the program that needs the largest block first."),
				},
				Sources: []string{"linux/mm/cma.c", "https://www.kernel.org/doc/html/latest/admin-guide/kernel-parameters.html"},
			},
			{
				ID: "linux-kernel/vmalloc", Kinds: refused, Said: []string{"use vmalloc=<size> to increase"},
				Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "ran out of its own address space (vmalloc)",
				Means: "The kernel maps large tables and modules into an address range of its own, which is small on 32-bit systems. That range is full; RAM need not be.",
				Not:   "More RAM or swap: on 32-bit systems more RAM can even make this range smaller.",
				Cures: []cause.Cure{
					told("raise_memory_limit", "Enlarge that range", "less room for RAM", "Put `vmalloc=512M` on the kernel's command line, then reboot. `grep Vmalloc /proc/meminfo` shows its size."),
					told("upgrade_version", "Use a 64-bit kernel", "an installation", "There the range has many terabytes. If yours is 64-bit already, something leaks: `/proc/vmallocinfo` names the callers."),
				},
				Sources: []string{"linux/mm/vmalloc.c", "https://www.kernel.org/doc/html/latest/admin-guide/kernel-parameters.html"},
			},
			{
				ID: "linux-kernel/pages", Kinds: refused, Said: []string{"page allocation failure", "vmalloc: allocation failure"},
				Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not get free memory pages for a moment",
				Means: "\"order\" tells how much was wanted in one block: order 0 is one page (usually 4 KiB), order 4 is 64 KiB, order 9 is 2 MiB. Order 0 means that RAM in that zone was empty; from order 3 on, free memory is often just fragmented. Nothing was killed, and many drivers try again. If a device failed in the same second, this was why.",
				Cures: []cause.Cure{
					told("raise_memory_limit", "Let the kernel keep more free", "128 MiB of RAM", "`sudo sysctl vm.min_free_kbytes=131072` helps network and disk drivers, which cannot wait. For high orders, as a test: `echo 1 | sudo tee /proc/sys/vm/compact_memory`."),
					told("close_other_apps", "For order 0, find what fills RAM", "free", "The table below the message (Mem-Info) shows it: anon is programs, slab is the kernel's own. The zone named in `mode` (DMA, DMA32) can be full by itself."),
					told("upgrade_version", "If it is a high order, always from one driver, update the kernel", "a restart", "The call trace names the driver. Newer ones ask for smaller blocks, or do not report failures that do not matter."),
				},
				Sources: []string{"linux/mm/page_alloc.c", "https://www.kernel.org/doc/html/latest/admin-guide/sysctl/vm.html"},
			},
		},
	}
)
