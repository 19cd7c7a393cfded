package kserve

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"github.com/trident-inference/trident/services/inference"
)

// openBody makes a request's body what it was before it was compressed, within the
// limit. Errors of reading it are the client's to read.
func (h *rest) openBody(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip", deflate:
		body := &inflatedBody{Closer: r.Body, compressed: bufio.NewReader(r.Body)}
		r.Body, r.ContentLength = http.MaxBytesReader(w, body, h.limit), -1
	default:
		w.Header().Set("Accept-Encoding", "gzip, deflate")
		return tritonError(inference.TritonUnsupported, "Unsupported compression type")
	}
	r.Body = restBody{r.Body}
	return nil
}

// restBody tells what is wrong with a body.
type restBody struct{ io.ReadCloser }

func (b restBody) Read(p []byte) (int, error) {
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
	e := tritonError(inference.TritonInvalidArg, "the request body ended early")
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		e.Message = fmt.Sprintf("request body exceeds the maximum allowed input size of %d bytes. Use --http-max-input-size to increase the limit.", tooLarge.Limit)
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		e.Message = "the request body paused for too long"
	}
	e.Err = err
	return e
}

// inflatedBody reads gzip or zlib, whichever it is, as tritonserver does.
type inflatedBody struct {
	io.Closer

	compressed *bufio.Reader
	inflated   io.Reader // nil before the first read
}

func (b *inflatedBody) Read(p []byte) (n int, err error) {
	if b.inflated == nil {
		if b.inflated, err = inflate(b.compressed); err != nil {
			return 0, compressionError(err)
		}
	}
	n, err = b.inflated.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
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

// compressionError tells errors of the compression from those of the connection.
func compressionError(err error) error {
	var corrupt bool
	for _, known := range []error{gzip.ErrHeader, gzip.ErrChecksum, zlib.ErrHeader, zlib.ErrChecksum, zlib.ErrDictionary} {
		corrupt = corrupt || errors.Is(err, known)
	}
	if _, ok := errors.AsType[flate.CorruptInputError](err); !ok && !corrupt {
		return err
	}
	e := tritonError(inference.TritonInvalidArg, "the request body is not what its Content-Encoding says")
	e.Err = err
	return e
}

// tritonError is an error that tritonserver makes of a request.
func tritonError(code inference.TritonCode, message string) *inference.Error {
	return &inference.Error{Code: inference.CodeInvalid, Triton: code, Message: message}
}

// maxMembers bounds an object's members: each costs some hundred bytes, however short
// it is.
const maxMembers = 4096

// object is one of JSON, whose values aren't decoded yet.
type object map[string]json.RawMessage

// readObject reads a body that is an object. What is JSON but no object has no
// members, as to tritonserver; nor has an empty body, where it may be left out.
func readObject(r *http.Request, optional bool) (object, error) {
	var body bytes.Buffer
	if _, err := body.ReadFrom(r.Body); err != nil {
		return nil, err
	}
	if optional && body.Len() == 0 {
		return object{}, nil
	}
	if _, err := newDocument(body.Bytes()); err != nil {
		return nil, err
	}
	return members(bytes.TrimSpace(bytes.TrimPrefix(body.Bytes(), []byte("\ufeff"))))
}

// syntaxError is for what tritonserver takes for JSON and Go doesn't, such as NaN.
func syntaxError(err error) error {
	at := int64(0)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = max(syntax.Offset-1, 0)
	}
	return tritonError(inference.TritonInternal, fmt.Sprintf("failed to parse the request JSON buffer: %s at %d", err, at))
}

// members takes an object apart that is JSON; what is none has no members. Of two of
// one name the first counts.
func members(raw json.RawMessage) (object, error) {
	found := object{}
	if len(raw) == 0 || raw[0] != '{' {
		return found, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if _, err := decoder.Token(); err != nil { // the brace
		return nil, syntaxError(err)
	}
	for decoder.More() {
		if len(found) == maxMembers {
			return nil, tritonError(inference.TritonInvalidArg, fmt.Sprintf("an object of the request has more than %d members", maxMembers))
		}
		name, err := decoder.Token()
		if err != nil {
			return nil, syntaxError(err)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, syntaxError(err)
		}
		key, _ := name.(string)
		if _, again := found[key]; !again {
			found[key] = value
		}
	}
	return found, nil
}

// given tells whether there is a member other than null.
func (o object) given(name string) bool {
	value, ok := o[name]
	return ok && string(value) != "null"
}

// text is a member that must be one.
func (o object) text(name string) (s string, err error) {
	value, ok := o[name]
	switch {
	case !ok:
		return "", errNoMember(name)
	case value[0] != '"' || json.Unmarshal(value, &s) != nil:
		return "", accessError("non-string", "string")
	}
	return s, nil
}

// truth is a member that must be true or false.
func (o object) truth(name string) (b bool, err error) {
	switch string(o[name]) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, accessError("non-boolean", "boolean")
}

// unsigned is a member that must be a whole number from 0.
func (o object) unsigned(name string) (uint64, error) {
	value, ok := o[name]
	if !ok {
		return 0, errNoMember(name)
	}
	n, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil {
		return 0, accessError("non-unsigned-integer", "unsigned-integer")
	}
	return n, nil
}

// texts is a member, which there must be, that must be a list of them.
func (o object) texts(name string) ([]string, error) {
	var list []json.RawMessage
	if value := o[name]; value[0] != '[' || json.Unmarshal(value, &list) != nil {
		return nil, accessError("non-array", "array")
	}
	all := make([]string, len(list))
	for i, value := range list {
		var err error
		if all[i], err = (object{name: value}).text(name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func errNoMember(name string) error {
	return tritonError(inference.TritonInternal, "attempt to access non-existing object member '"+name+"'")
}

func accessError(is, wanted string) error {
	return tritonError(inference.TritonInternal, "attempt to access JSON "+is+" as "+wanted)
}
