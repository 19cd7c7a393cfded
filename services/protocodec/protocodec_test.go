package protocodec_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/protocodec"
)

// codec is the interface that Connect uses.
type codec interface {
	Name() string
	Marshal(v any) ([]byte, error)
	MarshalAppend(to []byte, v any) ([]byte, error)
	Unmarshal(data []byte, v any) error
}

func codecs() []codec {
	kinds := budget.Inputs(kserve.File_kserve_grpc_service_proto.Services().ByName("GRPCInferenceService"))
	return []codec{
		protocodec.Binary{Kinds: kinds},
		protocodec.JSON{Subtype: protocodec.JSONName, Kinds: kinds},
		protocodec.JSON{Subtype: protocodec.JSONCharsetName, Kinds: kinds},
	}
}

// settings returns a message with n keys.
func settings(n int) *kserve.TraceSettingRequest {
	all := make(map[string]*kserve.TraceSettingRequest_SettingValue, n)
	for i := range n {
		all[fmt.Sprint(i)] = &kserve.TraceSettingRequest_SettingValue{}
	}
	return &kserve.TraceSettingRequest{Settings: all}
}

// TestBudget checks that Unmarshal accepts messages with the maximum number of elements, and
// refuses larger ones before it decodes them.
func TestBudget(t *testing.T) {
	for _, c := range codecs() {
		for n, held := range map[int]bool{budget.Keys: true, budget.Keys + 1: false} {
			data, err := c.MarshalAppend([]byte("kept"), settings(n))
			if err != nil || string(data[:4]) != "kept" {
				t.Fatalf("%s: %v", c.Name(), err)
			}
			got := &kserve.TraceSettingRequest{}
			err = c.Unmarshal(data[4:], got)
			var over *budget.Error
			switch {
			case held && (err != nil || !proto.Equal(got, settings(n))):
				t.Errorf("%s, %d keys: %v", c.Name(), n, err)
			case !held && (!errors.As(err, &over) || over.Field != "settings" || len(got.GetSettings()) != 0):
				t.Errorf("%s, %d keys: %v, %d decoded", c.Name(), n, err, len(got.GetSettings()))
			}
		}
	}
}

// TestForeign checks that a value that isn't a message fails, and that unknown JSON
// fields pass.
func TestForeign(t *testing.T) {
	for _, c := range codecs() {
		if _, err := c.Marshal("text"); err == nil || err.Error() != "string is not a protobuf message" {
			t.Errorf("%s: %v", c.Name(), err)
		}
		if err := c.Unmarshal([]byte("{}"), new(int)); err == nil || err.Error() != "*int is not a protobuf message" {
			t.Errorf("%s: %v", c.Name(), err)
		}
		if !strings.HasPrefix(c.Name(), "json") {
			continue
		}
		m := &kserve.ModelReadyRequest{}
		if err := c.Unmarshal([]byte(`{"name": "m", "other": [1]}`), m); err != nil || m.GetName() != "m" {
			t.Errorf("%s: %v, %v", c.Name(), m, err)
		}
		if err := c.Unmarshal(nil, m); err == nil {
			t.Errorf("%s: no bytes are JSON", c.Name())
		}
	}
}
