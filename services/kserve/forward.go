package kserve

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"connectrpc.com/connect"
	"google.golang.org/grpc/metadata"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/configfield"
)

// forwarding selects the headers of a request that become its parameters, as
// tritonserver's flags do. A header is selected if the expression matches in its name.
// nil selects none.
type forwarding struct{ grpc, http *regexp.Regexp }

func newForwarding(cfg Config) (f forwarding, err error) {
	if f.grpc, err = headerPattern("kserve.GRPCForward", cfg.GRPCForward); err != nil {
		return f, err
	}
	f.http, err = headerPattern("kserve.HTTPForward", cfg.HTTPForward)
	return f, err
}

// headerPattern compiles an expression in RE2's syntax, which is Go's. The case of
// letters is ignored unless the pattern has (?-i). An empty pattern returns nil.
func headerPattern(field configfield.Field, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no pattern
	}
	pattern, err := regexp.Compile("(?i)" + text)
	if err != nil {
		return nil, configfield.Errorf(field, "%w", err)
	}
	return pattern, nil
}

type headerParameters = map[string]*kserve.InferParameter

// ofCall returns the parameters from the metadata of a call on gRPC's own port.
func (f forwarding) ofCall(ctx context.Context) headerParameters {
	if f.grpc == nil {
		return nil
	}
	values, _ := metadata.FromIncomingContext(ctx)
	found := headerParameters{}
	for name, all := range values {
		if f.grpc.MatchString(name) && !ofGRPC(name) {
			forward(found, name, all)
		}
	}
	return found
}

// ofHeader returns the parameters from the headers of a call on the shared port. They
// have the names that gRPC's own port would use.
func (f forwarding) ofHeader(header http.Header) headerParameters {
	if f.grpc == nil {
		return nil
	}
	found := headerParameters{}
	for key, all := range header {
		name := strings.ToLower(key)
		if !f.grpc.MatchString(name) || ofGRPC(name) || ofHTTP(name) {
			continue
		}
		if strings.HasSuffix(name, "-bin") {
			all = decodedHeaders(all)
		}
		forward(found, name, all)
	}
	return found
}

// ForwardHTTP adds the parameters from the headers of a REST request to the request's
// own parameters.
func (s *Service) ForwardHTTP(to map[string]*kserve.InferParameter, r *http.Request) map[string]*kserve.InferParameter {
	pattern := s.forward.http
	if pattern == nil {
		return to
	}
	found := headerParameters{}
	for name, all := range r.Header {
		if pattern.MatchString(name) {
			forward(found, name, all)
		}
	}
	if pattern.MatchString("Host") {
		forward(found, "Host", []string{r.Host})
	}
	if to == nil {
		return found
	}
	maps.Copy(to, found)
	return to
}

// forward adds a header's last value up to a zero byte, where Triton's strings end. It
// omits values that aren't UTF-8, which KServe's messages can't contain. It also omits
// names that have a meaning in KServe, so that a header can't set such a parameter.
func forward(to headerParameters, name string, values []string) {
	if len(values) == 0 || hasMeaning(name) {
		return
	}
	value, _, _ := strings.Cut(values[len(values)-1], "\x00")
	if utf8.ValidString(value) {
		to[name] = &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_StringParam{StringParam: value}}
	}
}

// hasMeaning reports whether Triton's frontends interpret the parameter themselves.
func hasMeaning(name string) bool {
	switch name {
	case "sequence_id", "sequence_start", "sequence_end", "priority", "timeout":
		return true
	}
	return strings.HasPrefix(name, "triton_")
}

// ofGRPC reports whether metadata belongs to the protocol, which gRPC servers don't pass
// on.
func ofGRPC(name string) bool {
	return name == "content-type" || name == "te" || strings.HasPrefix(name, ":") || strings.HasPrefix(name, "grpc-")
}

// ofHTTP reports whether a header belongs to the transport of Connect, gRPC-Web or gRPC.
func ofHTTP(name string) bool {
	switch name {
	case "accept", "accept-encoding", "connection", "content-encoding", "content-length", "host", "trailer", "x-grpc-web":
		return true
	}
	return strings.HasPrefix(name, "connect-")
}

// decodedHeaders returns the values of binary headers. It omits values that aren't
// base64.
func decodedHeaders(encoded []string) (values []string) {
	for _, one := range encoded {
		if value, err := connect.DecodeBinaryHeader(one); err == nil {
			values = append(values, string(value))
		}
	}
	return values
}
