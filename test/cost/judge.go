package main

import (
	"fmt"
	"time"
)

// Bounds of a request's cost.
const (
	// stepTimes is how many times the CPU time of a request the one of a request four times
	// as large may be, if that is more than stepFrom and more than perByte for each of its
	// bytes. Less isn't compared: bodies of megabytes don't fit into the caches of a processor,
	// and are read into memory that the system has to provide, so that their bytes take up to
	// twice as long as those of smaller ones. The smaller request counts as leastStep at least:
	// what it needs fits into the caches.
	stepTimes = 6
	stepFrom  = 5 * time.Millisecond
	leastStep = stepFrom / 2
	perByte   = 16 * time.Nanosecond
	// mostCPU is the CPU time of any request from its first byte to its refusal, or to the
	// call of the model.
	mostCPU = 500 * time.Millisecond
	// freeMemory and memoryTimes of the decoded bytes are the peak memory of any request.
	freeMemory  = 32 << 20
	memoryTimes = 10
)

const mebibyte = 1 << 20

// step is what requests of one size cost.
type step struct {
	units   int
	decoded int // bytes
	sent    int // bytes, compressed
	cpu     time.Duration
	planned time.Duration // up to the call of the model; 0 where it isn't measured apart
	memory  int64
	runs    int // whose mean the CPU time is
	answer  answer
}

func (s *step) String() string {
	cpu := s.cpu.Round(10 * time.Microsecond).String()
	if s.planned > 0 {
		cpu += fmt.Sprintf(" (%s before the model's call)", s.planned.Round(time.Millisecond))
	}
	return fmt.Sprintf("%d units, %s (%s sent): %s, %s of memory, %s", s.units, size(int64(s.decoded)), size(int64(s.sent)), cpu, size(s.memory), s.answer.short())
}

// before is the CPU time up to the refusal or the model's call.
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

// steep reports whether a step takes more CPU time than the one before explains.
func steep(steps []*step, i int) bool {
	if i == 0 || !steps[i].compared() {
		return false
	}
	times := func(of func(*step) time.Duration) bool {
		return of(steps[i]) > stepTimes*max(of(steps[i-1]), leastStep)
	}
	return times((*step).before) && times(func(s *step) time.Duration { return s.cpu })
}

// compared reports whether a step takes so much that it is compared with the one before.
func (s *step) compared() bool {
	return s.before() > max(stepFrom, time.Duration(s.decoded)*perByte)
}

// memoryBound is the memory that a request may take.
func (s *step) memoryBound() int64 { return freeMemory + memoryTimes*int64(s.decoded) }

// judge names what goes beyond a bound in requests that grow by steps of four.
func judge(steps []*step) []string {
	var found []string
	for i, s := range steps {
		if s.answer.none {
			found = append(found, fmt.Sprintf("isn't answered within %s: %s", answerLimit, s))
		}
		if s.answer.unread {
			found = append(found, fmt.Sprintf("is refused before it is read: %s", s))
		}
		if s.before() > mostCPU {
			found = append(found, fmt.Sprintf("takes %s of CPU, more than %s: %s", s.before().Round(time.Millisecond), mostCPU, s))
		}
		if steep(steps, i) {
			found = append(found, fmt.Sprintf("takes more than %d times the CPU of a quarter of it: %s, before %s", stepTimes, s, steps[i-1]))
		}
		if s.memory > s.memoryBound() {
			found = append(found, fmt.Sprintf("takes %s, more than %s: %s", size(s.memory), size(s.memoryBound()), s))
		}
	}
	return found
}
