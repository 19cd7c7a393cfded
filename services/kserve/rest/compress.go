package rest

import (
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// deflate is HTTP's name of zlib's format (RFC 1950).
const deflate = "deflate"

// compressor compresses answers for clients whose Accept-Encoding asks for it. It
// keeps writers, which are large, for reuse.
type compressor struct{ gzip, zlib sync.Pool }

// resettable is what gzip's and zlib's writers are.
type resettable interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// serve has next answer, compressed if the client likes and it goes well.
func (c *compressor) serve(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	encoding := acceptedEncoding(strings.Join(r.Header.Values("Accept-Encoding"), ","))
	if encoding == "" {
		next(w, r)
		return
	}
	pool := &c.gzip
	if encoding == deflate {
		pool = &c.zlib
	}
	writer, ok := pool.Get().(resettable)
	switch {
	case ok:
	case encoding == deflate:
		writer = zlib.NewWriter(io.Discard)
	default:
		writer = gzip.NewWriter(io.Discard)
	}
	defer pool.Put(writer)
	cw := &compressedWriter{ResponseWriter: w, encoding: encoding, writer: writer}
	next(cw, r)
	cw.end()
}

// acceptedEncoding is the one that the header weighs most, the first of several;
// empty for none.
func acceptedEncoding(header string) string {
	best, most := "", 0.0
	for item := range strings.SplitSeq(header, ",") {
		name, weight, weighed := strings.Cut(strings.TrimSpace(item), ";q=")
		value := 1.0
		if weighed {
			var err error
			if value, err = strconv.ParseFloat(strings.TrimSpace(weight), 64); err != nil {
				continue
			}
		}
		if name = strings.TrimSpace(name); (name == "gzip" || name == deflate || name == "identity") && value > most {
			best, most = name, value
		}
	}
	if best == "identity" {
		return ""
	}
	return best
}

// compressedWriter compresses an answer with the status 200.
type compressedWriter struct {
	http.ResponseWriter

	encoding string
	writer   resettable
	decided  bool
	compress bool
}

// Unwrap serves [http.ResponseController].
func (w *compressedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader decides.
func (w *compressedWriter) WriteHeader(status int) {
	if !w.decided && status >= http.StatusOK {
		w.decided, w.compress = true, status == http.StatusOK
		if w.compress {
			w.Header().Set("Content-Encoding", w.encoding)
			w.Header().Del("Content-Length")
			w.writer.Reset(w.ResponseWriter)
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *compressedWriter) Write(b []byte) (int, error) {
	if !w.decided {
		w.WriteHeader(http.StatusOK)
	}
	if w.compress {
		return w.writer.Write(b)
	}
	return w.ResponseWriter.Write(b)
}

// end writes what is still held back. A client that has left needs none.
func (w *compressedWriter) end() {
	if w.compress {
		_ = w.writer.Close()
	}
	w.writer.Reset(io.Discard)
}
