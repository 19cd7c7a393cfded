package fleet

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/balance"
	"github.com/trident-inference/trident/services/triton/tritontest"
)

// TestPace streams from two servers: the balancer gets the intervals between the responses of
// each, which are about those of the model.
func TestPace(t *testing.T) {
	fakes := tritontest.NewFakes(t, 2)
	e := begin(t, fakes.Addresses()...)
	paces := func() (known int) {
		for _, m := range e.all() {
			if e.balancer.Pace(m.endpoint, e.elapsed()) > 0 {
				known++
			}
		}
		return known
	}
	stream := func(count, delay uint32) {
		req := &kserve.ModelInferRequest{ModelName: "stream"}
		for name, value := range map[string]uint32{"COUNT": count, "DELAY": delay} {
			req.Inputs = append(req.Inputs, &kserve.ModelInferRequest_InferInputTensor{Name: name, Datatype: "INT32", Shape: []int64{1}})
			req.RawInputContents = append(req.RawInputContents, binary.LittleEndian.AppendUint32(nil, value))
		}
		for _, err := range e.Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	stream(balance.PaceResponses-1, 1)
	if n := paces(); n != 0 {
		t.Errorf("%d paces are known after fewer than %d responses", n, balance.PaceResponses)
	}
	begin := time.Now()
	for paces() < 2 && time.Since(begin) < 10*time.Second {
		stream(2*balance.PaceResponses+1, 1)
	}
	if n := paces(); n != 2 {
		t.Errorf("the paces of %d endpoints are known, want those of both", n)
	}
}
