package kserve

import (
	"github.com/trident-inference/trident/services/inference"
)

// restrictedHeader is how the header begins that a restricted method expects, as in
// tritonserver.
const restrictedHeader = "triton-grpc-protocol-"

// guard holds what each procedure expects. What isn't there is open to all.
type guard map[string]Restriction

func newGuard(s *Service) guard {
	g := guard{}
	for _, r := range s.cfg.Restrictions {
		for _, group := range r.Groups {
			for _, m := range s.methods() {
				if m.group == group {
					g[procedure(m.name)] = r
				}
			}
			if group == groupHealth {
				g[healthCheck] = r
			}
		}
	}
	return g
}

// check refuses a call whose headers lack what the procedure expects.
func (g guard) check(procedure string, header func(string) string) error {
	r, restricted := g[procedure]
	if !restricted || header(restrictedHeader+r.Key) == r.Value {
		return nil
	}
	return &inference.Error{
		Code: inference.CodeUnavailable, Triton: inference.TritonUnavailable,
		Message: "This protocol is restricted, expecting header '" + restrictedHeader + r.Key + "'",
	}
}

// wantsStatus is whether a stream's client wants the first error of a model's as
// the call's status.
func wantsStatus(header func(string) string) bool { return header("triton_grpc_error") == "true" }
