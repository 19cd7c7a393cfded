package wire

import (
	"context"
	"net/http"

	"github.com/trident-inference/trident/services/server"
)

// IgnoredHeader is [server.IgnoredHeader].
const IgnoredHeader = server.IgnoredHeader

// MaxIgnored is [server.MaxIgnored].
const MaxIgnored = server.MaxIgnored

// Field is [server.IgnoredField].
type Field = server.IgnoredField

// WithIgnored is [server.WithIgnored].
func WithIgnored(ctx context.Context, header http.Header, strict bool) context.Context {
	return server.WithIgnored(ctx, header, strict)
}

// Ignore is [server.Ignore].
func Ignore(ctx context.Context, fields ...Field) error { return server.Ignore(ctx, fields...) }
