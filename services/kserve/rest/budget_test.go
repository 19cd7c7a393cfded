package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/kserve/kservetest"
)

// TestRESTBudgets checks the maximum numbers of parameters, tensors and dimensions in a REST
// request. A request above a maximum is refused.
func TestRESTBudgets(t *testing.T) {
	address := kservetest.ServeShared(t, kservetest.Open(), kservetest.SingleResponseEngine())
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"p%d":"",`, i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	list := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	in := tensorJSON("IN", "UINT8", "[1]", "[7]")
	withParameters := func(tensor string, n int) string {
		return strings.TrimSuffix(tensor, "}") + `,"parameters":{` + members(n) + `}}`
	}
	for _, test := range []struct{ name, path, body, want string }{
		{"parameters", "infer", `{"inputs":[` + in + `],"parameters":{` + members(budget.Keys+1) + `}}`, "parameters holds more than 4096 elements: send fewer"},
		{"parameters at the limit", "infer", `{"inputs":[` + in + `],"parameters":{` + members(budget.Keys) + `}}`, ""},
		{"parameters of an input", "infer", `{"inputs":[` + withParameters(in, budget.Keys+1) + `]}`, "parameters holds more than 4096 elements: send fewer"},
		{"parameters of an input at the limit", "infer", `{"inputs":[` + withParameters(in, budget.Keys) + `]}`, ""},
		{"parameters of an output", "infer", `{"inputs":[` + in + `],"outputs":[` + withParameters(`{"name":"OUT"}`, budget.Keys+1) + `]}`, "parameters holds more than 4096 elements: send fewer"},
		{"inputs", "infer", `{"inputs":` + list(budget.Tensors+1, in) + `}`, "inputs holds more than 16384 elements: send fewer"},
		{"outputs", "infer", `{"inputs":[` + in + `],"outputs":` + list(budget.Tensors+1, `{"name":"OUT"}`) + `}`, "outputs holds more than 16384 elements: send fewer"},
		{"shape", "infer", inputs(tensorJSON("IN", "UINT8", list(budget.Dimensions+1, "1"), "[7]")), "shape holds more than 256 elements: send fewer"},
		{"members of generate", "generate", `{` + members(budget.Keys+1) + `}`, "parameters holds more than 4096 elements: send fewer"},
		{"parameters of generate", "generate", `{"parameters":{` + members(budget.Keys+1) + `}}`, "Converting keyword: 'parameters': parameters holds more than 4096 elements: send fewer"},
		{"generate at the limit", "generate", `{` + members(budget.Keys/2) + `,"parameters":{` + strings.ReplaceAll(members(budget.Keys/2), "p", "q") + `}}`, "expected a single response, got 0"}, // this error shows that the model ran: it sends a response per input
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := routeCall{method: http.MethodPost, path: "/v2/models/m/" + test.path, body: test.body}.asked(t, address)
			want := http.StatusBadRequest
			switch {
			case test.want == "":
				want = http.StatusOK
			case !strings.HasSuffix(test.want, "send fewer"):
				want = http.StatusInternalServerError
			}
			if answer.status != want || answer.message() != test.want {
				t.Errorf("got %d %.300s", answer.status, answer.message())
			}
		})
	}
}
