package contracts

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/vector"
)

// TextEncoder is the contract of models that take a text, an image or both, and return a vector: one
// required input of strings, an input for images, or both, and one output of floats. They tokenize
// themselves.
type TextEncoder struct{ Encoder }

// PairEncoder is the contract of models that take two texts and return a score or the logits of
// classes: two required inputs of strings, and one output of floats.
type PairEncoder struct{ Encoder }

// secondTexts are the names of the second input of pairs. Otherwise the order of config.pbtxt applies.
var secondTexts = []string{"document", "documents", "passage", "text_2", "text2", "text_b", "sentence2", "text_pair", "context"} //nolint:gochecknoglobals // a constant list

// textTensors are the tensors of a model that takes texts.
type textTensors struct {
	inputs  []*kserve.ModelInput
	image   *kserve.ModelInput // the input for images, or nil
	output  *kserve.ModelOutput
	batched bool
}

// textsOf returns the tensors of a model with n required inputs of strings, or false. A model of single
// texts may have an input for images, too, or instead.
func textsOf(config *kserve.ModelConfig, n int) (t textTensors, ok bool) {
	t.batched = config.GetMaxBatchSize() > 0
	for _, in := range config.GetInput() {
		dims := in.GetDims()
		isImage := n == 1 && imageFormOf(in.GetName()) != nil
		fits := in.GetDataType() == kserve.DataType_TYPE_STRING && len(dims) > 0 && len(dims) <= 2 && (!t.batched || dims[len(dims)-1] <= 1)
		switch {
		case fits && t.image == nil && isImage:
			t.image = in
		case in.GetOptional():
		case !fits || isImage:
			return t, false
		default:
			t.inputs = append(t.inputs, in)
		}
	}
	if len(t.inputs) != n && (t.image == nil || len(t.inputs) > 0) {
		return t, false
	}
	if n == 2 && slices.Contains(secondTexts, t.inputs[0].GetName()) && !slices.Contains(secondTexts, t.inputs[1].GetName()) {
		slices.Reverse(t.inputs)
	}
	floats := floatOutputs(config)
	if len(floats) != 1 || len(floats[0].GetDims()) == 0 || len(floats[0].GetDims()) > 2 {
		return t, false
	}
	t.output = floats[0]
	return t, true
}

// maxBatch returns the maximum number of inputs of a request: max_batch_size, or the leading dimension.
func (t *textTensors) maxBatch(config *kserve.ModelConfig) int {
	if t.batched {
		return int(config.GetMaxBatchSize())
	}
	return t.fixed()
}

// fixed returns the number of inputs that the declared dims of a model without max_batch_size fix. 0 means any number.
func (t *textTensors) fixed() int {
	if t.batched {
		return 0
	}
	first := t.image
	if len(t.inputs) > 0 {
		first = t.inputs[0]
	}
	return max(0, int(first.GetDims()[0]))
}

// request builds the tensors of a batch, from the texts of each item.
func (t *textTensors) request(target *inference.Target, batch *inference.EncodeBatch, texts func(*inference.EncodeItem) []string) *kserve.ModelInferRequest {
	req := &kserve.ModelInferRequest{ModelName: target.Name, Id: batch.ID}
	for n, in := range t.inputs {
		var raw []byte
		for _, item := range batch.Items {
			raw = appendText(raw, texts(item)[n])
		}
		t.add(req, in, raw, len(batch.Items))
	}
	t.addImages(req, batch)
	req.Outputs = []*kserve.ModelInferRequest_InferRequestedOutputTensor{{Name: t.output.GetName()}}
	return req
}

// add adds an input with one string for each of the rows. A model whose dims fix a number of inputs gets empty ones
// after them.
func (t *textTensors) add(req *kserve.ModelInferRequest, in *kserve.ModelInput, raw []byte, rows int) {
	for ; rows < t.fixed(); rows++ {
		raw = appendText(raw, "")
	}
	shape := []int64{int64(rows)}
	for len(shape) < len(in.GetDims()) || t.batched && len(shape) <= len(in.GetDims()) {
		shape = append(shape, 1)
	}
	req.Inputs = append(req.Inputs, &kserve.ModelInferRequest_InferInputTensor{Name: in.GetName(), Datatype: "BYTES", Shape: shape})
	req.RawInputContents = append(req.RawInputContents, raw)
}

// addImages adds the images of a batch: an item without one has an empty string. An optional input is left out if
// no item has an image.
func (t *textTensors) addImages(req *kserve.ModelInferRequest, batch *inference.EncodeBatch) {
	size, some := 0, false
	for _, item := range batch.Items {
		if size += maxImagePrefix; item.Image != nil {
			size, some = size+len(item.Image.Base64), true
		}
	}
	if t.image == nil || !some && t.image.GetOptional() {
		return
	}
	prefix, raw := imageFormOf(t.image.GetName()), make([]byte, 0, size)
	for _, item := range batch.Items {
		if item.Image == nil {
			raw = appendText(raw, "")
			continue
		}
		before := prefix(item.Image.Type)
		raw = binary.LittleEndian.AppendUint32(raw, uint32(len(before)+len(item.Image.Base64)))
		raw = append(append(raw, before...), item.Image.Base64...)
	}
	t.add(req, t.image, raw, len(batch.Items))
}

// maxImagePrefix is at least the number of bytes before an image's base64: its length and the start of a data: URI.
const maxImagePrefix = 64

// decode reads a row of the output for each item. A batch of one item may have no dimension for it,
// unless the dims fix a larger number of items.
func (t *textTensors) decode(target *inference.Target, batch *inference.EncodeBatch, resp *inference.Response) error {
	out, err := outputOf(target, resp, t.output.GetName())
	if err != nil {
		return err
	}
	shaped := *out
	if len(out.Shape) == 1 && len(batch.Items) == 1 && t.fixed() <= 1 {
		shaped.Shape = []int64{1, out.Shape[0]}
	}
	for i, item := range batch.Items {
		raw, columns, err := rowOf(&shaped, i)
		if err == nil {
			err = decodeRow(item, vector.Rows{Type: out.Type, Columns: columns, Raw: raw})
		}
		if err != nil {
			return fmt.Errorf("model %s: output %s: %w", target.Name, out.Name, err)
		}
	}
	return nil
}

// Name returns "text_encoder".
func (TextEncoder) Name() string { return "text_encoder" }

// Tasks returns embeddings.
func (TextEncoder) Tasks(config *kserve.ModelConfig) inference.Task {
	if _, ok := textsOf(config, 1); !ok {
		return 0
	}
	return inference.TaskEmbed | inference.TaskClassify
}

// EncoderForm returns the bounds of the declared dims.
func (TextEncoder) EncoderForm(config *kserve.ModelConfig) inference.EncoderForm {
	t, _ := textsOf(config, 1)
	return inference.EncoderForm{
		MaxBatch: t.maxBatch(config), Ambiguous: true, Activated: true, SelfBatching: config.GetDynamicBatching() != nil,
		Images: t.image != nil, ImagesOnly: len(t.inputs) == 0,
	}
}

// EncodeBatch builds the tensors of the texts and of the images. The service refuses token ids for such a model.
func (TextEncoder) EncodeBatch(target *inference.Target, batch *inference.EncodeBatch) (*kserve.ModelInferRequest, error) {
	t, _ := textsOf(target.Config, 1)
	return t.request(target, batch, func(item *inference.EncodeItem) []string { return []string{item.Input.Text} }), nil
}

// DecodeBatch reads the vectors.
func (TextEncoder) DecodeBatch(target *inference.Target, batch *inference.EncodeBatch, resp *inference.Response) error {
	t, _ := textsOf(target.Config, 1)
	return t.decode(target, batch, resp)
}

// ExplainBatch explains errors caused by an image.
func (TextEncoder) ExplainBatch(req *inference.EncodeRequest, err *inference.Error) *inference.Error {
	refs := req.ImageRefs()
	if len(refs) == 0 || !badImage.MatchString(err.Message) {
		return err
	}
	param := refs[0].Param
	if len(refs) > 1 {
		param, _, _ = strings.Cut(param, "[")
	}
	return because(err, inference.Invalid(param, badImageText))
}

// Name returns "pair_encoder".
func (PairEncoder) Name() string { return "pair_encoder" }

// Tasks returns scores, or classes if the model declares more than one value for a pair.
func (PairEncoder) Tasks(config *kserve.ModelConfig) inference.Task {
	t, ok := textsOf(config, 2)
	switch {
	case !ok:
		return 0
	case oneOrUnknown(t.output) || !t.batched && len(t.output.GetDims()) == 1:
		return inference.TaskScore | inference.TaskClassify
	}
	return inference.TaskClassify
}

// EncoderForm returns the bounds of the declared dims.
func (PairEncoder) EncoderForm(config *kserve.ModelConfig) inference.EncoderForm {
	t, _ := textsOf(config, 2)
	return inference.EncoderForm{MaxBatch: t.maxBatch(config), Activated: true, SelfBatching: config.GetDynamicBatching() != nil}
}

// EncodeBatch builds the tensors of the first and of the second texts.
func (PairEncoder) EncodeBatch(target *inference.Target, batch *inference.EncodeBatch) (*kserve.ModelInferRequest, error) {
	t, _ := textsOf(target.Config, 2)
	return t.request(target, batch, func(item *inference.EncodeItem) []string {
		second := ""
		if item.Input.Second != nil {
			second = *item.Input.Second
		}
		return []string{item.Input.Text, second}
	}), nil
}

// DecodeBatch reads the scores. An output without a dimension of its own has one score for each pair.
func (PairEncoder) DecodeBatch(target *inference.Target, batch *inference.EncodeBatch, resp *inference.Response) error {
	t, _ := textsOf(target.Config, 2)
	return t.decode(target, batch, resp)
}
