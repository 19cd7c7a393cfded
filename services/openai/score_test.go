package openai

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
)

// promptPosition is the element of prompt_logprobs.
type promptPosition map[string]struct {
	Logprob float64 `json:"logprob"`
	Rank    int     `json:"rank"`
	Token   string  `json:"decoded_token"`
}

// scoredAnswer has the log probabilities of a chat or a completion.
type scoredAnswer struct {
	PromptLogprobs []promptPosition `json:"prompt_logprobs"`
	Choices        []struct {
		Text           string           `json:"text"`
		FinishReason   string           `json:"finish_reason"`
		PromptLogprobs []promptPosition `json:"prompt_logprobs"`
		Logprobs       *scoredLists     `json:"logprobs"`
	} `json:"choices"`
	Usage map[string]any `json:"usage"`
}

type scoredLists struct {
	Tokens        []string             `json:"tokens"`
	TokenLogprobs []*float64           `json:"token_logprobs"`
	TopLogprobs   []map[string]float64 `json:"top_logprobs"`
	TextOffset    []int                `json:"text_offset"`
}

// wantLogprob computes the log probability of a token after another one from [ensembleLogit].
func wantLogprob(before, id int) float64 {
	sum := 0.0
	for other := range ensembleTokenizer().Size() {
		sum += math.Exp(ensembleLogit(before, other))
	}
	return ensembleLogit(before, id) - math.Log(sum)
}

// scores sends a request to a model whose logits are [ensembleLogit].
func scores(t *testing.T, path, fields string) scoredAnswer {
	t.Helper()
	engine := inferencetest.New()
	addContract(t, engine, "ensemble", streamAsEnsemble)
	server := fieldServer(t, Config{}, engine)
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+path, `{"model":"chat",`+fields+`}`)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	var answer scoredAnswer
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(body, err)
	}
	return answer
}

// TestPromptLogprobs checks prompt_logprobs of a completion and of a chat: each position has the prompt's token and
// the likeliest ones, with the log probabilities and ranks computed from the same logits.
func TestPromptLogprobs(t *testing.T) {
	completion := scores(t, completionPath, `"prompt":"bca","max_tokens":2,"prompt_logprobs":2`)
	chat := scores(t, chatPath, `"messages":[{"role":"user","content":"bca"}],"max_tokens":2,"prompt_logprobs":2`)
	for name, tt := range map[string]struct {
		prompt string
		got    []promptPosition
	}{
		"completion": {"bca", completion.Choices[0].PromptLogprobs},
		"chat":       {"[user]bca[assistant]", chat.PromptLogprobs},
	} {
		ids, err := ensembleTokenizer().Encode(t.Context(), tt.prompt, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(tt.got) != len(ids) || tt.got[0] != nil {
			t.Fatalf("%s: %d positions, want %d; the first is %v", name, len(tt.got), len(ids), tt.got[0])
		}
		for i := 1; i < len(ids); i++ {
			next := (ids[i-1] + 1) % ensembleTokenizer().Size()
			own, likeliest := tt.got[i][strconv.Itoa(ids[i])], tt.got[i][strconv.Itoa(next)]
			if math.Abs(own.Logprob-wantLogprob(ids[i-1], ids[i])) > 1e-6 || own.Token != ensembleTokenizer().Decode(ids[i:i+1], false) {
				t.Errorf("%s: position %d has %+v, want %v", name, i, own, wantLogprob(ids[i-1], ids[i]))
			}
			if likeliest.Rank != 1 || math.Abs(likeliest.Logprob-wantLogprob(ids[i-1], next)) > 1e-6 {
				t.Errorf("%s: the likeliest token of position %d has %+v", name, i, likeliest)
			}
			if n := len(tt.got[i]); n != 2 && n != 3 || own.Rank > 2 && n != 3 {
				t.Errorf("%s: position %d has %d tokens: %v", name, i, n, tt.got[i])
			}
		}
	}
	if completion.Choices[0].Logprobs != nil || completion.Choices[0].Text != "Hello" {
		t.Errorf("the answer is %+v", completion.Choices[0])
	}
}

// TestPromptLogprobsMemory checks that the list takes memory in proportion to its JSON, and that it has each token
// once, in the form of the document.
func TestPromptLogprobsMemory(t *testing.T) {
	score := &inference.PromptScore{Tokens: make([]inference.PromptToken, 10000)}
	for i := 1; i < len(score.Tokens); i++ {
		top := []inference.TopLogprob{{ID: 7, Token: "\"a\xff", Logprob: -1e-9}, {ID: i, Token: "b", Logprob: -9999}}
		score.Tokens[i] = inference.PromptToken{TokenLogprob: inference.TokenLogprob{ID: i, Token: "b", Logprob: -9999, Top: top}, Rank: 2}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	list := promptLogprobs(score, 2)
	runtime.ReadMemStats(&after)
	if used, most := after.TotalAlloc-before.TotalAlloc, uint64(3*len(list)); used > most {
		t.Errorf("%d bytes for %d bytes of JSON", used, len(list))
	}
	var got []promptPosition
	if err := json.Unmarshal(list, &got); err != nil || len(got) != len(score.Tokens) || got[0] != nil {
		t.Fatalf("%v: %s", err, list[:100])
	}
	for i, position := range got[1:] {
		want := map[string]string{"7": "\"a\uFFFD", strconv.Itoa(i + 1): "b"}
		if i+1 == 7 {
			want = map[string]string{"7": "b"}
		}
		for id, token := range position {
			if token.Token != want[id] || id != strconv.Itoa(i+1) && (token.Rank != 1 || token.Logprob != -1e-9) || id == strconv.Itoa(i+1) && (token.Rank != 2 || token.Logprob != -9999) {
				t.Fatalf("position %d has %s: %+v", i+1, id, token)
			}
		}
		if len(position) != len(want) {
			t.Fatalf("position %d has %v", i+1, position)
		}
	}
}

// TestScoredEcho checks the lists of echo with logprobs, streamed and not, and that their lengths are equal.
func TestScoredEcho(t *testing.T) {
	ids, err := ensembleTokenizer().Encode(t.Context(), "béa", true, nil)
	if err != nil {
		t.Fatal(err)
	}
	tokens := []string{"b", "\uFFFD", "\uFFFD", "a"}
	for name, tt := range map[string]struct {
		fields string
		text   string
		tokens []string // after the prompt's
	}{
		"nothing new":           {`"prompt":"béa","max_tokens":0,"echo":true,"logprobs":1`, "béa", nil},
		"nothing new, of ids":   {fmt.Sprintf(`"prompt":%s,"max_tokens":0,"echo":true,"logprobs":1`, strings.ReplaceAll(fmt.Sprint(ids), " ", ",")), "béa", nil},
		"one new token":         {`"prompt":"béa","max_tokens":1,"echo":true,"logprobs":1`, "béaHello", []string{"Hel", "lo"}},
		"without alternatives":  {`"prompt":"béa","max_tokens":9,"echo":true,"logprobs":0`, "béaHello", []string{"Hel", "lo"}},
		"both kinds of lists":   {`"prompt":"béa","max_tokens":1,"echo":true,"logprobs":1,"prompt_logprobs":3`, "béaHello", []string{"Hel", "lo"}},
		"several prompts' last": {`"prompt":["x","béa"],"max_tokens":0,"echo":true,"logprobs":1`, "béa", nil},
	} {
		t.Run(name, func(t *testing.T) {
			answer := scores(t, completionPath, tt.fields)
			choice := answer.Choices[len(answer.Choices)-1]
			lists := choice.Logprobs
			if lists == nil || choice.Text != tt.text || !slices.Equal(lists.Tokens, append(slices.Clone(tokens), tt.tokens...)) {
				t.Fatalf("got %q, %+v", choice.Text, lists)
			}
			n, top := len(lists.Tokens), !strings.Contains(tt.fields, `"logprobs":0`)
			if len(lists.TokenLogprobs) != n || len(lists.TextOffset) != n || top && len(lists.TopLogprobs) != n || !top && lists.TopLogprobs != nil {
				t.Errorf("lists of different lengths: %+v", lists)
			}
			if !slices.Equal(lists.TextOffset[:4], []int{0, 1, 1, 2}) || n > 4 && lists.TextOffset[4] != 3 {
				t.Errorf("offsets %v", lists.TextOffset)
			}
			if lists.TokenLogprobs[0] != nil || top && lists.TopLogprobs[0] != nil {
				t.Errorf("the first token has %v, %v", *lists.TokenLogprobs[0], lists.TopLogprobs)
			}
			for i := 1; i < len(ids); i++ {
				if p := lists.TokenLogprobs[i]; p == nil || math.Abs(*p-wantLogprob(ids[i-1], ids[i])) > 1e-6 {
					t.Errorf("token %d has %v, want %v", i, p, wantLogprob(ids[i-1], ids[i]))
				}
			}
			if top && n > 4 && len(lists.TopLogprobs[4]) != 2 { // the sampled token and the likeliest one
				t.Errorf("the new token has the alternatives %v", lists.TopLogprobs[4])
			}
			if strings.Contains(tt.fields, `"max_tokens":0`) && (choice.FinishReason != "length" || answer.Usage["completion_tokens"] != 0.0) {
				t.Errorf("finish reason %s, usage %v", choice.FinishReason, answer.Usage)
			}
			if wanted := strings.Contains(tt.fields, "prompt_logprobs"); wanted != (choice.PromptLogprobs != nil) {
				t.Errorf("prompt_logprobs: %v", choice.PromptLogprobs)
			}
		})
	}
}

// TestScoredStream checks that the chunks of a stream have the same lists as a non-streaming response.
func TestScoredStream(t *testing.T) {
	engine := inferencetest.New()
	addContract(t, engine, "ensemble", streamAsEnsemble)
	server := fieldServer(t, Config{}, engine)
	for _, fields := range []string{`"max_tokens":0,"logprobs":1`, `"max_tokens":1,"logprobs":1`, `"max_tokens":9,"logprobs":0`} {
		body := `{"model":"chat","prompt":"béa","echo":true,` + fields
		_, whole := openaitest.Do(t, http.MethodPost, server.URL+completionPath, body+`}`)
		_, stream := openaitest.Do(t, http.MethodPost, server.URL+completionPath, body+`,"stream":true}`)
		var want scoredAnswer
		if err := json.Unmarshal([]byte(whole), &want); err != nil {
			t.Fatal(whole, err)
		}
		var got scoredLists
		var text, finish string
		for line := range strings.Lines(stream) {
			data, ok := strings.CutPrefix(line, "data: {")
			if !ok {
				continue
			}
			var chunk scoredAnswer
			if err := json.Unmarshal([]byte("{"+data), &chunk); err != nil {
				t.Fatal(line, err)
			}
			choice := chunk.Choices[0]
			text, finish = text+choice.Text, finish+choice.FinishReason
			if lists := choice.Logprobs; lists != nil {
				got.Tokens, got.TokenLogprobs = append(got.Tokens, lists.Tokens...), append(got.TokenLogprobs, lists.TokenLogprobs...)
				got.TopLogprobs, got.TextOffset = append(got.TopLogprobs, lists.TopLogprobs...), append(got.TextOffset, lists.TextOffset...)
			}
		}
		choice := want.Choices[0]
		if text != choice.Text || finish != choice.FinishReason || !reflect.DeepEqual(&got, choice.Logprobs) {
			t.Errorf("%s: streamed %q %s\n%+v\nwhole %q %s\n%+v", fields, text, finish, got, choice.Text, choice.FinishReason, choice.Logprobs)
		}
	}
	refusal := `{"model":"chat","prompt":"a","prompt_logprobs":1,"stream":true}`
	if resp, body := openaitest.Do(t, http.MethodPost, server.URL+completionPath, refusal); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"param":"prompt_logprobs"`) {
		t.Errorf("prompt_logprobs of a stream: %s", body)
	}
}
