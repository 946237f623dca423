package science

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

// openCVCards are about OpenCV's memory: what its allocator in RAM was refused
// (alloc.cpp, a size in every version), and its OpenCL device.
var openCVCards = []cause.Card{
	{
		ID: "opencv/one-picture", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"alloc.cpp"}, If: matrixOf(1, onePicture),
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused {asked} of RAM: memory was full before",
		Means: "{asked} is a single picture or less, so it is only the last of many. Usual reasons: a loop keeps every frame or image in a list, the program runs several workers with a copy each, or others fill the RAM. A 32-bit program ends at 2 to 4 GB, whatever the computer has.",
		Not:   "A smaller picture alone: the next thousand fill memory again.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", If: when.Not(inPython), Title: "Handle one frame at a time", Told: "Keep results, not pictures: write each out, or keep only the one before, if two are compared. A `cv::Mat` that is pushed into a vector keeps its pixels.", Cost: "some lines of code"},
			{Fix: "detach_accumulated", If: inPython, Title: "Handle one frame at a time", Told: "Keep results, not pictures: write each out, or keep only the one before, if two are compared.", Kind: "python", Text: "previous = None\nwhile True:\n    ok, frame = capture.read()\n    if not ok:\n        break\n    ...   # use frame and previous; append neither to a list\n    previous = frame", Cost: "some lines of code"},
			sixtyFour, calls.PageFile, calls.LookWhy,
		},
		Sources: []string{"opencv/modules/core/src/alloc.cpp", "opencv/modules/videoio/include/opencv2/videoio.hpp"},
	},
	{
		ID: "opencv/large-matrix", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"alloc.cpp"}, If: matrixOf(onePicture, absurd), Figures: matrix,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused one matrix of {asked} of RAM",
		Means: "{asked} is one matrix, {picture}. A scale factor, a homography or a canvas makes an image larger than meant, or the input is that large; float64 takes eight times as much as the bytes of a picture.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the size before that call", Told: "`resize` and `warpPerspective` take (width, height), a shape is (height, width): turned round or multiplied twice, they grow. Python: `print(img.shape, img.dtype)`.", Cost: "free"},
			{Fix: "lower_resolution", Title: "Keep bytes, and a smaller canvas", Told: "Resize while it is 8 bit, convert afterwards (to float32, not float64); half the width and height is a quarter; or work in tiles.", Cost: "detail"},
			sixtyFour, calls.PageFile, calls.SwapBridge,
		},
		Sources: []string{"opencv/modules/core/src/alloc.cpp", "opencv/modules/imgproc/include/opencv2/imgproc.hpp"},
	},
	{
		ID: "opencv/opencl", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"core/src/ocl.cpp"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "was refused [[{asked} ]]by the OpenCL device",
		Means: "OpenCV ran this step on the OpenCL device (a graphics card, often the integrated one), which could not make the buffer[[ of {asked}]]. A warp, resize or panorama with a wrong factor, focal length or rotation can make an image far larger than its input; plane and fisheye projections do so towards 90 degrees.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the size before that call", Told: "A warper tells its size first (`warper.warpRoi((w, h), K, R)`). If one image is ten times the others, it is badly registered: leave it out.", Kind: "python", Text: "print(img.shape, img.dtype)   # before the call that failed", Cost: "Free"},
			{Fix: "lower_resolution", Title: "Use smaller images or another projection", Told: "Panoramas: `--warp spherical` or `cylindrical` instead of plane, lower `--work_megapix` and `--compose_megapix` (OpenCV's sample).", Cost: "Less detail"},
			{Fix: "cpu_offload", Title: "Turn off OpenCL", Told: "`cv2.ocl.setUseOpenCL(False)` at the start of the script: it then runs in RAM.", Cost: "Slower"},
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
			return map[string]string{"picture": fmt.Sprintf("exactly a colour picture of %s x %s in %s", ledger.Thousands(side), ledger.Thousands(side), t.name)}
		}
	}
	side := int64(math.Sqrt(float64(asked)/3)/100) * 100
	return map[string]string{"picture": fmt.Sprintf("as large as a colour picture of some %s x %s in 8 bit", ledger.Thousands(side), ledger.Thousands(side))}
}
