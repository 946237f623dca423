package parsers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/parsers"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// documents are texts of the kinds that a search for "out of memory" finds on
// any machine, and what a person or a program wrote in the same words.
var documents = []struct {
	name   string
	failed bool
	text   string
}{
	{"manual page", false, `.TH PAGEIT 2 2024-05-02 "Pageit 1.4"
.SH ERRORS
.TP
.B EBADF
.I fd
is not open for reading.
.TP
.B ENOMEM
Out of memory.
.TP
.B ESPIPE
The target offset is not
.IR NULL ,
but the file is not seekable.
.SH SEE ALSO
.BR splice (2)`},
	{"header", false, `/**
 * Returns the buffer's address.
 *
 * @param least number of bytes that are wanted
 * @return the address,
 *         or a null pointer if an error occurs (nested calls, out of memory)
 *
 * @see give_back
 * @see buffer_size
 */
unsigned char *take_buffer(int least);
/**
 * Gives a buffer back.
 */
void give_back(unsigned char *buffer);`},
	{"change log", false, `quern (1.13.12-2) experimental; urgency=medium

  * Add the bug's number to the entry before
  * Merge packaging changes from unstable
  * d/p/tests-Skip-if-the-daemon-does-not-start.patch,
    d/p/auth-Clear-the-id-if-out-of-memory.patch,
    d/p/audit-Make-initialization-idempotent.patch:
    Fix test failures when build-time tests are run as root (in
    particular this happens in a container)

 -- A. Packager <packager@example.org>  Mon, 30 Sep 2019 11:51:00 +0100`},
	{"source file", false, `        latents = latents.to(self.vae.dtype)
        accelerator = getattr(torch, get_device(), torch.cuda)
        oom_error = (
            torch.OutOfMemoryError
            if is_torch_version(">=", "2.5.0")
            else accelerator.OutOfMemoryError
        )
        try:
            image = self.vae.decode(latents)[0]
        except oom_error as e:
            warnings.warn(f"{e}: tile")`},
	{"end of a source file", false, `        out.block_until_ready()
        end = time.perf_counter_ns()
        return Status.SUCCESS, end - start
    except Exception as e:
        log.warning("kernel failed")
        if "out of memory" in str(e).lower() or "vmem" in str(e).lower():
            return Status.FAILED, 0.0
`},
	{"list of states", false, `"state": {
  "enum": [
    "CANCELLED",
    "COMPLETED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PENDING",
    "PREEMPTED",
    "RUNNING",
    "TIMEOUT"
  ]
}`},
	{"novel", false, "In the last chapter it turns out that Doctor Doom killed the old man himself."},
	{"change of an allocator", false, "- Replaced memalign() with posix_memalign()."},
	{"manual of a library", false, `Mini-batches that are processed one after the other
need less memory than the whole batch at once. A larger
value is faster, as long as it
does not lead to CUDA out of memory. The size of the
mini-batch has no influence on the result, for
the gradients are kept and added up at the
end of the step.`},
	{"questions and answers in Chinese", false, "## 常见问题\n一般情况下不需要修改配置。\n## 训练时显存不足\n出现以下提示时请减小批量：\n## Q6: Cuda out of memory.\n训练时请减小批量大小；\n推理时请关闭其他程序。\n## 下一个问题\n请参考文档。"},
	{"a request for help in Chinese", true, "## 环境\n我用的是新电脑，\n昨天还可以训练，\n今天运行以后出现\nCUDA out of memory\n然后程序退出，\n请问怎么解决？\n谢谢大家。"},
	{"the error alone", true, "CUDA error: out of memory"},
	{"a request for help", true, `Hello everybody,
since this morning training does not start any more
on the machine in the cellar, although nothing changed.
After some seconds it says
CUDA error: out of memory
and then it is over. What did I forget?
The card is new, and the
driver is the one from the website.`},
	{"the script, then the failure", true, `import torch
from torch import nn

model = nn.Linear(70000, 70000).cuda()
x = torch.randn(64, 70000).cuda()
y = model(x)
print(y.mean())

RuntimeError: CUDA error: out of memory`},
	{"a pod in a list", true, "web-0   0/1   OOMKilled   3 (41s ago)   6m"},
	{"the old allocator", true, "RuntimeError: [enforce fail at CPUAllocator.cpp:56] posix_memalign(&data, gAlignment, nbytes) == 0. 12 vs 0"},
	{"plain lines of a program", true, `Reading the scene, please wait ...
textures loaded from disk
geometry built, ready for the first tile
tile 1 of 64 rendered in 2.1 s
out of memory
tile 2 of 64 skipped after 0.4 s
frame not written
program stopped at frame 1, tile 2`},
	{"libstdc++'s last words among plain lines", true, `Mar 13 19:27:23 ..... started
Mar 13 19:27:23 ... starting to generate files
Mar 13 19:32:43 ... starting to sort. This may take a long time...
Mar 13 19:35:59 ... sorting chunks and saving them to disk...
terminate called after throwing an instance of 'std::bad_alloc'
terminate called recursively
terminate called recursively
Aborted`},
	{"a miner's lines by card", true, `---------------------------------
Generating light cache for epoch
---------------------------------
Start Mining...
---------------------------------
GPU 0: insufficient memory for DAG epoch 381.
GPU 0: will be in Zombie mode with reduced hashrate.
GPU 0: will be stopped.`},
	{".NET in German", true, `Ausnahme vom Typ "System.OutOfMemoryException" wurde ausgelöst.
   bei System.Text.StringBuilder.ToString()
   bei System.IO.StreamReader.ReadToEnd()
   bei Sicherung.Prozess.Lesen(Guid nummer)`},
}

// TestDocuments: what documents say of memory is no failure, and the same words
// are one where a program or a person says so.
func TestDocuments(t *testing.T) {
	for _, d := range documents {
		t.Run(d.name, func(t *testing.T) {
			f := parsers.New(nil, nil).Parse(text.NewLog(clean.Lines(d.text, 1)))
			var said []string
			for _, x := range f.Failures {
				said = append(said, x.Message)
			}
			assert.Equal(t, d.failed, len(f.Failures) > 0, strings.Join(said, "\n"))
		})
	}
}
