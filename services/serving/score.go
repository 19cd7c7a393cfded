package serving

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/vector"
)

// scoring computes the log probabilities of a request's prompts. Each prompt is one inference, because the
// engine returns the logits with each token of a stream, and because the choices of a prompt share them.
type scoring struct {
	backend inference.Scorer
	top     int
	prompts []promptScoring
	memory  *logitMemory
}

// promptScoring is the score of one prompt, which the first job of the prompt computes.
type promptScoring struct {
	ids   []int
	added int
	once  sync.Once
	score *inference.PromptScore
	err   error
}

// planScores prepares the log probabilities of the prompts if the request needs them. It refuses requests
// that the model can't serve, before any inference.
func (r *textRun) planScores(ctx context.Context, prompts []string, memory *logitMemory) error {
	backend, err := r.scorer()
	if backend == nil || err != nil {
		return err
	}
	top, _ := r.req.Scores()
	s := &scoring{backend: backend, top: top, prompts: make([]promptScoring, len(prompts)), memory: memory}
	if err := s.tokenize(ctx, r.card, r.req, prompts); err != nil {
		return err
	}
	r.scoring = s
	r.planNext()
	return nil
}

// scorer returns the backend that returns the log probabilities of the request's prompts, or nil if the request
// needs none. It refuses requests that the model can't serve.
func (r *textRun) scorer() (inference.Scorer, error) {
	if _, needed := r.req.Scores(); !needed {
		return nil, nil //nolint:nilnil // the request doesn't need them
	}
	backend, ok := r.card.Backend.(inference.Scorer)
	switch {
	case !ok:
		return nil, r.req.UnsupportedScore("its backend returns no log probabilities of prompts")
	case r.card.Tokenizer == nil:
		return nil, r.req.UnsupportedScore("its tokenizer isn't known")
	case len(r.req.ImageRefs()) > 0:
		return nil, r.req.UnsupportedScore("the tokens of images aren't known")
	case r.req.Sampling.TruncatePromptTokens != nil:
		return nil, r.req.UnsupportedScore("truncate_prompt_tokens can't be used with it")
	}
	return backend, nil
}

// tokenize finds the token ids of the prompts, and refuses prompts beyond the budgets.
func (s *scoring) tokenize(ctx context.Context, card *catalog.Card, req *inference.Request, prompts []string) error {
	left, total := textBudget(card, len(prompts)), 0
	prefix, _ := startPrefix(card.Tokenizer) //nolint:contextcheck // the call encodes an empty string
	for i, prompt := range prompts {
		ids, err := card.Tokenizer.Encode(ctx, prompt, true, left)
		if err != nil {
			return errTokenize(card, req.TextParam(), prompt, err)
		}
		p := &s.prompts[i]
		p.ids = ids
		if len(prefix) > 0 && len(ids) > 0 && ids[0] == prefix[0] && !startsWith(req, i, prefix[0]) {
			p.added = 1
		}
		if most := budget.ContextLogits / s.logitBytes(card); len(ids) > most {
			return &inference.Error{
				Code: inference.CodeInvalid, Reason: inference.ReasonContextLength, Param: req.TextParam(),
				Message: fmt.Sprintf("%s has %d tokens, but log probabilities are available for prompts of at most %d tokens of this model, whose engine returns %d logits for each", req.TextParam(), len(ids), most, card.Tokenizer.Size()),
			}
		}
		total += len(ids) * (s.top + 1)
	}
	if req.Messages == nil { // completions return them with each choice, chats once
		total *= max(req.N, 1)
	}
	if total > budget.PromptLogprobs {
		return inference.Invalid(req.ScoreParam(), "the response has %d log probabilities of prompts, but at most %d are returned for one request: send fewer prompts, or a lower n", total, budget.PromptLogprobs)
	}
	return nil
}

// startsWith reports whether the client's own token ids of a prompt start with a token.
func startsWith(req *inference.Request, prompt, id int) bool {
	return prompt < len(req.Prompts) && len(req.Prompts[prompt].TokenIDs) > 0 && req.Prompts[prompt].TokenIDs[0] == id
}

// logitBytes returns the number of bytes of the logits of one token.
func (s *scoring) logitBytes(card *catalog.Card) int { return 4 * max(card.Tokenizer.Size(), 1) }

// planNext uses the logits after the prompt for the alternatives to the only new token, for models that
// don't return them with their tokens.
func (r *textRun) planNext() {
	s := &r.req.Sampling
	if s.Logprobs == nil || *s.Logprobs == 0 || s.MaxTokens == nil || *s.MaxTokens != 1 || r.card.Backend.Extras(r.card.Config).TopLogprobs {
		return
	}
	asked := *r.req
	r.nextTop, asked.Sampling.Logprobs = *s.Logprobs, new(0)
	r.req = &asked
}

// scoreOf returns the log probabilities of a job's prompt, or nil if the request doesn't need them.
func (r *textRun) scoreOf(ctx context.Context, job *inference.Job) (*inference.PromptScore, error) {
	if r.scoring == nil {
		return nil, nil //nolint:nilnil // the request doesn't need them
	}
	p := &r.scoring.prompts[job.PromptIndex]
	p.once.Do(func() {
		p.err = r.adapted(ctx, job, func(job *inference.Job, used *catalog.LoRAUse) error {
			var err error
			p.score, err = r.score(ctx, job, used)
			return err
		})
	})
	return p.score, p.err
}

// echo emits the only Delta of a choice without new tokens.
func (r *textRun) echo(job *inference.Job, score *inference.PromptScore, emit func(inference.Delta) bool) jobTotal {
	total := jobTotal{}
	if score != nil {
		total.prompt = len(score.Tokens)
	}
	r.measure.Answer()
	emit(inference.Delta{
		Index: job.Index, Text: []byte(job.Prompt), Prompt: score, PromptTokens: cmp.Or(total.prompt, r.onlyPrompt),
		Finish: inference.FinishLength, More: len(r.jobs) == 1,
	})
	return total
}

// score runs the inference that returns the logits of a job's prompt.
func (r *textRun) score(ctx context.Context, job *inference.Job, used *catalog.LoRAUse) (*inference.PromptScore, error) {
	s, p := r.scoring, &r.scoring.prompts[job.PromptIndex]
	infer, err := s.backend.EncodeScore(&r.card.Target, r.req, job)
	if err != nil {
		return nil, err
	}
	if len(p.ids) == 0 {
		return &inference.PromptScore{}, nil
	}
	size := int64(len(p.ids)) * int64(s.logitBytes(r.card))
	release, err := s.memory.acquire(ctx, r.card.Name, size)
	if err != nil {
		return nil, err
	}
	defer release()
	var score *inference.PromptScore
	for resp, err := range r.stream(ctx, job, infer, used) {
		if err != nil {
			return nil, r.explain(err)
		}
		if score != nil || resp.Idle {
			continue
		}
		if used != nil {
			used.Arrived()
		}
		logits, err := s.backend.DecodeScore(&r.card.Target, resp)
		if err != nil {
			return nil, err
		}
		if logits != nil {
			if score, err = r.readLogits(ctx, job, logits); err != nil {
				return nil, err
			}
		}
	}
	if score == nil {
		return nil, r.req.UnsupportedScore("its engine returns no logits of prompts")
	}
	return score, nil
}

// readLogits computes the log probabilities of a prompt's tokens. Only those are kept.
func (r *textRun) readLogits(ctx context.Context, job *inference.Job, logits *inference.Logits) (*inference.PromptScore, error) {
	p, tokenizer := &r.scoring.prompts[job.PromptIndex], r.card.Tokenizer
	if logits.Rows != len(p.ids) {
		return nil, r.req.UnsupportedScore(fmt.Sprintf("its engine returns the logits of %d tokens, but the prompt has %d tokens: it must run without the reuse of KV cache blocks, and with the tokenizer that Trident uses", logits.Rows, len(p.ids)))
	}
	// The columns above the vocabulary are padding.
	row := newLogitRow(logits, min(tokenizer.Size(), logits.Columns), max(r.scoring.top, r.nextTop))
	score := &inference.PromptScore{Tokens: make([]inference.PromptToken, len(p.ids)), Added: p.added, Length: utf8.RuneCountInString(job.Prompt)}
	texts := newTokenTexts(tokenizer, job.Prompt)
	for i, id := range p.ids {
		token := &score.Tokens[i]
		token.ID = id
		token.Token, token.Offset = texts.next(id, i < p.added)
		if i == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if id >= row.columns {
			return nil, fmt.Errorf("model %s: the logits have %d columns, but the prompt has the token %d", r.card.Name, row.columns, id)
		}
		row.read(i - 1)
		token.Logprob, token.Rank = row.logprob(row.values[id]), row.rank(row.values[id])
		token.Top = r.topOf(row, r.scoring.top, p.ids[i-1])
	}
	if r.nextTop > 0 {
		row.read(logits.Rows - 1)
		score.Next = r.topOf(row, r.nextTop, p.ids[logits.Rows-1])
	}
	return score, nil
}

// topOf returns the likeliest tokens of a row, which follow the token before.
func (r *textRun) topOf(row *logitRow, n, before int) []inference.TopLogprob {
	top := make([]inference.TopLogprob, 0, n)
	for _, id := range row.top[:min(n, len(row.top))] {
		top = append(top, inference.TopLogprob{Token: textAfter(r.card.Tokenizer, []int{before}, []int{id}), ID: id, Logprob: row.logprob(row.values[id])})
	}
	return top
}

// textAfter returns the text of tokens after other tokens. Tokenizers may decode the first token of a text
// without its leading space.
func textAfter(tokenizer inference.Tokenizer, before, ids []int) string {
	first := tokenizer.Decode(before, false)
	if whole := tokenizer.Decode(slices.Concat(before, ids), false); strings.HasPrefix(whole, first) {
		return whole[len(first):]
	}
	return tokenizer.Decode(ids, false)
}

// logitRow is one row of logits.
type logitRow struct {
	logits  *inference.Logits
	columns int
	values  []float32
	norm    float64 // logarithm of the sum of the exponentials
	top     []int   // the columns with the highest values, highest first
	most    int
}

// newLogitRow returns a reader of rows, whose first columns are those of the vocabulary.
func newLogitRow(logits *inference.Logits, columns, top int) *logitRow {
	return &logitRow{logits: logits, columns: columns, values: make([]float32, columns), top: make([]int, 0, top+1), most: top}
}

// read reads a row.
func (w *logitRow) read(row int) {
	size := vector.Size(w.logits.Type)
	vector.Read(w.values, w.logits.Type, w.logits.Raw[row*w.logits.Columns*size:][:w.columns*size])
	highest := float32(math.Inf(-1))
	for _, v := range w.values {
		highest = max(highest, v)
	}
	sum := 0.0
	for _, v := range w.values {
		// Smaller ones don't change a float64 of at least 1. NaN must reach the sum.
		if below := float64(v - highest); !(below < -40) {
			sum += math.Exp(below)
		}
	}
	w.norm = float64(highest) + math.Log(sum)
	w.choose()
}

// choose finds the columns with the highest values. Equal values keep the order of their columns.
func (w *logitRow) choose() {
	w.top = w.top[:0]
	if w.most == 0 {
		return
	}
	for id, v := range w.values {
		if len(w.top) == w.most && v <= w.values[w.top[w.most-1]] {
			continue
		}
		at, _ := slices.BinarySearchFunc(w.top, v, func(other int, v float32) int {
			if w.values[other] >= v {
				return -1
			}
			return 1
		})
		w.top = slices.Insert(w.top, at, id)[:min(len(w.top)+1, w.most)]
	}
}

// logprob returns the log probability of a token with this logit.
func (w *logitRow) logprob(logit float32) float64 {
	p := float64(logit) - w.norm
	if math.IsNaN(p) {
		return inference.MinLogprob
	}
	return min(max(p, inference.MinLogprob), 0)
}

// rank returns the rank of a token with this logit, from 1.
func (w *logitRow) rank(logit float32) int {
	rank := 1
	for _, v := range w.values {
		if v > logit {
			rank++
		}
	}
	return rank
}

// tokenTexts finds the texts of a prompt's tokens, and their offsets in the prompt.
type tokenTexts struct {
	tokenizer inference.Tokenizer
	rest      string // the part of the prompt after the tokens that were found
	offset    int    // its offset, in code points
	last      []int  // the previous token
	parts     []int  // tokens that are parts of a character, after the tokens that were found
}

func newTokenTexts(tokenizer inference.Tokenizer, prompt string) *tokenTexts {
	return &tokenTexts{tokenizer: tokenizer, rest: prompt}
}

// maxParts is the maximum number of tokens of one character.
const maxParts = 8

// next returns the text of the next token and its offset. A token that the engine adds isn't part of the
// prompt. A part of a character is U+FFFD, at the character's offset.
func (t *tokenTexts) next(id int, added bool) (text string, offset int) {
	alone := t.tokenizer.Decode([]int{id}, false)
	if added {
		t.last = []int{id}
		return alone, t.offset
	}
	offset = t.offset
	t.parts = append(t.parts, id)
	found := cmp.Or(t.prefix(textAfter(t.tokenizer, t.last, t.parts)), t.prefix(t.tokenizer.Decode(t.parts, false)))
	if found != "" {
		t.rest, t.offset = t.rest[len(found):], t.offset+utf8.RuneCountInString(found)
		if len(t.parts) == 1 {
			alone = found
		}
		t.last, t.parts = []int{id}, t.parts[:0]
	} else if len(t.parts) == maxParts {
		t.last, t.parts = []int{id}, t.parts[:0]
	}
	return alone, offset
}

// prefix returns the text if it is complete and begins the rest of the prompt, or "".
func (t *tokenTexts) prefix(text string) string {
	if !strings.HasPrefix(t.rest, text) {
		return ""
	}
	return text
}
