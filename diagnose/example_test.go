package diagnose_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/render"
)

const crash = `torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)`

// Read a log from anywhere: a file, a pipe, a request's body.
func ExampleRead() {
	report, err := diagnose.Read(context.Background(), strings.NewReader(crash))
	if err != nil {
		log.Fatal(err)
	}
	in := report.Incidents[0] // the root cause comes first
	fmt.Println(in.Framework, in.Backend, "line", in.Line)
	fmt.Println(in.Causes[0].ID)
	// Output:
	// pytorch cuda line 1
	// model_too_large
}

// A log that is in memory already.
func ExampleBytes() {
	report := diagnose.Bytes([]byte("epoch 1: loss 0.42\n"))
	fmt.Println(report.OOM, len(report.Incidents), report.Input.Lines)
	// Output: false 0 1
}

// Figures are exact bytes, with the text and the line that they come from. One
// that the log does not state is nil.
func ExampleReport_figures() {
	figures := diagnose.Bytes([]byte(crash)).Incidents[0].Figures
	fmt.Println(figures.Requested.Bytes, figures.Requested.Text, figures.Requested.Line)
	fmt.Println(figures.Free == nil)
	figures.Sizes(func(key string, s *diagnose.Size) { fmt.Println(key, s.Text) })
	// Output:
	// 2147483648 2.00 GiB 1
	// true
	// requested 2.00 GiB
	// total 8.00 GiB
	// allocated 7.21 GiB
}

// Amounts that were computed from figures say which.
func ExampleReport_derived() {
	shortfall := diagnose.Bytes([]byte(crash)).Incidents[0].Derived["shortfall"]
	fmt.Printf("%.2f GiB short, from %s\n", float64(shortfall.Bytes)/(1<<30), strings.Join(shortfall.From, ", "))
	// Output: 1.21 GiB short, from requested, total, allocated
}

// Fixes are ranked, and made out for the log at hand. Usual advice that cannot
// help comes with the reason.
func ExampleReport_fixes() {
	in := diagnose.Bytes([]byte(crash)).Incidents[0]
	fmt.Println(in.Fixes[0].Rank, in.Fixes[0].ID, "addresses", in.Fixes[0].Addresses)
	for _, useless := range in.WontHelp {
		if useless.ID == "expandable_segments" {
			fmt.Println("no use:", useless.Title)
		}
	}
	// Output:
	// 1 lower_batch_size addresses batch_too_large
	// no use: Turn on expandable segments in PyTorch's allocator
}

// What reads like out-of-memory and is not says what it really is.
func ExampleReport_lookalikes() {
	report := diagnose.Bytes([]byte(`triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376. Reducing block sizes or num_stages may help.`))
	fmt.Println(report.OOM, report.Lookalikes[0].ID)
	// Output: false triton_shared_memory
}

// A report marshals to the JSON that schema.json describes, and is read back
// with Decode.
func ExampleDecode() {
	saved, err := json.Marshal(diagnose.Bytes([]byte(crash)))
	if err != nil {
		log.Fatal(err)
	}
	report, err := diagnose.Decode(strings.NewReader(string(saved)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Schema, report.OOM)
	// Output: oomdoc.report.v1 true
}

// A page for people, in Markdown; render.Text writes plain text.
func Example_markdown() {
	f, err := os.Open("../testdata/logs/pytorch/owner-example.log")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	report, err := diagnose.Read(context.Background(), f)
	if err != nil {
		log.Fatal(err)
	}
	page := render.Markdown(report, render.Options{Layout: render.Layout{Width: 80}, Brief: true})
	fmt.Println(strings.SplitN(page, "\n", 6)[2])
	// Output: It needed 2.00 GiB more on GPU 0, but beside what it held only 0.79 GiB of the
}

// What the log gives away in one place is masked in all others.
func ExampleRedactor() {
	log := "zolvek@gpu-box:~$ python /opt/zolvek_code/train.py --hf-token hf_0123456789abcdefghij\n"
	fmt.Print(string(diagnose.NewRedactor().Log([]byte(log))))
	// Output:
	// USER1@HOST1:~$ python /opt/USER1_code/train.py --hf-token KEY1
}
