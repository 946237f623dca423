// Package opencv knows what OpenCV says of memory.
package opencv

import (
	"fmt"
	"math"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Cards are about OpenCV's memory: what its allocator in RAM was refused
// (alloc.cpp, a size in every version), and its OpenCL device.
var Cards = []cause.Card{
	{
		ID: "opencv/one-picture", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"alloc.cpp"}, If: matrixOf(1, onePicture),
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not get even {asked} of RAM: it was full already",
		Means: "{asked} is one picture or less, so something else has filled the RAM. Usually a loop keeps every frame or image in a list, or several workers hold a copy each. A 32-bit program also ends at 2 to 4 GB, whatever the computer has.",
		Not:   "A smaller picture alone: more pictures fill the memory again.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", If: when.Not(inPython), Title: "Handle one frame at a time", Told: "Keep results, not pictures: write each picture out, or keep only the previous one. A `cv::Mat` in a vector keeps its pixels.", Cost: "some lines of code"},
			{Fix: "detach_accumulated", If: inPython, Title: "Handle one frame at a time", Told: "Keep results, not pictures. Write each picture out, or keep only the previous one.", Kind: "python", Text: "previous = None\nwhile True:\n    ok, frame = capture.read()\n    if not ok:\n        break\n    ...   # use frame and previous; append neither to a list\n    previous = frame", Cost: "some lines of code"},
			sixtyFour, calls.PageFile, calls.LookWhy,
		},
		Sources: []string{"opencv/modules/core/src/alloc.cpp", "opencv/modules/videoio/include/opencv2/videoio.hpp"},
	},
	{
		ID: "opencv/large-matrix", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"alloc.cpp"}, If: matrixOf(onePicture, absurd), Figures: matrix,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not get {asked} of RAM for one matrix",
		Means: "{asked} is {picture}. Either the input is that large, or a scale factor, a homography or a canvas made the image larger than you meant. float64 takes eight times as much as 8 bit.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the size before that call", Told: "`resize` and `warpPerspective` take (width, height), but `shape` is (height, width). Python: `print(img.shape, img.dtype)`.", Cost: "free"},
			{Fix: "lower_resolution", Title: "Stay in 8 bit, and use a smaller image", Told: "Resize first and convert afterwards, to float32 rather than float64. Half the width and height need a quarter. Or work in tiles.", Cost: "less detail"},
			sixtyFour, calls.PageFile, calls.SwapBridge,
		},
		Sources: []string{"opencv/modules/core/src/alloc.cpp", "opencv/modules/imgproc/include/opencv2/imgproc.hpp"},
	},
	{
		ID: "opencv/opencl", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"core/src/ocl.cpp"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "could not get [[{asked} ]]from the OpenCL device",
		Means: "OpenCV ran this step on an OpenCL device: a GPU, often the integrated one. It could not make the buffer. In a warp, resize or panorama a wrong factor, focal length or rotation can make an image far larger than its input.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Turn off OpenCL", Told: "Put `cv2.ocl.setUseOpenCL(False)` at the start of the script. OpenCV then works in RAM.", Cost: "Slower"},
			{Fix: "fix_shape", Title: "Print the size before that call", Told: "A warper tells its size first (`warper.warpRoi((w, h), K, R)`). An image ten times larger than the others is badly registered: leave it out.", Kind: "python", Text: "print(img.shape, img.dtype)", Cost: "Free"},
			{Fix: "lower_resolution", Title: "Use smaller images or another projection", Told: "In OpenCV's stitching sample: `--warp spherical` or `cylindrical` instead of plane, and lower `--work_megapix` and `--compose_megapix`.", Cost: "Less detail"},
		},
		Sources: []string{"opencv/modules/core/src/ocl.cpp", "opencv/samples/python/stitching_detailed.py"},
	},
}

// inPython: a traceback, and no program in C++ that calls OpenCV.
func inPython(c *ledger.Case) bool { return len(ledger.Trace(c)) > 0 || c.Contains("cv2.error") }

// sixtyFour is for Python alone.
var sixtyFour = func() cause.Cure {
	cure := calls.SixtyFour
	cure.If = when.All(cure.If, inPython)
	return cure
}()

// onePicture is what a picture of 16 million pixels takes; absurd is more than
// any.
const onePicture, absurd = 48 * units.MiB, 64 * units.GiB

func matrixOf(from, below int64) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { asked := ledger.Requested(c); return asked >= from && asked < below }
}

// matrix says which colour picture has that size: the type of number with which
// it is a square, or bytes.
func matrix(c *ledger.Case) map[string]string {
	asked := ledger.Requested(c)
	for _, t := range [...]struct {
		bytes int64
		name  string
	}{{1, "8 bit"}, {4, "float32"}, {8, "float64"}} {
		side := int64(math.Sqrt(float64(asked / 3 / t.bytes)))
		if side*side*3*t.bytes == asked {
			return map[string]string{"picture": fmt.Sprintf("exactly the size of a colour image of %s x %s pixels in %s", ledger.Thousands(side), ledger.Thousands(side), t.name)}
		}
	}
	side := int64(math.Sqrt(float64(asked)/3)/100) * 100
	return map[string]string{"picture": fmt.Sprintf("the size of a colour image of about %s x %s pixels in 8 bit", ledger.Thousands(side), ledger.Thousands(side))}
}
