package build

import (
	"slices"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/compilers"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Cargo is a build of Rust sources.
var Cargo = program.Program{
	Name: "cargo", Shown: "rustc", Work: "build", Edits: "flags", Language: "other",
	Proofs:   []string{"cargo build", "cargo install", "rustc-LLVM ERROR", "LLVM ERROR: out of memory"},
	Commands: []string{"rustup"},
	Beside:   map[string][]string{"LLVM ERROR: out of memory": {"could not compile"}},
	Remedies: map[string][]cause.Remedy{cause.HostMemory: cause.InOrder("lower_build_jobs", "add_swap", "upgrade_version", "raise_memory_limit")},
	Titles:   map[string]string{"upgrade_version": "Use another toolchain", "lower_build_jobs": "Compile one crate at a time"},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"upgrade_version":  step.Paste("shell", "rustup update stable && cargo +stable build   # with the options you had"),
		"lower_build_jobs": step.Paste("shell", "cargo build -j 1   # with the options you had"),
	},
	Cards:   slices.Concat([]cause.Card{llvm}, compilers.OfCargo()),
	Sources: program.Sources{"https://doc.rust-lang.org/cargo/commands/cargo-build.html": "-j", "https://rust-lang.github.io/rustup/overrides.html": "+stable", "https://doc.rust-lang.org/cargo/reference/profiles.html": "CARGO_INCREMENTAL"},
}

// llvm is rustc's code generator that was refused memory. The threads come to
// three reasons: a fault of one compiler, a compiler of 32 bit, a full machine.
var llvm = cause.Card{
	ID: "cargo/llvm", Kinds: refused, Said: []string{"LLVM ERROR: out of memory"},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "ran out of memory while it compiled a crate",
	Means:    "LLVM generates rustc's code, and it does not say how much memory it wanted. With a small crate or much free RAM, this compiler version (often a nightly) is faulty, or it is 32-bit (`i686`) and can use only 2 to 4 GB. A large crate in a release build, or many at once, can fill the machine.",
	Not:      "`cargo clean`: it only compiles again what is finished.",
	Cures: []cause.Cure{
		{Fix: "upgrade_version", Title: "Compile it with another toolchain", Told: "`rustup show` names today's toolchain; use a 64-bit one. If only one nightly fails, report it, and stay on stable. `CARGO_INCREMENTAL=0` before the command turns off incremental compilation.", Kind: "shell", Text: "rustup update stable && cargo +stable build   # with the options you had", Cost: "some minutes"},
		{Fix: "lower_build_jobs", Title: "Compile one crate at a time, and watch the RAM", Told: "Run `cargo build -j 1`. If RAM still fills up, set `debug = 0` or `lto = false` for the profile in Cargo.toml.", Cost: "a longer build"},
		{Fix: "add_swap", If: when.Not(reader.OnWindows), Title: "If RAM does fill up, add swap", Kind: "shell", Text: swap.Text, Cost: swap.Cost},
		page,
	},
	Sources: []string{"https://github.com/rust-lang/rust/issues/49467", "https://github.com/rust-lang/rust/issues/62611", "https://doc.rust-lang.org/cargo/reference/profiles.html"},
}
