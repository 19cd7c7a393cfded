package anthropic

import (
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/server"
)

// ignoredFields collects the parts of a request that have no effect. Of those that differ only in the
// positions of lists it keeps the first.
type ignoredFields struct {
	fields []server.IgnoredField
	seen   map[string]bool
}

// add records the part at a path. The path may have names of the client.
func (f *ignoredFields) add(path, reason string) {
	if len(f.fields) > server.MaxIgnored {
		return
	}
	path = budget.Cut(path, budget.NameBytes)
	general := withoutPositions(path)
	if f.seen[general] {
		return
	}
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	f.seen[general] = true
	f.fields = append(f.fields, server.IgnoredField{Name: path, Reason: path + " " + reason})
}

// unknown records the members of an object that are not known.
func (f *ignoredFields) unknown(o object, known ...string) {
	if len(o.members) == 0 {
		return
	}
	for _, key := range o.keys() {
		if !slices.Contains(known, key) {
			f.add(o.at(key), "is an unknown field")
		}
	}
}

// withoutPositions returns a path without the positions in lists.
func withoutPositions(path string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(path, "[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteByte('[')
		path = strings.TrimLeft(rest, "0123456789")
	}
}
