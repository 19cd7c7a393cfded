// Package budget has the limits of the data of one request that this process reads, each under its
// name, and the checks of encoded messages against them. Readers apply the limits while they read,
// before they build anything. A request beyond a budget therefore costs little time, linear in the
// bytes read. Limits that operators set belong to the packages that apply them.
//
// Budgets are far above the needs of clients. Budgets are low enough that each request takes less
// than half a second of processor time, and memory in proportion to its size, before a model is used.
// Budgets are constants: a limit that fits all deployments needs no flag. docs/reference/limits.md lists them.
package budget

import (
	"cmp"
	"fmt"
	"unicode/utf8"
)

// Budgets of the texts and messages of a request.
const (
	// Stops is the maximum number of stop sequences of a request of Anthropic's API. The typed services
	// read as many, but their rules allow fewer, as does OpenAI's API.
	Stops = 64
	// Embedded is the maximum number of embedding inputs or prompts that are read. A request may be
	// limited to fewer.
	Embedded = 4096
	// EncodeInputs is the maximum number of texts or pairs of a request to an encoder. EncodeValues is
	// the maximum number of values in all its results, which are numbers of 4 bytes.
	EncodeInputs = 1 << 14
	EncodeValues = 1 << 26
	// Depth is the maximum nesting depth of lists and objects, or of messages.
	Depth = 128
	// Values is the maximum number of values in a JSON text or a message: strings, numbers, literals,
	// lists, objects and messages. Numbers in lists of token ids and in tensors have separate
	// budgets.
	Values = 1 << 18
	// ObjectKeys is the maximum number of keys in one object of a JSON body. Larger sets of keys
	// exceed the processor's caches and take many times as long for each key.
	ObjectKeys = 1 << 14
	// Strings is the maximum number of elements of type string or bytes in an encoded message.
	Strings = 1 << 20
	// UnknownFields is the maximum number of fields outside of the schema in a message and its nested
	// messages.
	UnknownFields = 1 << 12
)

// Maximum numbers of values, keys and elements in the fields of a request.
const (
	// FieldValues is the maximum number of values in one field with a form defined by the API, such
	// as tool_choice.
	FieldValues = 1 << 12
	// FreeValues is the maximum number of values in one field whose form the client defines: tools, a
	// JSON Schema, variables of the chat template.
	FreeValues = 1 << 16
	// Keys is the maximum number of keys in a map: logit_bias, chat_template_kwargs, KServe's
	// parameters.
	Keys = 1 << 12
	// Messages is the maximum number of messages in a chat, or of items in a response.
	Messages = 1 << 14
	// Tools is the maximum number of tools in a request.
	Tools = 1 << 10
	// Words is the maximum number of entries in stop_token_ids and in bad_words.
	Words = 1 << 12
	// Choices is the maximum number of texts in a choice constraint.
	Choices = 1 << 14
	// TokenIDs is the maximum number of token ids in all lists of a request together.
	TokenIDs = 1 << 20
	// JSONTokenIDs replaces TokenIDs for messages in protobuf's JSON, whose decoder takes many times
	// as long for a number as the other decoders.
	JSONTokenIDs = 1 << 19
	// JSONElements is the maximum number of numbers in all tensors of a request in protobuf's JSON.
	// KServe's REST API has its own reader and no such budget.
	JSONElements = 1 << 20
	// Tensors is the maximum number of inputs, and of outputs, in a request of KServe. Dimensions is
	// the maximum length of a shape.
	Tensors    = 1 << 14
	Dimensions = 1 << 8
)

// Budgets of structured outputs.
const (
	// Subschemas is the maximum number of schemas in the JSON Schemas of a request.
	Subschemas = 10_000
	// PatternBytes is the maximum length of a regular expression. PatternsBytes is the maximum length
	// of all regular expressions in the JSON Schemas of a request.
	PatternBytes  = 16 << 10
	PatternsBytes = 512 << 10
	// GrammarBytes is the maximum length of a grammar or of structural tags.
	GrammarBytes = 1 << 20
)

// SealedBytes is the maximum length of all sealed reasoning of a request (encrypted_content) that has to
// be opened.
const SealedBytes = 16 << 20

// Budgets of texts that are tokenized. One text may have TextBytes, or TextBytesPerToken for each
// token of the model's context length, whichever is more. Several texts together may have TextsBytes,
// or the budget of one text, whichever is more. Words of more than LongWord bytes take many times as
// long as others. Together they may have TextBytes, or LongWordBytesPerToken for each token of the
// context length, whichever is more.
const (
	TextBytes         = 512 << 10
	TextBytesPerToken = 16
	TextsBytes        = 16 << 20
	LongWord          = 4 << 10

	LongWordBytesPerToken = 8
)

// Budgets of the log probabilities of prompts. Engines return the logits of the whole vocabulary for each
// token of a prompt. ContextLogits is the maximum number of bytes of the logits of one model that are read at
// the same time, and therefore of those of one prompt. AllContextLogits is that of all models together, which is
// more, so that a model whose engine doesn't answer doesn't block the others. PromptLogprobs is the maximum number of log probabilities of
// prompts in a response.
const (
	ContextLogits    = 1 << 30
	AllContextLogits = 2 * ContextLogits
	PromptLogprobs   = 1 << 20
)

// Text returns the maximum number of bytes of a tokenized text for a context length in tokens. The
// context length is 0 if it isn't known.
func Text(context int) int {
	return max(TextBytes, TextBytesPerToken*min(context, 1<<40))
}

// LongWords returns the maximum number of bytes of a request's words of more than [LongWord] bytes.
func LongWords(context int) int {
	return max(TextBytes, LongWordBytesPerToken*min(context, 1<<40))
}

// Texts returns the maximum number of bytes of several texts of a request together.
func Texts(context int) int { return max(TextsBytes, Text(context)) }

// Budgets of compressed messages: InflatedBytes, or InflatedTimes the compressed size, whichever is
// more. Larger messages must be sent without compression.
const (
	InflatedBytes = 4 << 20
	InflatedTimes = 100
)

// Inflated returns the maximum uncompressed size of a compressed message, in bytes.
func Inflated(compressed int64) int64 {
	return max(InflatedBytes, InflatedTimes*compressed)
}

// ErrInflated is returned for a message that exceeds [Inflated].
var ErrInflated = fmt.Errorf("the message is larger than %d MiB and more than %d times as large as its compressed form: send it without compression", InflatedBytes>>20, InflatedTimes)

// Error is returned for a request that exceeds a budget.
type Error struct {
	// Field is the path of the field without indexes, such as messages.parts. It is empty for the
	// message itself.
	Field string
	// Most is the budget, and What the unit.
	Most int
	What string
	// Advice is the remedy. If it is empty, the remedy is to send fewer.
	Advice string
}

// Error names the field, the limit and the remedy.
func (e *Error) Error() string {
	field := e.Field
	if field == "" {
		field = "the message"
	}
	return fmt.Sprintf("%s holds more than %d %s: %s", field, e.Most, e.What, cmp.Or(e.Advice, "send fewer"))
}

// Maximum lengths of client data in an error, in bytes: an error must not repeat a key of a megabyte.
const (
	MessageBytes = 1 << 10
	NameBytes    = 200
)

// Cut shortens text to at most limit bytes of whole characters. A shortened text ends in a mark.
func Cut(text string, limit int) string {
	const mark = "…"
	if len(text) <= limit {
		return text
	}
	end := limit - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
