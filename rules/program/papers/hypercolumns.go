package papers

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
)

// DatasetGAN trains labels on a GAN's features of each pixel, as do HandsOff and
// other work made of it.
var DatasetGAN = program.Program{
	Name: "datasetgan", Shown: "The label generator", Work: "vision", Edits: "code", Language: "python",
	Proofs:  []string{"all_feature_maps_train", "datasetGAN_release/", "handsoff/"},
	Sources: program.Sources{"handsoff/experiments/faces_seg.json": "max_training dim"},
	Like:    []*program.Program{&parts.DataAside},
	Cards: []cause.Card{{
		ID: "datasetgan/features", Kinds: append([]fact.Kind{fact.CPUAlloc, fact.NumpyAlloc, fact.PythonMemory, fact.BadAlloc}, parts.RAMGone...), Said: []string{"all_feature_maps_train"},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: hypercolumns,
		Headline: "ran out of system memory (RAM): it keeps features of every pixel of all training images[[ ({asked})]]",
		Means:    "The script stores a GAN's features of every pixel of every training image in one 16-bit array. Then `torch.FloatTensor` makes a 32-bit copy of all of it.[[ {which}]]",
		Not:      "A smaller `batch_size`: the data set is built before the first batch.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Convert pixel by pixel, not the whole array", Told: "Pass the array itself to the data set. Then only the 16-bit array is left[[: {sixteen}]]. In `__getitem__` use:", Kind: "python", Text: "return torch.from_numpy(self.X_data[index]).float(), self.y_data[index]   # X_data: the NumPy array", Cost: "a few lines"},
			{Fix: "lower_batch_size", Title: "Also use fewer training images or pixels", Told: "Lower `max_training` in the experiment's JSON file.[[ Each image takes {each} in 16 bit.]] Every tenth pixel (`array[::10]`, and the same for the masks) is often enough.", Cost: "some accuracy"},
			{Fix: "use_mmap", Title: "Or keep the array on disk", Told: "Replace the `np.zeros` that creates it:", Kind: "python", Text: "all_feature_maps_train = np.lib.format.open_memmap(\"features.npy\", mode=\"w+\", dtype=np.float16, shape=shape)   # shape: as in np.zeros", Cost: "slower; space on an SSD"},
		},
		Sources: []string{"handsoff/train_label_generator.py", "handsoff/experiments/faces_seg.json", "handsoff/experiments/car_seg.json"},
	}},
}

// pixelFeatures are the sizes in the experiments of HandsOff: height, width and
// features of a pixel.
var pixelFeatures = [][3]int64{{512, 512, 6080}, {384, 512, 6016}}

// hypercolumns say how many images the refused array is of.
func hypercolumns(c *ledger.Case) map[string]string {
	out := map[string]string{"asked": "", "which": "", "sixteen": "", "each": ""}
	if c.Asked.Has() {
		out["asked"] = c.Asked.String()
	}
	for _, d := range pixelFeatures {
		pixel := d[0] * d[1] * d[2]
		for _, bytes := range []int64{4, 2} {
			n := c.Asked.Bytes / (pixel * bytes)
			if n < 1 || n > 500 || n*pixel*bytes != c.Asked.Bytes {
				continue
			}
			out["which"] = fmt.Sprintf("%s is exactly %d images x %d x %d pixels x %s features x %d bytes.", c.Asked, n, d[0], d[1], ledger.Thousands(d[2]), bytes)
			out["each"], out["sixteen"] = units.Amount(pixel*2), units.Amount(n*pixel*2)
			return out
		}
	}
	return out
}
