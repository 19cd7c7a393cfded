package triton

import (
	"sync"
)

const (
	// ringFrames is how many responses a stream holds at most.
	ringFrames = 16
	// ringBytes is the size from which on a stream reads no further response. One
	// response of any size is always taken.
	ringBytes = 1 << 20
)

// ring hands frames from a stream's reader to its consumer, one goroutine each,
// and stops the reader when it is full. The frames are reused, and so is the
// ring once [ring.reset] has been called.
type ring struct {
	frames [ringFrames]frame
	spare  frame // for what is read and dropped
	names  names

	mu     sync.Mutex
	taken  uint  // frames given back by the consumer
	filled uint  // frames committed by the reader
	bytes  int   // size of the frames in between
	held   bool  // the consumer works on the frame at taken
	err    error // why the reader ended, nil while it reads

	// Who found nothing to do, and a token each to wake them with; one left over
	// wakes in vain.
	starved, full      bool
	readable, writable chan struct{}
}

func newRing() *ring {
	r := &ring{readable: make(chan struct{}, 1), writable: make(chan struct{}, 1)}
	for i := range r.frames {
		r.frames[i].names = &r.names
	}
	r.spare.names = &r.names
	return r
}

// reset frees all frames. Neither side may be at work.
func (r *ring) reset() {
	for i := range r.frames {
		r.frames[i].free()
	}
	r.spare.free()
	r.taken, r.filled, r.bytes, r.held, r.err = 0, 0, 0, false, nil
	r.starved, r.full = false, false
}

// reserve gives the reader an empty frame, waiting for room. It gives nil once
// done is closed.
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

// commit hands the reserved frame to the consumer.
func (r *ring) commit(f *frame) {
	r.mu.Lock()
	r.filled++
	r.bytes += f.size()
	wake(&r.starved, r.readable)
	r.mu.Unlock()
}

// end tells the consumer that no frame follows those committed.
func (r *ring) end(err error) {
	r.mu.Lock()
	r.err = err
	wake(&r.starved, r.readable)
	r.mu.Unlock()
}

// take gives the consumer the next frame, taking back the one before, and
// whether another follows at once. It gives nil when there is none: for now, or
// for good if err isn't nil.
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

// wake gives its token to a side that waits. The ring is locked.
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
