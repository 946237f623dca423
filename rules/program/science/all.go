package science

import (
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/science/survey"
)

// All are those programs of this room that stand together in the order of all
// programs. Of clues that weigh the same the earlier counts.
var All = []*program.Program{
	&SPAdes, &Kraken, &KrakenUniq, &Gaussian, &ORCA, &LAMMPS, &Solver, &AfterEffects, &Stata, &BuildKit, &CatBoost, &Dynamics, &LuxCore, &Renderers, &OpenCLPictures,
	&RELION, &CryoSPARC, &MotionCor, &FastSurfer, &COLMAP, &Metashape, &AlphaFold, &AlphaFold3, &ColabFold, &Boltz, &Chai, &OpenFold, &RoseTTAFold,
	&GROMACS, &OpenMM, &DeePMD, &Isaac, &MJX, &Blender, &Redshift, &Octane, &Unreal, &Unity, &Direct3D, &WGPU, &Ryujinx, &FFmpeg, &Minecraft, &Java,
	&XGBoost, &LightGBM, &RAPIDS, &FAISS, &SparkRAPIDS, &Numba, &Dask, &Scanpy, &Modin, &survey.OpenDroneMap,
}
