package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the outputs in testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"oomdoc": main})
}

// TestScripts runs testdata/script/*.txtar: each is a session at a shell.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(e *testscript.Env) error { return writeBinaries(e.WorkDir) },
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("no condition %q", name)
		},
	})
}

const crash = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)\r\n"

// writeBinaries puts files into a script's directory that a script cannot hold.
func writeBinaries(dir string) error {
	var powershell, zipped bytes.Buffer
	for _, unit := range utf16.Encode([]rune("\ufeff" + crash)) {
		powershell.Write(binary.LittleEndian.AppendUint16(nil, unit))
	}
	z := gzip.NewWriter(&zipped)
	for i := range 50_000 { // more than is read at once
		fmt.Fprintf(z, "step %d\n", i*i)
	}
	fmt.Fprint(z, crash)
	if err := z.Close(); err != nil {
		return err
	}
	e, err := zstd.NewWriter(nil)
	if err != nil {
		return err
	}
	zstdLog := e.EncodeAll([]byte(crash), nil)
	damaged := bytes.Clone(zipped.Bytes())
	damaged[len(damaged)-5] ^= 1 // in the checksum
	for name, b := range map[string][]byte{
		"utf16.log":  powershell.Bytes(),
		"log.gz":     zipped.Bytes(),
		"cut.gz":     zipped.Bytes()[:zipped.Len()/2],
		"head.gz":    zipped.Bytes()[:5],
		"damaged.gz": damaged,
		"log.zst":    zstdLog,
		"cut.zst":    zstdLog[:len(zstdLog)/2],
		"bare16.log": powershell.Bytes()[2:],
		"binary.log": bytes.Repeat([]byte{0, 1, 2, 3, 0xff}, 100),
		"typed.log":  append(bytes.ReplaceAll([]byte(crash), []byte("\r"), nil), '\x04'), // Ctrl-D
		"broken.log": append([]byte("caf\xe9 \xff\x00\n"), crash...),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}
