package field

import "github.com/oomdoc/oomdoc/rules/program"

// All are the programs of this room. Of clues that weigh the same the earlier
// counts.
var All = []*program.Program{
	&Cellpose, &StarDist, &SLEAP, &Kilosort, &Suite2p, &CaImAn, &TotalSegmentator, &SynthSeg, &FMRIPrep, &ESM, &ProteinMPNN, &RFdiffusion, &OmegaFold, &Protenix, &DiffDock,
	&ModelAngelo, &CryoDRGN, &Topaz, &Cell2location, &ScVI, &ScGPT, &Basecaller, &MACE, &NequIP, &CHGNet, &FairChem, &TorchMDNet, &SchNetPack, &Chemprop, &GPUMD, &PySCF, &QiskitAer,
	&PennyLane, &GraphCast, &TIGRE, &CleanRL, &Tianshou, &Dreamer, &MuZero, &LeggedGym, &RLGames, &TimeSeriesLibrary, &Darts, &NeuralForecast, &PyTorchForecasting, &GluonTS,
	&KMCUDA, &TabPFN, &AutoGluon, &RecBole, &PyKEEN, &DLRM, &TorchRec, &UMAP, &HDBSCAN, &Gensim, &FastText, &GraphStorm, &VASP, &QuantumESPRESSO, &CP2K, &OpenFOAM, &ITK, &PCL,
	&STAR, &CellRanger, &DeepVariant, &Celery, &Airflow, &RabbitMQ, &RTK, &Taichi, &Polars, &Xarray, &Rasterio, &Miner, &John,
}
