package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// maxParallelJobs is the maximum number of jobs of one request that run in the engine at once.
const maxParallelJobs = 32

// textRun is the execution of one request on a model.
type textRun struct {
	card         *catalog.Card
	req          *inference.Request
	lora         string // name of the LoRA adapter, or ""
	jobs         []*inference.Job
	images       *inference.Images // nil if there are none
	tokens       int               // number of tokens of the answers
	promptTokens []int             // number of tokens of each prompt
	cached       []*int            // number of tokens of each prompt that the engine found in a cache, nil if it isn't known
	onlyPrompt   int               // number of tokens of the only prompt by the model's tokenizer, or 0
	comparable   bool              // the engine counts onlyPrompt too
	knownPrompt  int               // onlyPrompt if the engine isn't asked for it, else 0
	uncounted    bool              // the tokens of an answer were not counted
	scoring      *scoring          // nil if the request needs no log probabilities of prompts
	nextTop      int               // number of alternatives to the only new token that come with the prompt's, or 0
	hidden       bool              // best_of needs the log probabilities, but the client didn't request them
	reading      *reading          // nil if answers need no parsing
	measure      *metering.Measure
}

// planChoices creates a job for each choice of each prompt. It doesn't use the backends' own n,
// because vLLM's backend loses and merges texts. The choices of a prompt get different seeds. With
// the same seed, all choices would be equal.
func (r *textRun) planChoices(prompts []string, maxTokens int) {
	r.promptTokens, r.cached = make([]int, len(prompts)), make([]*int, len(prompts))
	for p, prompt := range prompts {
		for i := range candidates(r.req) {
			job := &inference.Job{Index: len(r.jobs), Prompt: prompt, PromptIndex: p, PromptTokens: r.knownPrompt, MaxTokens: maxTokens, Images: r.images}
			if seed := r.req.Sampling.Seed; seed != nil {
				s := *seed + int64(i)
				job.Seed = &s
			}
			r.jobs = append(r.jobs, job)
		}
	}
}

// deltas runs the jobs. The token counts are complete when the sequence has ended without an error.
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

// count adds a job's tokens. The choices of a prompt share the prompt's tokens.
func (r *textRun) count(job *inference.Job, total jobTotal) {
	r.tokens += total.tokens
	r.uncounted = r.uncounted || total.uncounted
	r.promptTokens[job.PromptIndex] = max(r.promptTokens[job.PromptIndex], total.prompt)
	if r.comparable && r.knownPrompt == 0 && job.Index == 0 {
		r.card.Prompts.Compare(r.onlyPrompt, total.prompt)
	}
	if total.cached != nil {
		// The prompt is counted once. The engine finds it in the cache for the choices after the first.
		if least := &r.cached[job.PromptIndex]; *least == nil || **least > *total.cached {
			*least = total.cached
		}
	}
}

// countPrompt decides whether the engine is asked for the number of tokens of the only prompt. A
// response without a stream has the number once, and so proves the tokenizer at no cost. Images,
// the engine's own truncation and adapters with tokens of their own change the number.
func (r *textRun) countPrompt() {
	r.comparable = r.onlyPrompt > 0 && r.lora == "" && !r.req.OnlyPrompt() && r.req.Sampling.TruncatePromptTokens == nil && len(r.req.ImageRefs()) == 0
	if r.comparable && r.req.Stream && !r.card.Prompts.Asks() {
		r.knownPrompt = r.onlyPrompt
	}
}

// cachedTokens returns the number of prompt tokens that the engine found in a cache. It is nil unless it is
// known for each prompt.
func (r *textRun) cachedTokens() *int {
	sum := 0
	for i, cached := range r.cached {
		if cached == nil {
			return nil
		}
		sum += min(*cached, r.promptTokens[i]) // the last block may have more tokens than the prompt
	}
	if len(r.cached) == 0 || r.scoring != nil { // the score has put the prompt into the cache
		return nil
	}
	return &sum
}

// usage returns the sum of the tokens that deltas has counted. The model's tokenizer counts prompts
// that the model didn't count.
func (r *textRun) usage() *inference.Usage {
	for _, job := range r.jobs {
		if n := &r.promptTokens[job.PromptIndex]; *n == 0 && r.card.Tokenizer != nil {
			*n, _ = r.card.Tokenizer.Count(context.Background(), job.Prompt, true, nil) // an error must not fail a complete answer; the same text was counted before
		}
	}
	u := &inference.Usage{CompletionTokens: r.tokens, Unknown: r.uncounted}
	for _, n := range r.promptTokens {
		u.PromptTokens += n
		u.Unknown = u.Unknown || n == 0 && r.card.Tokenizer == nil
	}
	u.CachedTokens = r.cachedTokens()
	return u
}

// jobTotal is the number of tokens that a job has used.
type jobTotal struct {
	prompt, tokens int
	cached         *int // of the prompt's tokens, nil if it isn't known
	uncounted      bool // neither the engine nor a tokenizer has counted the tokens of an answer
}

// jobStream turns the steps of one choice into Deltas.
type jobStream struct {
	run          *textRun
	job          *inference.Job
	index        int  // index of the choice
	severalTexts bool // the job has several texts
	text         wholeUTF8
	stop         stopSequences
	stopped      bool // reports whether the choice ended at a stop sequence
	finish       inference.FinishReason
	total        jobTotal
	tally        tally
	held         bool // the last Delta had More set
	begun        bool // the first Delta was made
	score        *inference.PromptScore
	parse        *parse // nil if there is no parser
	pace         metering.Pace
}

// job runs one job and passes its Deltas to emit until emit returns false.
func (r *textRun) job(ctx context.Context, job *inference.Job, emit func(inference.Delta) bool) (total jobTotal, err error) {
	score, err := r.scoreOf(ctx, job)
	if err != nil {
		return jobTotal{}, err
	}
	if r.req.OnlyPrompt() {
		return r.echo(job, score, emit), nil
	}
	if r.lora == "" {
		return r.infer(ctx, job, nil, score, emit)
	}
	err = r.adapted(ctx, job, func(job *inference.Job, used *catalog.LoRAUse) error {
		total, err = r.infer(ctx, job, used, score, emit)
		return err
	})
	return total, err
}

// adapted calls run with the job's adapter, if the request has one. If the engine lacks the adapter, adapted
// sends it once.
func (r *textRun) adapted(ctx context.Context, job *inference.Job, run func(*inference.Job, *catalog.LoRAUse) error) error {
	if r.lora == "" {
		return run(job, nil)
	}
	routing := r.routing(job)
	for again := false; ; again = true {
		used, err := r.adapt(ctx, job, routing, again, run)
		if used == nil {
			return err
		}
		if again || !errors.Is(err, inference.ErrNoLoRA) || !used.Missed() {
			return used.Explain(err)
		}
	}
}

// adapt calls run with the job's adapter. The returned use is nil if run wasn't called.
func (r *textRun) adapt(ctx context.Context, job *inference.Job, routing *inference.Routing, again bool, run func(*inference.Job, *catalog.LoRAUse) error) (*catalog.LoRAUse, error) {
	if placer, several := r.card.Engine.(inference.Placer); several {
		release, err := placer.Place(inference.WithRouting(ctx, routing), r.card.Name)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	used, err := r.card.UseLoRA(ctx, r.lora, routing, again)
	if err != nil {
		return nil, err
	}
	defer used.Settle()
	adapted := *job
	adapted.LoRA = &used.LoRA
	return used, run(&adapted, used)
}

// stream sends a job's request to the engine, with or without an adapter.
func (r *textRun) stream(ctx context.Context, job *inference.Job, infer *kserve.ModelInferRequest, used *catalog.LoRAUse) iter.Seq2[*inference.Response, error] {
	infer.Id = r.req.ID
	routing := r.routing(job)
	if used != nil {
		routing = used.Routing() // has the server that the adapter's state is about
	}
	if routing != nil {
		ctx = inference.WithRouting(ctx, routing)
	}
	limitText(ctx, r.card.Config, infer)
	if used != nil && used.Sends() {
		ctx = inference.WhenSent(ctx, func() { used.Sent(infer) })
	}
	return traced(ctx, func(ctx context.Context) iter.Seq2[*inference.Response, error] {
		return r.card.Engine.Stream(ctx, infer)
	})
}

// expectedAnswer is the number of tokens that an answer is expected to have if its limit is higher.
const expectedAnswer = 256

// routing describes a job for an engine that chooses between servers. It returns nil for other
// engines.
func (r *textRun) routing(job *inference.Job) *inference.Routing {
	if _, several := r.card.Engine.(inference.Placer); !several {
		return nil
	}
	routing := &inference.Routing{Adapter: r.lora, Prompt: job.Prompt, PromptTokens: job.PromptTokens, AnswerTokens: min(job.MaxTokens, expectedAnswer)}
	if job.Images != nil {
		routing.Images = job.Images.Digests()
	}
	return routing
}

// infer runs a job in the engine, with or without an adapter.
func (r *textRun) infer(ctx context.Context, job *inference.Job, used *catalog.LoRAUse, score *inference.PromptScore, emit func(inference.Delta) bool) (jobTotal, error) {
	infer, err := r.card.Backend.Encode(&r.card.Target, r.req, job)
	if err != nil {
		return jobTotal{}, err
	}
	s, err := r.newSequences(job, score)
	if err != nil {
		return jobTotal{}, err
	}
	for resp, err := range r.stream(ctx, job, infer, used) { //nolint:contextcheck // generated tokens are counted even if the client disconnects
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
	_, err = s.read(&inference.Response{Final: true}, emit) //nolint:contextcheck // generated tokens are counted even if the client disconnects
	return s.total(), err
}

func (r *textRun) newStream(job *inference.Job, index int) (*jobStream, error) {
	sampling := &r.req.Sampling
	parse, err := r.newParse(job)
	return &jobStream{
		run: r, job: job, index: index, parse: parse, total: jobTotal{prompt: job.PromptTokens}, tally: tally{tokenizer: r.card.Tokenizer},
		stop: stopSequences{texts: sampling.Stop, include: sampling.IncludeStop != nil && *sampling.IncludeStop},
	}, err
}

// isOnlyChoice reports whether this is the only choice of the answer. The usage then follows the choice.
func (s *jobStream) isOnlyChoice() bool { return len(s.run.jobs) == 1 && !s.severalTexts }

// emitDelta emits a Delta, or the Deltas that the parser derives from it. It returns false if the consumer
// has stopped.
func (s *jobStream) emitDelta(delta *inference.Delta, emit func(inference.Delta) bool) bool {
	if s.parse == nil {
		return s.show(delta, emit)
	}
	return s.emitParsed(delta, emit)
}

// show emits a Delta if it has content, or if it must flush the previous Delta.
func (s *jobStream) show(delta *inference.Delta, emit func(inference.Delta) bool) bool {
	if delta.Empty() && (!s.held || delta.More) {
		return true
	}
	s.held = delta.More
	delta.PromptTokens, delta.OutputTokens = cmp.Or(s.total.prompt, s.run.onlyPrompt), s.total.tokens
	return emit(*delta)
}

func (r *textRun) explain(err error) error {
	if known, ok := errors.AsType[*inference.Error](err); ok {
		return r.card.Backend.Explain(r.req, known)
	}
	return err
}

// read emits the Delta of one step. The argument more is set if the next step has arrived. read returns
// false if the consumer has stopped.
func (s *jobStream) read(step *inference.Step, end, more bool, emit func(inference.Delta) bool) bool {
	if s.stopped {
		return true
	}
	delta := s.delta(step, end, more)
	return s.emitDelta(&delta, emit)
}

// delta returns the Delta of one step. The last Delta of a choice has the finish reason.
func (s *jobStream) delta(step *inference.Step, end, more bool) inference.Delta {
	delta := inference.Delta{Index: s.index, More: more}
	s.total.prompt = max(s.total.prompt, step.PromptTokens)
	if step.CachedTokens != nil {
		s.total.cached = step.CachedTokens
	}
	s.total.tokens += step.OutputTokens
	s.run.measure.Step(&s.pace, step.OutputTokens, len(step.Text) > 0, more && !end)
	s.finish = cmp.Or(step.Finish, s.finish)
	s.tally.add(step)
	delta.Text, delta.Logprobs = s.answer(step, end), step.Logprobs
	if s.stopped {
		s.finish = inference.FinishStop
		delta.More = s.isOnlyChoice()
	}
	s.begin(&delta)
	if s.run.nextTop > 0 && len(delta.Logprobs) > 0 { // the only token
		delta.Logprobs[0].Top = s.score.Next
	}
	if end || s.stopped {
		s.countRest()
		delta.Finish = finishOf(s.finish, s.total.tokens, s.job.MaxTokens)
		if s.run.req.Sampling.ReportStop {
			delta.StopSequence = s.stop.found
		}
	}
	return delta
}

// begin adds what precedes the answer to the first Delta of the choice.
func (s *jobStream) begin(delta *inference.Delta) {
	if s.begun {
		return
	}
	s.begun, delta.Prompt = true, s.score
	if s.run.req.Echo {
		delta.Text = append([]byte(s.job.Prompt), delta.Text...)
	}
}

// countRest counts the tokens that the engine hasn't counted.
func (s *jobStream) countRest() {
	rest := s.tally.count()
	s.total.tokens += rest
	s.run.measure.Flush(&s.pace)
	s.run.measure.More(rest)
}

// answer returns the part of the step's text that may be emitted. Before min_tokens, stop sequences
// are ignored, unless the model reports no token counts.
func (s *jobStream) answer(step *inference.Step, end bool) []byte {
	text := s.text.add(step.Text, end)
	if least := s.run.req.Sampling.MinTokens; least != nil && s.total.tokens <= *least && s.tally.tokenizer == nil {
		return text
	}
	text, s.stopped = s.stop.add(text, end)
	return text
}

// finishOf derives the finish reason if the backend has reported none.
func finishOf(given inference.FinishReason, tokens, limit int) inference.FinishReason {
	switch {
	case given != inference.FinishNone:
		return given
	case limit > 0 && tokens >= limit:
		return inference.FinishLength
	}
	return inference.FinishStop
}

// part is a Delta that a job's goroutine sends to the consumer. The job waits for taken before it
// continues, because the Delta's slices belong to the job.
type part struct {
	delta inference.Delta
	taken chan<- struct{}
}

// fan runs a request's jobs in parallel.
type fan struct {
	run    *textRun
	parts  chan part
	cancel context.CancelFunc
	next   atomic.Int64 // index of the next job to run

	mu  sync.Mutex
	err error // the first error of a job
}

// fanOut runs the jobs, at most maxParallelJobs at once, and interleaves their Deltas. The first
// error cancels all jobs. All goroutines have ended when fanOut returns.
func (r *textRun) fanOut(ctx context.Context, yield func(inference.Delta, error) bool) {
	workers := min(len(r.jobs), maxParallelJobs)
	ctx, cancel := context.WithCancel(ctx)
	f := &fan{run: r, parts: make(chan part, workers), cancel: cancel}
	var running sync.WaitGroup
	for range workers {
		running.Go(func() { f.work(ctx) })
	}
	go func() { running.Wait(); close(f.parts) }()
	defer func() { // this also runs if the consumer panics
		cancel()
		for p := range f.parts {
			p.taken <- struct{}{}
		}
	}()
	for p := range f.parts {
		if !f.deliver(p, yield) {
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

func (f *fan) deliver(p part, yield func(inference.Delta, error) bool) bool {
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

// job converts a panic to an error of this request. In this goroutine, a panic would end the process;
// in a frontend's goroutine, it ends only the request.
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
