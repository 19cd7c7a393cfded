package server

import (
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"

	"connectrpc.com/connect"

	"github.com/trident-inference/trident/services/budget"
)

// CompressFrom is the minimum size, in bytes, of Connect's messages that are compressed
// for clients that accept compression, as most do. The message of a token is shorter than
// gzip's own overhead.
const CompressFrom = 1 << 10

// Gzip returns Connect's gzip compression for handlers whose messages are limited to
// limit bytes. Connect's own decompressor reads an oversized message to its end to report
// the size, which can take minutes of CPU time for one body.
func Gzip(limit int64) connect.HandlerOption {
	open := func(old, r io.Reader) (io.ReadCloser, error) {
		if again, ok := old.(*gzip.Reader); ok {
			err := again.Reset(r)
			return again, err
		}
		return gzip.NewReader(r)
	}
	return connect.WithCompression("gzip", inflating(limit, open), func() connect.Compressor { return gzip.NewWriter(io.Discard) })
}

// Deflate returns the same for gRPC's deflate, which is the zlib format (RFC 1950).
func Deflate(limit int64) connect.HandlerOption {
	open := func(old, r io.Reader) (io.ReadCloser, error) {
		if again, ok := old.(zlib.Resetter); ok {
			err := again.Reset(r, nil)
			return old.(io.ReadCloser), err //nolint:forcetypeassert // the opener created it
		}
		return zlib.NewReader(r)
	}
	return connect.WithCompression("deflate", inflating(limit, open), func() connect.Compressor { return zlib.NewWriter(io.Discard) })
}

func inflating(limit int64, open opener) func() connect.Decompressor {
	return func() connect.Decompressor { return &inflater{open: open, limit: limit} }
}

// opener opens a message. It reuses the reader of the previous message if there is one.
type opener = func(old, r io.Reader) (io.ReadCloser, error)

// inflater decompresses messages up to slightly more than the limit, or up to the size
// that their compressed size allows. It can be created before there is anything to read.
type inflater struct {
	open     opener
	inflated io.ReadCloser // reader of the decompressed message; nil before the first message
	limit    int64
	left     int64 // number of decompressed bytes that may still be read up to the limit
	room     int64 // number of decompressed bytes that the compressed size still allows
}

// errTooLarge is returned when Connect has already read more than the limit.
var errTooLarge = errors.New("the decompressed message is larger than the limit")

// Read returns an error once it has returned more than the limit.
func (i *inflater) Read(p []byte) (int, error) {
	if i.left < 0 {
		return 0, errTooLarge
	}
	n, err := i.inflated.Read(p)
	i.left -= int64(n)
	i.room -= int64(n)
	if i.room < 0 {
		return 0, budget.ErrInflated
	}
	return n, err
}

// Reset starts a message, which Connect holds as a whole.
func (i *inflater) Reset(r io.Reader) error {
	compressed := 0
	if whole, ok := r.(interface{ Len() int }); ok {
		compressed = whole.Len()
	}
	inflated, err := i.open(i.inflated, r)
	if err != nil {
		return err
	}
	i.inflated, i.left, i.room = inflated, i.limit, budget.Inflated(int64(compressed))
	return nil
}

// Close closes the reader of a message; before the first message it does nothing.
func (i *inflater) Close() error {
	if i.inflated == nil {
		return nil
	}
	return i.inflated.Close()
}
