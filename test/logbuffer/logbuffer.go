// Package logbuffer keeps a log in memory, for tests that read what a program logs while
// the program runs. What the lines must say belongs to the tests.
package logbuffer

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trident-inference/trident/test/pause"
)

// Buffer is a log. The zero value is ready, and its methods may be called concurrently.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements [io.Writer].
func (l *Buffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns the log so far.
func (l *Buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Await waits up to 30 s until the log contains text n times. Otherwise the test fails.
func (l *Buffer) Await(tb testing.TB, text string, n int) {
	tb.Helper()
	if !pause.Until(30*time.Second, func() bool { return strings.Count(l.String(), text) >= n }) {
		tb.Fatalf("the log doesn't contain %q %d times:\n%s", text, n, l)
	}
}
