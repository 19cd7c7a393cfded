package contracts

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/vector"
)

// Encoder is the contract of models that take the token ids of whole texts, such as BERT exported to
// ONNX or TensorRT. Trident tokenizes for them.
//
// Source: the names of Hugging Face's exports (optimum), of sentence-transformers and of TensorFlow's
// BERT.
type Encoder struct{}

// The inputs of encoders, under all their names.
var (
	encoderIDs       = []string{"input_ids"}                     //nolint:gochecknoglobals // constant lists
	encoderMask      = []string{"attention_mask", "input_mask"}  //nolint:gochecknoglobals // constant lists
	encoderTypes     = []string{"token_type_ids", "segment_ids"} //nolint:gochecknoglobals // constant lists
	encoderPositions = []string{"position_ids"}                  //nolint:gochecknoglobals // constant lists
)

// outputKind is the kind of values that an output of an encoder has.
type outputKind uint8

const (
	outputNone   outputKind = iota
	outputTokens            // a vector for each token
	outputPooled            // a vector for each input
	outputLogits            // a logit for each class
	outputVocab             // a logit of each token of the vocabulary, for each token
	outputWeight            // a weight for each token
)

// encoderOutputs has the kinds of outputs by name, best first. An output of tokens is pooled by the
// model's own settings, and so is better than pooler_output, which BERT was trained with for another
// task.
var encoderOutputs = []struct { //nolint:gochecknoglobals // a constant table
	name string
	kind outputKind
}{
	{"sentence_embedding", outputPooled},
	{"dense_vecs", outputPooled},
	{"embeddings", outputPooled},
	{"embedding", outputPooled},
	{"last_hidden_state", outputTokens},
	{"token_embeddings", outputTokens},
	{"hidden_states", outputTokens},
	{"colbert_vecs", outputTokens},
	{"pooler_output", outputPooled},
	{"sparse_vecs", outputWeight},
	{"sparse_weights", outputWeight},
	{"logits", outputLogits},
}

// encoderTensors are the tensors of one encoder.
type encoderTensors struct {
	ids, mask, types, positions *kserve.ModelInput
	outputs                     [outputWeight + 1]*kserve.ModelOutput
	// pooledFirst reports that the model's own vector is better than pooling its tokens.
	pooledFirst bool
	ambiguous   bool // the name of the only output doesn't determine which of two kinds it has
	batched     bool // the batch isn't one of the declared dims
}

// encoderOf returns the tensors of an encoder, or false if the model isn't one.
func encoderOf(config *kserve.ModelConfig) (t encoderTensors, ok bool) {
	t.batched = config.GetMaxBatchSize() > 0
	for _, in := range config.GetInput() {
		switch name := in.GetName(); {
		case slices.Contains(encoderIDs, name):
			t.ids = in
		case slices.Contains(encoderMask, name):
			t.mask = in
		case slices.Contains(encoderTypes, name):
			t.types = in
		case slices.Contains(encoderPositions, name):
			t.positions = in
		case !in.GetOptional():
			return t, false
		}
	}
	for _, in := range []*kserve.ModelInput{t.ids, t.mask, t.types, t.positions} {
		if in != nil && (intSize(in.GetDataType()) == 0 || len(in.GetDims()) != t.rank(1)) {
			return t, false
		}
	}
	if t.ids == nil || t.mask == nil {
		return t, false
	}
	t.findOutputs(config)
	return t, slices.ContainsFunc(t.outputs[:], func(o *kserve.ModelOutput) bool { return o != nil })
}

// rank returns the number of declared dims of a tensor with n dims for each input.
func (t *encoderTensors) rank(n int) int {
	if t.batched {
		return n
	}
	return n + 1
}

// floatOutputs returns the outputs of floats, or only the one that the parameter [inference.OutputParameter] names.
func floatOutputs(config *kserve.ModelConfig) (list []*kserve.ModelOutput) {
	only := config.GetParameters()[inference.ParamPrefix+inference.OutputParameter].GetStringValue()
	for _, out := range config.GetOutput() {
		if vector.Size(datatypeOf(out.GetDataType())) > 0 && (only == "" || out.GetName() == only) {
			list = append(list, out)
		}
	}
	return list
}

// findOutputs assigns the outputs by name. A single output with an unknown name is assigned by its dims.
func (t *encoderTensors) findOutputs(config *kserve.ModelConfig) {
	floats := floatOutputs(config)
	for _, known := range encoderOutputs {
		for _, out := range floats {
			if out.GetName() == known.name {
				t.assign(out, known.kind)
			}
		}
	}
	if len(floats) == 1 && t.outputs == [outputWeight + 1]*kserve.ModelOutput{} {
		switch len(floats[0].GetDims()) {
		case t.rank(1):
			t.outputs[outputPooled], t.outputs[outputLogits], t.ambiguous = floats[0], floats[0], true
		case t.rank(2):
			t.outputs[outputTokens], t.outputs[outputVocab], t.ambiguous = floats[0], floats[0], true
		}
	}
}

// width returns the number of values that the outputs have for each token, or else for each input. It is 0 if
// the dims don't determine it.
func (t *encoderTensors) width() int {
	for _, kind := range []outputKind{outputVocab, outputTokens, outputPooled, outputLogits} {
		if dims := t.outputs[kind].GetDims(); len(dims) > 0 {
			return int(max(0, dims[len(dims)-1]))
		}
	}
	return 0
}

// assign records an output if its dims are those of its kind, and no better output has the kind.
func (t *encoderTensors) assign(out *kserve.ModelOutput, kind outputKind) {
	dims := len(out.GetDims())
	switch {
	case kind == outputLogits && dims == t.rank(2):
		kind = outputVocab
	case kind == outputTokens && dims == t.rank(1) || kind == outputPooled && dims == t.rank(2): // exported otherwise than its name says
		return
	}
	if t.outputs[kind] != nil {
		return
	}
	t.outputs[kind] = out
	if kind == outputPooled {
		t.pooledFirst = t.outputs[outputTokens] == nil
	}
}

// datatypeOf returns KServe's name of a data type in a configuration, except for strings.
func datatypeOf(t kserve.DataType) string { return strings.TrimPrefix(t.String(), "TYPE_") }

// intSize returns the number of bytes of the integers that encoders take, or 0.
func intSize(datatype kserve.DataType) int {
	switch datatype {
	case kserve.DataType_TYPE_INT64:
		return 8
	case kserve.DataType_TYPE_INT32:
		return 4
	default:
		return 0
	}
}

// Name returns "encoder".
func (Encoder) Name() string { return "encoder" }

// Tasks returns the tasks that the declared outputs allow.
func (Encoder) Tasks(config *kserve.ModelConfig) inference.Task {
	t, ok := encoderOf(config)
	if !ok {
		return 0
	}
	var tasks inference.Task
	for kind, of := range map[outputKind]inference.Task{
		outputTokens: inference.TaskEmbed | inference.TaskTokenEmbed,
		outputPooled: inference.TaskEmbed,
		outputVocab:  inference.TaskSparse,
		outputWeight: inference.TaskSparse,
		outputLogits: inference.TaskClassify,
	} {
		if t.outputs[kind] != nil {
			tasks |= of
		}
	}
	if out := t.outputs[outputLogits]; out != nil && oneOrUnknown(out) {
		tasks |= inference.TaskScore
	}
	return tasks
}

// oneOrUnknown reports whether an output may have one value for each input.
func oneOrUnknown(out *kserve.ModelOutput) bool {
	last := out.GetDims()[len(out.GetDims())-1]
	return last == 1 || last < 0
}

// Extras returns nothing: encoders take token ids alone.
func (Encoder) Extras(*kserve.ModelConfig) inference.Extras { return inference.Extras{} }

// Encode refuses to generate.
func (Encoder) Encode(target *inference.Target, req *inference.Request, _ *inference.Job) (*kserve.ModelInferRequest, error) {
	return nil, inference.NoTask(target.Name, req.Task)
}

// Decoder returns a decoder that reads nothing, because the model generates nothing.
func (Encoder) Decoder(*inference.Target, *inference.Request) inference.Decoder { return noDecoder{} }

// noDecoder is the decoder of models that generate nothing.
type noDecoder struct{}

// Decode reads nothing.
func (noDecoder) Decode(*inference.Response, *inference.Step) error { return nil }

// Explain returns the error unchanged.
func (Encoder) Explain(_ *inference.Request, err *inference.Error) *inference.Error { return err }

// ExplainBatch returns the error unchanged: the inputs were checked before.
func (Encoder) ExplainBatch(_ *inference.EncodeRequest, err *inference.Error) *inference.Error {
	return err
}

// EncoderForm returns the bounds of the declared dims.
func (Encoder) EncoderForm(config *kserve.ModelConfig) inference.EncoderForm {
	t, _ := encoderOf(config)
	rows, length := t.fixed()
	return inference.EncoderForm{
		TokenIDs: true, Ambiguous: t.ambiguous, MaxBatch: max(rows, int(config.GetMaxBatchSize())), Length: length,
		SelfBatching: config.GetDynamicBatching() != nil, Width: t.width(),
	}
}

// fixed returns the numbers of inputs and of tokens that the declared dims fix. 0 means any number.
func (t *encoderTensors) fixed() (rows, length int) {
	dims := t.ids.GetDims()
	if !t.batched && len(dims) > 0 {
		rows = int(max(dims[0], 0))
	}
	if n := len(dims); n > 0 {
		length = int(max(dims[n-1], 0))
	}
	return rows, length
}

// EncodeBatch builds the tensors: each input is padded at its end, to the length of the batch.
func (Encoder) EncodeBatch(target *inference.Target, batch *inference.EncodeBatch) (*kserve.ModelInferRequest, error) {
	t, _ := encoderOf(target.Config)
	b := sequenceBatch{items: batch.Items}
	b.rows, b.length = t.fixed() // the engine takes exactly as many
	if b.rows == 0 {
		b.rows = len(batch.Items)
	}
	if b.length == 0 {
		for _, item := range batch.Items {
			b.length = max(b.length, len(item.Sequence.IDs))
		}
		b.length = target.Encoder.Padded(b.length)
	}
	req := &kserve.ModelInferRequest{ModelName: target.Name, Id: batch.ID}
	b.add(req, t.ids, target.Encoder.PadID, func(item *inference.EncodeItem, i int) int32 { return item.Sequence.IDs[i] })
	b.add(req, t.mask, 0, func(*inference.EncodeItem, int) int32 { return 1 })
	b.add(req, t.types, 0, func(item *inference.EncodeItem, i int) int32 {
		if item.Sequence.TypeIDs == nil {
			return 0
		}
		return item.Sequence.TypeIDs[i]
	})
	b.add(req, t.positions, 0, func(_ *inference.EncodeItem, i int) int32 { return int32(i) })
	var named []string
	for _, item := range batch.Items {
		if out := t.outputs[t.kindOf(item.Task)]; out != nil && !slices.Contains(named, out.GetName()) {
			named = append(named, out.GetName())
			req.Outputs = append(req.Outputs, &kserve.ModelInferRequest_InferRequestedOutputTensor{Name: out.GetName()})
		}
	}
	return req, nil
}

// sequenceBatch has the size of the tensors of a batch.
type sequenceBatch struct {
	rows, length int
	items        []*inference.EncodeItem
}

// add adds an input with a value for each token, if the model declares it. Rows without an item have
// the token ids of padding and a mask of 1 for the first, because some models compute no number
// without any token.
func (b *sequenceBatch) add(req *kserve.ModelInferRequest, in *kserve.ModelInput, pad int32, value func(*inference.EncodeItem, int) int32) {
	if in == nil {
		return
	}
	size := intSize(in.GetDataType())
	raw := make([]byte, 0, b.rows*b.length*size)
	put := func(v int32) { raw = binary.LittleEndian.AppendUint32(raw, uint32(v)) }
	if size == 8 {
		put = func(v int32) { raw = binary.LittleEndian.AppendUint64(raw, uint64(int64(v))) }
	}
	for row := range b.rows {
		filled := 0
		if row < len(b.items) {
			item := b.items[row]
			filled = len(item.Sequence.IDs)
			for i := range filled {
				put(value(item, i))
			}
		} else if slices.Contains(encoderMask, in.GetName()) {
			put(1)
			filled = 1
		}
		for range b.length - filled {
			put(pad)
		}
	}
	req.Inputs = append(req.Inputs, &kserve.ModelInferRequest_InferInputTensor{
		Name: in.GetName(), Datatype: datatypeOf(in.GetDataType()), Shape: []int64{int64(b.rows), int64(b.length)},
	})
	req.RawInputContents = append(req.RawInputContents, raw)
}

// kindOf returns the kind of output that a task needs.
func (t *encoderTensors) kindOf(task inference.Task) outputKind {
	switch task {
	case inference.TaskScore, inference.TaskClassify:
		return outputLogits
	case inference.TaskTokenEmbed:
		return outputTokens
	case inference.TaskSparse:
		if t.outputs[outputWeight] != nil {
			return outputWeight
		}
		return outputVocab
	default:
		if t.outputs[outputTokens] == nil || t.outputs[outputPooled] != nil && t.pooledFirst {
			return outputPooled
		}
		return outputTokens
	}
}

// Pools reports whether a model's embeddings are pooled from the vectors of tokens.
func (Encoder) Pools(config *kserve.ModelConfig) bool {
	t, ok := encoderOf(config)
	return ok && t.kindOf(inference.TaskEmbed) == outputTokens
}

// States reports whether the vectors of tokens are the hidden states of the model's encoder by their name, to which
// the later layers of its maker haven't been applied.
func (Encoder) States(config *kserve.ModelConfig) bool {
	t, _ := encoderOf(config)
	name := t.outputs[outputTokens].GetName()
	return name == "last_hidden_state" || name == "hidden_states"
}

// DecodeBatch pools the vectors of tokens, and copies the rest.
func (Encoder) DecodeBatch(target *inference.Target, batch *inference.EncodeBatch, resp *inference.Response) error {
	t, _ := encoderOf(target.Config)
	for i, item := range batch.Items {
		kind := t.kindOf(item.Task)
		out, err := outputOf(target, resp, t.outputs[kind].GetName())
		if err != nil {
			return err
		}
		if err := decodeItem(target.Encoder, item, out, encoderRow{kind: kind, row: i}); err != nil {
			return fmt.Errorf("model %s: output %s: %w", target.Name, out.Name, err)
		}
		item.Result.PromptTokens = len(item.Sequence.IDs)
	}
	return nil
}

// outputOf returns a float output of a response by name.
func outputOf(target *inference.Target, resp *inference.Response, name string) (*inference.Output, error) {
	i := slices.IndexFunc(resp.Outputs, func(out inference.Output) bool { return out.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("model %s: the response lacks the output %s", target.Name, name)
	}
	out := &resp.Outputs[i]
	if _, err := floatSize(target, out); err != nil {
		return nil, err
	}
	return out, nil
}

// floatSize returns the number of bytes of an element of an output, whose datatype must be a float.
func floatSize(target *inference.Target, out *inference.Output) (int, error) {
	size := vector.Size(out.Type)
	if size == 0 {
		return 0, fmt.Errorf("model %s: output %s: the output tensor has datatype %s instead of FP32, FP16 or BF16", target.Name, out.Name, out.Type)
	}
	return size, nil
}

// encoderRow is a row of an output, and what the output has.
type encoderRow struct {
	kind outputKind
	row  int
}

// rowOf returns the bytes of an item in an output, and the number of its columns.
func rowOf(out *inference.Output, row int) (raw []byte, columns int, err error) {
	size, total := vector.Size(out.Type), int64(1)
	for _, d := range out.Shape {
		if d <= 0 || d > math.MaxInt32 || total > int64(len(out.Raw)) {
			return nil, 0, fmt.Errorf("%d bytes of %s have the shape %v", len(out.Raw), out.Type, out.Shape)
		}
		total *= d
	}
	if len(out.Shape) == 0 || total != int64(len(out.Raw)/size) || len(out.Raw)%size != 0 {
		return nil, 0, fmt.Errorf("%d bytes of %s have the shape %v", len(out.Raw), out.Type, out.Shape)
	}
	if rows := out.Shape[0]; int64(row) >= rows {
		return nil, 0, fmt.Errorf("the output has %d rows, but the batch has more", rows)
	}
	each := len(out.Raw) / int(out.Shape[0])
	return out.Raw[row*each:][:each], int(out.Shape[len(out.Shape)-1]), nil
}

// decodeItem reads the result of one item from its row of an output.
func decodeItem(settings *inference.EncoderSettings, item *inference.EncodeItem, out *inference.Output, at encoderRow) error {
	raw, columns, err := rowOf(out, at.row)
	if err != nil {
		return err
	}
	rows := vector.Rows{Type: out.Type, Columns: columns, Raw: raw}
	tokens := len(item.Sequence.IDs)
	switch at.kind {
	case outputPooled, outputLogits:
		return decodeRow(item, rows)
	case outputWeight:
		rows.Columns = 1
	case outputTokens, outputVocab, outputNone:
	}
	if rows.Count() < tokens {
		return fmt.Errorf("the output has the vectors of %d tokens, but the input has %d", rows.Count(), tokens)
	}
	switch {
	case at.kind == outputVocab:
		item.Result.Sparse, err = splade(settings, rows, tokens)
	case at.kind == outputWeight:
		item.Result.Sparse = lexical(rows, item.Sequence.IDs, settings.Special)
	case item.Task == inference.TaskTokenEmbed:
		rows.Raw = rows.Raw[:tokens*columns*vector.Size(out.Type)]
		item.Result.Tokens = inference.Matrix{Rows: tokens, Columns: columns, Values: rows.All()}
	default:
		item.Result.Vector, err = rows.Pool(vector.Pooling(settings.Pooling), min(item.Prompt, tokens-1), tokens)
	}
	return err
}

// decodeRow reads the only row of an item, by its task.
func decodeRow(item *inference.EncodeItem, rows vector.Rows) error {
	values := rows.All()
	switch item.Task {
	case inference.TaskScore:
		if len(values) != 1 {
			return fmt.Errorf("the model returns %d values for a pair, but a score is one value", len(values))
		}
		item.Result.Score = float64(values[0])
	case inference.TaskClassify:
		item.Result.Classes = make([]float64, len(values))
		for i, v := range values {
			item.Result.Classes[i] = float64(v)
		}
	default:
		item.Result.Vector = values
	}
	return nil
}

// splade returns the weights of SPLADE: for each token of the vocabulary, the highest log(1+logit) of its logits above
// 0 after all tokens, or their sum.
func splade(settings *inference.EncoderSettings, rows vector.Rows, tokens int) ([]inference.TokenWeight, error) {
	weight := func(logit float32) float64 {
		w := math.Log1p(float64(logit))
		if settings.SparseLog {
			w = math.Log1p(w)
		}
		return w
	}
	if settings.SparseSum {
		return sparse(spladeSums(rows, tokens, weight), func(sum float64) float64 { return sum }), nil
	}
	highest, err := rows.Pool(vector.PoolMax, 0, tokens)
	if err != nil {
		return nil, err
	}
	return sparse(highest, weight), nil
}

// spladeSums returns the sum of the weights of each token of the vocabulary.
func spladeSums(rows vector.Rows, tokens int, weight func(float32) float64) []float64 {
	sums, values := make([]float64, rows.Columns), rows.All()
	for i := range tokens {
		for id, logit := range values[i*rows.Columns:][:rows.Columns] {
			if logit > 0 {
				sums[id] += weight(logit)
			}
		}
	}
	return sums
}

// sparse returns the weights of values above 0.
func sparse[F float32 | float64](values []F, weight func(F) float64) []inference.TokenWeight {
	weights := []inference.TokenWeight{}
	for id, v := range values {
		if v > 0 {
			weights = append(weights, inference.TokenWeight{ID: id, Weight: float32(weight(v))})
		}
	}
	return weights
}

// lexical returns the highest weight of each token of a text, without special tokens, as BGE-M3 does.
func lexical(rows vector.Rows, ids, special []int32) []inference.TokenWeight {
	values := rows.All()
	best := map[int32]float32{}
	for i, id := range ids {
		if w := values[i]; w > best[id] && !slices.Contains(special, id) {
			best[id] = w
		}
	}
	weights := make([]inference.TokenWeight, 0, len(best))
	for id, w := range best {
		weights = append(weights, inference.TokenWeight{ID: int(id), Weight: w})
	}
	slices.SortFunc(weights, func(a, b inference.TokenWeight) int { return a.ID - b.ID })
	return weights
}
