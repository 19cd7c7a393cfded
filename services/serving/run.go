package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// maxParallelJobs bounds how many jobs of one request are in the engine at once.
const maxParallelJobs = 32

// run is one request on its way through a model.
type textRun struct {
	card         *catalog.Card
	req          *inference.Request
	lora         string // the adapter; empty for none
	jobs         []*inference.Job
	images       *inference.Images // nil for none
	tokens       int               // of the answers
	promptTokens []int             // of each prompt or input
	hidden       bool              // the client didn't ask for the log probabilities
	reading      *reading          // nil: answers are text as they come
	measure      *metering.Measure
}

// planChoices makes a job for each choice of each prompt. Backends' own n is not
// used: vLLM's loses and merges texts. The choices of a prompt get seeds of their
// own, or all were equal.
func (r *textRun) planChoices(prompts []string, maxTokens int) {
	r.promptTokens = make([]int, len(prompts))
	for p, prompt := range prompts {
		for i := range candidates(r.req) {
			job := &inference.Job{Index: len(r.jobs), Prompt: prompt, PromptIndex: p, MaxTokens: maxTokens, Images: r.images}
			if seed := r.req.Sampling.Seed; seed != nil {
				s := *seed + int64(i)
				job.Seed = &s
			}
			r.jobs = append(r.jobs, job)
		}
	}
}

func (r *textRun) planInputs() {
	r.promptTokens = make([]int, len(r.req.Inputs))
	for i := range r.req.Inputs {
		r.jobs = append(r.jobs, &inference.Job{Index: i, PromptIndex: i, Input: &r.req.Inputs[i]})
	}
}

// deltas runs the jobs; the counts are complete when it has ended without error.
func (r *textRun) deltas(ctx context.Context) iter.Seq2[inference.Delta, error] {
	if len(r.jobs) == 1 {
		return func(yield func(inference.Delta, error) bool) {
			total, err := r.job(ctx, r.jobs[0], func(d inference.Delta) bool { return yield(d, nil) })
			if err != nil {
				yield(inference.Delta{}, err)
			}
			r.count(r.jobs[0], total)
		}
	}
	return func(yield func(inference.Delta, error) bool) { r.fanOut(ctx, yield) }
}

// count adds a job's tokens. The choices of a prompt share its tokens.
func (r *textRun) count(job *inference.Job, total jobTotal) {
	r.tokens += total.tokens
	r.promptTokens[job.PromptIndex] = max(r.promptTokens[job.PromptIndex], total.prompt)
}

// usage sums up what deltas has counted. Prompts that the model didn't count its
// tokenizer does.
func (r *textRun) usage() *inference.Usage {
	for _, job := range r.jobs {
		if n := &r.promptTokens[job.PromptIndex]; *n == 0 && job.Input == nil && r.card.Tokenizer != nil {
			*n, _ = r.card.Tokenizer.Count(context.Background(), job.Prompt, true, nil) // an answer is worth more than its count, and it has been counted before
		}
	}
	u := &inference.Usage{CompletionTokens: r.tokens}
	for _, n := range r.promptTokens {
		u.PromptTokens += n
	}
	return u
}

// jobTotal is what a job has used.
type jobTotal struct{ prompt, tokens int }

// jobStream turns the steps of one choice into Deltas.
type jobStream struct {
	run     *textRun
	job     *inference.Job
	index   int  // of the choice
	among   bool // the job has further texts
	text    wholeUTF8
	stop    stopTexts
	stopped bool // by a stop text
	finish  inference.FinishReason
	total   jobTotal
	tally   tally
	held    bool // the last Delta said that more was to come
	echoed  bool
	parse   *parse // nil without parser
	pace    metering.Pace
}

// job runs one job and hands its Deltas to emit until that returns false. An engine
// that lacks the adapter is given it once.
func (r *textRun) job(ctx context.Context, job *inference.Job, emit func(inference.Delta) bool) (jobTotal, error) {
	if r.lora == "" {
		return r.infer(ctx, job, nil, emit)
	}
	for again := false; ; again = true {
		used, err := r.card.UseLoRA(ctx, r.lora, again)
		if err != nil {
			return jobTotal{}, err
		}
		adapted := *job
		adapted.LoRA = &used.LoRA
		total, err := r.infer(ctx, &adapted, used, emit)
		if again || !errors.Is(err, inference.ErrNoLoRA) || !used.Missed() {
			return total, used.Explain(err)
		}
	}
}

// infer runs a job in the engine, with an adapter or without.
func (r *textRun) infer(ctx context.Context, job *inference.Job, used *catalog.Loan, emit func(inference.Delta) bool) (jobTotal, error) {
	if used != nil {
		defer used.Settle()
	}
	infer, err := r.card.Backend.Encode(&r.card.Target, r.req, job)
	if err != nil {
		return jobTotal{}, err
	}
	infer.Id = r.req.ID
	limitText(ctx, r.card.Config, infer)
	s, err := r.newSequences(job)
	if err != nil {
		return jobTotal{}, err
	}
	if used != nil && used.Sends() {
		ctx = inference.WhenSent(ctx, func() { used.Sent(infer) })
	}
	stream := func(ctx context.Context) iter.Seq2[*inference.Response, error] {
		return r.card.Engine.Stream(ctx, infer)
	}
	for resp, err := range traced(ctx, stream) { //nolint:contextcheck // what has been generated is counted whatever the client does
		if err != nil {
			return s.total(), r.explain(err)
		}
		if used != nil && !resp.Idle {
			used.Arrived()
		}
		if wanted, err := s.read(resp, emit); !wanted || err != nil || resp.Final {
			return s.total(), err
		}
	}
	// The engine ended without marking the last response.
	_, err = s.read(&inference.Response{Final: true}, emit) //nolint:contextcheck // the same
	return s.total(), err
}

func (r *textRun) newStream(job *inference.Job, index int) (*jobStream, error) {
	sampling := &r.req.Sampling
	parse, err := r.newParse(job)
	return &jobStream{
		run: r, job: job, index: index, parse: parse, tally: tally{tokenizer: r.card.Tokenizer},
		stop: stopTexts{texts: sampling.Stop, include: sampling.IncludeStop != nil && *sampling.IncludeStop},
	}, err
}

// only tells whether this is the answer's one choice: the usage follows it.
func (s *jobStream) only() bool { return len(s.run.jobs) == 1 && !s.among }

// hand gives a Delta out, or what the parser makes of it. It is false when nobody
// wants more.
func (s *jobStream) hand(delta *inference.Delta, emit func(inference.Delta) bool) bool {
	if s.parse == nil {
		return s.show(delta, emit)
	}
	return s.handParsed(delta, emit)
}

// show gives a Delta out if that is worth it: it has something to show, or what
// was given out before waits for it.
func (s *jobStream) show(delta *inference.Delta, emit func(inference.Delta) bool) bool {
	if delta.Empty() && (!s.held || delta.More) {
		return true
	}
	s.held = delta.More
	return emit(*delta)
}

func (r *textRun) explain(err error) error {
	if known, ok := errors.AsType[*inference.Error](err); ok {
		return r.card.Backend.Explain(r.req, known)
	}
	return err
}

// read gives out the Delta of one step; more says that the next one is here. It is
// false when nobody wants more.
func (s *jobStream) read(step *inference.Step, end, more bool, emit func(inference.Delta) bool) (bool, error) {
	if s.stopped {
		return true, nil
	}
	delta, err := s.delta(step, end, more)
	return err == nil && s.hand(&delta, emit), err
}

// delta makes the Delta of one step. The last one of a choice carries its finish
// reason.
func (s *jobStream) delta(step *inference.Step, end, more bool) (inference.Delta, error) {
	delta := inference.Delta{Index: s.index, More: more}
	s.total.prompt = max(s.total.prompt, step.PromptTokens)
	s.total.tokens += step.OutputTokens
	s.run.measure.Step(&s.pace, step.OutputTokens, len(step.Text) > 0, more && !end)
	s.finish = cmp.Or(step.Finish, s.finish)
	if s.run.req.Task == inference.TaskEmbed {
		return s.embedding(delta, step, end)
	}
	s.tally.add(step)
	delta.Text, delta.Logprobs = s.answer(step, end), step.Logprobs
	if s.stopped {
		s.finish = inference.FinishStop
		delta.More = s.only()
	}
	if s.run.req.Echo && !s.echoed {
		s.echoed = true
		delta.Text = append([]byte(s.job.Prompt), delta.Text...)
	}
	if end || s.stopped {
		s.countRest()
		delta.Finish = finishOf(s.finish, s.total.tokens, s.job.MaxTokens)
	}
	return delta, nil
}

// countRest counts the tokens that the engine hasn't.
func (s *jobStream) countRest() {
	rest := s.tally.count()
	s.total.tokens += rest
	s.run.measure.Flush(&s.pace)
	s.run.measure.More(rest)
}

// answer is what of the step's text can go out. Before min_tokens no stop text
// counts, as far as the model tells its tokens.
func (s *jobStream) answer(step *inference.Step, end bool) []byte {
	text := s.text.add(step.Text, end)
	if least := s.run.req.Sampling.MinTokens; least != nil && s.total.tokens <= *least && s.tally.tokenizer == nil {
		return text
	}
	text, s.stopped = s.stop.add(text, end)
	return text
}

// embedding normalises the vector. A model that ends without one is at fault.
func (s *jobStream) embedding(delta inference.Delta, step *inference.Step, end bool) (inference.Delta, error) {
	var err error
	switch {
	case step.Embedding != nil:
		s.run.measure.Answer()
		s.finish = inference.FinishStop
		delta.Embedding, err = s.run.vector(step.Embedding)
	case end && s.finish == inference.FinishNone:
		err = fmt.Errorf("model %s: ended without an embedding", s.run.card.Name)
	}
	return delta, err
}

// finishOf derives the reason where the backend gave none.
func finishOf(given inference.FinishReason, tokens, limit int) inference.FinishReason {
	switch {
	case given != inference.FinishNone:
		return given
	case limit > 0 && tokens >= limit:
		return inference.FinishLength
	}
	return inference.FinishStop
}

// vector cuts an embedding to the dimensions asked for and brings it to unit
// length, which OpenAI's are and which a cut vector no longer is. The engine isn't asked
// to cut it, because only some models take that parameter, with the same result.
func (r *textRun) vector(v []float32) ([]float32, error) {
	if n := r.req.Dimensions; n > len(v) {
		return nil, inference.Invalid("dimensions", "the model `%s` gives %d dimensions, %d were asked for", r.req.Model, len(v), n)
	} else if n > 0 {
		v = v[:n]
	}
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil, fmt.Errorf("model %s: the embedding has no direction (squared length %v)", r.card.Name, sum)
	}
	if scale := float32(1 / math.Sqrt(sum)); scale != 1 {
		for i := range v {
			v[i] *= scale
		}
	}
	return v, nil
}

// part is a Delta on its way from a job's goroutine to the consumer. The job
// waits for taken before it goes on, because the Delta's slices are its own.
type part struct {
	delta inference.Delta
	taken chan<- struct{}
}

// fan runs a request's jobs side by side.
type fan struct {
	run    *textRun
	parts  chan part
	cancel context.CancelFunc
	next   atomic.Int64 // index of the next job to run

	mu  sync.Mutex
	err error // the first one
}

// fanOut runs the jobs, at most maxParallelJobs at once, and interleaves their
// Deltas. The first error cancels all. Every goroutine has ended on return.
func (r *textRun) fanOut(ctx context.Context, yield func(inference.Delta, error) bool) {
	workers := min(len(r.jobs), maxParallelJobs)
	ctx, cancel := context.WithCancel(ctx)
	f := &fan{run: r, parts: make(chan part, workers), cancel: cancel}
	var running sync.WaitGroup
	for range workers {
		running.Go(func() { f.work(ctx) })
	}
	go func() { running.Wait(); close(f.parts) }()
	defer func() { // also when the consumer panics
		cancel()
		for p := range f.parts {
			p.taken <- struct{}{}
		}
	}()
	for p := range f.parts {
		if !f.hand(p, yield) {
			return
		}
	}
	if f.err == nil {
		f.err = ctx.Err() // the jobs stopped because the request has ended
	}
	if f.err != nil {
		yield(inference.Delta{}, f.err)
	}
}

func (f *fan) hand(p part, yield func(inference.Delta, error) bool) bool {
	defer func() { p.taken <- struct{}{} }()
	p.delta.More = p.delta.More || len(f.parts) > 0
	return yield(p.delta, nil)
}

// work runs jobs until none is left or the request has ended.
func (f *fan) work(ctx context.Context) {
	taken := make(chan struct{}, 1)
	emit := func(d inference.Delta) bool {
		select {
		case f.parts <- part{delta: d, taken: taken}:
			<-taken
			return ctx.Err() == nil
		case <-ctx.Done():
			return false
		}
	}
	for ctx.Err() == nil {
		i := int(f.next.Add(1)) - 1
		if i >= len(f.run.jobs) {
			return
		}
		job := f.run.jobs[i]
		total, err := f.job(ctx, job, emit)
		f.finished(job, total, err)
	}
}

// job makes a panic this request's error: here it would end the process, not
// just the request as in the frontend's own goroutine.
func (f *fan) job(ctx context.Context, job *inference.Job, emit func(inference.Delta) bool) (total jobTotal, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f.run.job(ctx, job, emit)
}

func (f *fan) finished(job *inference.Job, total jobTotal, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.run.count(job, total)
	if err != nil && f.err == nil {
		f.err = err
		f.cancel()
	}
}
