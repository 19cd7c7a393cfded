package auth

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// The groups of APIs, by the names of Triton's own OpenAI frontend, and embedding. A
// group is a capability, on whichever surface it is asked for.
const (
	groupInference  = "inference"
	groupEmbedding  = "embedding"
	groupRepository = "model-repository"
	groupMetrics    = "metrics"
	groupHealth     = "health"
	// groupOther is of what isn't in a group: it needs any of the headers.
	groupOther = ""
	// groupFree is of what is open whatever is restricted.
	groupFree = "-"
)

func restrictable() []string {
	return []string{groupInference, groupEmbedding, groupRepository, groupMetrics, groupHealth}
}

// Restriction closes groups of APIs to clients that don't send a header.
type Restriction struct {
	Groups []string
	// Header's name, and the Value that it must have.
	Header string
	Value  Secret
}

// ParseRestriction reads what Triton's own frontend takes as three arguments.
func ParseRestriction(groups, header, value string) (Restriction, error) {
	r := Restriction{Groups: strings.Split(groups, ","), Header: header, Value: Secret(value)}
	for i, group := range r.Groups {
		r.Groups[i] = strings.TrimSpace(group)
		if !slices.Contains(restrictable(), r.Groups[i]) {
			return r, fmt.Errorf("%q is none of the groups %s", r.Groups[i], strings.Join(restrictable(), ", "))
		}
	}
	if !validToken(header) || value == "" {
		return r, errors.New("it needs the name of a header and a value after the groups")
	}
	return r, nil
}

// validToken tells whether a text can be a header's name (RFC 9110, 5.6.2).
func validToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// restrictions are by group; nil restricts nothing.
type restrictions map[string]Restriction

func newRestrictions(all []Restriction) (restrictions, error) {
	var by restrictions
	for _, r := range all {
		for _, group := range r.Groups {
			if _, again := by[group]; again {
				return nil, fmt.Errorf("--openai-restricted-api: %s is restricted twice", group)
			}
			if by == nil {
				by = restrictions{}
			}
			by[group] = r
		}
	}
	if r, ok := by[groupInference]; ok {
		if _, own := by[groupEmbedding]; !own {
			by[groupEmbedding] = r // which is inference to Triton's frontend
		}
	}
	return by, nil
}

// check refuses a request that lacks the header of a group that its path may lead to.
// Paths are read in all ways in which handlers read them.
func (rs restrictions) check(u *url.URL, values func(name string) []string) error {
	if rs == nil {
		return nil
	}
	if err := rs.checkGroup(groupOf(strings.Split(u.Path, "/")), values); err != nil {
		return err
	}
	if clean := path.Clean(u.Path); clean != u.Path {
		if err := rs.checkGroup(groupOf(strings.Split(clean, "/")), values); err != nil {
			return err
		}
	}
	if u.RawPath == "" {
		return nil
	}
	segments := strings.Split(u.EscapedPath(), "/")
	for i, segment := range segments {
		plain, err := url.PathUnescape(segment)
		if err != nil {
			return err
		}
		segments[i] = plain
	}
	return rs.checkGroup(groupOf(segments), values)
}

func (rs restrictions) checkGroup(group string, values func(name string) []string) error {
	switch r, restricted := rs[group]; {
	case restricted:
		if !r.met(values) {
			return errRestricted("header '" + r.Header + "'")
		}
	case group == groupOther:
		for _, r := range rs {
			if r.met(values) {
				return nil
			}
		}
		return errRestricted("a header of the restricted APIs")
	}
	return nil
}

func (r Restriction) met(values func(name string) []string) bool {
	got := values(strings.ToLower(r.Header))
	return len(got) == 1 && r.Value.Equal(got[0])
}

// errRestricted has the words of Triton's own frontend.
func errRestricted(expected string) error {
	return &inference.Error{
		Code: inference.CodeUnauthenticated, Reason: inference.ReasonInvalidAuth,
		Message: "This API is restricted, expecting " + expected + " with valid value",
	}
}

// groupOf is the group of a path, given as its segments, of which the first is empty.
func groupOf(segments []string) string {
	segments = segments[1:]
	if len(segments) > 1 && segments[0] == "openai" && segments[1] == "v1" {
		segments = segments[1:]
	}
	if len(segments) > 1 && segments[0] == "v1" {
		segments = segments[1:]
	}
	switch first := first(segments); {
	case first == "chat", first == "completions", first == "responses", first == "tokenize", first == "detokenize":
		return groupInference
	case first == "embeddings":
		return groupEmbedding
	case first == "models":
		return groupRepository
	case first == "metrics":
		return groupMetrics
	case first == "health":
		return groupHealth
	case first == "v2":
		return groupOfREST(segments[1:])
	case strings.Contains(first, ".") && len(segments) > 1:
		return groupOfCall(first, segments[1])
	case len(segments) == 1 && slices.Contains([]string{"", "client.tgz", "openapi.json"}, first), first == "assets":
		return groupFree
	}
	return groupOther
}

func first(segments []string) string {
	if len(segments) == 0 {
		return ""
	}
	return segments[0]
}

// groupOfREST is that of a path below KServe's /v2. The last segment decides.
func groupOfREST(segments []string) string {
	last := ""
	if len(segments) > 0 {
		last = segments[len(segments)-1]
	}
	switch at := first(segments); {
	case at == "health", at == "models" && last == "ready" && len(segments) > 2:
		return groupHealth
	case at == "models" && slices.Contains([]string{"infer", "generate", "generate_stream"}, last):
		return groupInference
	case at == "models" && last == "setting":
		return groupOther
	case at == "", at == "models", at == "repository":
		return groupRepository
	case at == "openapi.json":
		return groupFree
	}
	return groupOther // trace, logging, shared memory
}

// groupOfCall is that of a procedure of gRPC and Connect.
func groupOfCall(service, method string) string {
	switch service {
	case "trident.v1.ChatService", "trident.v1.CompletionService", "trident.v1.InferService":
		return groupInference
	case "trident.v1.EmbeddingService":
		return groupEmbedding
	case "trident.v1.ModelService":
		return groupRepository
	case "trident.v1.ServerService":
		return groupMetrics
	case "grpc.health.v1.Health":
		return groupHealth
	case "inference.GRPCInferenceService":
	default:
		return groupOther
	}
	switch method {
	case "ModelInfer", "ModelStreamInfer":
		return groupInference
	case "ServerLive", "ServerReady", "ModelReady":
		return groupHealth
	case "ServerMetadata", "ModelMetadata", "ModelConfig", "ModelStatistics", "RepositoryIndex", "RepositoryModelLoad", "RepositoryModelUnload":
		return groupRepository
	}
	return groupOther
}
