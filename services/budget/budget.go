// Package budget has the limits of what one request may make this process read, each
// under its name, and the checks of encoded messages against them. Readers apply them
// while they read, before anything is built: a request beyond a budget costs time linear
// in the bytes read, and little of it.
//
// Budgets are far above what clients need and low enough that each request, whatever it
// holds, takes less than half a second of a processor and memory in proportion to its
// size before a model is asked. They are constants: a limit that fits all deployments
// needs no flag. docs/limits.md lists them.
package budget

import (
	"cmp"
	"fmt"
	"unicode/utf8"
)

// Budgets of all texts and messages of a request.
const (
	// Stops is how many stop sequences of a typed service are read; the schema's rules
	// take fewer.
	Stops = 64
	// Embedded is how many inputs of embeddings, or prompts, are read; a request may have
	// fewer.
	Embedded = 4096
	// Depth is how deep lists and objects, or messages, may nest.
	Depth = 128
	// Values is how many values a text of JSON or a message may hold: strings, numbers,
	// literals, lists, objects and messages. Numbers in lists of token ids and in tensors
	// have budgets of their own.
	Values = 1 << 18
	// ObjectKeys is how many keys one object of a JSON body may have. Larger sets of keys
	// don't fit into the caches of a processor, and take many times as long for each key.
	ObjectKeys = 1 << 14
	// Strings is how many elements of type string or bytes an encoded message may hold.
	Strings = 1 << 20
	// UnknownFields is how many fields a message may hold, with the messages in it, that its
	// schema doesn't have.
	UnknownFields = 1 << 12
)

// Budgets of fields.
const (
	// FieldValues is how many values one field of a form of its own may hold, as
	// tool_choice.
	FieldValues = 1 << 12
	// FreeValues is how many values one field may hold whose form is the client's:
	// tools, a JSON Schema, variables of the chat template.
	FreeValues = 1 << 16
	// Keys is how many keys a map may have: logit_bias, chat_template_kwargs, KServe's
	// parameters.
	Keys = 1 << 12
	// Messages is how many messages a chat, or items a response, may have.
	Messages = 1 << 14
	// Tools is how many tools a request may offer.
	Tools = 1 << 10
	// Words is how many entries stop_token_ids and bad_words may have.
	Words = 1 << 12
	// Choices is how many texts a choice as the answer's form may have.
	Choices = 1 << 14
	// TokenIDs is how many token ids a request may hold, in all its lists together.
	TokenIDs = 1 << 20
	// JSONTokenIDs is TokenIDs for messages in protobuf's JSON, whose decoder takes many
	// times as long for a number as the other decoders.
	JSONTokenIDs = 1 << 19
	// JSONElements is how many numbers the tensors of a request in protobuf's JSON may hold
	// together. KServe's REST API has a reader of its own and no such budget.
	JSONElements = 1 << 20
	// Tensors is how many inputs, and how many outputs, a request of KServe may name, and
	// Dimensions the length of a shape.
	Tensors    = 1 << 14
	Dimensions = 1 << 8
)

// Budgets of structured outputs.
const (
	// Subschemas is how many schemas the JSON Schemas of a request may hold.
	Subschemas = 10_000
	// PatternBytes is the length of a regular expression, and PatternsBytes that of all
	// those in the JSON Schemas of a request.
	PatternBytes  = 16 << 10
	PatternsBytes = 512 << 10
	// GrammarBytes is the length of a grammar, or of structural tags.
	GrammarBytes = 1 << 20
)

// Budgets of texts that are tokenized: of one text TextBytes, or TextBytesPerToken for each
// token of the model's context if that is more; of several together TextsBytes, or what one
// may have if that is more. Words of more than LongWord bytes, which take many times as long
// as others, may together have TextBytes, or LongWordBytesPerToken for each token of the
// context if that is more.
const (
	TextBytes         = 512 << 10
	TextBytesPerToken = 16
	TextsBytes        = 16 << 20
	LongWord          = 4 << 10

	LongWordBytesPerToken = 8
)

// Text is how many bytes a text may have that is tokenized for a model whose context has
// that many tokens, 0 for an unknown one.
func Text(context int) int {
	return max(TextBytes, TextBytesPerToken*min(context, 1<<40))
}

// LongWords is how many bytes the words of more than [LongWord] bytes of a request may have.
func LongWords(context int) int {
	return max(TextBytes, LongWordBytesPerToken*min(context, 1<<40))
}

// Texts is [Text] for several texts of a request together.
func Texts(context int) int { return max(TextsBytes, Text(context)) }

// Budgets of compressed messages: InflatedBytes, or InflatedTimes the compressed size if
// that is more. What is larger is to be sent without compression.
const (
	InflatedBytes = 4 << 20
	InflatedTimes = 100
)

// Inflated is how many bytes a compressed message of a size may become.
func Inflated(compressed int64) int64 {
	return max(InflatedBytes, InflatedTimes*compressed)
}

// ErrInflated is returned for a message that becomes more.
var ErrInflated = fmt.Errorf("the compressed message grows to more than %d MiB and more than %d times its size: send it without compression", InflatedBytes>>20, InflatedTimes)

// Error is returned for a request beyond a budget.
type Error struct {
	// Field is the path of the field without positions, such as messages.parts; empty for
	// the message itself.
	Field string
	// Most of what it may hold.
	Most int
	What string
	// Advice is what to do; empty where it is to send fewer.
	Advice string
}

// Error names the field, the limit and what to do.
func (e *Error) Error() string {
	field := e.Field
	if field == "" {
		field = "the message"
	}
	return fmt.Sprintf("%s holds more than %d %s: %s", field, e.Most, e.What, cmp.Or(e.Advice, "send fewer"))
}

// What an error shows at most of a client's own text, in bytes: a key of a megabyte must not
// come back.
const (
	MessageBytes = 1 << 10
	NameBytes    = 200
)

// Cut shortens text to at most limit bytes of whole characters, and marks that it did.
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
