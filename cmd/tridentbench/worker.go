package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// source is the source of a worker's tokens.
type source interface {
	// open prepares the streams of a job. The streams are connected when open
	// returns.
	open(ctx context.Context, j *job) ([]session, error)
}

// session runs one stream's requests one after another. It must be used by one
// goroutine.
type session interface {
	// run sends a request, and records and checks its response. It ends when the
	// context ends.
	run(ctx context.Context, rec *recorder) error
	close()
}

// work runs jobs until its input ends. The bench closes the input to end the
// worker.
func work(ctx context.Context, from source, in io.Reader, out io.Writer) error {
	w := &runner{source: from, in: json.NewDecoder(in), out: json.NewEncoder(out)}
	for {
		var next workerOrder
		if err := w.in.Decode(&next); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a command from standard input: %w", err)
		}
		if next.Job == nil {
			return errors.New("a command on standard input has no job")
		}
		sum, err := w.do(ctx, next.Job)
		last := workerReport{State: stateDone, Result: sum}
		if err != nil {
			last.Error = err.Error()
		}
		if err := w.out.Encode(last); err != nil {
			return err
		}
	}
}

type runner struct {
	source source
	in     *json.Decoder
	out    *json.Encoder
}

// report sends the state of the job, and waits for the order to continue.
func (w *runner) report(s state) error {
	if err := w.out.Encode(workerReport{State: s}); err != nil {
		return err
	}
	var next workerOrder
	return w.in.Decode(&next)
}

// do runs a job.
func (w *runner) do(ctx context.Context, j *job) (*result, error) {
	sessions, err := w.source.open(ctx, j)
	defer func() {
		for _, s := range sessions {
			s.close()
		}
	}()
	if err != nil {
		return nil, err
	}
	streams := make([]*recorder, len(sessions))
	for i := range streams {
		streams[i] = &recorder{sampling: i == 0}
	}
	runtime.GC() // this removes the garbage of earlier jobs
	if err := w.report(stateReady); err != nil {
		return nil, err
	}
	if j.Hold {
		return nil, w.hold(ctx, sessions, streams)
	}
	began := time.Now()
	err = share(ctx, j, sessions, streams)
	return summary(streams, time.Since(began)), err
}

// share distributes the requests over the streams until none is left.
func share(ctx context.Context, j *job, sessions []session, streams []*recorder) error {
	var taken atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for i, s := range sessions {
		group.Go(func() error {
			random := rand.New(rand.NewPCG(0, uint64(i))) //nolint:gosec // the same waits in each measurement
			if err := pause(ctx, j.Spread*time.Duration(i)/time.Duration(len(sessions))); err != nil {
				return err
			}
			for taken.Add(1) <= int64(j.Requests) && ctx.Err() == nil {
				if err := pause(ctx, j.Pause+time.Duration(random.Float64()*float64(j.Jitter))); err != nil {
					return err
				}
				if err := s.run(ctx, streams[i]); err != nil {
					if err := tolerate(ctx, j, s, streams[i], err); err != nil {
						return err
					}
					continue
				}
				streams[i].requests++
				streams[i].sampling = false
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// afterFailure is the wait after a failed request.
const afterFailure = 100 * time.Millisecond

// tolerate counts a failed request of a tolerant job, and opens the session's connection again. It
// returns the error of other jobs.
func tolerate(ctx context.Context, j *job, s session, rec *recorder, failure error) error {
	again, ok := s.(interface {
		reopen(ctx context.Context) error
	})
	if !j.Tolerant || !ok || ctx.Err() != nil {
		return failure
	}
	rec.failed()
	if err := pause(ctx, afterFailure); err != nil {
		return err
	}
	return again.reopen(ctx)
}

func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hold opens one stream per session, and cancels all when the bench orders to
// continue.
func (w *runner) hold(ctx context.Context, sessions []session, streams []*recorder) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var waiting, running sync.WaitGroup
	var failed atomic.Pointer[error]
	waiting.Add(len(sessions))
	for i, s := range sessions {
		opened := sync.OnceFunc(waiting.Done)
		streams[i].onFirst = opened
		running.Go(func() {
			defer opened() // a failed stream must not block the others
			if err := s.run(ctx, streams[i]); ctx.Err() == nil {
				err = fmt.Errorf("a stream of a job with hold has ended early: %w", err)
				failed.Store(&err)
			}
		})
	}
	waiting.Wait()
	err := w.report(stateHeld)
	cancel()
	running.Wait()
	if early := failed.Load(); early != nil {
		return *early
	}
	return err
}
