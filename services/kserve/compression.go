package kserve

import (
	"compress/zlib"
	"io"
	"sync"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"

	"github.com/trident-inference/trident/services/budget"
)

// deflate is gRPC's name of the zlib format (RFC 1950). It is for clients that request
// it, as in tritonserver; grpc-go and Connect support only gzip.
const deflate = "deflate"

// grpc-go accepts compressors only during the program's initialisation.
var _ = registerCompressors()

func registerCompressors() bool {
	encoding.RegisterCompressor(bounded{encoding.GetCompressor(gzip.Name)})
	encoding.RegisterCompressor(bounded{&nativeDeflate{}})
	return true
}

// bounded is a compressor of grpc-go that limits the memory of a decompressed message by
// its compressed size. Otherwise two megabytes could expand to 2 GiB, the limit of
// messages on gRPC's own port.
type bounded struct{ encoding.Compressor }

// Decompress decompresses a message, which grpc-go passes as a whole.
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

// Read returns an error beyond the limit.
func (r *boundedReader) Read(p []byte) (int, error) {
	n, err := r.inflated.Read(p)
	if r.room -= int64(n); r.room < 0 {
		return 0, budget.ErrInflated
	}
	return n, err
}

// Close returns the reader to its pool.
func (r *boundedReader) Close() error {
	if closer, ok := r.inflated.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// nativeDeflate is the compressor for grpc-go. It pools writers, which are large.
type nativeDeflate struct{ writers sync.Pool }

// Name returns the name in the header grpc-encoding.
func (*nativeDeflate) Name() string { return deflate }

// Compress writes the zlib format.
func (d *nativeDeflate) Compress(w io.Writer) (io.WriteCloser, error) {
	z, ok := d.writers.Get().(*zlib.Writer)
	if !ok {
		z = zlib.NewWriter(w)
	}
	z.Reset(w)
	return &pooledWriter{z, &d.writers}, nil
}

// Decompress reads the zlib format.
func (*nativeDeflate) Decompress(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }

// pooledWriter returns to its pool when it is closed.
type pooledWriter struct {
	*zlib.Writer

	pool *sync.Pool
}

// Close ends the message.
func (w *pooledWriter) Close() error {
	defer w.pool.Put(w.Writer)
	return w.Writer.Close()
}
