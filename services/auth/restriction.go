package auth

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
)

func restrictable() []Group { return []Group{Inference, Embedding, Repository, Metrics, Health} }

// OpenAIRestriction closes groups of APIs to clients that don't send a header.
type OpenAIRestriction struct {
	Groups []Group
	// Header is the header's name, and Value is its required value.
	Header string
	Value  Secret
}

// ParseOpenAIRestriction parses the three arguments that Triton's own frontend takes.
func ParseOpenAIRestriction(groups, header, value string) (OpenAIRestriction, error) {
	r := OpenAIRestriction{Header: header, Value: Secret(value)}
	for name := range strings.SplitSeq(groups, ",") {
		group := Group(strings.TrimSpace(name))
		if !slices.Contains(restrictable(), group) {
			return r, fmt.Errorf("%q is not one of the groups %s", group, joined(restrictable(), ", "))
		}
		r.Groups = append(r.Groups, group)
	}
	if !validToken(header) || value == "" {
		return r, errors.New("the groups must be followed by the name of a header and its value")
	}
	return r, nil
}

// joined returns the names with a separator between them.
func joined[Name ~string](names []Name, between string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, between)
}

// validToken reports whether a string can be the name of a header (RFC 9110,
// 5.6.2).
func validToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// restrictions maps a group of APIs to the header that its requests must have. Nil restricts
// nothing.
type restrictions map[Group]OpenAIRestriction

func newRestrictions(all []OpenAIRestriction) (restrictions, error) {
	var by restrictions
	for _, r := range all {
		for _, group := range r.Groups {
			if _, repeated := by[group]; repeated {
				return nil, configfield.Errorf("auth.Restricted", "the group %s is restricted twice: name each group once", group)
			}
			if by == nil {
				by = restrictions{}
			}
			by[group] = r
		}
	}
	if r, ok := by[Inference]; ok {
		if _, own := by[Embedding]; !own {
			by[Embedding] = r // Triton's frontend counts embedding as inference
		}
	}
	return by, nil
}

// check refuses a request that lacks the header of its route's group.
func (rs restrictions) check(group Group, values func(name string) []string) error {
	if len(rs) == 0 || group == Free {
		return nil
	}
	if r, restricted := rs[group]; restricted {
		if !r.matches(values) {
			return errRestricted("header '" + r.Header + "'")
		}
		return nil
	}
	if group != Other {
		return nil
	}
	for _, r := range rs {
		if r.matches(values) {
			return nil
		}
	}
	return errRestricted("a header of the restricted APIs")
}

func (r OpenAIRestriction) matches(values func(name string) []string) bool {
	got := values(strings.ToLower(r.Header))
	return len(got) == 1 && r.Value.Equal(got[0])
}

// errRestricted returns an error with the message of Triton's own frontend.
func errRestricted(expected string) error {
	return &inference.Error{
		Code: inference.CodeUnauthenticated, Reason: inference.ReasonInvalidAuth,
		Message: "This API is restricted, expecting " + expected + " with valid value",
	}
}
