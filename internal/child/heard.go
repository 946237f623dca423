package child

import (
	"bytes"
	"io"
	"os"
	"sync"
)

// chunk is how much is copied at once.
const chunk = 256 << 10

// longestPart is how much of a line that has not ended is held back, so that
// lines of the two outputs do not run into each other.
const longestPart = 64 << 10

// hearing is who listens in: lines in the order in which they ended.
type hearing struct {
	mu         sync.Mutex
	heard, log io.Writer
	logErr     error
	parts      []*stream
	bytes      int64
}

// stream copies one output of the command.
type stream struct {
	from  *os.File
	to    io.Writer
	heard *hearing
	part  []byte // of a line that has not ended
	done  chan struct{}
}

// copy copies until the output ends. A reader that went away ends it: the
// command's next write then fails as it would have without us.
func (s *stream) copy() {
	defer close(s.done)
	s.heard.join(s)
	buf := make([]byte, chunk)
	for {
		n, err := s.from.Read(buf)
		if n > 0 {
			_, lost := s.to.Write(buf[:n])
			s.heard.hear(s, buf[:n])
			if lost != nil {
				s.from.Close() // the command learns by SIGPIPE or SIGHUP
				return
			}
		}
		if err != nil {
			return // the end; of a terminal it is an error (EIO)
		}
	}
}

func (h *hearing) join(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parts = append(h.parts, s)
}

// hear passes on what a stream brought.
func (h *hearing) hear(s *stream, b []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes += int64(len(b))
	if h.log != nil && h.logErr == nil {
		_, h.logErr = h.log.Write(b)
	}
	if h.heard == nil {
		return
	}
	whole := bytes.LastIndexByte(b, '\n') + 1
	if whole > 0 {
		h.pass(s.part)
		s.part = s.part[:0]
		h.pass(b[:whole])
	}
	s.part = append(s.part, b[whole:]...)
	if len(s.part) > longestPart {
		h.pass(s.part)
		s.part = s.part[:0]
	}
}

// pass gives bytes to the listener; one that fails is not asked again.
func (h *hearing) pass(b []byte) {
	if len(b) == 0 || h.heard == nil {
		return
	}
	if _, err := h.heard.Write(b); err != nil {
		h.heard = nil
	}
}

// end passes on lines that never ended, and forgets the listeners.
func (h *hearing) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.parts {
		if len(s.part) > 0 {
			h.pass(append(s.part, '\n'))
		}
		s.part = nil
	}
	h.heard, h.log = nil, nil
}

func (h *hearing) count() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bytes
}
