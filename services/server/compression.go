package server

import (
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"

	"connectrpc.com/connect"

	"github.com/trident-inference/trident/services/budget"
)

// CompressFrom is the size in bytes from which messages of Connect are compressed for
// clients that take that, as most do: a token's is shorter than what gzip puts around it.
const CompressFrom = 1 << 10

// Gzip is Connect's compression of that name for handlers whose messages are limited,
// in bytes. Connect's own unpacks what is too large to its end to tell its size: that
// of one body can take a processor for minutes.
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

// Deflate is the same for gRPC's deflate, which is zlib's format (RFC 1950).
func Deflate(limit int64) connect.HandlerOption {
	open := func(old, r io.Reader) (io.ReadCloser, error) {
		if again, ok := old.(zlib.Resetter); ok {
			err := again.Reset(r, nil)
			return old.(io.ReadCloser), err //nolint:forcetypeassert // it was opened here
		}
		return zlib.NewReader(r)
	}
	return connect.WithCompression("deflate", inflating(limit, open), func() connect.Compressor { return zlib.NewWriter(io.Discard) })
}

func inflating(limit int64, open opener) func() connect.Decompressor {
	return func() connect.Decompressor { return &inflater{open: open, limit: limit} }
}

// opener begins a message, with the reader of the one before if there is one.
type opener = func(old, r io.Reader) (io.ReadCloser, error)

// inflater reads messages to a little beyond the limit, or to what their compressed size
// allows. It can be made before there is anything to read.
type inflater struct {
	open     opener
	inflated io.ReadCloser // nil before the first message
	limit    int64
	left     int64 // up to the limit
	room     int64 // by the compressed size
}

// errTooLarge is returned once Connect knows that a message is larger than the limit.
var errTooLarge = errors.New("the message is larger than the limit")

// Read fails once more than the limit was read.
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

// Reset begins a message, which Connect has whole.
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

// Close ends one; before the first there is nothing to end.
func (i *inflater) Close() error {
	if i.inflated == nil {
		return nil
	}
	return i.inflated.Close()
}
