package cures

import (
	"path"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
)

// sample is how one sample becomes smaller in the reader's kind of work.
func sample(c *ledger.Case, otherwise string) string {
	switch work := c.Reader.Work; {
	case work == "vision" && shows(c, "pointnet", "pointnet2", "pointcloud", "points", "npoint", "npoints", "pcd", "xyz", "voxel", "voxels", "spconv", "minkowski", "modelnet", "shapenet", "scannet"):
		return "fewer points or smaller scenes (half the points takes half, all pairs a quarter)"
	case work == "vision" && shows(c, "volume", "volumes", "3d", "nifti", "nii", "mri", "ct", "unet3d", "conv3d", "voxelmorph"):
		return "smaller patches (half of each side takes an eighth)"
	case work == "vision" && shows(c, "video", "videos", "clip", "clips", "frames", "i3d", "timesformer", "slowfast"):
		return "fewer frames, or smaller ones (half the width and height takes a quarter)"
	case work == "vision" || work == "image-generation":
		return "smaller images or crops (half the width and height takes a quarter)"
	case work == "video-generation":
		return "fewer frames, or half the width and height (a quarter)"
	case work == "audio":
		return "shorter recordings (cut or drop the longest; batch by seconds, not by files)"
	case work == "graph" && slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool { return graphs(x.File) }):
		return "smaller parts of the graph (sample neighbours)"
	case strings.HasPrefix(work, "text") || work == "embedding":
		return "shorter texts (half the length takes half, attention scores a quarter)"
	}
	return otherwise
}

// shows: two words of some stand in the names and lines of the reader's own code.
func shows(c *ledger.Case, words ...string) bool {
	own, found := ownWords(c), 0
	for _, word := range words {
		if own[word] {
			found++
		}
	}
	return found > 1
}

// ownWords are the words of the reader's own frames: their files, functions and
// lines. Found out once.
func ownWords(c *ledger.Case) map[string]bool {
	return ledger.Once(c, "pytorch/own-words", func(c *ledger.Case) map[string]bool {
		out := map[string]bool{}
		for _, f := range ledger.Trace(c) {
			if f.Own {
				for word := range reader.Words(path.Base(f.File) + " " + f.Function + " " + f.Source) {
					out[word] = true
				}
			}
		}
		return out
	})
}

// graphs reports a file that is about graphs, by its path.
func graphs(file string) bool {
	file = strings.ReplaceAll(strings.ToLower(file), "torch/autograd/graph.py", "") // PyTorch's own, in every traceback of a way back
	return slices.ContainsFunc([]string{"geometric", "/dgl/", "graph", "gnn", "gcn", "gat.py"}, func(part string) bool { return strings.Contains(file, part) })
}
