package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
)

// fields contains names and values alternately: of an OpenAI request, and of the typed request in
// JSON if that differs.
type fields struct {
	name        string
	open, typed []any
}

// operation is a pair of an OpenAI route and an RPC procedure that do the same, with the fields of
// their requests.
type operation struct {
	path     string
	streams  bool
	open     []any
	typed    []any
	send     func(t *testing.T, s *trident, request []byte, streaming bool) surfaceResponse
	accepted []fields
	refused  []fields // refused with the same code for the same field
}

// formats are the response formats, which the OpenAI API and Trident's RPC API name differently.
var formats = []fields{
	{"a JSON object", []any{"response_format", object{"type": "json_object"}}, []any{"response_format", object{"json_object": object{}}}},
	{
		"a schema",
		[]any{"response_format", object{"type": "json_schema", "json_schema": object{"name": "x", "schema": json.RawMessage(yesSchema)}}},
		[]any{"response_format", object{"json_schema": object{"name": "x", "schema": yesSchema}}},
	},
	{"an expression", []any{"structured_outputs", object{"regex": "[ab]{3}"}}, []any{"response_format", object{"regex": "[ab]{3}"}}},
	{"one of several", []any{"structured_outputs", object{"choice": []string{"yes", "no"}}}, []any{"response_format", object{"choice": object{"choices": []string{"yes", "no"}}}}},
	{"a grammar", []any{"structured_outputs", object{"grammar": `root ::= "a"`}}, []any{"response_format", object{"grammar": `root ::= "a"`}}},
}

const yesSchema = `{"type":"object","properties":{"yes":{"type":"boolean"}},"required":["yes"]}`

// sampling contains the options that completions and chats share.
var sampling = append([]fields{
	{name: "temperature", open: []any{"temperature", 0.5}},
	{name: "top_p", open: []any{"top_p", 0.9}},
	{name: "top_k", open: []any{"top_k", 5}},
	{name: "min_p", open: []any{"min_p", 0.1}},
	{name: "seed", open: []any{"seed", 7}},
	{name: "stop", open: []any{"stop", []string{"two", "x"}}},
	{"a stop text that stays", []any{"stop", []string{"two"}, "include_stop_str_in_output", true}, []any{"stop", []string{"two"}, "include_stop", true}},
	{name: "presence_penalty", open: []any{"presence_penalty", 0.5}},
	{name: "frequency_penalty", open: []any{"frequency_penalty", -0.5}},
	{name: "repetition_penalty", open: []any{"repetition_penalty", 1.25}},
	{name: "max_tokens", open: []any{"max_tokens", 3}},
	{name: "min_tokens", open: []any{"max_tokens", 9, "min_tokens", 2}},
	{name: "stop_token_ids", open: []any{"stop_token_ids", []int{119}}},
	{name: "ignore_eos", open: []any{"ignore_eos", true, "max_tokens", 20}},
	{name: "bad_words", open: []any{"bad_words", []string{"b"}}},
	{name: "allowed_token_ids", open: []any{"allowed_token_ids", []int{5, 6}}},
	{name: "skip_special_tokens", open: []any{"skip_special_tokens", false}},
	{name: "spaces_between_special_tokens", open: []any{"spaces_between_special_tokens", false}},
	{name: "truncate_prompt_tokens", open: []any{"truncate_prompt_tokens", 5}},
	{name: "n", open: []any{"n", 2}},
	{name: "priority", open: []any{"priority", 1}},
	{name: "user and metadata", open: []any{"user", "somebody", "metadata", object{"a": "b"}}},
}, formats...)

var badSampling = []fields{
	{name: "temperature", open: []any{"temperature", 2.5}},
	{name: "top_p", open: []any{"top_p", 1.5}},
	{name: "min_p", open: []any{"min_p", -0.1}},
	{name: "presence_penalty", open: []any{"presence_penalty", 3}},
	{name: "frequency_penalty", open: []any{"frequency_penalty", -3}},
	{name: "repetition_penalty", open: []any{"repetition_penalty", 0}},
	{name: "max_tokens", open: []any{"max_tokens", 0}},
	{name: "min_tokens", open: []any{"max_tokens", 2, "min_tokens", 3}},
	{name: "what the context can't hold", open: []any{"min_tokens", 4096}},
	{name: "five stop texts", open: []any{"stop", []string{"a", "b", "c", "d", "e"}}},
	{name: "a token that isn't one", open: []any{"allowed_token_ids", []int{1000}}},
	{name: "logit_bias", open: []any{"logit_bias", object{"5": 1}}}, // refused by models of this kind
	{name: "logit_bias beyond", open: []any{"logit_bias", object{"5": 101}}},
	{name: "truncate_prompt_tokens", open: []any{"truncate_prompt_tokens", 0}},
	{name: "n", open: []any{"n", 129}},
	{name: "an unknown model", open: []any{"model", "none"}},
	{name: "no model", open: []any{"model", ""}},
	{"a schema that is none", []any{"response_format", object{"type": "json_schema", "json_schema": object{"name": "x", "schema": json.RawMessage(`{"type":7}`)}}}, []any{"response_format", object{"json_schema": object{"schema": `{"type":7}`}}}},
}

// typedOnlyRefused contains fields that only the typed form refuses. OpenAI's clients send empty strings
// for absent values.
var typedOnlyRefused = []fields{
	{name: "stop", open: []any{"stop", []string{"a", ""}}},
	{name: "bad_words", open: []any{"bad_words", []string{""}}},
}

func operations() []operation {
	text := func(s string) object { return object{"text": s} }
	return []operation{
		{
			path: "/v1/chat/completions", streams: true, send: responseOf(typedChatResponse),
			open:  []any{"model", "vllm", "messages", []object{{"role": "user", "content": "one two three"}}},
			typed: []any{"model", "vllm", "messages", []object{{"role": "ROLE_USER", "content": "one two three"}}},
			accepted: append([]fields{
				{name: "log probabilities", open: []any{"logprobs", true, "top_logprobs", 2}},
				{name: "variables of the template", open: []any{"chat_template_kwargs", object{"a": 1}}, typed: []any{"chat_template_kwargs", `{"a":1}`}},
			}, sampling...),
			refused: append([]fields{
				{name: "top_logprobs", open: []any{"logprobs", true, "top_logprobs", 21}},
				{name: "top_logprobs alone", open: []any{"top_logprobs", 2}},
				{name: "reasoning_effort", open: []any{"reasoning_effort", "much"}},
				{name: "no messages", open: []any{"messages", []object{}}},
			}, badSampling...),
		},
		{
			path: "/v1/completions", streams: true, send: responseOf(typedTextResponse),
			open: []any{"model", "vllm", "prompt", "one two three"}, typed: []any{"model", "vllm", "prompt", []object{text("one two three")}},
			accepted: append([]fields{
				{name: "log probabilities", open: []any{"logprobs", 2}},
				{name: "the tokens' own alone", open: []any{"logprobs", 0}},
				{name: "echo", open: []any{"echo", true}},
				{"several prompts", []any{"prompt", []string{"one", "two"}, "n", 2}, []any{"prompt", []object{text("one"), text("two")}, "n", 2}},
				{"token ids", []any{"prompt", []int{111, 110}}, []any{"prompt", []object{{"token_ids": object{"ids": []int{111, 110}}}}}},
			}, sampling...),
			refused: append([]fields{
				{name: "logprobs", open: []any{"logprobs", 21}},
				{name: "best_of", open: []any{"best_of", 21}},
				{name: "best_of below n", open: []any{"best_of", 1, "n", 2}},
				{name: "echo with logprobs", open: []any{"echo", true, "logprobs", 1}},
				{"an empty prompt", []any{"prompt", ""}, []any{"prompt", []object{text("")}}},
				{"a token that the model hasn't", []any{"prompt", []int{1000}}, []any{"prompt", []object{{"token_ids": object{"ids": []int{1000}}}}}},
			}, badSampling...),
		},
		{
			path: "/v1/embeddings", send: responseOf(typedVectors),
			open: []any{"model", "vllm", "input", "one"}, typed: []any{"model", "vllm", "input", []object{text("one")}},
			accepted: []fields{
				{name: "a text"},
				{"several", []any{"input", []string{"one", "two", "one"}}, []any{"input", []object{text("one"), text("two"), text("one")}}},
				{"token ids", []any{"input", []int{111, 110}}, []any{"input", []object{{"token_ids": object{"ids": []int{111, 110}}}}}},
				{name: "dimensions", open: []any{"dimensions", 4}},
				{name: "user", open: []any{"user", "somebody"}},
			},
			refused: []fields{
				{name: "more than there are", open: []any{"dimensions", 17}},
				{name: "an unknown model", open: []any{"model", "none"}},
				{"an empty text", []any{"input", []string{"a", ""}}, []any{"input", []object{text("a"), text("")}}},
				{"nothing", []any{"input", []string{}}, []any{"input", []object{}}},
				{"too many", []any{"input", slices.Repeat([]string{"a"}, 2049)}, []any{"input", slices.Repeat([]object{text("a")}, 2049)}},
				{name: "a model for texts", open: []any{"model", "plain"}},
			},
		},
	}
}

// TestParityFields sends each request field by itself to the OpenAI API and to Trident's RPC API.
// Either the model gets the same inputs and both APIs return the same, or both refuse with the same
// code for the same field.
func TestParityFields(t *testing.T) {
	t.Parallel()
	lockForTest(t, &seeingRecord)
	c := visionTrident(t)
	for _, op := range operations() {
		run := func(name string, list []fields, check func(t *testing.T, open, here surfaceResponse, openInputs, typedInputs []string)) {
			for _, f := range list {
				t.Run(op.path+"/"+name+f.name, func(t *testing.T) { c.askBoth(t, op, f, check) })
			}
		}
		run("", op.accepted, func(t *testing.T, open, here surfaceResponse, openInputs, typedInputs []string) {
			t.Helper()
			if open.Choices == nil || !reflect.DeepEqual(open, here) {
				t.Errorf("OpenAI %+v\ntyped  %+v", open, here)
			}
			if len(openInputs) == 0 || !slices.Equal(openInputs, typedInputs) {
				t.Errorf("the model receives\n%s\nfrom the OpenAI request and\n%s\nfrom the typed request", strings.Join(openInputs, "\n"), strings.Join(typedInputs, "\n"))
			}
		})
		run("refused: ", op.refused, func(t *testing.T, open, here surfaceResponse, openInputs, typedInputs []string) {
			t.Helper()
			if open.Reason == "" || open.Param == "" || open.Reason != here.Reason || fieldOf(open.Param) != fieldOf(here.Param) {
				t.Errorf("OpenAI %+v\ntyped  %+v", open, here)
			}
			if !slices.Equal(openInputs, typedInputs) { // the model itself refuses some
				t.Errorf("the model receives %s from the OpenAI request and %s from the typed request", openInputs, typedInputs)
			}
		})
		if op.streams {
			run("stricter: ", typedOnlyRefused, func(t *testing.T, open, here surfaceResponse, _, _ []string) {
				t.Helper()
				if open.Reason != "" || here.Reason != "invalid_value" {
					t.Errorf("OpenAI %+v\ntyped  %+v", open, here)
				}
			})
		}
	}
}

// askBoth sends the request to both APIs, non-streaming and, if the operation has it, streaming.
// check gets both responses and the models' inputs.
func (c contract) askBoth(t *testing.T, op operation, f fields, check func(t *testing.T, open, here surfaceResponse, openInputs, typedInputs []string)) {
	t.Helper()
	if f.typed == nil {
		f.typed = f.open
	}
	request, err := json.Marshal(objectOf(op.typed, f.typed))
	if err != nil {
		t.Fatal(err)
	}
	ways := []bool{false}
	if op.streams {
		ways = append(ways, true)
	}
	for _, streaming := range ways {
		from := c.recorded(t)
		open := c.openaiResponse(t, op.path, objectOf(op.open, f.open), streaming)
		between := c.recorded(t)
		here := op.send(t, c.trident, request, streaming)
		check(t, open, here, c.since(t, from, between), c.since(t, between, c.recorded(t)))
	}
}

// objectOf returns an object of names and values. Later lists overwrite earlier ones.
func objectOf(lists ...[]any) object {
	all := object{}
	for pair := range slices.Chunk(slices.Concat(lists...), 2) {
		all[fmt.Sprint(pair[0])] = pair[1]
	}
	return all
}

// recorded returns the size of the models' record of their inputs.
func (c contract) recorded(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(c.record)
	if err != nil {
		return 0 // no inputs have been recorded yet
	}
	return info.Size()
}

// since returns the recorded lines in this range, sorted, without the request's id.
func (c contract) since(t *testing.T, from, to int64) []string {
	t.Helper()
	all, err := os.ReadFile(c.record)
	if err != nil {
		return nil
	}
	var lines []string
	for line := range bytes.Lines(all[from:to]) {
		var given map[string]any
		if err := json.Unmarshal(line, &given); err != nil {
			t.Fatal(err)
		}
		delete(given, "id")
		if inputs, ok := given["inputs"].(map[string]any); ok {
			delete(inputs, "return_num_input_tokens") // depends on earlier requests: TestKindsPromptTokens
		}
		text, err := json.Marshal(given)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(text))
	}
	slices.Sort(lines)
	return lines
}

// responseOf parses the typed request and sends it.
func responseOf[M any, P interface {
	*M
	proto.Message
}](ask func(t *testing.T, s *trident, request P, streaming bool, all *surfaceResponse) error) func(t *testing.T, s *trident, request []byte, streaming bool) surfaceResponse {
	return func(t *testing.T, s *trident, raw []byte, streaming bool) surfaceResponse {
		t.Helper()
		request := P(new(M))
		if err := protojson.Unmarshal(raw, request); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		var all surfaceResponse
		if err := ask(t, s, request, streaming, &all); err != nil {
			detail := detailOf(t, err)
			all = surfaceResponse{Reason: detail.GetReason(), Param: detail.GetParam(), Message: connectMessage(err)}
		}
		return all
	}
}

// fieldOf returns the field without the index of an element. The surfaces report elements
// differently, or only in the message.
func fieldOf(param string) string { return element.ReplaceAllString(param, "") }

var element = regexp.MustCompile(`(\.\d+|\[\d+\]).*$`)

func typedChatResponse(t *testing.T, s *trident, request *tridentv1.ChatRequest, streaming bool, all *surfaceResponse) error {
	t.Helper()
	*all = typedResponse(t, tridentv1connect.NewChatServiceClient(client, s.url), request, streaming)
	return nil
}

func typedTextResponse(t *testing.T, s *trident, request *tridentv1.CompleteRequest, streaming bool, all *surfaceResponse) error {
	t.Helper()
	typed := tridentv1connect.NewCompletionServiceClient(client, s.url)
	if !streaming {
		answer, err := typed.Complete(t.Context(), request)
		for i, c := range answer.GetChoices() {
			to := all.at(i)
			to.Text, to.Finish = c.GetText(), finishWord(c.GetFinishReason())
			to.addText(c.GetLogprobs())
		}
		all.Usage = [2]int{int(answer.GetUsage().GetPromptTokens()), int(answer.GetUsage().GetCompletionTokens())}
		return err
	}
	stream, err := typed.CompleteStream(t.Context(), &tridentv1.CompleteStreamRequest{Completion: request})
	if err != nil {
		return err
	}
	defer stream.Close()
	for stream.Receive() {
		m := stream.Msg()
		if u := m.GetUsage(); u != nil {
			all.Usage = [2]int{int(u.GetPromptTokens()), int(u.GetCompletionTokens())}
		}
		if d := m.GetDelta(); d != nil {
			to := all.at(int(d.GetIndex()))
			to.Text += d.GetText()
			to.Finish += finishWord(d.GetFinishReason())
			to.addText(d.GetLogprobs())
		}
	}
	return stream.Err()
}

func typedVectors(t *testing.T, s *trident, request *tridentv1.EmbedRequest, _ bool, all *surfaceResponse) error {
	t.Helper()
	answer, err := tridentv1connect.NewEmbeddingServiceClient(client, s.url).Embed(t.Context(), request)
	for _, e := range answer.GetEmbeddings() {
		all.at(int(e.GetIndex())).Vector = e.GetValues()
	}
	all.Usage = [2]int{int(answer.GetUsage().GetPromptTokens()), 0}
	return err
}

// textLogprobs is the format of log probabilities in OpenAI's completions.
type textLogprobs struct {
	Tokens        []string
	TokenLogprobs []float64            `json:"token_logprobs"`
	TopLogprobs   []map[string]float64 `json:"top_logprobs"`
}

func (l textLogprobs) lines() []string {
	var lines []string
	for i, token := range l.Tokens {
		var top map[string]float64
		if i < len(l.TopLogprobs) {
			top = l.TopLogprobs[i]
		}
		lines = append(lines, textLogprob(token, l.TokenLogprobs[i], top))
	}
	return lines
}

func textLogprob(token string, logprob float64, top map[string]float64) string {
	line := fmt.Sprintf("%q %.4f", token, logprob)
	for _, name := range slices.Sorted(maps.Keys(top)) {
		line += fmt.Sprintf(" %q %.4f", name, top[name])
	}
	return line
}

// addText adds tokens in the format of OpenAI's completions: the likeliest tokens, if requested,
// include the generated one.
func (c *responseChoice) addText(tokens []*tridentv1.TokenLogprob) {
	for _, l := range tokens {
		top := map[string]float64{}
		for _, alternative := range l.GetTop() {
			if _, twice := top[alternative.GetToken()]; !twice {
				top[alternative.GetToken()] = alternative.GetLogprob()
			}
		}
		if len(top) > 0 {
			top[l.GetToken()] = l.GetLogprob()
		}
		c.Logprobs = append(c.Logprobs, textLogprob(l.GetToken(), l.GetLogprob(), top))
	}
}
