package kserve

import (
	"encoding/json"
	"net/http"

	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// ReadTensor reads the elements of a JSON text as a tensor.
func ReadTensor(datatype string, text []byte, count int64) ([]byte, error) {
	d, err := newDocument(text)
	if err != nil {
		return nil, err
	}
	raw, wrong := readTensor("T", datatype, d.root(), count)
	if wrong != nil {
		return nil, wrong
	}
	return raw, nil
}

// AppendData writes a tensor's elements as JSON.
func AppendData(to []byte, out *inference.Output) ([]byte, error) {
	b, err := appendData(to, out, false)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// ReadInfer reads a body that lies in several buffers, of a request to a model with
// that configuration; the message is the caller's to free.
func ReadInfer(header http.Header, config *kserve.ModelConfig, body mem.BufferSlice) (*inference.InferRequest, error) {
	q := newRESTRequest("m", "")
	defer q.free()
	if err := q.readBody(header, body, func() (*kserve.ModelConfig, error) { return config, nil }); err != nil {
		return nil, err
	}
	return q.encode()
}

// ReadBody reads a request's body.
func ReadBody(r *http.Request) (mem.BufferSlice, error) { return readBody(r) }

// ParseJSON gives what encoding/json does of a text, with numbers as their digits.
func ParseJSON(text []byte) (any, error) {
	d, err := newDocument(text)
	if err != nil {
		return nil, err
	}
	return d.root().parsed(), nil
}

func (v jsonValue) parsed() any {
	switch v.kind() {
	case '"':
		return string(v.appendText(nil))
	case '[':
		list := []any{}
		for item := range v.items {
			list = append(list, item.parsed())
		}
		return list
	case '{':
		object := map[string]any{}
		for name, value := range v.members {
			object[string(name.appendText(nil))] = value.parsed()
		}
		return object
	case 't':
		return true
	case 'f':
		return false
	case 'n':
		return nil
	}
	return json.Number(v.raw())
}
