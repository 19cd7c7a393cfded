package openai

import (
	"maps"
)

// fieldProbes returns the probes of each field by operation. Each row of the tables
// of docs/reference/openai.md needs one.
func fieldProbes() map[string]map[string][]probe {
	chat, completion := samplingProbes(), samplingProbes()
	maps.Copy(chat, chatProbes())
	maps.Copy(completion, completionProbes())
	return map[string]map[string][]probe{
		"Inside the fields of a chat": nestedProbes(),
		"POST " + chatPath:            chat, "POST " + completionPath: completion, "POST /v1/embeddings": embeddingProbes(), "POST " + decisionPath: decisionProbes(),
	}
}

// samplingProbes are the probes of the fields that chats and completions share.
func samplingProbes() map[string][]probe {
	return map[string][]probe{
		"model":                         {{fields: `"model":"other"`, got: `"model":"other"`}},
		"stream":                        {{fields: `"stream":true`, got: "data: [DONE]"}},
		"stream_options":                {{fields: `"stream_options":{"include_usage":true}`, with: `"stream":true`, got: `"usage":{"prompt_tokens":7`}},
		"n":                             {{fields: `"n":2`, got: `"index":1`}},
		"temperature":                   {{fields: `"temperature":0.7`, sent: `"temperature":0.7`}},
		"top_p":                         {{fields: `"top_p":0.9`, sent: `"top_p":0.9`}, {fields: `"top_p":0`, sent: `"top_k":1`}},
		"frequency_penalty":             {{fields: `"frequency_penalty":-1.5`, sent: `"frequency_penalty":-1.5`}},
		"presence_penalty":              {{fields: `"presence_penalty":0.3`, sent: `"presence_penalty":0.3`}},
		"seed":                          {{fields: `"seed":-5`, sent: `"seed":-5`}, {fields: `"seed":5`, with: `"n":2`, sent: `"seed":6`}},
		"stop":                          {{fields: `"stop":"lo"`, sent: `"stop":["lo"]`, got: `"Hel"`}, {fields: `"stop":["x","y"]`, sent: `"stop":["x","y"]`}},
		"logit_bias":                    {{fields: `"logit_bias":{"5":10}`}},
		"user":                          {{fields: `"user":"me"`}},
		"top_k":                         {{fields: `"top_k":5`, sent: `"top_k":5`}},
		"min_p":                         {{fields: `"min_p":0.1`, sent: `"min_p":0.1`}},
		"repetition_penalty":            {{fields: `"repetition_penalty":1.2`, sent: `"repetition_penalty":1.2`}},
		"length_penalty":                {{fields: `"length_penalty":1.2`}},
		"use_beam_search":               {{fields: `"use_beam_search":true`}},
		"prompt_logprobs":               {{fields: `"prompt_logprobs":1`}},
		"min_tokens":                    {{fields: `"min_tokens":3`, with: `"max_tokens":9`, sent: `"min_tokens":3`}},
		"ignore_eos":                    {{fields: `"ignore_eos":true`, sent: `"ignore_eos":true`}},
		"stop_token_ids":                {{fields: `"stop_token_ids":[7]`, sent: `"stop_token_ids":[7]`}},
		"allowed_token_ids":             {{fields: `"allowed_token_ids":[7]`, sent: `"allowed_token_ids":[7]`}},
		"bad_words":                     {{fields: `"bad_words":["no"]`, sent: `"bad_words":["no"]`}},
		"include_stop_str_in_output":    {{fields: `"include_stop_str_in_output":true`, with: `"stop":"el"`, sent: `"include_stop_str_in_output":true`, got: `"Hel"`}},
		"skip_special_tokens":           {{fields: `"skip_special_tokens":false`, with: `"tool_choice":"none"`, sent: `"skip_special_tokens":false`}},
		"spaces_between_special_tokens": {{fields: `"spaces_between_special_tokens":false`, sent: `"spaces_between_special_tokens":false`}},
		"truncate_prompt_tokens":        {{fields: `"truncate_prompt_tokens":4`, sent: `"truncate_prompt_tokens":4`}},
		"response_format": {
			{fields: `"response_format":{"type":"json_object"}`, sent: `"structured_outputs":"{\"json_object\":true}"`},
			{fields: `"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"array"}}}`, sent: `"structured_outputs":"{\"json\":{\"type\":\"array\"}}"`},
		},
		"structured_outputs": {
			{fields: `"structured_outputs":{"json":{"type":"array"}}`, sent: `"structured_outputs":"{\"json\":{\"type\":\"array\"}}"`},
			{fields: `"structured_outputs":{"json_object":true}`, sent: `"structured_outputs":"{\"json_object\":true}"`},
			{fields: `"structured_outputs":{"regex":"a+"}`, sent: `"structured_outputs":"{\"regex\":\"a+\"}"`},
			{fields: `"structured_outputs":{"choice":["a","b"]}`, sent: `"structured_outputs":"{\"choice\":[\"a\",\"b\"]}"`},
			{fields: `"structured_outputs":{"grammar":"root ::= \"a\""}`, sent: `"structured_outputs":"{\"grammar\":`},
		},
		"guided_json":    {{fields: `"guided_json":{"type":"array"}`, sent: `"structured_outputs":"{\"json\":{\"type\":\"array\"}}"`}},
		"guided_regex":   {{fields: `"guided_regex":"a+"`, sent: `"structured_outputs":"{\"regex\":\"a+\"}"`}},
		"guided_choice":  {{fields: `"guided_choice":["a","b"]`, sent: `"structured_outputs":"{\"choice\":[\"a\",\"b\"]}"`}},
		"guided_grammar": {{fields: `"guided_grammar":"root ::= \"a\""`, sent: `"structured_outputs":"{\"grammar\":`}},
		"priority":       {{fields: `"priority":2`, sent: `priority=2`}},
	}
}

func chatProbes() map[string][]probe {
	const tools = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`
	return map[string][]probe{
		"messages": {
			{fields: `"messages":[{"role":"system","content":"S"},{"role":"user","content":[{"type":"text","text":"U"}]}]`, sent: "text_input=[system]S[user]U[assistant]"},
			{fields: `"messages":[{"role":"developer","content":"D"},{"role":"assistant","content":"A"},{"role":"user","content":"U"}]`, sent: "text_input=[system]D[assistant]A[user]U[assistant]"},
			{fields: `"messages":[{"role":"tool","tool_call_id":"c","content":"T"},{"role":"function","name":"f","content":"F"}]`, sent: "text_input=[tool]T=c[tool]F@f[assistant]"},
		},
		"max_completion_tokens": {
			{fields: `"max_completion_tokens":5`, sent: `"max_tokens":5`},
			{fields: `"max_completion_tokens":5`, with: `"max_tokens":9`, sent: `"max_tokens":5`},
		},
		"max_tokens":             {{fields: `"max_tokens":9`, sent: `"max_tokens":9`}},
		"logprobs":               {{fields: `"logprobs":true`, sent: `"logprobs":0`, got: `"logprobs":{"content":[{"bytes":[72,101,108]`}},
		"top_logprobs":           {{fields: `"top_logprobs":2`, with: `"logprobs":true`, sent: `"logprobs":2`, got: `"top_logprobs":[{"`}},
		"tools":                  {{fields: tools, sent: "<f>"}},
		"tool_choice":            {{fields: `"tool_choice":"required"`, with: tools, sent: `"structured_outputs":"{\"json\":`}, {fields: `"tool_choice":{"type":"function","function":{"name":"f"}}`, with: tools, sent: `"structured_outputs":"{\"json\":`}},
		"parallel_tool_calls":    {{fields: `"parallel_tool_calls":false`, with: tools + `,"tool_choice":"required"`, sent: `"structured_outputs":"{\"json\":{\"anyOf\":`}},
		"functions":              {{fields: `"functions":[{"name":"f"}]`}},
		"function_call":          {{fields: `"function_call":{"name":"f"}`}},
		"modalities":             {{fields: `"modalities":["text","audio"]`}},
		"audio":                  {{fields: `"audio":{"voice":"alloy","format":"wav"}`}},
		"reasoning_effort":       {{fields: `"reasoning_effort":"high"`, sent: "effort high"}},
		"verbosity":              {{fields: `"verbosity":"low"`, listed: "verbosity"}, {fields: `"verbosity":"high"`, listed: "verbosity"}},
		"prediction":             {{fields: `"prediction":{"type":"content","content":"x"}`, listed: "prediction"}},
		"web_search_options":     {{fields: `"web_search_options":{"search_context_size":"low"}`}},
		"moderation":             {{fields: `"moderation":{"model":"m"}`}},
		"safety_identifier":      {{fields: `"safety_identifier":"me"`}},
		"metadata":               {{fields: `"metadata":{"a":"b"}`}},
		"store":                  {{fields: `"store":true`}},
		"service_tier":           {{fields: `"service_tier":"flex"`}},
		"prompt_cache_key":       {{fields: `"prompt_cache_key":"k"`}},
		"prompt_cache_retention": {{fields: `"prompt_cache_retention":"24h"`}},
		"prompt_cache_options":   {{fields: `"prompt_cache_options":{"ttl":"30m","mode":"implicit"}`}},
		"chat_template_kwargs":   {{fields: `"chat_template_kwargs":{"color":"red"}`, sent: "(red)"}},
		"documents":              {{fields: `"documents":[{"title":"T","text":"x"}]`, sent: "(T:x)"}},
		"add_generation_prompt":  {{fields: `"add_generation_prompt":false`, sent: "text_input=[user]hi; "}},
		"continue_final_message": {{fields: `"continue_final_message":true`, with: `"add_generation_prompt":false,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"Hel"}]`, sent: "text_input=[user]hi[assistant]Hel "}},
	}
}

// oneImage is a message with one image.
const oneImage = `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}]`

// nestedProbes are the probes of nested fields of a chat.
func nestedProbes() map[string][]probe {
	const detailed = `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"}}`
	const tools = `"tools":[{"type":"function","function":{"name":"f"}}]`
	user := func(part string) string { return `"messages":[{"role":"user","content":[` + part + `]}]` }
	return map[string][]probe{
		"messages[].name":                       {{fields: `"messages":[{"role":"user","content":"U","name":"ann"}]`, sent: "U@ann"}},
		"messages[].tool_calls":                 {{fields: `"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"x\":5}"}}]}]`, sent: "f(5)"}},
		"messages[].function_call":              {{fields: `"messages":[{"role":"assistant","function_call":{"name":"f","arguments":"{\"x\":5}"}}]`, sent: "f(5)"}},
		"messages[].tool_call_id":               {{fields: `"messages":[{"role":"tool","tool_call_id":"c","content":"T"}]`, sent: "T=c"}},
		"messages[].refusal":                    {{fields: `"messages":[{"role":"assistant","refusal":"No."}]`, sent: "[assistant]No."}},
		"messages[].audio":                      {{fields: `"messages":[{"role":"assistant","audio":{"id":"a"}}]`, param: "messages[0].audio"}},
		"messages[].content[].image_url":        {{fields: oneImage, sent: "text_input=[user]<image>[assistant] image=iVBORw0KGgo= "}},
		"messages[].content[].image_url.detail": {{with: oneImage, fields: user(detailed)}},
		"messages[].content[].input_audio":      {{fields: user(`{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}`), param: "messages[0].content[0]"}},
		"messages[].content[].file":             {{fields: user(`{"type":"file","file":{"file_id":"f"}}`), param: "messages[0].content[0]"}},
		"messages[].content[].prompt_cache_breakpoint": {{
			with:   user(`{"type":"text","text":"U"}`),
			fields: user(`{"type":"text","text":"U","prompt_cache_breakpoint":{"mode":"explicit"}}`),
		}},
		"response_format.json_schema.strict": {{
			with:   `"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"array"}}}`,
			fields: `"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":{"type":"array"}}}`,
		}},
		"stream_options.include_usage": {{fields: `"stream_options":{"include_usage":true}`, with: `"stream":true`, got: `"choices":[],"usage":{"prompt_tokens":7`}},
		"stream_options.continuous_usage_stats": {{
			fields: `"stream_options":{"include_usage":true,"continuous_usage_stats":true}`, with: `"stream":true,"stream_options":{"include_usage":true}`, got: `"finish_reason":"stop"}],"usage":{"prompt_tokens":`,
		}},
		"stream_options.include_obfuscation": {{fields: `"stream_options":{"include_obfuscation":true}`, with: `"stream":true`}},
		"tools[].function.strict": {{
			with:   `"tools":[{"type":"function","function":{"name":"f"}}]`,
			fields: `"tools":[{"type":"function","function":{"name":"f","strict":true}}]`, listed: "tools[0].function.strict",
		}},
		"tools[].custom":            {{fields: `"tools":[{"type":"custom","custom":{"name":"f"}}]`, sent: "<f>"}},
		"tool_choice.allowed_tools": {{fields: `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"f"}}]}}`, with: tools, sent: `"structured_outputs":"{\"json\":`}},
		"tool_choice.custom":        {{fields: `"tool_choice":{"type":"custom","custom":{"name":"f"}}`, with: `"tools":[{"type":"custom","custom":{"name":"f"}}]`, sent: `"structured_outputs":"{\"json\":`}},
	}
}

func completionProbes() map[string][]probe {
	return map[string][]probe{
		"prompt":     {{fields: `"prompt":"other"`, sent: "text_input=other"}, {fields: `"prompt":["one","two"]`, sent: "text_input=two"}},
		"max_tokens": {{fields: `"max_tokens":9`, sent: `"max_tokens":9`}, {fields: `"max_tokens":0`, with: `"echo":true`, got: `"text":"hi"`}},
		"best_of":    {{fields: `"best_of":2`, with: `"seed":1`, sent: `"seed":2`}},
		"echo":       {{fields: `"echo":true`, got: `"hiHello"`}},
		"suffix":     {{fields: `"suffix":"end"`}},
		"logprobs": {
			{fields: `"logprobs":1`, sent: `"logprobs":1`, got: `"token_logprobs":[-0.5,-0.5]`},
			{fields: `"logprobs":0`, sent: `"logprobs":0`, got: `"token_logprobs":[-0.5,-0.5],"tokens":["Hel","lo"],"top_logprobs":null`},
			{fields: `"logprobs":0`, with: `"stream":true`, sent: `"logprobs":0`, got: `"token_logprobs":[-0.5],"tokens":["Hel"],"top_logprobs":null`},
		},
		"skip_special_tokens": {{fields: `"skip_special_tokens":false`, sent: `"skip_special_tokens":false`}},
	}
}

func embeddingProbes() map[string][]probe {
	return map[string][]probe{
		"model":                  {{fields: `"model":"embedding2"`, got: `"model":"embedding2"`}},
		"input":                  {{fields: `"input":["a","other"]`, sent: `{"input":"other"}`, got: `"index":1`}, {fields: `"input":[5,6]`, sent: `{"input":[5,6]}`}},
		"messages":               {{fields: `"input":null,"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`, sent: `{"input":"a\nb"}`}},
		"modality":               {{fields: `"modality":"image","input":"data:image/png;base64,iVBORw0KGgo="`, param: "input"}},
		"encoding_format":        {{fields: `"encoding_format":"base64"`, got: `"embedding":"`}},
		"dimensions":             {{fields: `"dimensions":1`, got: `"embedding":[1]`}},
		"user":                   {{fields: `"user":"me"`}},
		"truncate_prompt_tokens": {{fields: `"truncate_prompt_tokens":4`}},
		"truncation_side":        {{fields: `"truncation_side":"left"`}},
		"input_type":             {{fields: `"input_type":"search_query"`}},
		"prompt_name":            {{fields: `"prompt_name":"query"`}},
		"normalize":              {{fields: `"normalize":false`, got: `"embedding":[3,4]`}},
		"output_dtype": {
			{fields: `"output_dtype":"int8"`, got: `"embedding":[95,127]`},
			{fields: `"output_dtype":"uint8"`, got: `"embedding":[223,255]`},
			{fields: `"output_dtype":"ubinary"`, got: `"embedding":[192]`},
			{fields: `"output_dtype":"binary"`, got: `"embedding":[64]`},
			{fields: `"output_dtype":"ubinary","encoding_format":"base64"`, got: `"embedding":"wA=="`},
		},
	}
}

func decisionProbes() map[string][]probe {
	return map[string][]probe{
		"model": {{fields: `"model":"decision2"`, got: `"model":"decision2"`}},
		"input": {
			{fields: `"input":"Good morning."`, sent: "[user]Good morning.\n\nQuestion about"},
			{fields: `"input":[{"role":"developer","content":"D"},{"role":"user","content":"U"},{"type":"message","role":"user","content":[{"type":"input_text","text":"V"}]}]`, sent: "[system]D[user]U\n\nV\n\nQuestion about"},
			{fields: `"input":[{"role":"user","content":[{"type":"input_json","data":{"b": 1, "a": [true]}}]}]`, sent: `[user]{"b":1,"a":[true]}`},
			{fields: `"input":[{"role":"assistant","content":[{"type":"output_text","text":"A"}]}]`, sent: "[assistant]A[user]Question about"},
			{fields: `"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{\"x\":1}"},{"type":"function_call_output","call_id":"c","output":"T"}]`, sent: "f(1)[tool]T=c[user]Question"},
			{fields: `"input":[{"type":"custom_tool_call","call_id":"c","name":"f","input":"I","namespace":"n"},{"type":"custom_tool_call_output","call_id":"c","output":[]}]`, sent: "n__f()[tool]=c[user]Question"},
		},
		"questions": {
			{fields: `"questions":[{"type":"predicate","name":"p","instructions":"True?"}]`, sent: "True?\n\nDoes this hold for the input?\n", got: `"name":"p","probability":`},
			{fields: `"questions":[{"type":"choice","instructions":[{"type":"input_text","text":"Which?"}],"choices":[{"value":"true"},{"value":true,"description":"it is"}]}]`, sent: "Options:\nA: \"true\"\nB: true - \"it is\"\n", got: `"type":"choice"`},
			{fields: `"questions":[{"type":"score","instructions":"How?","levels":[{"label":"low"},{"label":"high","description":"very"}]}]`, sent: "A: \"low\"\nB: \"high\" - \"very\"\n", got: `"type":"score"`},
		},
		"safety_identifier":    {{fields: `"safety_identifier":"s"`}},
		"prompt_cache_key":     {{fields: `"prompt_cache_key":"k"`}},
		"prompt_cache_options": {{fields: `"prompt_cache_options":{"mode":"explicit","ttl":"30m"}`}},
	}
}
