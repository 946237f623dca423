// Package follow reads a file that somebody else goes on writing: past its end,
// over rotations and truncations, and before it is there.
package follow

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"
)

// pause is how long is waited before a file is looked at again. Polling works
// on every file system, also those that tell nobody of changes (NFS).
const pause = 200 * time.Millisecond

// File reads a file as it grows. It is for one goroutine, but for Old.
type File struct {
	ctx  context.Context
	name string

	f      *os.File
	offset int64
	begun  bool  // the first file was opened, or seen to be missing
	size   int64 // of the file when New was called
	total  int64
	old    atomic.Int64
	// Missing is called once if the file is not there at first; nil for no call.
	Missing func()
}

// New reads a file, from its beginning, until ctx is done: that is its end. What
// the file holds now is what is old in it.
func New(ctx context.Context, name string) *File {
	f := &File{ctx: ctx, name: name}
	if info, err := os.Stat(name); err == nil {
		f.size = info.Size()
	}
	return f
}

// Old is how many lines of what was read stood in the file already when New was
// called.
func (f *File) Old() int { return int(f.old.Load()) }

// Read waits for bytes. Its end, io.EOF, comes when ctx is done; an error that
// waiting does not cure, such as that the file may not be read, comes as it is.
func (f *File) Read(p []byte) (int, error) {
	for {
		n, err := f.next(p)
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-f.ctx.Done():
			f.close()
			return 0, io.EOF
		case <-time.After(pause):
		}
	}
}

// next reads what there is; nothing where it must wait.
func (f *File) next(p []byte) (int, error) {
	if f.f == nil {
		if err := f.open(); err != nil || f.f == nil {
			return 0, err
		}
	}
	n, err := f.f.Read(p)
	if n > 0 {
		f.count(p[:n])
		return n, nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		f.close()
		return 0, err
	}
	f.look()
	return 0, nil
}

// count notes how far the file was read, and which lines are old.
func (f *File) count(b []byte) {
	if left := f.size - f.total; left > 0 {
		f.old.Add(int64(bytes.Count(b[:min(int64(len(b)), left)], []byte{'\n'})))
	}
	f.offset += int64(len(b))
	f.total += int64(len(b))
}

// open opens the file, if it is there.
func (f *File) open() error {
	file, err := os.Open(f.name)
	if errors.Is(err, fs.ErrNotExist) {
		if !f.begun && f.Missing != nil {
			f.Missing()
		}
		f.begun = true
		return nil
	}
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "read", Path: f.name, Err: errors.New("it is a directory")}
	}
	if err != nil {
		file.Close()
		return err
	}
	f.f, f.offset, f.begun = file, 0, true
	return nil
}

// look sees whether the name means another file by now, or the file was cut.
func (f *File) look() {
	ours, err := f.f.Stat()
	if err != nil {
		f.close()
		return
	}
	if now, err := os.Stat(f.name); err == nil && !os.SameFile(now, ours) {
		if ours.Size() <= f.offset { // nothing more came while we looked
			f.close()
		}
		return
	}
	if ours.Mode().IsRegular() && ours.Size() < f.offset {
		f.f.Seek(0, io.SeekStart)
		f.offset = 0
	}
}

func (f *File) close() {
	if f.f != nil {
		f.f.Close()
		f.f = nil
	}
}
