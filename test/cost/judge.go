package main

import (
	"fmt"
	"time"
)

// Bounds on the CPU time and the memory of one request.
const (
	// stepTimes is the maximum ratio of the CPU times of two requests, of which the larger one has
	// four times the size. It applies only if the larger one takes more than stepFrom, and more
	// than perByte for each of its bytes. Smaller times aren't compared, because bodies of
	// megabytes don't fit into the processor's caches and need new memory from the system. Their
	// bytes take up to twice as long as those of smaller bodies. The time of the smaller request is
	// at least leastStep in the comparison, because its data fits into the caches.
	stepTimes = 6
	stepFrom  = 5 * time.Millisecond
	leastStep = stepFrom / 2
	perByte   = 16 * time.Nanosecond
	// mostCPU is the maximum CPU time of a request from its first byte to its refusal, or to the
	// call of the model.
	mostCPU = 500 * time.Millisecond
	// The peak memory of a request may be freeMemory plus memoryTimes its decoded bytes.
	freeMemory  = 32 << 20
	memoryTimes = 10
)

const mebibyte = 1 << 20

// step is the cost of requests of one size.
type step struct {
	units   int
	decoded int // size of a request in bytes, before compression
	sent    int // size of a request in bytes, as sent
	cpu     time.Duration
	planned time.Duration // CPU time up to the call of the model; 0 if it isn't measured separately
	memory  int64
	runs    int // number of runs; the CPU time is their mean
	answer  answer
}

func (s *step) String() string {
	cpu := s.cpu.Round(10 * time.Microsecond).String()
	if s.planned > 0 {
		cpu += fmt.Sprintf(" (%s before the model's call)", s.planned.Round(time.Millisecond))
	}
	return fmt.Sprintf("%d units, %s (%s sent): %s, %s of memory, %s", s.units, size(int64(s.decoded)), size(int64(s.sent)), cpu, size(s.memory), s.answer.short())
}

// before returns the CPU time up to the refusal or the model's call.
func (s *step) before() time.Duration {
	if s.planned > 0 {
		return min(s.planned, s.cpu)
	}
	return s.cpu
}

func (a answer) short() string {
	const short = 100
	if a.ok {
		return "ok"
	}
	return "refused: " + a.text[:min(len(a.text), short)]
}

func size(bytes int64) string {
	switch {
	case bytes >= mebibyte:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/mebibyte)
	default:
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	}
}

// over reports whether a step takes more CPU time than its bounds allow.
func over(steps []*step, i int) bool { return steps[i].before() > mostCPU || steep(steps, i) }

// steep reports whether a step takes more CPU time than the previous step explains.
func steep(steps []*step, i int) bool {
	if i == 0 || !steps[i].compared() {
		return false
	}
	times := func(of func(*step) time.Duration) bool {
		return of(steps[i]) > stepTimes*max(of(steps[i-1]), leastStep)
	}
	return times((*step).before) && times(func(s *step) time.Duration { return s.cpu })
}

// compared reports whether a step takes enough CPU time to be compared with the previous step.
func (s *step) compared() bool {
	return s.before() > max(stepFrom, time.Duration(s.decoded)*perByte)
}

// memoryBound returns the maximum memory of a request.
func (s *step) memoryBound() int64 { return freeMemory + memoryTimes*int64(s.decoded) }

// judge returns a description of each exceeded bound, for requests that grow by steps of four.
func judge(steps []*step) []string {
	var found []string
	for i, s := range steps {
		if s.answer.none {
			found = append(found, fmt.Sprintf("gets no response within %s: %s", answerLimit, s))
		}
		if s.answer.unread {
			found = append(found, fmt.Sprintf("is refused before its body is read: %s", s))
		}
		if s.before() > mostCPU {
			found = append(found, fmt.Sprintf("takes %s of CPU time, more than %s: %s", s.before().Round(time.Millisecond), mostCPU, s))
		}
		if steep(steps, i) {
			found = append(found, fmt.Sprintf("takes more than %d times the CPU time of a quarter of its size: %s; the quarter: %s", stepTimes, s, steps[i-1]))
		}
		if s.memory > s.memoryBound() {
			found = append(found, fmt.Sprintf("takes %s of memory, more than %s: %s", size(s.memory), size(s.memoryBound()), s))
		}
	}
	return found
}
