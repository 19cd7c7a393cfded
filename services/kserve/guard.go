package kserve

import (
	"slices"

	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/auth"
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
				g[healthCheck], g[healthWatch] = r, r
			}
		}
	}
	for _, p := range []string{tridentv1connect.InferServiceInferProcedure, tridentv1connect.InferServiceInferStreamProcedure} {
		if r := s.cfg.restriction(GroupInference); r != nil {
			g[p] = *r
		}
	}
	return g
}

// restriction of a group; nil for none.
func (c Config) restriction(group string) *Restriction {
	for i, r := range c.Restrictions {
		if slices.Contains(r.Groups, group) {
			return &c.Restrictions[i]
		}
	}
	return nil
}

// Allowed refuses a call by gRPC or Connect whose headers lack what its group of
// methods expects. It is for services beside this one.
func (c Config) Allowed(group string, header func(string) string) error {
	if r := c.restriction(group); r != nil {
		return r.check(header)
	}
	return nil
}

// check refuses a call whose headers lack what the procedure expects.
func (g guard) check(procedure string, header func(string) string) error {
	if r, restricted := g[procedure]; restricted {
		return r.check(header)
	}
	return nil
}

func (r Restriction) check(header func(string) string) error {
	if auth.Secret(r.Value).Equal(header(restrictedHeader + r.Key)) {
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
