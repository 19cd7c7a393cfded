package inference

import (
	"slices"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// Encoder is a [Backend] of models that encode inputs. One request to the model may have inputs of
// several clients.
type Encoder interface {
	// EncoderForm returns how a model with this configuration takes inputs.
	EncoderForm(config *kserve.ModelConfig) EncoderForm
	// EncodeBatch builds the request of a batch. An input that the model can't take is an [*Error].
	EncodeBatch(target *Target, batch *EncodeBatch) (*kserve.ModelInferRequest, error)
	// DecodeBatch reads the response of a batch into the results of its items. It keeps no part of
	// the response.
	DecodeBatch(target *Target, batch *EncodeBatch, resp *Response) error
	// ExplainBatch is [Backend.Explain] for requests to encoders.
	ExplainBatch(req *EncodeRequest, err *Error) *Error
}

// EncoderForm is the way in which a model takes inputs.
type EncoderForm struct {
	// MaxBatch is the maximum number of inputs of one request to the model. 0 means no maximum.
	MaxBatch int
	// Length is the number of tokens to which each input is padded, or 0 if the model takes any.
	Length int
	// TokenIDs reports that the model takes token ids, and therefore needs a tokenizer.
	TokenIDs bool
	// SelfBatching reports that the model's own scheduler batches the requests of several clients.
	SelfBatching bool
	// Activated reports that the model returns scores and probabilities instead of logits, unless a
	// setting names an activation function.
	Activated bool
	// Images reports that an input may have an image, and ImagesOnly that it must have one and no text.
	Images, ImagesOnly bool
	// Ambiguous reports that the tensors don't determine what the model's output is: embeddings or
	// the logits of classes, or vectors of tokens or the logits of the vocabulary. The tasks then
	// include both.
	Ambiguous bool
	// Width is the number of values of the output for each token, or for each input if it has none for
	// tokens. It is 0 if the tensors don't determine it.
	Width int
	// OwnSettings reports that the engine tokenizes, pools and normalizes by the model's own settings.
	OwnSettings bool
}

// EncodeBatch has the inputs of one request to a model.
type EncodeBatch struct {
	// ID is Triton's request id.
	ID    string
	Items []*EncodeItem
}

// EncodeItem is one input of a batch, and its result.
type EncodeItem struct {
	Task Task
	// Input has the texts for models that don't take token ids.
	Input *EncodeInput
	// Image is the image of the input, or nil.
	Image *Image
	// Sequence has the token ids for models that do.
	Sequence Sequence
	// Prompt is the number of tokens at the start that pooling leaves out.
	Prompt int
	// Result receives what the model returns, before it is shortened, normalized or activated.
	Result *Encoded
}

// Activation is the function that makes probabilities or scores of a model's logits.
type Activation string

// The activation functions.
const (
	ActivationSoftmax Activation = "softmax" // the probabilities of the classes sum to 1
	ActivationSigmoid Activation = "sigmoid" // each class has a probability of its own
	ActivationNone    Activation = "none"    // the logits are the result
)

// EncoderSettings are the settings of an encoder.
type EncoderSettings struct {
	// Pooling is the way in which vectors of tokens become one vector. It is empty if the model
	// returns one vector.
	Pooling string
	// SparseSum makes the weight of a token in a sparse vector the sum over the tokens of the input, and
	// not the highest value.
	SparseSum bool
	// SparseLog applies log1p twice to the logits of sparse vectors, and not once.
	SparseLog bool
	// Normalize reports whether vectors are scaled to unit length.
	Normalize bool
	// Labels are the names of the classes. They are nil if they aren't known.
	Labels []string
	// Activation is empty if it isn't known: the number of classes then determines it.
	Activation Activation
	// Prompts are texts that are put before inputs, by name. DefaultPrompt is the name of the prompt
	// of inputs without one, or empty.
	Prompts       map[string]string
	DefaultPrompt string
	// ExcludePrompt leaves the tokens of the prompt out of the pooling.
	ExcludePrompt bool
	// LowerCase changes texts to lower case before they are tokenized.
	LowerCase bool
	// PadID is the token id of padding.
	PadID int32
	// Multiple is the number to a multiple of which batches are padded. 0 means none.
	Multiple int
	// Lengths are the numbers of tokens to which batches are padded, in ascending order. Longer ones
	// are padded to the multiple.
	Lengths []int
	// Preferred are the numbers of inputs that batches should have. The largest one is a maximum. Nil
	// means any number.
	Preferred []int
	// MaxBatchTokens is the maximum number of tokens of a batch with its padding.
	MaxBatchTokens int
	// TextsOnly reports that the model takes texts and no token ids.
	TextsOnly bool
	// Special are the ids of the tokens that the tokenizer adds to texts.
	Special []int32
}

// Padded returns the number of tokens to which a batch is padded whose longest input has n tokens.
func (s *EncoderSettings) Padded(n int) int {
	if i, _ := slices.BinarySearch(s.Lengths, n); i < len(s.Lengths) {
		return s.Lengths[i]
	}
	if m := s.Multiple; m > 1 {
		return (n + m - 1) / m * m
	}
	return n
}

// DefaultMaxBatchTokens is the default of [EncoderSettings.MaxBatchTokens].
const DefaultMaxBatchTokens = 16384
