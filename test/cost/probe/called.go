package probe

import (
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/pickfirst"
)

// watch records when a program makes its first call of a model. grpc-go's load balancer picks a
// connection for each call before it encodes the call's message. So a load balancer detects the
// call without a change of the program.
type watch struct {
	called atomic.Int64 // the process's CPU time at the first call since begin; 0 for no call
}

// calls is the watch of the program.
var calls watch //nolint:gochecknoglobals // grpc-go's load balancers are global

// begin forgets the previous calls.
func (w *watch) begin() { w.called.Store(0) }

func (w *watch) note(method string) {
	if strings.HasSuffix(method, "/ModelInfer") || strings.HasSuffix(method, "/ModelStreamInfer") {
		w.called.CompareAndSwap(0, int64(used()))
	}
}

// used returns the CPU time of the process.
func used() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0 // Linux always has this clock
	}
	return time.Duration(t.Nano())
}

// seen is grpc-go's default load balancer with recorded picks.
type seen struct {
	balancer.Builder
	balancer.ConfigParser
}

// grpc-go looks up its default load balancer when it initializes. Packages initialize in the order
// of their import paths. This package comes first, because it doesn't import grpc-go itself.
func init() { //nolint:gochecknoinits // load balancers are registered at initialization
	of := balancer.Get(pickfirst.Name)
	parser, _ := of.(balancer.ConfigParser)
	balancer.Register(seen{of, parser})
}

// Build implements [balancer.Builder].
func (s seen) Build(conn balancer.ClientConn, options balancer.BuildOptions) balancer.Balancer {
	return s.Builder.Build(seenConn{conn}, options)
}

type seenConn struct{ balancer.ClientConn }

// UpdateState implements [balancer.ClientConn].
func (c seenConn) UpdateState(s balancer.State) {
	s.Picker = seenPicker{s.Picker}
	c.ClientConn.UpdateState(s)
}

type seenPicker struct{ balancer.Picker }

// Pick implements [balancer.Picker].
func (p seenPicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	calls.note(info.FullMethodName)
	return p.Picker.Pick(info)
}
