package serving

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/trident-inference/trident/services/inference"
)

// maxSequences is the maximum number of texts that a model may generate for one request.
const maxSequences = 128

// sequences converts the responses of one job to choices. There is one choice, except for models that
// generate several texts for a request by themselves.
type sequences struct {
	run     *textRun
	job     *inference.Job
	decoder inference.Decoder
	score   *inference.PromptScore
	streams []*jobStream // the choices by sequence index
	step    inference.Step
}

func (r *textRun) newSequences(job *inference.Job, score *inference.PromptScore) (*sequences, error) {
	s := &sequences{run: r, job: job, score: score, decoder: r.card.Backend.Decoder(&r.card.Target, r.req)}
	_, err := s.stream(0)
	return s, err
}

// stream returns the stream of a sequence. Additional choices follow all requested choices: sequence
// by sequence, in the order of the jobs.
func (s *sequences) stream(sequence int) (*jobStream, error) {
	switch {
	case sequence < 0 || sequence >= maxSequences:
		return nil, fmt.Errorf("model %s: a response has the sequence index %d, which isn't from 0 to %d", s.run.card.Name, sequence, maxSequences-1)
	case sequence > 0 && ranks(s.run.req):
		return nil, inference.Unsupported("best_of", "best_of above n is not supported by the model `%s`, because one inference of it returns several answers", s.run.req.Model)
	}
	for len(s.streams) <= sequence {
		stream, err := s.run.newStream(s.job, len(s.streams)*len(s.run.jobs)+s.job.Index)
		if err != nil {
			return nil, err
		}
		stream.score = s.score
		s.streams = append(s.streams, stream)
	}
	for _, stream := range s.streams {
		stream.severalTexts = len(s.streams) > 1
	}
	return s.streams[sequence], nil
}

// read emits the Deltas of one response. It returns false if the consumer has stopped.
func (s *sequences) read(resp *inference.Response, emit func(inference.Delta) bool) (bool, error) {
	first := s.streams[0]
	if resp.Idle {
		return first.show(&inference.Delta{Index: first.index, Idle: true, More: resp.More}, emit), nil
	}
	s.step = inference.Step{}
	if err := s.decoder.Decode(resp, &s.step); err != nil {
		return false, err
	}
	if s.step.Sequence == 0 && len(s.step.Others) == 0 && len(s.streams) == 1 {
		wanted := first.read(&s.step, resp.Final, resp.More || resp.Final && first.isOnlyChoice(), emit)
		return wanted && !first.stopped, nil
	}
	if wanted, err := s.readAll(resp, emit); !wanted || err != nil || !resp.Final {
		return wanted, err
	}
	return s.end(emit), nil
}

// readAll emits the Deltas of a response that extends several texts. It returns false if the consumer
// has stopped, or if all texts have reached a stop sequence.
func (s *sequences) readAll(resp *inference.Response, emit func(inference.Delta) bool) (bool, error) {
	for i := -1; i < len(s.step.Others); i++ {
		step := &s.step
		if i >= 0 {
			step = &s.step.Others[i]
		}
		stream, err := s.stream(step.Sequence)
		if err != nil {
			return false, err
		}
		if !stream.read(step, false, resp.More || i < len(s.step.Others)-1, emit) {
			return false, nil
		}
	}
	return slices.ContainsFunc(s.streams, func(stream *jobStream) bool { return !stream.stopped }), nil
}

// end ends several texts. Only the job's last response is known to be the last one of each text.
func (s *sequences) end(emit func(inference.Delta) bool) bool {
	for i, stream := range s.streams {
		if !stream.read(&inference.Step{}, true, i < len(s.streams)-1 || len(s.run.jobs) == 1, emit) {
			return false
		}
	}
	return true
}

// total returns the number of tokens that the job has used.
func (s *sequences) total() jobTotal {
	var total jobTotal
	for _, stream := range s.streams {
		total.prompt = max(total.prompt, stream.total.prompt)
		total.cached = cmp.Or(total.cached, stream.total.cached)
		total.tokens += stream.total.tokens
		total.uncounted = total.uncounted || stream.total.tokens == 0 && s.run.card.Tokenizer == nil
	}
	return total
}

// tally counts the tokens of a sequence with the tokenizer if the model doesn't report counts.
type tally struct {
	tokenizer inference.Tokenizer // nil if the model counts
	text      []byte
}

// add records the text of a step, until a step has a count.
func (t *tally) add(step *inference.Step) {
	if step.OutputTokens > 0 {
		t.tokenizer, t.text = nil, nil
	}
	if t.tokenizer != nil {
		t.text = append(t.text, step.Text...)
	}
}

// count returns the number of tokens that the model didn't report. Further calls return 0.
func (t *tally) count() int {
	if t.tokenizer == nil {
		return 0
	}
	n, _ := t.tokenizer.Count(context.Background(), string(t.text), false, nil) // an error must not fail a complete answer
	t.tokenizer = nil
	return n
}
