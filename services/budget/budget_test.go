package budget_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/trident-inference/trident/gen/go/kserve"
	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/openapi"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/test/tier"
)

func repeated[T any](n int, value T) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = value
	}
	return list
}

func biases(n int) map[uint32]float32 {
	all := make(map[uint32]float32, n)
	for i := range n {
		all[uint32(i)] = 1
	}
	return all
}

func inParts(n, size int) *tridentv1.EmbedRequest {
	ids := &tridentv1.TextInput{Input: &tridentv1.TextInput_TokenIds{TokenIds: &tridentv1.TokenIds{Ids: make([]uint32, size)}}}
	return &tridentv1.EmbedRequest{Input: repeated(n, ids)}
}

// TestMessages checks that Message.Check accepts the maximum number of elements of each kind of
// field, and refuses one more, in protobuf and in JSON. One more element is an error that names the
// field and the limit.
func TestMessages(t *testing.T) {
	tier.Computes(t)
	user := &tridentv1.ChatMessage{Role: tridentv1.Role_ROLE_USER}
	part := &tridentv1.ContentPart{Part: &tridentv1.ContentPart_Text{Text: ""}}
	for _, test := range []struct {
		name  string
		most  int
		make  func(n int) proto.Message
		field string
	}{
		{"messages", budget.Messages, func(n int) proto.Message {
			return &tridentv1.ChatRequest{Messages: repeated(n, user)}
		}, "messages"},
		{"messages of a stream", budget.Messages, func(n int) proto.Message {
			return &tridentv1.ChatStreamRequest{Chat: &tridentv1.ChatRequest{Messages: repeated(n, user)}}
		}, "chat.messages"},
		{"parts of a message", budget.Tensors, func(n int) proto.Message {
			return &tridentv1.ChatRequest{Messages: []*tridentv1.ChatMessage{{Parts: repeated(n, part)}}}
		}, "messages.parts"},
		{"tools", budget.Tools, func(n int) proto.Message {
			return &tridentv1.ChatRequest{Tools: repeated(n, &tridentv1.Tool{})}
		}, "tools"},
		{"biases", budget.Keys, func(n int) proto.Message { return &tridentv1.ChatRequest{LogitBias: biases(n)} }, "logit_bias"},
		{"stop ids", budget.Words, func(n int) proto.Message {
			return &tridentv1.CompleteRequest{StopTokenIds: make([]uint32, n)}
		}, "stop_token_ids"},
		{"bad words", budget.Words, func(n int) proto.Message {
			return &tridentv1.CompleteRequest{BadWords: make([]string, n)}
		}, "bad_words"},
		{"choices", budget.Choices, func(n int) proto.Message {
			return &tridentv1.CompleteRequest{ResponseFormat: &tridentv1.ResponseFormat{Format: &tridentv1.ResponseFormat_Choice{Choice: &tridentv1.ChoiceFormat{Choices: make([]string, n)}}}}
		}, "response_format.choice.choices"},
		{"ids of one text", budget.TokenIDs, func(n int) proto.Message { return inParts(1, n) }, "input.token_ids.ids"},
		{"tensors", budget.Tensors, func(n int) proto.Message {
			return &kserve.ModelInferRequest{Inputs: repeated(n, &kserve.ModelInferRequest_InferInputTensor{})}
		}, "inputs"},
		{"parameters", budget.Keys, func(n int) proto.Message {
			all := make(map[string]*kserve.InferParameter, n)
			for i := range n {
				all[fmt.Sprint(i)] = &kserve.InferParameter{}
			}
			return &kserve.ModelInferRequest{Parameters: all}
		}, "parameters"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for n, within := range map[int]bool{test.most: true, test.most + 1: false} {
				m := test.make(n)
				for encoding, err := range encodings(t, m) {
					var over *budget.Error
					switch {
					case within && err != nil:
						t.Errorf("%s of %d: %v", encoding, n, err)
					case !within && (!errors.As(err, &over) || over.Field != test.field || over.Most != test.most):
						t.Errorf("%s of %d: %v", encoding, n, err)
					}
				}
			}
		})
	}
}

// encodings returns the results for the encodings of a message. Writing protobuf's JSON of large
// messages takes seconds. In the check tier, TestJSON covers such texts.
func encodings(t *testing.T, m proto.Message) map[string]error {
	t.Helper()
	wire, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	of := budget.Of(m.ProtoReflect().Descriptor())
	results := map[string]error{"wire": of.Check(wire)}
	if len(wire) > tier.Size(largeMessage, math.MaxInt) || len(wire) >= budget.TokenIDs && m.ProtoReflect().Descriptor() == new(tridentv1.EmbedRequest).ProtoReflect().Descriptor() {
		return results // JSON allows fewer token ids: see TestJSON
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	names, err := protojson.MarshalOptions{UseProtoNames: true, Multiline: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	results["JSON"], results["JSON by proto names"] = of.CheckJSON(text), of.CheckJSON(names)
	return results
}

// largeMessage is the size in bytes from which only the slow tier checks a message's JSON.
const largeMessage = 64 << 10

// TestTotals checks that a message is refused if all its fields of one kind together have too many
// elements, although no single field has.
func TestTotals(t *testing.T) {
	tier.Computes(t)
	many := &tridentv1.ChatMessage{Parts: repeated(budget.Values/budget.Messages, &tridentv1.ContentPart{Part: &tridentv1.ContentPart_Text{}})}
	strings := &kserve.ModelInferRequest_InferInputTensor{Contents: &kserve.InferTensorContents{BytesContents: make([][]byte, budget.Strings/2)}}
	for _, test := range []struct {
		name    string
		message proto.Message
		want    string // error in the wire format; in JSON, strings are values too
	}{
		{"ids in many texts", inParts(1024, budget.TokenIDs/1024), ""},
		{"too many ids in many texts", inParts(1024, budget.TokenIDs/1024+1), "input.token_ids.ids holds more than 1048576 numbers: send fewer"},
		{"parts of many messages", &tridentv1.ChatRequest{Messages: repeated(budget.Messages, many)}, "messages.parts holds more than 262144 values: send fewer"},
		{"strings of many tensors", &kserve.ModelInferRequest{Inputs: repeated(3, strings)}, "inputs.contents.bytes_contents holds more than 1048576 strings: send fewer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for encoding, err := range encodings(t, test.message) {
				if (err != nil) != (test.want != "") || encoding == "wire" && err != nil && err.Error() != test.want {
					t.Errorf("%s: %v", encoding, err)
				}
			}
		})
	}
}

// TestUnknownFields checks that unknown fields of nested protobuf messages count against the limits
// of a message too.
func TestUnknownFields(t *testing.T) {
	descriptor := (&tridentv1.ChatRequest{}).ProtoReflect().Descriptor()
	of, messages := budget.Of(descriptor), descriptor.Fields().ByName("messages").Number()
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 1000, protowire.VarintType), 1)
	encode := func(outside, inside int) []byte {
		b := bytes.Repeat(unknown, outside)
		return protowire.AppendBytes(protowire.AppendTag(b, messages, protowire.BytesType), bytes.Repeat(unknown, inside))
	}
	if err := of.Check(encode(budget.UnknownFields-1, 1)); err != nil {
		t.Error(err)
	}
	const want = "the message holds more than 4096 unknown fields: send fewer"
	if err := of.Check(encode(budget.UnknownFields, 1)); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestJSON(t *testing.T) {
	tier.Computes(t)
	chat := budget.Of((&tridentv1.ChatRequest{}).ProtoReflect().Descriptor())
	embed := budget.Of((&tridentv1.EmbedRequest{}).ProtoReflect().Descriptor())
	infer := budget.Of((&kserve.ModelInferRequest{}).ProtoReflect().Descriptor())
	list := func(n int, element string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
	}
	texts := func(n, ids int) string { return `{"input":` + list(n, `{"tokenIds":{"ids":`+list(ids, "0")+`}}`) + `}` }
	parts := `{"parts":` + list(budget.Values/budget.Messages, `{"text":""}`) + `}`
	contents := `{"contents":{"bytesContents":` + list(budget.Values/2, `""`) + `}}`
	tensors := func(n, numbers int) string {
		return `{"inputs":` + list(n, `{"contents":{"fp32Contents":`+list(numbers, "0")+`}}`) + `}`
	}
	tools := "[" + strings.Repeat("{},", budget.Tools) + "{}]"
	for _, test := range []struct {
		of               *budget.Message
		name, text, want string
	}{
		{chat, "a name in escapes", `{"\u0074ools":` + tools + `}`, "tools holds more than 1024 elements: send fewer"},
		{chat, "blanks", "\n{ \"tools\"\t:\r" + tools + "}", "tools holds more than 1024 elements: send fewer"},
		{chat, "a string that looks like one", `{"user":"\\\",\"tools\":` + strings.ReplaceAll(tools, `"`, `\"`) + `"}`, ""},
		{chat, "an unknown field", `{"x":` + tools + `}`, ""},
		{chat, "values of unknown fields", `{"x":["",` + strings.Repeat(`{"":true},`, budget.Values/2) + `0]}`, "the message holds more than 262144 values: send fewer"},
		{chat, "numbers of unknown fields", `{"x":[` + strings.Repeat(`1,`, budget.Values+1) + `1]}`, ""},
		{chat, "keys", `{` + strings.Repeat(`"x":1,`, budget.ObjectKeys-1) + `"y":1}`, ""},
		{chat, "too many keys", `{` + strings.Repeat(`"x":1,`, budget.ObjectKeys) + `"y":1}`, "the message holds more than 16384 keys: send fewer"},
		{chat, "too many keys of an unknown field", `{"u":{` + strings.Repeat(`"x":1,`, budget.ObjectKeys) + `"y":1}}`, "the message holds more than 16384 keys: send fewer"},
		{chat, "nested", strings.Repeat(`{"x":[`, budget.Depth/2) + strings.Repeat(`]}`, budget.Depth/2), ""},
		{chat, "nested too deep", strings.Repeat(`{"x":[`, budget.Depth/2) + `{}` + strings.Repeat(`]}`, budget.Depth/2), "the message holds more than 128 levels of nesting: send fewer"},
		{chat, "broken texts", `{"tools":[{"x":"`, ""},
		{chat, "another broken text", `]}{"tools":`, ""},
		{chat, "a literal", `null`, ""},
		{chat, "nothing", ``, ""},
		{embed, "ids of one text", texts(1, budget.JSONTokenIDs), ""},
		{embed, "too many ids of one text", texts(1, budget.JSONTokenIDs+1), "input.token_ids.ids holds more than 524288 numbers: send fewer"},
		{embed, "too many ids of many texts", texts(1024, budget.JSONTokenIDs/1024+1), "input.token_ids.ids holds more than 524288 numbers: send fewer"},
		{chat, "allowed ids", `{"allowedTokenIds":` + list(budget.JSONTokenIDs+1, "0") + `}`, "allowed_token_ids holds more than 524288 numbers: send fewer"},
		{chat, "parts of many messages", `{"messages":` + list(budget.Messages, parts) + `}`, "the message holds more than 262144 values: send fewer"},
		{chat, "a field by its proto name", `{"stop_token_ids":` + list(budget.Words+1, "0") + `}`, "stop_token_ids holds more than 4096 elements: send fewer"},
		{infer, "strings of many tensors", `{"inputs":` + list(3, contents) + `}`, "the message holds more than 262144 values: send fewer"},
		{infer, "numbers of tensors", tensors(2, budget.JSONElements/2), ""},
		{infer, "too many numbers of tensors", tensors(2, budget.JSONElements/2+1), "inputs.contents.fp32_contents holds more than 1048576 numbers: send the tensors as bytes in raw_input_contents, or the message in protobuf's binary encoding"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.of.CheckJSON([]byte(test.text))
			if got := fmt.Sprint(err); (err != nil || test.want != "") && got != test.want {
				t.Errorf("got %s, want %q", got, test.want)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	keys := func(n int) string { return "{" + strings.TrimSuffix(strings.Repeat(`"k":1,`, n), ",") + "}" }
	nested := `{"a":[` + keys(budget.Keys+1) + `,"}"],`
	for text, over := range map[string]bool{
		keys(budget.Keys): false, keys(budget.Keys + 1): true, nested + `"b":1}`: false, nested + keys(budget.Keys - 1)[1:]: false, nested + keys(budget.Keys)[1:]: true,
		`[` + keys(budget.Keys+1) + `]`: false, `{"a":[1,2`: false, `{"a":]]]]"b"`: false,
	} {
		if err := budget.CheckMembers([]byte(text)); (err != nil) != over {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}

// TestBroken checks that the checks of protobuf and of JSON don't panic on any prefix of a message,
// nor on the message with any one byte changed. The checks must report no error, because the
// decoder reports invalid input.
func TestBroken(t *testing.T) {
	m := &tridentv1.ChatRequest{
		Model: "m", Messages: []*tridentv1.ChatMessage{{Content: "é\"", ToolCalls: []*tridentv1.ToolCall{{Id: "a"}}}}, LogitBias: biases(2), StopTokenIds: []uint32{1, 300},
	}
	wire, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	of := budget.Of(m.ProtoReflect().Descriptor())
	for name, check := range map[string]func([]byte) error{"wire": of.Check, "JSON": of.CheckJSON} {
		whole := map[string][]byte{"wire": wire, "JSON": text}[name]
		for i := range whole {
			for change := range 256 {
				changed := append([]byte(nil), whole...)
				changed[i] = byte(change)
				for _, b := range [][]byte{changed, changed[:i]} {
					if err := check(b); err != nil {
						t.Fatalf("%s %q: %v", name, b, err)
					}
				}
			}
		}
	}
}

// TestMemory checks that Message.Check allocates nothing for a message of any size.
func TestMemory(t *testing.T) {
	small, large := inParts(1, 1), inParts(tier.Size(64, 1024), 400)
	of := budget.Of(small.ProtoReflect().Descriptor())
	allocations := func(m proto.Message) float64 {
		wire, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		text, err := protojson.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(3, func() {
			if of.Check(wire) != nil || of.CheckJSON(text) != nil {
				t.Error("refused")
			}
		})
	}
	if few, many := allocations(small), allocations(large); many > few {
		t.Errorf("%.0f allocations, %.0f for more elements", few, many)
	}
}

// TestSchemas checks that the limits in the schemas for clients, such as max_items, equal the
// constants of this package.
func TestSchemas(t *testing.T) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(openapi.OpenAI())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"messages": budget.Messages, "tools": budget.Tools, "logit_bias": budget.Keys, "stop_token_ids": budget.Words, "bad_words": budget.Words,
		"allowed_token_ids": budget.TokenIDs, "guided_choice": budget.Choices, "chat_template_kwargs": budget.Keys, "tokens": budget.TokenIDs,
		"choices": budget.Choices, "ids": budget.TokenIDs,
	}
	seen := map[string]int{}
	for _, path := range []string{"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/tokenize", "/v1/detokenize"} {
		body := doc.Paths.Value(path).Post.RequestBody.Value.Content["application/json"].Schema.Value
		for name, property := range body.Properties {
			if most, ok := want[name]; ok && path+name != "/v1/tokenizetools" { // the older field has a lower limit
				s := property.Value
				if (s.MaxItems == nil || *s.MaxItems != uint64(most)) && (s.MaxProps == nil || *s.MaxProps != uint64(most)) {
					t.Errorf("%s of %s isn't limited to %d", name, path, most)
				}
				seen[name]++
			}
		}
	}
	anthropic, err := loader.LoadFromData(openapi.Anthropic())
	if err != nil {
		t.Fatal(err)
	}
	want["stop_sequences"], seen["stop_sequences"] = budget.Stops, 1
	for _, name := range []string{"messages", "tools", "stop_sequences"} {
		field := anthropic.Components.Schemas["CreateMessageRequest"].Value.Properties[name].Value
		if field.MaxItems == nil || *field.MaxItems != uint64(want[name]) {
			t.Errorf("%s of Anthropic's API isn't limited to %d", name, want[name])
		}
	}
	for _, m := range []proto.Message{&tridentv1.ChatRequest{}, &tridentv1.CompleteRequest{}, &tridentv1.ChoiceFormat{}, &tridentv1.TokenIds{}} {
		fields := m.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			if most, ok := want[string(fields.Get(i).Name())]; ok && fields.Get(i).Cardinality() == protoreflect.Repeated {
				if got := budget.MostOf(fields.Get(i)); got != most {
					t.Errorf("%s is limited to %d", fields.Get(i).FullName(), got)
				}
				seen[string(fields.Get(i).Name())]++
			}
		}
	}
	if len(seen) != len(want) {
		t.Errorf("found %v", seen)
	}
}

func TestText(t *testing.T) {
	for context, want := range map[int]int{0: 512 << 10, 2048: 512 << 10, 32 << 10: 512 << 10, 128 << 10: 2 << 20} {
		if got := budget.Text(context); got != want {
			t.Errorf("context %d: %d", context, got)
		}
	}
	for context, want := range map[int]int{0: 512 << 10, 64 << 10: 512 << 10, 128 << 10: 1 << 20} {
		if got := budget.LongWords(context); got != want {
			t.Errorf("long words, context %d: %d", context, got)
		}
	}
	for compressed, want := range map[int64]int64{0: 4 << 20, 40 << 10: 4 << 20, 1 << 20: 100 << 20} {
		if got := budget.Inflated(compressed); got != want {
			t.Errorf("compressed %d: %d", compressed, got)
		}
	}
}

// TestDocs checks that the tables of docs/reference/limits.md agree with the constants.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Budgets of a request")
	section, _, _ = strings.Cut(section, "\n## ")
	number := func(n int) string { // the tables write numbers with commas
		s := fmt.Sprint(n)
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return s
	}
	for row, want := range map[string]string{
		"nested lists":                  number(budget.Depth) + " levels",
		"values of a JSON body":         number(budget.Values),
		"numbers in lists of token ids": number(budget.TokenIDs) + " per request",
		"numbers of tensors":            number(budget.JSONElements) + " per request",
		"elements of type string":       number(budget.Strings),
		"unknown fields":                number(budget.UnknownFields),
		"a compressed body":             fmt.Sprintf("%d MiB after decompression, or %d times", budget.InflatedBytes>>20, budget.InflatedTimes),
		"messages of a chat":            number(budget.Messages),
		"tools":                         number(budget.Tools),
		"keys of `logit_bias`":          number(budget.Keys),
		"stop sequences":                "4; " + number(budget.Stops) + " in Anthropic's API",
		"entries of `stop_token_ids`":   number(budget.Words),
		"choices":                       number(budget.Choices),
		"a field whose content":         number(budget.FreeValues) + " values",
		"any other field":               number(budget.FieldValues) + " values",
		"JSON Schemas":                  fmt.Sprintf("%s subschemas and %d KiB of patterns", number(budget.Subschemas), budget.PatternsBytes>>10),
		"a regular expression":          number(budget.PatternBytes) + " bytes",
		"a grammar":                     fmt.Sprintf("%d MiB", budget.GrammarBytes>>20),
		"sealed reasoning":              fmt.Sprintf("%d MiB together", budget.SealedBytes>>20),
		"one text":                      fmt.Sprintf("%d KiB, or %d bytes per token", budget.TextBytes>>10, budget.TextBytesPerToken),
		"several texts":                 fmt.Sprintf("%d MiB together", budget.TextsBytes>>20),
		fmt.Sprintf("words of more than %d KiB", budget.LongWord>>10): fmt.Sprintf("%d KiB together, or %d bytes per token", budget.TextBytes>>10, budget.LongWordBytesPerToken),
		"parameters of a request":                                     number(budget.Keys),
		"inputs, outputs":                                             number(budget.Tensors),
		"dimensions":                                                  number(budget.Dimensions),
		"members of a control request":                                number(budget.Keys),
	} {
		_, rest, ok := strings.Cut(section, "\n| "+row)
		line, _, _ := strings.Cut(rest, "\n")
		_, value, _ := strings.Cut(line, " | ")
		if !ok || !strings.HasPrefix(value, want) {
			t.Errorf("%s: the docs have %q, want %q", row, value, want)
		}
	}
}

// TestCut checks that Cut shortens a text at a boundary of characters, and that short text is
// unchanged.
func TestCut(t *testing.T) {
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{
		{"abcdef", 6, "abcdef"}, {"abcdefg", 6, "abc…"}, {"aäöü", 6, "aä…"}, {"ääää", 6, "ä…"}, {"", 6, ""},
	} {
		if got := budget.Cut(test.text, test.limit); got != test.want || len(got) > test.limit {
			t.Errorf("%q in %d bytes: %q, want %q", test.text, test.limit, got, test.want)
		}
	}
}
