package rest

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/tensorjson"
)

// openBody replaces a compressed body by its decompressed content, within the limit. Read
// errors are errors for the client.
func (h *Handler) openBody(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip", deflate:
		sent := &counter{Reader: r.Body}
		body := &inflatedBody{Closer: r.Body, sent: sent, compressed: bufio.NewReader(sent), arrival: admission.ArrivalOf(r.Context())}
		r.Body, r.ContentLength = http.MaxBytesReader(w, body, h.limit), -1
	default:
		w.Header().Set("Accept-Encoding", "gzip, deflate")
		return kserve.Unsupported("Unsupported compression type")
	}
	r.Body = requestBody{r.Body}
	return nil
}

// requestBody converts read errors to errors for the client.
type requestBody struct{ io.ReadCloser }

func (b requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	return n, bodyError(err)
}

func bodyError(err error) error {
	if _, known := errors.AsType[*inference.Error](err); known {
		return err
	}
	e := tensorjson.Invalid("the request body is incomplete: the connection ended before its end")
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		e.Message = fmt.Sprintf("request body exceeds the maximum allowed input size of %d bytes. Use --http-max-input-size to increase the limit.", tooLarge.Limit)
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		e.Message = "the request body timed out: the client stopped sending it"
	}
	e.Err = err
	return e
}

// counter counts the bytes that are read.
type counter struct {
	io.Reader

	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// inflatedBody decompresses gzip or zlib, whichever the body has, as tritonserver does. It
// limits the decompressed size by the size received so far.
type inflatedBody struct {
	io.Closer

	sent       *counter
	compressed *bufio.Reader
	inflated   io.Reader // reader of the decompressed body; nil before the first read
	n          int64     // number of decompressed bytes that have been read
	arrival    *admission.Arrival
	weighed    int64 // part of n that has been counted
}

// weighStep is the step, in bytes, in which a decompressed body is counted.
const weighStep = 256 << 10

func (b *inflatedBody) Read(p []byte) (n int, err error) {
	if b.inflated == nil {
		if b.inflated, err = inflate(b.compressed); err != nil {
			return 0, compressionError(err)
		}
	}
	n, err = b.inflated.Read(p)
	b.n += int64(n)
	if b.n > b.weighed+weighStep {
		b.weighed = b.n
		if refused := b.arrival.Weigh(b.n); refused != nil {
			return 0, refused
		}
	}
	switch {
	case b.n > budget.Inflated(b.sent.n):
		return 0, tensorjson.Invalid("%s", budget.ErrInflated.Error())
	case err != nil && !errors.Is(err, io.EOF):
		err = compressionError(err)
	}
	return n, err
}

func inflate(r *bufio.Reader) (io.Reader, error) {
	if magic, _ := r.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return gzip.NewReader(r)
	}
	return zlib.NewReader(r)
}

// compressionError converts errors of the compressed data and returns others, such as
// those of the connection, unchanged.
func compressionError(err error) error {
	var corrupt bool
	for _, known := range []error{gzip.ErrHeader, gzip.ErrChecksum, zlib.ErrHeader, zlib.ErrChecksum, zlib.ErrDictionary} {
		corrupt = corrupt || errors.Is(err, known)
	}
	if _, ok := errors.AsType[flate.CorruptInputError](err); !ok && !corrupt {
		return err
	}
	e := tensorjson.Invalid("the request body can't be decompressed: it does not match its Content-Encoding")
	e.Err = err
	return e
}

// object is the body of a request that isn't an inference. JSON that isn't an object has
// no members, as in tritonserver.
type object struct{ tensorjson.Value }

// readObject reads a body with an object. If optional is set, an empty body is an object
// without members.
func readObject(r *http.Request, optional bool) (object, error) {
	var body bytes.Buffer
	if _, err := body.ReadFrom(r.Body); err != nil {
		return object{}, err
	}
	if optional && body.Len() == 0 {
		return object{}, nil
	}
	parsed, err := tensorjson.Parse(body.Bytes())
	if err != nil {
		return object{}, err
	}
	return objectOf(parsed.Root())
}

func objectOf(v tensorjson.Value) (object, error) {
	n := 0
	for range v.Members {
		n++
		if n > budget.Keys { // each lookup of a member walks all of them
			return object{}, tensorjson.Invalid("an object in the request has more than %d members", budget.Keys)
		}
	}
	return object{v}, nil
}

func (o object) has(name string) bool { return !o.Member(name).None() }

// given reports whether the object has a member that isn't null.
func (o object) given(name string) bool { return o.has(name) && o.Member(name).Kind() != 'n' }

// text returns a member that must be a string.
func (o object) text(name string) (string, error) {
	s, err := o.StringMember(name)
	return validText(s), orNil(err)
}

// validText returns a string that is valid UTF-8, as protobuf requires.
func validText(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// boolean returns a member that must be true or false.
func (o object) boolean(name string) (bool, error) {
	b, err := o.Member(name).Bool()
	return b, orNil(err)
}

// unsigned returns a member that must be an integer of at least 0.
func (o object) unsigned(name string) (uint64, error) {
	v, err := o.RequiredMember(name)
	if err != nil {
		return 0, err
	}
	n, err := v.Uint64()
	return n, orNil(err)
}

// texts returns a member that must be a list of strings.
func (o object) texts(name string) ([]string, error) {
	list, err := o.ListMember(name)
	if err != nil {
		return nil, err
	}
	all := []string{}
	for item := range list.Items {
		if len(all) == budget.Keys {
			return nil, overBudget(name, budget.Keys)
		}
		s, err := item.Text()
		if err != nil {
			return nil, err
		}
		all = append(all, validText(s))
	}
	return all, nil
}

// orNil returns err as an error: a nil pointer in an interface wouldn't be nil.
func orNil(err *inference.Error) error {
	if err == nil {
		return nil
	}
	return err
}
