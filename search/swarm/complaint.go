package swarm

import (
	"bytes"
	"sync"
)

// complaint keeps what a worker writes to standard error: the beginning, or, if it panics, the
// beginning of the panic. What a library logged before is useless then, and so are the stacks of
// goroutines far down.
type complaint struct {
	mu       sync.Mutex
	text     bytes.Buffer
	line     []byte // the incomplete last line
	panicked bool
}

// maxComplaint is how many bytes of it are kept.
const maxComplaint = 6 << 10

// fatalPrefixes begin the line in which the Go runtime, or its race detector, says why it exits.
var fatalPrefixes = [][]byte{[]byte("panic: "), []byte("fatal error: "), []byte("SIG"), []byte("WARNING: DATA RACE")}

func (c *complaint) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for chunk := range bytes.Lines(p) {
		if room := maxComplaint - len(c.line); room > 0 {
			c.line = append(c.line, chunk[:min(room, len(chunk))]...)
		}
		if chunk[len(chunk)-1] == '\n' {
			c.endLine()
		}
	}
	return len(p), nil
}

func (c *complaint) endLine() {
	for _, prefix := range fatalPrefixes {
		if !c.panicked && bytes.HasPrefix(c.line, prefix) {
			c.panicked = true
			c.text.Reset()
		}
	}
	if room := maxComplaint - c.text.Len(); room > 0 {
		c.text.Write(c.line[:min(room, len(c.line))])
	}
	c.line = c.line[:0]
}

func (c *complaint) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.line) > 0 {
		c.endLine()
	}
	if c.text.Len() == 0 {
		return "it wrote nothing to standard error"
	}
	return string(bytes.TrimRight(c.text.Bytes(), "\n"))
}
