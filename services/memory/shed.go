package memory

import (
	"fmt"
	"time"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
)

// Light is how many bytes of bodies a client may hold while memory is short: clients with
// less go on while Go's memory is within its soft limit.
const Light = 64 << 10

// exhausted is the pressure at which Go's memory is all of its soft limit.
const exhausted = (1 - Low) / (High - Low)

// Holdings returns what each client holds, the most bytes first, and the sum.
type Holdings = func() (each []admission.Holding, all admission.Holding)

// Guard returns the guard that refuses the requests of the heaviest clients while memory is
// short. Between the watermarks these are the clients that hold most, so many that together
// they hold as great a part of all bytes as the memory has come of the way from the low
// watermark to the high one. Above the high watermark these are all with more than [Light],
// and beyond the soft limit all.
func (m *Monitor) Guard(holdings Holdings) admission.Guard {
	return func(held admission.Holding) error {
		pressure := m.Pressure()
		if pressure == 0 || !sheds(pressure, held, holdings) {
			return nil
		}
		m.shed.Add(1)
		message := "this server is short of memory: try again"
		if pressure < exhausted {
			message = fmt.Sprintf("this server is short of memory, and the requests of this client hold %s of it: try again", text(held.Bytes))
		}
		return &inference.Error{Code: inference.CodeOverloaded, Reason: inference.ReasonOverloaded, RetryAfter: pause(pressure), Message: message}
	}
}

func sheds(pressure float64, held admission.Holding, holdings Holdings) bool {
	switch {
	case pressure >= exhausted:
		return true
	case held.Bytes <= Light:
		return false
	case pressure >= 1:
		return true
	}
	each, _ := holdings()
	heavier, all := int64(0), held.Bytes
	for _, other := range each {
		if other.Party == held.Party {
			continue // held has its bytes, and those that are about to be read
		}
		if all += other.Bytes; other.Bytes > held.Bytes {
			heavier += other.Bytes
		}
	}
	return float64(heavier) < pressure*float64(all)
}

// pause is when clients should come again: the later, the shorter memory is. Some seconds
// are enough for requests to end and for Go to collect what they leave.
func pause(pressure float64) time.Duration {
	return time.Duration(1+3*min(pressure, 1)) * time.Second
}
