package main

import (
	"time"
)

// job is the fixed work of one measurement. A worker gets it as a line of JSON.
type job struct {
	// Address of the server, host:port, and the path of its chat completions. For
	// the driver, and for the bare client where it is to speak to another server than
	// tritonserver; the engine loop is the client of one engine.
	Address string `json:"address,omitempty"`
	Path    string `json:"path,omitempty"`

	Model    string `json:"model"`
	Streams  int    `json:"streams"`  // at once
	Requests int    `json:"requests"` // in all, which the streams share
	Tokens   int    `json:"tokens"`   // of each answer
	// Bytes is the size of a tensor that comes back as it was sent, by a unary call;
	// 0 for jobs of tokens. Such an answer counts as one token.
	Bytes int `json:"bytes,omitempty"`
	// Whole asks for answers in one piece.
	Whole bool `json:"whole,omitempty"`
	// Pause before each request, so that all is idle.
	Pause time.Duration `json:"pause,omitempty"`
	// Hold keeps the streams open once each has had a token, until the bench says
	// that it has seen enough, and leaves them then.
	Hold bool `json:"hold,omitempty"`
	// PerWrite is how many tokens a server of the bench's own puts in one write, on
	// average; Pace is the time between the tokens of the canned one.
	PerWrite float64       `json:"per_write,omitempty"`
	Pace     time.Duration `json:"pace,omitempty"`
}

// result is what a worker saw of a job. Durations are in seconds.
type result struct {
	Requests int     `json:"requests"`
	Tokens   int     `json:"tokens"`
	Writes   int     `json:"writes"` // of the server, 0 where that can't be seen
	Seconds  float64 `json:"seconds"`

	First50 float64 `json:"first_50"` // from the request to the first token
	First99 float64 `json:"first_99"`
	Gap50   float64 `json:"gap_50"` // between a stream's tokens
	Gap99   float64 `json:"gap_99"`

	// Text of one answer.
	Text string `json:"text"`
}

// order is what the bench tells a worker: a job, or to go on with the one at hand.
type order struct {
	Job *job `json:"job,omitempty"`
}

// state is what a worker tells the bench of its job, in this order. The bench
// answers the first two with an order to go on.
type state string

const (
	stateReady state = "ready" // connected, nothing sent
	stateHeld  state = "held"  // all streams have had a token; only under Hold
	stateDone  state = "done"
)

type news struct {
	State  state   `json:"state"`
	Error  string  `json:"error,omitempty"`
	Result *result `json:"result,omitempty"`
}

// recorder is what one stream sees over its requests.
type recorder struct {
	sampling bool   // the text of the next answer is wanted
	text     []byte // of that answer

	began, last time.Time
	requests    int
	tokens      int // of all answers
	inAnswer    int // of this one
	writes      int
	first       []time.Duration
	gaps        histogram
	onFirst     func() // when the answer's first token has come
}

// begin is called before the request is sent.
func (r *recorder) begin() {
	r.began = time.Now()
	r.last, r.inAnswer = r.began, 0
}

// arrived counts tokens that came together, now.
func (r *recorder) arrived(tokens int) {
	if tokens == 0 {
		return
	}
	now := time.Now()
	r.tokens += tokens
	if r.inAnswer == 0 {
		r.first = append(r.first, now.Sub(r.began))
		if r.onFirst != nil {
			r.onFirst()
		}
	} else {
		r.gaps.add(now.Sub(r.last), 1)
	}
	r.gaps.add(0, tokens-1)
	r.inAnswer += tokens
	r.last = now
}

// summary of all streams, over the time that they took together.
func summary(streams []*recorder, took time.Duration) *result {
	sum := &result{Seconds: took.Seconds(), Text: string(streams[0].text)}
	var first []time.Duration
	var gaps histogram
	for _, r := range streams {
		sum.Requests += r.requests
		sum.Tokens += r.tokens
		sum.Writes += r.writes
		first = append(first, r.first...)
		gaps.merge(&r.gaps)
	}
	sum.First50, sum.First99 = quantile(first, 0.5).Seconds(), quantile(first, 0.99).Seconds()
	sum.Gap50, sum.Gap99 = gaps.quantile(0.5).Seconds(), gaps.quantile(0.99).Seconds()
	return sum
}
