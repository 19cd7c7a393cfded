package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// kind is a model without weights that has the tensors of one kind of backend, with the features of
// that kind. The model's text is its input: see test/models-contract.
type kind struct {
	model string
	// limits reports whether it limits its responses by tokens.
	limits bool
	// streamsCharacters reports whether characters of several tokens are complete in streams too.
	streamsCharacters bool
	// executor reports whether it supports constraints, logit biases and log probabilities.
	executor bool
	// bytes reports whether its tokens are bytes and its end token counts as a token.
	bytes bool
}

// tokens returns the kind's number of tokens: that of the tokenizer's words, or that of bytes.
func (k kind) tokens(words, bytes int) int {
	if k.bytes {
		return bytes
	}
	return words
}

// ids returns the token ids of the text " the sea".
func (k kind) ids() []int {
	if !k.bytes {
		return []int{266, 269}
	}
	var ids []int
	for _, b := range []byte(" the sea") {
		ids = append(ids, int(b))
	}
	return ids
}

func kinds() []kind {
	return []kind{
		{model: "vllm", limits: true, streamsCharacters: true, bytes: true},
		{model: "ensemble", limits: true, executor: true},
		{model: "bls", limits: true, streamsCharacters: true, executor: true},
		{model: "llmapi", limits: true, streamsCharacters: true},
		{model: "plain", streamsCharacters: true},
	}
}

// contract is a trident in front of the models of all kinds, and the file in which they record
// their inputs.
type contract struct {
	*trident

	record   string
	engine   engine
	settings string // path of the file of --config, or "" for none
}

var contracts = shared(func(t *testing.T) (contract, error) {
	t.Helper()
	c := contract{record: filepath.Join(scratch(t), "contract-record")}
	options := contractOptions(t, c.record)
	var err error
	if c.engine, err = sharedEngine(options); err != nil {
		return c, err
	}
	flags := []string{"--lora-separator=_lora_"}
	if !inProcess() {
		flags = append(flags, "--triton-model-repository="+options.Repositories[0])
	}
	// The models' path of their tokenizer is relative to the top of the source tree.
	if c.trident, err = c.engine.launch(t, root(t), flags...); err != nil {
		return c, err
	}
	undos.add(tridentsEnd, c.stop)
	if !poll(startLimit, func() bool { return c.get(t, "/health/ready").status == http.StatusOK }) {
		return c, fmt.Errorf("not ready:\n%s", c.log)
	}
	return c, nil
})

// contractOptions returns Triton's options for the models of all kinds. The models record their
// inputs if record names a file.
func contractOptions(t *testing.T, record string) tritonserver.Options {
	t.Helper()
	options := tritonserver.Options{
		Repositories: []string{filepath.Join(root(t), "test", "models-contract")}, Args: []string{"--model-control-mode=explicit"},
		Env: []string{"CONTRACT_RECORD=" + record},
	}
	for _, k := range kinds() {
		options.Args = append(options.Args, "--load-model="+k.model)
	}
	return options
}

// collected is a response, streaming or not.
type collected struct {
	id       string
	texts    []string
	finish   []string
	calls    []string // name and arguments of each tool call, joined
	logprobs []string // tokens of the first choice
	usage    usage
}

// chunkOrResponse is a chunk or a complete response of either operation.
type chunkOrResponse struct {
	ID      string
	Choices []struct {
		Index          int
		Text           string
		Delta, Message struct {
			Content   string
			ToolCalls []struct {
				Index    int
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Logprobs *struct {
			Content []struct{ Token string }
			Tokens  []string
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage *usage
}

func (s *collected) add(raw []byte) error {
	var part chunkOrResponse
	if err := json.Unmarshal(raw, &part); err != nil {
		return fmt.Errorf("%w in %s", err, raw)
	}
	s.id = part.ID
	if part.Usage != nil {
		s.usage = *part.Usage
	}
	for _, c := range part.Choices {
		for len(s.texts) <= c.Index {
			s.texts, s.finish = append(s.texts, ""), append(s.finish, "")
		}
		s.texts[c.Index] += c.Text + c.Delta.Content + c.Message.Content
		s.finish[c.Index] += c.FinishReason
		for _, call := range append(c.Delta.ToolCalls, c.Message.ToolCalls...) {
			for len(s.calls) <= call.Index {
				s.calls = append(s.calls, "")
			}
			s.calls[call.Index] += call.Function.Name + call.Function.Arguments
		}
		if c.Logprobs != nil && c.Index == 0 {
			s.logprobs = append(s.logprobs, c.Logprobs.Tokens...)
			for _, token := range c.Logprobs.Content {
				s.logprobs = append(s.logprobs, token.Token)
			}
		}
	}
	return nil
}

// say sends a request without and with streaming. Both responses must be equal except for their
// ids. say returns the non-streaming response.
func (c contract) say(t *testing.T, path string, body object) collected {
	t.Helper()
	var whole, streamed collected
	if err := whole.add(c.post(t, path, body).want(t, http.StatusOK).body); err != nil {
		t.Fatal(err)
	}
	body["stream"], body["stream_options"] = true, object{"include_usage": true}
	for data := range c.open(t, client, c.request(t, http.MethodPost, path, body)).events(t) {
		if string(data) == "[DONE]" {
			continue
		}
		if err := streamed.add(data); err != nil {
			t.Fatal(err)
		}
	}
	delete(body, "stream")
	delete(body, "stream_options")
	id := whole.id
	whole.id, streamed.id = "", ""
	if !reflect.DeepEqual(whole, streamed) {
		t.Errorf("without a stream %#v\nwith a stream    %#v", whole, streamed)
	}
	whole.id = id
	return whole
}

func (c contract) chatOf(t *testing.T, k kind, text string, more ...any) collected {
	t.Helper()
	return c.say(t, "/v1/chat/completions", ask(text, append([]any{"model", k.model}, more...)...))
}

func (c contract) continued(t *testing.T, k kind, prompt any, more ...any) collected {
	t.Helper()
	body := object{"model": k.model, "prompt": prompt}
	for pair := range slices.Chunk(more, 2) {
		body[fmt.Sprint(pair[0])] = pair[1]
	}
	return c.say(t, "/v1/completions", body)
}

// inputsOf returns the inputs that the models got in a request, one map per inference.
func (c contract) inputsOf(t *testing.T, id string) []map[string]string {
	t.Helper()
	record, err := os.ReadFile(c.record)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]string
	for raw := range bytes.Lines(record) {
		var line struct {
			ID     string
			Inputs map[string]json.RawMessage
		}
		if !bytes.HasSuffix(raw, []byte("\n")) {
			break // another request's line, which is being written
		}
		if err := json.Unmarshal(raw, &line); err != nil {
			t.Fatal(err)
		}
		if line.ID != id {
			continue
		}
		inputs := map[string]string{}
		for name, raw := range line.Inputs {
			var in struct{ Shape, Values json.RawMessage }
			if json.Unmarshal(raw, &in) == nil {
				inputs[name] = string(in.Shape) + " " + string(in.Values)
			} else { // vLLM's model writes only the values
				inputs[name] = string(raw)
			}
		}
		all = append(all, inputs)
	}
	return all
}
