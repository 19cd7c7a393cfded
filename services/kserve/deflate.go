package kserve

import (
	"compress/zlib"
	"io"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/grpc/encoding"
)

// deflate is gRPC's compression of that name: zlib's format (RFC 1950). It serves
// clients that ask for it, as tritonserver does; grpc-go and Connect have gzip alone.
const deflate = "deflate"

// grpc-go takes compressors while the program is initialised and at no other time.
var _ = registerDeflate()

func registerDeflate() bool {
	encoding.RegisterCompressor(&nativeDeflate{})
	return true
}

// nativeDeflate is grpc-go's. It keeps writers, which are large, for reuse.
type nativeDeflate struct{ writers sync.Pool }

// Name in the header grpc-encoding.
func (*nativeDeflate) Name() string { return deflate }

// Compress writes zlib's format.
func (d *nativeDeflate) Compress(w io.Writer) (io.WriteCloser, error) {
	z, ok := d.writers.Get().(*zlib.Writer)
	if !ok {
		z = zlib.NewWriter(w)
	}
	z.Reset(w)
	return &pooledWriter{z, &d.writers}, nil
}

// Decompress reads it.
func (*nativeDeflate) Decompress(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }

// pooledWriter goes back when it is closed.
type pooledWriter struct {
	*zlib.Writer

	pool *sync.Pool
}

// Close ends the message.
func (w *pooledWriter) Close() error {
	defer w.pool.Put(w.Writer)
	return w.Writer.Close()
}

// connectDeflate is Connect's.
func connectDeflate() connect.HandlerOption {
	return connect.WithCompression(deflate,
		func() connect.Decompressor { return &inflater{} },
		func() connect.Compressor { return zlib.NewWriter(io.Discard) })
}

// inflater is a zlib reader that can be made before there is anything to read.
type inflater struct{ io.ReadCloser }

// Reset prepares it for a message.
func (i *inflater) Reset(r io.Reader) error {
	if again, ok := i.ReadCloser.(zlib.Resetter); ok {
		return again.Reset(r, nil)
	}
	z, err := zlib.NewReader(r)
	i.ReadCloser = z
	return err
}

// Close ends a message; before the first there is nothing to end.
func (i *inflater) Close() error {
	if i.ReadCloser == nil {
		return nil
	}
	return i.ReadCloser.Close()
}
