package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
)

// errorCases is the table of errors: invalid requests, and failures.
func errorCases() []errorCase {
	return slices.Concat(badBodies(), badCompletions(), failures(), adapterErrors())
}

// badBodies are requests with one error each.
func badBodies() []errorCase {
	return []errorCase{
		{name: "bad JSON", method: "POST", path: chatPath, body: `{"model":`},
		{name: "no object", method: "POST", path: chatPath, body: `[]`},
		{name: "no model", method: "POST", path: chatPath, body: `{"messages":[{"role":"user","content":"x"}]}`},
		{name: "no messages", method: "POST", path: chatPath, body: `{"model":"chat"}`},
		{name: "wrong type", method: "POST", path: chatPath, body: ask(`"temperature":"hot"`)},
		{name: "out of range", method: "POST", path: chatPath, body: ask(`"temperature":3`)},
		{name: "unknown model", method: "POST", path: chatPath, body: `{"model":"x","messages":[{"role":"user","content":"x"}]}`},
		{name: "an embedding model", method: "POST", path: chatPath, body: `{"model":"embedding","messages":[{"role":"user","content":"x"}]}`},
		{name: "stream_options without stream", method: "POST", path: chatPath, body: ask(`"stream_options":{"include_usage":true}`)},
		{name: "top_logprobs without logprobs", method: "POST", path: chatPath, body: ask(`"top_logprobs":2`)},
		{name: "tools", method: "POST", path: chatPath, body: ask(`"tools":[{"type":"function","function":{"name":"f"}}]`)},
		{name: "a demanded call", method: "POST", path: chatPath, body: ask(`"tool_choice":"required"`)},
		{name: "a named call", method: "POST", path: chatPath, body: ask(`"tool_choice":{"type":"function","function":{"name":"f"}}`)},
		{name: "a named function", method: "POST", path: chatPath, body: ask(`"function_call":{"name":"f"}`)},
		{name: "log probabilities of the prompt", method: "POST", path: chatPath, body: ask(`"prompt_logprobs":0`)},
		{name: "beam search", method: "POST", path: chatPath, body: ask(`"use_beam_search":true`)},
		{name: "documents", method: "POST", path: chatPath, body: ask(`"documents":[{"text":"x"}]`)},
		{name: "messages as a variable", method: "POST", path: chatPath, body: ask(`"chat_template_kwargs":{"messages":[{"role":"system","content":"x"}]}`)},
		{name: "min_tokens above the limit", method: "POST", path: chatPath, body: ask(`"min_tokens":50,"max_completion_tokens":10`)},
		{name: "min_tokens above the older limit", method: "POST", path: chatPath, body: ask(`"min_tokens":50,"max_tokens":10`)},
		{name: "functions", method: "POST", path: chatPath, body: ask(`"functions":[{"name":"f"}]`)},
		{name: "audio", method: "POST", path: chatPath, body: ask(`"modalities":["text","audio"]`)},
		{name: "prediction", method: "POST", path: chatPath, body: ask(`"prediction":{"type":"content","content":"x"}`), strict: true},
		{name: "verbosity", method: "POST", path: chatPath, body: ask(`"verbosity":"low"`), strict: true},
		{name: "continue with a generation prompt", method: "POST", path: chatPath, body: ask(`"continue_final_message":true`)},
		{name: "continue with both", method: "POST", path: chatPath, body: ask(`"continue_final_message":true,"add_generation_prompt":true`)},
		{name: "continue a question", method: "POST", path: chatPath, body: ask(`"continue_final_message":true,"add_generation_prompt":false`)},
		{name: "continue a call", method: "POST", path: chatPath, body: `{"model":"chat","continue_final_message":true,"add_generation_prompt":false,"messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`},
		{name: "logit_bias", method: "POST", path: chatPath, body: ask(`"logit_bias":{"1":2}`)},
		{name: "a schema that is none", method: "POST", path: chatPath, body: ask(`"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"nonsense"}}}`)},
		{name: "a schema of a number", method: "POST", path: chatPath, body: ask(`"guided_json":{"type":"object","properties":{"x":{"type":5}}}`)},
		{name: "a schema with a wrong keyword", method: "POST", path: chatPath, body: ask(`"guided_json":{"oneOf":[{"required":"x"}]}`)},
		{name: "a schema with a bad minimum", method: "POST", path: chatPath, body: ask(`"guided_json":{"minLength":-1}`)},
		{name: "a schema with a bad pattern", method: "POST", path: chatPath, body: ask(`"guided_json":{"pattern":"("}`)},
		{name: "a schema with a bad pattern for keys", method: "POST", path: chatPath, body: ask(`"guided_json":{"$schema":"http://json-schema.org/draft-04/schema#","patternProperties":{"(":{}}}`)},
		{name: "a schema that refers to nothing", method: "POST", path: chatPath, body: ask(`"guided_json":{"$ref":"#/$defs/x"}`)},
		{name: "a schema of an unknown draft", method: "POST", path: chatPath, body: ask(`"guided_json":{"$schema":"http://example.com/x"}`)},
		{name: "a schema cut short", method: "POST", path: chatPath, body: ask(`"guided_json":"{nope"`)},
		{name: "a schema that is a list", method: "POST", path: chatPath, body: ask(`"structured_outputs":{"json":"[]"}`)},
		{name: "a schema that reads files", method: "POST", path: chatPath, body: ask(`"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"$ref":"file:///etc/passwd"}}}`)},
		{name: "two constraints", method: "POST", path: chatPath, body: ask(`"response_format":{"type":"json_object"},"guided_regex":"a"`)},
		{name: "several constraints", method: "POST", path: chatPath, body: ask(`"structured_outputs":{"grammar":"root ::= \"a\"","choice":["a"],"regex":"a","json":{"type":"string"}}`)},
		{name: "several unknown constraints", method: "POST", path: chatPath, body: ask(`"structured_outputs":{"poem":"x","haiku":"x","limerick":"x","regex":"a"}`)},
		{name: "several bad biases", method: "POST", path: chatPath, body: ask(`"logit_bias":{"z":1,"y":1,"x":1,"5":1}`)},
		{name: "an unknown constraint", method: "POST", path: chatPath, body: ask(`"structured_outputs":{"poem":"x"}`)},
		{name: "more than the context", method: "POST", path: chatPath, body: ask(`"max_tokens":101`)},
		{name: "an image", method: "POST", path: chatPath, body: `{"model":"chat","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,"}}]}]}`},
		imageCase("an image of nothing", "data:image/png;base64,"),
		imageCase("an image that is a text", "data:image/png;base64,aGVsbG8K"),
		imageCase("an image that isn't base64", "data:image/png,hello"),
		imageCase("an image in a bad base64", "data:image/png;base64,iVBORw0KGg_="),
		imageCase("an image without padding", "data:image/png;base64,iVBORw0KGgo"),
		imageCase("an image of another type", "data:text/html;base64,iVBORw0KGgo="),
		imageCase("an image at an address", "https://example.com/a.png"),
		imageCase("an image in a file", "file:///a.png"),
		imageCase("too many images", slices.Repeat([]string{"data:image/png;base64,iVBORw0KGgo="}, 17)...),
		{name: "no such path", method: "GET", path: "/v1/nothing", body: ""},
		{name: "wrong method", method: "GET", path: chatPath, body: ""},
		{name: "wrong method on an alias", method: "DELETE", path: "/models/chat", body: ""},
		{name: "no such model", method: "GET", path: "/v1/models/org/other", body: ""},
		{name: "empty input", method: "POST", path: "/v1/embeddings", body: `{"model":"embedding","input":""}`},
		{name: "too many inputs", method: "POST", path: "/v1/embeddings", body: `{"model":"embedding","input":[` + strings.Repeat(`"a",`, 2048) + `"a"]}`},
		{name: "a long model name", method: "POST", path: "/v1/embeddings", body: `{"model":"` + strings.Repeat("m", 1<<20) + `","input":"x"}`},
		{name: "too many dimensions", method: "POST", path: "/v1/embeddings", body: `{"model":"embedding","input":"x","dimensions":9}`},
	}
}

// imageCase is a chat with images for a model that reads images.
func imageCase(name string, urls ...string) errorCase {
	var parts []string
	for _, url := range urls {
		parts = append(parts, fmt.Sprintf(`{"type":"image_url","image_url":{"url":%q}}`, url))
	}
	return errorCase{
		name: name, method: "POST", path: chatPath, body: `{"model":"seeing","messages":[{"role":"user","content":[` + strings.Join(parts, ",") + `]}]}`,
	}
}

// badCompletions are invalid completions and tools, and errors of HTTP.
func badCompletions() []errorCase {
	completion := func(name, fields string) errorCase {
		return errorCase{name: "completion: " + name, method: "POST", path: completionPath, body: complete(fields)}
	}
	caller := func(name, fields string) errorCase {
		body := strings.Replace(ask(fields), `"model":"chat"`, `"model":"caller"`, 1)
		return errorCase{name: "tools: " + name, method: "POST", path: chatPath, body: body}
	}
	return []errorCase{
		completion("no prompt", `"n":1`),
		completion("a chat", `"messages":[{"role":"user","content":"x"}]`),
		{name: "a prompt instead of messages", method: "POST", path: chatPath, body: `{"model":"chat","prompt":"x"}`},
		{name: "input instead of messages", method: "POST", path: chatPath, body: `{"model":"chat","input":"x"}`},
		completion("prompt null", `"prompt":null`),
		completion("prompt mixed", `"prompt":["a",1]`),
		completion("prompt empty list", `"prompt":[]`),
		completion("token ids", `"prompt":[1,2]`),
		completion("too many choices", `"prompt":["a","b"],"n":65`),
		completion("suffix", `"prompt":"a","suffix":"b"`),
		completion("best_of below n", `"prompt":"a","n":3,"best_of":2`),
		completion("best_of streamed", `"prompt":"a","best_of":2,"stream":true`),
		completion("best_of high", `"prompt":"a","best_of":21`),
		completion("echo with logprobs", `"prompt":"a","echo":true,"logprobs":1`),
		completion("logprobs 6", `"prompt":"a","logprobs":6`),
		completion("max_tokens 0", `"prompt":"a","max_tokens":0`),
		completion("stream_options", `"prompt":"a","stream_options":{"include_usage":true}`),
		completion("obfuscation", `"prompt":"a","stream":true,"stream_options":{"include_obfuscation":true}`),
		completion("beam search", `"prompt":"a","use_beam_search":true`),
		completion("logit_bias", `"prompt":"a","logit_bias":{"5":1}`),
		completion("schema", `"prompt":"a","guided_json":{"type":"nonsense"}`),
		caller("a custom tool without a name", `"tools":[{"type":"custom","custom":{}}]`),
		caller("a custom tool with the name of a function", `"tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{"name":"f"}}]`),
		caller("a function with the name of a custom tool", `"tools":[{"type":"custom","custom":{"name":"f"}},{"type":"function","function":{"name":"g"}},{"type":"function","function":{"name":"f"}}]`),
		caller("two custom tools of one name", `"tools":[{"type":"custom","custom":{"name":"f"}},{"type":"custom","custom":{"name":"f"}}]`),
		caller("a custom choice", twoTools+`,"tool_choice":{"type":"custom","custom":{"name":"f"}}`),
		caller("allowed tools without a name", twoTools+`,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function"}]}}`),
		caller("allowed tools that are unknown", twoTools+`,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[`+allowedNow+`,{"type":"function","function":{"name":"f"}}]}}`),
		caller("allowed tools that are none", twoTools+`,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[]}}`),
		caller("allowed tools of another kind", twoTools+`,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"mcp"}]}}`),
		caller("allowed tools in an unknown mode", twoTools+`,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"none","tools":[`+allowedNow+`]}}`),
		caller("allowed tools without tools", `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[`+allowedNow+`]}}`),
		caller("allowed tools beside another constraint", twoTools+`,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[`+allowedNow+`]}},"guided_regex":"a"`),
		caller("an unknown tool", twoTools+`,"tool_choice":{"type":"function","function":{"name":"f"}}`),
		caller("a schema that is none", `"tool_choice":"required","tools":[{"type":"function","function":{"name":"f","parameters":{"type":"nonsense"}}}]`),
		caller("two constraints", twoTools+`,"tool_choice":"required","guided_regex":"a"`),
		{name: "a compressed body", method: "POST", path: chatPath, body: "x", header: [2]string{"Content-Encoding", "gzip"}},
		{name: "a body that pauses", method: "POST", path: chatPath, breaks: fmt.Errorf("read: %w", os.ErrDeadlineExceeded)},
		{name: "a body that is too large", method: "POST", path: chatPath, breaks: &server.TooLargeError{MaxBytesError: &http.MaxBytesError{Limit: 7}, Setting: "--http-max-input-size"}},
		{name: "a body that is cut", method: "POST", path: chatPath, breaks: io.ErrUnexpectedEOF},
		{name: "strict", method: "POST", path: chatPath, body: ask(`"zebra":1`), strict: true},
		{name: "strict, inside a message", method: "POST", path: chatPath, body: `{"model":"chat","messages":[{"role":"user","content":"x","zebra":1}]}`, strict: true},
		{name: "no chat template", method: "POST", path: chatPath, body: strings.Replace(ask(""), `"chat"`, `"plain"`, 1)},
		{name: "an effort that no template knows", method: "POST", path: chatPath, body: ask(`"reasoning_effort":"high"`)},
	}
}

// failures are valid requests that fail.
func failures() []errorCase {
	state := func(change func(*inferencetest.Engine)) func(*testing.T, *errorServer) {
		return func(_ *testing.T, s *errorServer) { change(s.engine) }
	}
	chat := func(name string, fails error, prepare func(*testing.T, *errorServer)) errorCase {
		return errorCase{name: name, method: "POST", path: chatPath, body: ask(""), fails: fails, prepare: prepare}
	}
	engine := func(name string, code inference.Code, reason inference.Reason, retry time.Duration) errorCase {
		return chat(name, &inference.Error{Code: code, Reason: reason, Message: "Triton's own words", RetryAfter: retry, Err: errors.New("what only the log may see")}, nil)
	}
	load := func(name, path string, prepare func(*testing.T, *errorServer)) errorCase {
		return errorCase{name: name, method: "POST", path: "/v1/models/" + path, prepare: prepare}
	}
	explicit := state(func(e *inferencetest.Engine) { e.Control(nil) })
	return []errorCase{
		engine("the engine is gone", inference.CodeUnavailable, inference.ReasonEngineGone, 2*time.Second),
		engine("the model sends nothing", inference.CodeUnavailable, inference.ReasonInactive, 0),
		engine("the engine's queue is full", inference.CodeOverloaded, inference.ReasonOverloaded, time.Second),
		engine("the client asks for too much", inference.CodeLimited, inference.ReasonRateLimit, 1500*time.Millisecond),
		engine("the engine's timeout", inference.CodeDeadlineExceeded, inference.ReasonTimeout, 0),
		engine("the engine can't", inference.CodeUnsupported, inference.ReasonNotImplemented, 0),
		engine("the model fails", inference.CodeInternal, inference.ReasonNone, 0),
		chat("an error that nobody knows", errors.New("dial tcp 10.0.0.1:8001: refused"), nil),
		chat("a prompt that the engine finds too long", &inference.Error{Code: inference.CodeInternal, Message: "The decoder prompt (length 120) is longer than the maximum model length of 100."}, nil),
		chat("a parameter that the model refuses", &inference.Error{Code: inference.CodeInvalid, Message: "sampling parameter 'min_p' is not supported by this model"}, nil),
		{
			name: "token ids of another vocabulary", method: "POST", path: "/v1/embeddings", body: `{"model":"embedding","input":[99999]}`,
			prepare: state(func(e *inferencetest.Engine) {
				e.AddModel("embedding", failing(&inference.Error{Code: inference.CodeInternal, Message: "token id 99999 is not in [0, 30522)"}), map[string]string{"trident.task": "embed"})
			}),
		},
		chat("a model that loads", nil, state(func(e *inferencetest.Engine) { e.SetState("chat", inference.ModelLoading, "") })),
		chat("a model that unloads", nil, state(func(e *inferencetest.Engine) { e.SetState("chat", inference.ModelUnloading, "") })),
		chat("a model that is brought back", nil, state(func(e *inferencetest.Engine) { e.Break("chat", "its process ended") })),
		chat("an unloaded model", nil, state(func(e *inferencetest.Engine) { e.SetState("chat", inference.ModelUnavailable, "unloaded") })),
		chat("the request's time is over", nil, func(_ *testing.T, s *errorServer) { s.service.RequestTimeout = time.Nanosecond }),
		chat("the server is stopping", nil, func(t *testing.T, s *errorServer) {
			t.Helper()
			s.started = func(service *serving.Service) {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				service.Admission().Drain(ctx)
			}
		}),
		{name: "not ready", method: "GET", path: "/health/ready", prepare: state(func(e *inferencetest.Engine) {
			e.SetDown(&inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonEngineGone, Message: "the inference server can't be reached", RetryAfter: 2 * time.Second})
		})},
		{name: "in a stream", method: "POST", path: chatPath, body: ask(`"stream":true`), prepare: state(func(e *inferencetest.Engine) {
			e.AddModel("chat", failing(&inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonEngineGone, Message: "the inference server went away"}, "Hel"), map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
		})},
		load("load where it isn't allowed", "chat/load", nil),
		load("load again", "chat/load", explicit),
		load("load an unknown model", "nobody/load", explicit),
		load("unload an unknown model", "nobody/unload", explicit),
		{name: "load with nonsense", method: "POST", path: "/v1/models/chat/load", body: "nonsense", prepare: explicit},
	}
}

// adapterErrors are the errors of LoRA adapters, for each kind of model.
func adapterErrors() []errorCase {
	adapter := func(name, contract, loras, text string) errorCase {
		return errorCase{
			name: "an adapter " + name, method: "POST", path: chatPath, body: strings.Replace(ask(""), `"chat"`, `"chat:doll"`, 1),
			prepare: func(t *testing.T, s *errorServer) {
				t.Helper()
				s.separator = ":"
				fails := failing(&inference.Error{Code: inference.CodeInternal, Message: text})
				if contract == "vllm" {
					s.engine.AddModel("chat", fails, map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
				} else {
					addContract(t, s.engine, contract, fails)
				}
				s.engine.Configure("chat", func(c *kserve.ModelConfig) {
					if c.Name = "chat"; loras != "" {
						c.Parameters["trident.loras"] = &kserve.ModelParameter{StringValue: loras}
					}
				})
			},
		}
	}
	const missing = "Encountered an error when fetching new request: LoRA task 7 not found in cache. Please send LoRA weights with request"
	return []errorCase{
		adapter("that the model hasn't", "ensemble", "sheep", ""),
		adapter("that vLLM doesn't know", "vllm", "", "LoRA doll is not supported, we currently support ['sheep']"),
		adapter("that the engine hasn't", "ensemble", "", missing),
		adapter("that is listed and that the engine hasn't", "bls", "doll=7", missing),
		adapter("when the engine's cache is full", "bls", "doll", "PEFT Cache is full. Could not store taskId=7"),
		adapter("whose path nobody knows", "llmapi", "", ""),
		adapter("whose folder isn't there", "llmapi", "doll=/srv/doll", "lora_path does not exist on the Triton server's filesystem: /srv/doll"),
		adapter("whose folder holds something else", "llmapi", "doll=/srv/doll", "[Errno 2] No such file or directory: '/srv/doll/adapter_config.json'"),
		adapter("of a model that takes none", "plain", "doll", ""),
	}
}

// failing returns a script that generates the pieces and then fails.
func failing(err error, pieces ...string) inferencetest.Script {
	return func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		for _, piece := range pieces {
			send(inferencetest.Token(piece, ""))
		}
		return err
	}
}
