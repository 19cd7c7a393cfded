package kserve

import (
	"compress/zlib"
	"io"
	"sync"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"

	"github.com/trident-inference/trident/services/budget"
)

// deflate is gRPC's compression of that name: zlib's format (RFC 1950). It serves
// clients that ask for it, as tritonserver does; grpc-go and Connect have gzip alone.
const deflate = "deflate"

// grpc-go takes compressors while the program is initialised and at no other time.
var _ = registerCompressors()

func registerCompressors() bool {
	encoding.RegisterCompressor(bounded{encoding.GetCompressor(gzip.Name)})
	encoding.RegisterCompressor(bounded{&nativeDeflate{}})
	return true
}

// bounded is a compressor of grpc-go whose messages can't take much more memory than
// their senders have spent on them: two megabytes could become the 2 GiB that messages of
// gRPC's port may have.
type bounded struct{ encoding.Compressor }

// Decompress reads a message, which grpc-go hands over whole.
func (b bounded) Decompress(r io.Reader) (io.Reader, error) {
	compressed := 0
	if whole, ok := r.(interface{ Remaining() int }); ok {
		compressed = whole.Remaining()
	}
	inflated, err := b.Compressor.Decompress(r)
	if err != nil {
		return nil, err
	}
	return &boundedReader{inflated, budget.Inflated(int64(compressed))}, nil
}

type boundedReader struct {
	inflated io.Reader
	room     int64
}

// Read fails beyond the room.
func (r *boundedReader) Read(p []byte) (int, error) {
	n, err := r.inflated.Read(p)
	if r.room -= int64(n); r.room < 0 {
		return 0, budget.ErrInflated
	}
	return n, err
}

// Close gives the reader back for reuse.
func (r *boundedReader) Close() error {
	if closer, ok := r.inflated.(io.Closer); ok {
		return closer.Close()
	}
	return nil
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
