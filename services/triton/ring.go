package triton

import (
	"sync"
)

const (
	// ringFrames is the maximum number of responses that a stream buffers.
	ringFrames = 16
	// ringBytes is the number of buffered bytes at which a stream stops reading.
	// A single response of any size is always read.
	ringBytes = 1 << 20
)

// ring passes frames from a stream's reader to its consumer, one goroutine each.
// It blocks the reader while it is full. The frames are reused. After
// [ring.reset], the ring is reused too.
type ring struct {
	frames [ringFrames]frame
	spare  frame // frame for responses that are read and dropped
	names  names

	mu     sync.Mutex
	taken  uint  // number of frames that the consumer has released
	filled uint  // number of frames that the reader has committed
	bytes  int   // total size of the frames between taken and filled
	held   bool  // the consumer uses the frame at taken
	err    error // reason why the reader ended; nil while it reads

	// starved and full are set while the consumer or the reader waits. A token
	// in readable or writable wakes it. A leftover token causes one spurious
	// wake-up.
	starved, full      bool
	readable, writable chan struct{}

	engine   *Engine
	link     *link
	forwards bool          // responses may follow an error
	done     chan struct{} // closed when the reader has ended
}

func newRing() *ring {
	r := &ring{readable: make(chan struct{}, 1), writable: make(chan struct{}, 1)}
	for i := range r.frames {
		r.frames[i].names = &r.names
	}
	r.spare.names = &r.names
	return r
}

// reset frees all frames. The reader and the consumer must have ended.
func (r *ring) reset() {
	for i := range r.frames {
		r.frames[i].free()
	}
	r.spare.free()
	r.taken, r.filled, r.bytes, r.held, r.err = 0, 0, 0, false, nil
	r.starved, r.full = false, false
	r.engine, r.link, r.done = nil, nil, nil
}

// reserve returns an empty frame to the reader, and waits while the ring is
// full. It returns nil when done is closed.
func (r *ring) reserve(done <-chan struct{}) *frame {
	for {
		if f := r.empty(); f != nil {
			return f
		}
		select {
		case <-r.writable:
		case <-done:
			return nil
		}
	}
}

func (r *ring) empty() *frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.filled - r.taken; n == ringFrames || n > 0 && r.bytes >= ringBytes {
		r.full = true
		return nil
	}
	return &r.frames[r.filled%ringFrames]
}

// commit passes the reserved frame to the consumer.
func (r *ring) commit(f *frame) {
	r.mu.Lock()
	r.filled++
	r.bytes += f.size()
	wake(&r.starved, r.readable)
	r.mu.Unlock()
}

// end marks the end of the frames, with the reason.
func (r *ring) end(err error) {
	r.mu.Lock()
	r.err = err
	wake(&r.starved, r.readable)
	r.mu.Unlock()
}

// take releases the consumer's previous frame and returns the next one. more
// reports whether another frame is ready. take returns a nil frame if none is
// ready. If err isn't nil, no frame follows.
func (r *ring) take() (f *frame, more bool, err error) {
	r.mu.Lock()
	if r.held {
		r.giveBack()
	}
	switch n := r.filled - r.taken; n {
	case 0:
		err, r.starved = r.err, true
	default:
		r.held = true
		f, more = &r.frames[r.taken%ringFrames], n > 1
	}
	r.mu.Unlock()
	return f, more, err
}

func (r *ring) giveBack() {
	f := &r.frames[r.taken%ringFrames]
	r.bytes -= f.size()
	f.free()
	r.taken++
	r.held = false
	wake(&r.full, r.writable)
}

// wake sends a token to a side that waits. The caller must hold the lock.
func wake(waits *bool, token chan<- struct{}) {
	if !*waits {
		return
	}
	*waits = false
	select {
	case token <- struct{}{}:
	default:
	}
}
