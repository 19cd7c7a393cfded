package auth

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
)

// KServeRestriction closes groups of KServe's methods to clients that don't send a
// header, as tritonserver's --grpc-restricted-protocol and --http-restricted-api do.
type KServeRestriction struct {
	Groups []KServeGroup
	// Key is the header's name; over gRPC and Connect it has the prefix
	// triton-grpc-protocol-. Value is the required value.
	Key, Value string
}

// UnmarshalText parses GROUP[,GROUP…]:KEY=VALUE, as tritonserver does. A comma may
// replace the colon, as tritonserver's --help documents.
func (r *KServeRestriction) UnmarshalText(text []byte) error {
	left, value, ok := strings.Cut(string(text), "=")
	colon := strings.LastIndexByte(left, ':')
	if colon < 0 {
		colon = strings.LastIndexByte(left, ',')
	}
	if !ok {
		return errors.New("must be GROUP[,GROUP...]:KEY=VALUE, but has no =") // the input may be secret
	}
	if colon < 0 || colon == len(left)-1 || value == "" {
		return fmt.Errorf("must be GROUP[,GROUP...]:KEY=VALUE with a colon, a key and a value, but has %q before the =", left)
	}
	r.Groups, r.Key, r.Value = nil, left[colon+1:], value
	for name := range strings.SplitSeq(left[:colon], ",") {
		group := KServeGroup(name)
		if !slices.Contains(kserveGroups(), group) {
			return fmt.Errorf("%q is not one of the groups %s", group, joined(kserveGroups(), ", "))
		}
		r.Groups = append(r.Groups, group)
	}
	return nil
}

// MarshalText is the reverse of UnmarshalText.
func (r KServeRestriction) MarshalText() ([]byte, error) {
	return []byte(joined(r.Groups, ",") + ":" + r.Key + "=" + r.Value), nil
}

func kserveGroups() []KServeGroup {
	return []KServeGroup{
		KServeHealth, KServeMetadata, KServeInference, KServeSharedMemory, KServeModelConfig, KServeRepository, KServeStatistics, KServeTrace, KServeLogging,
	}
}

// kserveRestrictions are the restrictions of KServe's procedures and of its REST
// operations, by group.
type kserveRestrictions struct {
	procedures, rest map[KServeGroup]KServeRestriction
}

func newKServeRestrictions(cfg Config) (k kserveRestrictions, err error) {
	if k.procedures, err = kserveByGroup("auth.GRPCRestricted", cfg.GRPCRestricted); err != nil {
		return k, err
	}
	k.rest, err = kserveByGroup("auth.HTTPRestricted", cfg.HTTPRestricted)
	return k, err
}

func kserveByGroup(field configfield.Field, all []KServeRestriction) (map[KServeGroup]KServeRestriction, error) {
	by := map[KServeGroup]KServeRestriction{}
	for _, r := range all {
		for _, group := range r.Groups {
			if _, twice := by[group]; twice {
				return nil, configfield.Errorf(field, "the group %s is restricted twice: name each group once", group)
			}
			by[group] = r
		}
	}
	return by, nil
}

// kserveHeader is the prefix of the header that a restricted procedure needs, as in
// tritonserver.
const kserveHeader = "triton-grpc-protocol-"

// check refuses a request that lacks the header of its route's group. The messages are
// tritonserver's.
func (k kserveRestrictions) check(route *Record, values func(name string) []string) error {
	if route.API == Procedure {
		if r, restricted := k.procedures[route.KServe]; restricted && !r.matches(kserveHeader+r.Key, values) {
			return &inference.Error{
				Code: inference.CodeUnavailable, Triton: inference.TritonUnavailable,
				Message: "This protocol is restricted, expecting header '" + kserveHeader + r.Key + "'",
			}
		}
		return nil
	}
	if r, restricted := k.rest[route.KServe]; restricted && !r.matches(r.Key, values) {
		return &inference.Error{Code: inference.CodeForbidden, Message: "This API is restricted, expecting header '" + r.Key + "'"}
	}
	return nil
}

// matches reports whether the first value of a header is the required one.
func (r KServeRestriction) matches(header string, values func(name string) []string) bool {
	got := ""
	if all := values(strings.ToLower(header)); len(all) > 0 {
		got = all[0]
	}
	return Secret(r.Value).Equal(got)
}
