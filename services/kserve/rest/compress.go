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

// deflate is HTTP's name of the zlib format (RFC 1950).
const deflate = "deflate"

// compressor compresses responses for clients whose Accept-Encoding accepts that.
// It pools writers, which are large.
type compressor struct{ gzip, zlib sync.Pool }

// resettable is implemented by the writers of gzip and zlib.
type resettable interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// serve calls next. It compresses responses with status 200 if the client accepts
// that.
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

// acceptedEncoding returns the encoding with the highest weight in the header, or
// the first of several with that weight. It returns an empty string if there is
// none.
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

// compressedWriter compresses a response with status 200.
type compressedWriter struct {
	http.ResponseWriter

	encoding string
	writer   resettable
	decided  bool
	compress bool
}

// Unwrap is for [http.ResponseController].
func (w *compressedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader decides whether the response is compressed.
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

// end writes the remaining compressed data. It ignores errors, since the client
// may have disconnected.
func (w *compressedWriter) end() {
	if w.compress {
		_ = w.writer.Close()
	}
	w.writer.Reset(io.Discard)
}
