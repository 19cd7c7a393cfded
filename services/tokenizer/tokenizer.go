// Package tokenizer converts text to token ids and back, like Hugging Face's tokenizers
// library with the same tokenizer.json. It supports BPE (byte-level, and byte-fallback as in
// SentencePiece), Unigram and WordPiece. It is used for token counts, for the remaining room
// in a context, and for prompts and answers that are ids. Finding a model's tokenizer.json
// belongs to package modelfiles, and limits of prompts belong to package serving.
//
// An unsupported part of a file is an error that names it. Encode doesn't apply the file's
// truncation and padding, which the caller applies.
package tokenizer

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
)

// Tokenizer is one model's vocabulary and rules. All methods may be called concurrently. A
// Tokenizer holds the vocabulary and a cache of the ids of words of up to maxCached bytes.
type Tokenizer struct {
	vocabulary vocabulary
	// verbatim matches added tokens in the original text, and normalized matches added
	// tokens in the normalized text.
	verbatim, normalized *matcher
	normalizer           normalizer
	splitters            []splitter
	model                model
	template             template
	truncation           *truncation
	padding              *padding
	// before and after are the special tokens around a text, by the template.
	before, after []int32
	decoders      []decoder
	encoders      *sync.Pool
}

// Load reads tokenizer.json of a model's folder, and tokenizer_config.json if it exists. It
// returns the settings of the second file but doesn't apply them: see With.
func Load(folder fs.FS) (*Tokenizer, Config, error) {
	data, err := fs.ReadFile(folder, "tokenizer.json")
	if err != nil {
		return nil, Config{}, err
	}
	t, err := Parse(data)
	if err != nil {
		return nil, Config{}, fmt.Errorf("tokenizer.json: %w", err)
	}
	config, err := LoadConfig(folder)
	return t, config, err
}

// With returns the tokenizer with the special tokens around a text that add_bos_token and
// add_eos_token of a configuration select. A setting that is nil keeps the special tokens of
// tokenizer.json. transformers 4 does this for Llama's family of tokenizers. transformers 5
// never does this if there is a tokenizer.json.
func (t *Tokenizer) With(config Config) (*Tokenizer, error) {
	if config.AddBOS == nil && config.AddEOS == nil {
		return t, nil
	}
	before, err := t.single(config.AddBOS, config.BOS, "bos_token")
	if err != nil {
		return nil, err
	}
	after, err := t.single(config.AddEOS, config.EOS, "eos_token")
	if err != nil {
		return nil, err
	}
	changed := *t
	changed.arrangeBy(surrounded(before, after))
	return &changed, nil
}

func (t *Tokenizer) arrangeBy(by template) {
	t.template = by
	t.before, t.after = by.around()
}

func (t *Tokenizer) single(add *bool, token, name string) ([]int32, error) {
	if add == nil || !*add || token == "" {
		return nil, nil
	}
	id, ok := t.ID(token)
	if !ok {
		return nil, fmt.Errorf("%s %q is not in the vocabulary", name, token)
	}
	return []int32{int32(id)}, nil
}

// Encode returns the ids of a text, never nil. Strings of added tokens in the text become
// these tokens. With special, Encode adds the tokens that the model expects around a text,
// such as a beginning-of-sequence token. Each byte that isn't UTF-8 is read as U+FFFD.
//
// A text of n bytes takes time n log n; a text that is one word takes the most time. Encode
// takes up to 50 bytes of memory per byte of the text, and releases the memory afterwards.
// When ctx ends, Encode returns its error within some milliseconds. When left is used up,
// Encode returns [inference.ErrTextTooLong]. If a pattern of tokenizer.json takes more than a
// second for a match, or five for a text, Encode returns an error. None of the common
// patterns can take this long.
func (t *Tokenizer) Encode(ctx context.Context, text string, special bool, left *inference.TextBudget) ([]int, error) {
	e := t.encoder(ctx, left)
	defer t.release(e)
	if err := e.encode(t, text); err != nil {
		return nil, err
	}
	ids := make([]int, 0, len(t.before)+len(e.ids)+len(t.after))
	if special {
		ids = widen(ids, t.before)
	}
	ids = widen(ids, e.ids)
	if special {
		ids = widen(ids, t.after)
	}
	return ids, nil
}

// widen appends ids.
func widen(to []int, ids []int32) []int {
	for _, id := range ids {
		to = append(to, int(id))
	}
	return to
}

// Count returns the number of ids that Encode would return, or Encode's error. It stores no
// ids.
func (t *Tokenizer) Count(ctx context.Context, text string, special bool, left *inference.TextBudget) (int, error) {
	e := t.encoder(ctx, left)
	defer t.release(e)
	e.counting = true
	if err := e.encode(t, text); err != nil {
		return 0, err
	}
	n := e.counted + len(e.ids)
	if special {
		n += len(t.before) + len(t.after)
	}
	return n, nil
}

func (t *Tokenizer) encoder(ctx context.Context, left *inference.TextBudget) *encoder {
	e, ok := t.encoders.Get().(*encoder)
	if !ok {
		e = &encoder{spans: make([][]span, len(t.splitters))}
	}
	e.ids, e.counting, e.counted = e.ids[:0], false, 0
	e.word.watch = watch{ctx: ctx, left: left}
	return e
}

// maxKept is the maximum capacity of a text's scratch buffers, in ids or characters of a
// word, that is kept for the next text. Larger buffers would stay allocated until the
// process ends.
const maxKept = 64 << 10

// release returns an encoder to the pool.
func (t *Tokenizer) release(e *encoder) {
	e.word.watch = watch{}
	if cap(e.ids) > maxKept {
		e.ids = nil
	}
	if cap(e.word.symbols) > maxKept || cap(e.word.text) > maxKept || max(cap(e.word.path.steps), cap(e.word.path.sums)) > maxKept {
		e.word = wordScratch{}
	}
	t.encoders.Put(e)
}

// Size returns the number of different tokens, including added tokens.
func (t *Tokenizer) Size() int { return t.vocabulary.size }

// Token returns the token of an id as the vocabulary spells it. Bytes returns its spelling
// in a text.
func (t *Tokenizer) Token(id int) (token string, ok bool) {
	return t.vocabulary.token(id)
}

// ID returns the id of a token as the vocabulary spells it.
func (t *Tokenizer) ID(token string) (id int, ok bool) {
	if i, ok := t.vocabulary.addedIDs[token]; ok {
		return int(i), true
	}
	i, ok := t.vocabulary.ids[token]
	return int(i), ok
}

// Special reports whether Decode with skipSpecial omits the token.
func (t *Tokenizer) Special(id int) bool {
	token, ok := t.Token(id)
	return ok && t.vocabulary.special[token]
}

// vocabulary is the model's tokens and the added tokens.
type vocabulary struct {
	ids    map[string]int32
	tokens []string // the tokens, indexed by id; "" for unused ids
	// empty has the ids whose token is the empty string.
	empty    map[int32]bool
	addedIDs map[string]int32
	special  map[string]bool
	models   int // number of the model's tokens
	size     int
}

func (v *vocabulary) token(id int) (string, bool) {
	if id < 0 || id >= len(v.tokens) {
		return "", false
	}
	token := v.tokens[id]
	return token, token != "" || v.empty[int32(id)]
}

// encoder is the scratch space of one call of Encode.
type encoder struct {
	ids      []int32
	counting bool     // ids are only counted
	counted  int      // number of ids that were dropped
	spans    [][]span // a buffer for each splitter
	word     wordScratch
}

// watch ends an Encode that takes too long.
type watch struct {
	ctx   context.Context       //nolint:containedctx // belongs to one Encode and is shared by its steps
	left  *inference.TextBudget // may be nil
	since int                   // work since the last check of the context
	err   error
}

// checkEvery is the amount of work between two checks of the context, in approximate bytes of
// text. It takes about a millisecond.
const checkEvery = 64 << 10

// proceed records work that is about to be done, and reports whether to do it.
func (w *watch) proceed(work int) bool {
	w.since += work
	if w.since >= checkEvery && w.err == nil {
		w.since = 0
		if err := w.ctx.Err(); err != nil {
			w.fail(err)
		}
	}
	return w.err == nil
}

// take subtracts a normalized text from the budget, and reports whether the budget sufficed.
func (w *watch) take(text string) bool {
	if w.left != nil {
		if w.left.Bytes -= len(text); w.left.Bytes < 0 {
			w.fail(inference.ErrTextTooLong)
		}
	}
	return w.err == nil
}

// takeWord is take for a word whose parts are about to be merged.
func (w *watch) takeWord(word string) bool {
	if w.left != nil && len(word) > budget.LongWord {
		if w.left.LongWords -= len(word); w.left.LongWords < 0 {
			w.fail(inference.ErrTextTooLong)
		}
	}
	return w.err == nil
}

// fail records the first error.
func (w *watch) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// piece is a part of a normalized text.
type piece struct {
	text string
	// first reports whether the piece is at the start of the text.
	first bool
}

func (e *encoder) encode(t *Tokenizer, text string) error {
	if left := e.word.watch.left; left != nil && len(text) > left.Bytes {
		return inference.ErrTextTooLong
	}
	if !utf8.ValidString(text) {
		text = repair(text)
	}
	t.verbatim.split(text, func(p piece, id int32) {
		if id >= 0 {
			e.push(id)
		} else {
			e.normalize(t, p)
		}
	})
	return e.word.watch.err
}

// addedWork is the work of an added token, in approximate bytes of text.
const addedWork = 16

// push appends an added token.
func (e *encoder) push(id int32) {
	if e.word.watch.proceed(addedWork) {
		e.ids = append(e.ids, id)
		e.count()
	}
}

// count drops ids that are only counted.
func (e *encoder) count() {
	if e.counting && len(e.ids) >= maxKept {
		e.counted += len(e.ids)
		e.ids = e.ids[:0]
	}
}

func (e *encoder) normalize(t *Tokenizer, p piece) {
	if !e.word.watch.proceed(len(p.text)) {
		return
	}
	text, err := t.normalizer.apply(p.text)
	if err != nil {
		e.word.watch.fail(err)
		return
	}
	if !e.word.watch.take(text) {
		return
	}
	t.normalized.split(text, func(q piece, id int32) {
		if id >= 0 {
			e.push(id)
			return
		}
		q.first = q.first && p.first
		e.split(t, 0, q)
	})
}

// split passes a piece to the splitter i, or to the model after the last splitter.
func (e *encoder) split(t *Tokenizer, i int, p piece) {
	switch {
	case e.word.watch.err != nil || p.text == "":
	case i == len(t.splitters):
		if e.word.watch.proceed(len(p.text)) {
			e.ids = t.model.encode(p.text, &e.word, e.ids)
			e.count()
		}
	default:
		t.splitters[i].split(e, t, i, p)
	}
}

// repair replaces each byte that isn't UTF-8 by U+FFFD, as decoding of JSON does.
func repair(text string) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteRune(r)
	}
	return b.String()
}
