package memory

import (
	"fmt"
	"time"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
)

// LightHolding is the number of bytes of bodies that a client may hold while memory is short. Clients
// below it are served while Go's memory is within its soft limit.
const LightHolding = 64 << 10

// softLimitPressure is the pressure at which Go's memory has reached its soft limit.
const softLimitPressure = (1 - Low) / (High - Low)

// Holdings returns the holding of each client, sorted by bytes in descending order, and the sum.
type Holdings = func() (each []admission.Holding, all admission.Holding)

// Guard returns the guard that refuses the requests of the heaviest clients while memory is short.
// Between the watermarks, it refuses the clients with the largest holdings, which together hold a
// fraction of the bytes of all clients. The fraction is 0 at the low watermark, 1 at the high
// watermark, and linear between. Above the high watermark, it refuses all clients with more than
// [LightHolding]. Beyond the soft limit, it refuses all clients.
func (m *Monitor) Guard(holdings Holdings) admission.Guard {
	return func(held admission.Holding) error {
		pressure := m.Pressure()
		if pressure == 0 || !sheds(pressure, held, holdings) {
			return nil
		}
		m.shed.Add(1)
		message := "this server is low on memory: try again later"
		if pressure < softLimitPressure {
			message = fmt.Sprintf("this server is low on memory, and the requests of this client use %s: try again later", text(held.Bytes))
		}
		return &inference.Error{Code: inference.CodeOverloaded, Reason: inference.ReasonOverloaded, RetryAfter: pause(pressure), Message: message}
	}
}

func sheds(pressure float64, held admission.Holding, holdings Holdings) bool {
	switch {
	case pressure >= softLimitPressure:
		return true
	case held.Bytes <= LightHolding:
		return false
	case pressure >= 1:
		return true
	}
	each, _ := holdings()
	heavier, all := int64(0), held.Bytes
	for _, other := range each {
		if other.Party == held.Party {
			continue // held already has its bytes and those about to be read
		}
		if all += other.Bytes; other.Bytes > held.Bytes {
			heavier += other.Bytes
		}
	}
	return float64(heavier) < pressure*float64(all)
}

// pause returns the suggested delay before a retry, which grows with the pressure. A few seconds
// are enough for requests to end and for Go to collect their garbage.
func pause(pressure float64) time.Duration {
	return time.Duration(1+3*min(pressure, 1)) * time.Second
}
