// Package science knows programs of science, and those that render. Only who reads
// is known of them yet.
package science

import "github.com/oomdoc/oomdoc/rules/program"

// Programs of science and of rendering, by modules and lines of their own.
var (
	RELION = program.Program{
		Name: "relion", Shown: "RELION", Work: "science", Edits: "flags", Language: "cpp",
		Proofs: []string{"relion_", "RELION version", "/relion/"},
	}
	CryoSPARC = program.Program{
		Name: "cryosparc", Shown: "CryoSPARC", Work: "science", Edits: "flags", Language: "python",
		Proofs: []string{"cryosparc-compute/", "cryosparc_compute", "cryosparc_master", "cryosparc_worker"},
	}
	ColabFold = program.Program{
		Name: "colabfold", Shown: "ColabFold", Work: "science", Edits: "code", Language: "python",
		Proofs: []string{"colabfold/", "colabfold.", "run_alphafold", "alphafold/"},
	}
	PLMFit = program.Program{
		Name: "plmfit", Work: "science", Edits: "code", Language: "python",
		Proofs: []string{"plmfit/"},
	}
	Blender = program.Program{
		Name: "blender", Shown: "Blender", Work: "rendering", Edits: "flags", Language: "cpp",
		Proofs: []string{"intern/cycles/", "blender.app/", "Blender Foundation"},
	}
	Ryujinx = program.Program{
		Name: "ryujinx", Shown: "Ryujinx", Work: "rendering", Edits: "flags", Language: "csharp",
		Proofs: []string{"Ryujinx."},
	}
	Bevy = program.Program{
		Name: "bevy", Shown: "Bevy", Work: "rendering", Edits: "code", Language: "rust",
		Proofs: []string{"bevy_render", "bevy_app"},
	}
)
