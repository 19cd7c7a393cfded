package server

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// IgnoredHeader is the header of responses that lists the ignored fields of the request.
const IgnoredHeader = "X-Trident-Ignored-Fields"

// MaxIgnored is the maximum number of fields in the header.
const MaxIgnored = 64

// maxIgnoredBytes is the maximum length of the header in bytes: the client determines the names.
const maxIgnoredBytes = 1024

// ignored is the list of a request's ignored fields.
type ignored struct {
	header http.Header // header of the response
	record *Record
	strict bool // ignored fields are errors
}

type ignoredKey struct{}

// WithIgnored returns a context for [Ignore]. The header is that of the response. With strict,
// Ignore returns errors.
func WithIgnored(ctx context.Context, header http.Header, strict bool) context.Context {
	return context.WithValue(ctx, ignoredKey{}, &ignored{header: header, record: RecordOf(ctx), strict: strict})
}

// IgnoredField is a field of a request that has no effect. The name may come from the client.
type IgnoredField struct {
	Name   string
	Reason string // reason for the error of strict servers
}

// Ignore lists fields in the header of the response and in the log, at most one more than the header
// has room for. A strict server refuses the first field instead: the error is an
// [*inference.Error]. Call it before the first byte of the response.
func Ignore(ctx context.Context, fields ...IgnoredField) error {
	list, ok := ctx.Value(ignoredKey{}).(*ignored)
	if !ok || len(fields) == 0 {
		return nil
	}
	if list.strict {
		return inference.Unsupported(fields[0].Name, "%s", fields[0].Reason)
	}
	for _, f := range fields {
		if len(list.record.Ignored) > MaxIgnored {
			break // the client determines the number of fields, and the header has no room for more
		}
		if !slices.Contains(list.record.Ignored, f.Name) {
			list.record.Ignored = append(list.record.Ignored, f.Name)
		}
	}
	list.header.Set(IgnoredHeader, headerList(list.record.Ignored))
	return nil
}

// pathText restores the brackets of list positions.
var pathText = strings.NewReplacer("%5B", "[", "%5D", "]") //nolint:gochecknoglobals // a constant table

// headerList joins names. It percent-encodes characters that a header can't contain.
func headerList(names []string) string {
	var b strings.Builder
	for i, name := range names {
		name = pathText.Replace(url.PathEscape(name))
		if i == MaxIgnored || b.Len()+len(name) > maxIgnoredBytes {
			b.WriteString(", ...")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name)
	}
	return b.String()
}
