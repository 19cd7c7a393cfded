package main

import (
	"time"
)

// job is the fixed work of one measurement. A worker receives it as a line of JSON.
type job struct {
	// Address is the server's host:port, and Path that of its chat completions. The
	// driver needs both. The bare client needs Address for a server other than
	// tritonserver. The engine loop needs neither, because it calls its own engine.
	Address string `json:"address,omitempty"`
	Path    string `json:"path,omitempty"`

	Model    string `json:"model"`
	Streams  int    `json:"streams"`  // number of concurrent streams
	Requests int    `json:"requests"` // total number of requests, shared by the streams
	Tokens   int    `json:"tokens"`   // tokens per response
	// Bytes is the size of a tensor that a unary call echoes, or 0 for jobs of
	// tokens. Such a response counts as one token.
	Bytes int `json:"bytes,omitempty"`
	// Messages requests messages of Anthropic's API instead of chats.
	Messages bool `json:"messages,omitempty"`
	// Whole requests non-streaming responses.
	Whole bool `json:"whole,omitempty"`
	// Ensemble is set if the model has the tensors of TensorRT-LLM's ensemble.
	Ensemble bool `json:"ensemble,omitempty"`
	// PromptBytes is the size of the prompt, or 0 for a short one. Distinct makes the prompts of the
	// streams begin differently. Both are for chats of the driver.
	PromptBytes int  `json:"prompt_bytes,omitempty"`
	Distinct    bool `json:"distinct,omitempty"`
	// Tolerant counts the driver's requests that fail, instead of ending the job.
	Tolerant bool `json:"tolerant,omitempty"`
	// TextAlone makes the bare client request no output except the text.
	TextAlone bool `json:"text_alone,omitempty"`
	// Pause is the wait before each request, so that all processes are idle.
	Pause time.Duration `json:"pause,omitempty"`
	// Jitter is the limit of an additional random wait before each request. Without
	// it, clients of a paced model send their next requests when the model has just
	// made a step.
	Jitter time.Duration `json:"jitter,omitempty"`
	// Spread is the time over which the streams begin, one after another, so that
	// their requests don't arrive together.
	Spread time.Duration `json:"spread,omitempty"`
	// Hold keeps the streams open after each has received a token. When the bench
	// orders the worker to continue, the worker cancels them.
	Hold bool `json:"hold,omitempty"`
	// PerWrite is the average number of tokens per write of the bench's own servers.
	// Pace is the time between the tokens of the canned server.
	PerWrite float64       `json:"per_write,omitempty"`
	Pace     time.Duration `json:"pace,omitempty"`
}

// result is a worker's result of a job. Durations are in seconds.
type result struct {
	Requests int     `json:"requests"`
	Tokens   int     `json:"tokens"`
	Writes   int     `json:"writes"` // writes of the server, or 0 if they can't be observed
	Seconds  float64 `json:"seconds"`

	First50 float64 `json:"first_50"` // median time from the request to the first token
	First99 float64 `json:"first_99"`
	Gap50   float64 `json:"gap_50"` // median time between two tokens of a stream
	Gap99   float64 `json:"gap_99"`

	// Unanswered are the failed requests without a token, and Cut those with tokens, of a tolerant
	// job. Their tokens aren't left out.
	Unanswered int `json:"unanswered,omitempty"`
	Cut        int `json:"cut,omitempty"`

	// Text is the text of one response.
	Text string `json:"text"`
}

// workerOrder is the bench's message to a worker: a job, or the order to continue the
// current one.
type workerOrder struct {
	Job *job `json:"job,omitempty"`
}

// state is a worker's message to the bench about its job, in this order. The bench
// answers the first two with an order to continue.
type state string

const (
	stateReady state = "ready" // connected, nothing sent
	stateHeld  state = "held"  // all streams have received a token; only with Hold
	stateDone  state = "done"
)

type workerReport struct {
	State  state   `json:"state"`
	Error  string  `json:"error,omitempty"`
	Result *result `json:"result,omitempty"`
}

// recorder is the observations of one stream over its requests.
type recorder struct {
	sampling bool   // the text of the next response is needed
	text     []byte // text of that response

	began, last    time.Time
	requests       int
	tokens         int // tokens of all responses
	responseTokens int // tokens of this response
	writes         int
	first          []time.Duration
	gaps           histogram
	onFirst        func() // called when the response's first token has arrived

	unanswered, cut int // failed requests
}

// begin is called before the request is sent.
func (r *recorder) begin() {
	r.began = time.Now()
	r.last, r.responseTokens = r.began, 0
}

// arrived counts tokens that arrived together, now.
func (r *recorder) arrived(tokens int) {
	if tokens == 0 {
		return
	}
	now := time.Now()
	r.tokens += tokens
	if r.responseTokens == 0 {
		r.first = append(r.first, now.Sub(r.began))
		if r.onFirst != nil {
			r.onFirst()
		}
	} else {
		r.gaps.add(now.Sub(r.last), 1)
	}
	r.gaps.add(0, tokens-1)
	r.responseTokens += tokens
	r.last = now
}

// failed counts a request that has failed.
func (r *recorder) failed() {
	if r.responseTokens == 0 {
		r.unanswered++
	} else {
		r.cut++
	}
}

// summary combines all streams, over their common duration.
func summary(streams []*recorder, took time.Duration) *result {
	sum := &result{Seconds: took.Seconds(), Text: string(streams[0].text)}
	var first []time.Duration
	var gaps histogram
	for _, r := range streams {
		sum.Requests += r.requests
		sum.Tokens += r.tokens
		sum.Writes += r.writes
		sum.Unanswered += r.unanswered
		sum.Cut += r.cut
		first = append(first, r.first...)
		gaps.merge(&r.gaps)
	}
	sum.First50, sum.First99 = quantile(first, 0.5).Seconds(), quantile(first, 0.99).Seconds()
	sum.Gap50, sum.Gap99 = gaps.quantile(0.5).Seconds(), gaps.quantile(0.99).Seconds()
	return sum
}
