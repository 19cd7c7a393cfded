// Package tokenizer turns text into token ids and back, as Hugging Face's
// tokenizers library does from the same tokenizer.json: BPE (byte-level, and
// byte-fallback as in SentencePiece), Unigram and WordPiece. It is for counts, for the
// room left in a context, and for prompts and answers that are ids.
//
// What a file holds and this package does not know is an error that names it.
// Encode does not apply the file's truncation and padding, which are the caller's.
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

// Tokenizer is one model's vocabulary and rules. All methods may be called
// concurrently. It holds the vocabulary and a cache of words of up to maxCached
// bytes with their ids.
type Tokenizer struct {
	vocabulary vocabulary
	// verbatim are the added tokens that are looked for in the text as it came,
	// normalized those looked for in what the normalizer makes of it.
	verbatim, normalized *matcher
	normalizer           normalizer
	splitters            []splitter
	model                model
	template             template
	truncation           *Truncation
	padding              *Padding
	// before and after are the special tokens around a text, by the template.
	before, after []int
	decoders      []decoder
	encoders      *sync.Pool
}

// Load reads tokenizer.json of a model's folder, and tokenizer_config.json where
// there is one. What the second sets is only told: see With.
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

// With is the tokenizer with the special tokens around a text that add_bos_token
// and add_eos_token of a configuration set. Where it has neither, those of
// tokenizer.json stay. transformers 4 does this for Llama's family of tokenizers;
// transformers 5 never does where there is a tokenizer.json.
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

func (t *Tokenizer) single(add *bool, token, name string) ([]int, error) {
	if add == nil || !*add || token == "" {
		return nil, nil
	}
	id, ok := t.ID(token)
	if !ok {
		return nil, fmt.Errorf("%s %q is not in the vocabulary", name, token)
	}
	return []int{id}, nil
}

// Encode is the ids of a text, never nil. Texts of added tokens in it become those tokens.
// With special, the tokens that the model expects around a text are added, such
// as a beginning of sequence. Bytes that are no UTF-8 count as U+FFFD, one each.
//
// A text of n bytes takes time n log n, most of it if it is one word, and up to 50 bytes of
// memory each, which are let go of. Encode ends with ctx within some milliseconds, with its
// error, and where left is used up, with [inference.ErrTextTooLong]. A pattern of
// tokenizer.json that takes more than a second for a match, or five for a text, is an error:
// none of the usual ones can.
func (t *Tokenizer) Encode(ctx context.Context, text string, special bool, left *inference.TextBudget) ([]int, error) {
	e := t.encoder(ctx, left)
	defer t.release(e)
	if err := e.encode(t, text); err != nil {
		return nil, err
	}
	ids := make([]int, 0, len(t.before)+len(e.ids)+len(t.after))
	if special {
		ids = append(ids, t.before...)
	}
	for _, id := range e.ids {
		ids = append(ids, int(id))
	}
	if special {
		ids = append(ids, t.after...)
	}
	return ids, nil
}

// Count is the number of ids that Encode would give, and fails where it would. It keeps no
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

// maxKept is how many ids, or characters of a word, the scratch space of one text may have
// room for to be kept for the next. Those of a long text would stay as long as the process.
const maxKept = 64 << 10

// release gives an encoder back for reuse.
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

// Size is the number of different tokens, the added ones among them.
func (t *Tokenizer) Size() int { return t.vocabulary.size }

// Token is the token of an id as the vocabulary writes it, not as it reads in a
// text: see Bytes.
func (t *Tokenizer) Token(id int) (token string, ok bool) {
	return t.vocabulary.token(id)
}

// ID is the id of a token as the vocabulary writes it.
func (t *Tokenizer) ID(token string) (id int, ok bool) {
	if i, ok := t.vocabulary.addedIDs[token]; ok {
		return int(i), true
	}
	i, ok := t.vocabulary.ids[token]
	return int(i), ok
}

// Special tells whether Decode leaves the token out when it is to skip special
// tokens.
func (t *Tokenizer) Special(id int) bool {
	token, ok := t.Token(id)
	return ok && t.vocabulary.special[token]
}

// vocabulary is the model's tokens and the added ones.
type vocabulary struct {
	ids    map[string]int32
	tokens []string // by id, "" where none
	// empty are the ids whose token is the empty string.
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

// encoder is the scratch space of one Encode.
type encoder struct {
	ids      []int32
	counting bool     // ids are let go of
	counted  int      // those that were
	spans    [][]span // one for each splitter
	word     wordScratch
}

// watch ends what takes long.
type watch struct {
	ctx   context.Context       //nolint:containedctx // of one Encode, which all its steps share
	left  *inference.TextBudget // or nil
	since int                   // work since the context was looked at
	err   error
}

// lookEvery is how much work is done, in bytes of text about, between two looks at the
// context: a millisecond or some.
const lookEvery = 64 << 10

// goOn takes account of work that is about to be done, and reports whether it should be.
func (w *watch) goOn(work int) bool {
	w.since += work
	if w.since >= lookEvery && w.err == nil {
		w.since = 0
		if err := w.ctx.Err(); err != nil {
			w.fail(err)
		}
	}
	return w.err == nil
}

// take takes a normalized text from the budget, and reports whether it was left.
func (w *watch) take(text string) bool {
	if w.left != nil {
		if w.left.Bytes -= len(text); w.left.Bytes < 0 {
			w.fail(inference.ErrTextTooLong)
		}
	}
	return w.err == nil
}

// takeWord is take for a word whose parts are about to be joined.
func (w *watch) takeWord(word string) bool {
	if w.left != nil && len(word) > budget.LongWord {
		if w.left.LongWords -= len(word); w.left.LongWords < 0 {
			w.fail(inference.ErrTextTooLong)
		}
	}
	return w.err == nil
}

// fail keeps the first error.
func (w *watch) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// piece is a part of a normalized text.
type piece struct {
	text string
	// first is whether it is where the text begins.
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

// addedWork is the work of an added token, in bytes of text about.
const addedWork = 16

// push adds an added token.
func (e *encoder) push(id int32) {
	if e.word.watch.goOn(addedWork) {
		e.ids = append(e.ids, id)
		e.count()
	}
}

// count lets go of ids that are but counted.
func (e *encoder) count() {
	if e.counting && len(e.ids) >= maxKept {
		e.counted += len(e.ids)
		e.ids = e.ids[:0]
	}
}

func (e *encoder) normalize(t *Tokenizer, p piece) {
	if !e.word.watch.goOn(len(p.text)) {
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

// split hands a piece to the splitter i, or to the model after the last.
func (e *encoder) split(t *Tokenizer, i int, p piece) {
	switch {
	case e.word.watch.err != nil || p.text == "":
	case i == len(t.splitters):
		if e.word.watch.goOn(len(p.text)) {
			e.ids = t.model.encode(p.text, &e.word, e.ids)
			e.count()
		}
	default:
		t.splitters[i].split(e, t, i, p)
	}
}

// repair replaces each byte that is no UTF-8, as decoding of JSON does.
func repair(text string) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteRune(r)
	}
	return b.String()
}
