// Package tokenizer turns text into token ids and back, as Hugging Face's
// tokenizers library does from the same tokenizer.json: BPE (byte-level, and
// byte-fallback as in SentencePiece) and WordPiece. It is for counts, for the
// room left in a context, and for prompts and answers that are ids.
//
// What a file holds and this package does not know is an error that names it.
// Two things of a file are known and not applied: truncation and padding, which
// are the caller's.
package tokenizer

import (
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"unicode/utf8"
)

// Tokenizer is one model's vocabulary and rules. All methods may be called
// concurrently. It holds the vocabulary, and at most 16,384 words of up to 48
// bytes with their ids, to meet them faster again.
type Tokenizer struct {
	vocabulary vocabulary
	// verbatim are the added tokens that are looked for in the text as it came,
	// normalized those looked for in what the normalizer makes of it.
	verbatim, normalized *matcher
	normalizer           normalizer
	splitters            []splitter
	model                model
	// before and after are the special tokens around a text.
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
	changed := *t
	var err error
	if changed.before, err = t.single(config.AddBOS, config.BOS, "bos_token"); err != nil {
		return nil, err
	}
	if changed.after, err = t.single(config.AddEOS, config.EOS, "eos_token"); err != nil {
		return nil, err
	}
	return &changed, nil
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
// It fails only where a pattern of tokenizer.json takes more than a second, which
// none of the usual ones can.
func (t *Tokenizer) Encode(text string, special bool) ([]int, error) {
	e := t.encoder()
	defer t.encoders.Put(e)
	if err := e.encode(t, text); err != nil {
		return nil, err
	}
	ids := make([]int, 0, len(t.before)+len(e.ids)+len(t.after))
	if !special {
		return append(ids, e.ids...), nil
	}
	return append(append(append(ids, t.before...), e.ids...), t.after...), nil
}

// Count is the number of ids that Encode would give, and fails where it would.
func (t *Tokenizer) Count(text string, special bool) (int, error) {
	e := t.encoder()
	defer t.encoders.Put(e)
	if err := e.encode(t, text); err != nil {
		return 0, err
	}
	n := len(e.ids)
	if special {
		n += len(t.before) + len(t.after)
	}
	return n, nil
}

func (t *Tokenizer) encoder() *encoder {
	if e, ok := t.encoders.Get().(*encoder); ok {
		return e
	}
	return &encoder{spans: make([][]span, len(t.splitters))}
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
	ids   []int
	err   error
	spans [][]span // one for each splitter
	word  wordScratch
}

// piece is a part of a normalized text.
type piece struct {
	text string
	// first is whether it is where the text begins.
	first bool
}

func (e *encoder) encode(t *Tokenizer, text string) error {
	e.ids, e.err = e.ids[:0], nil
	if !utf8.ValidString(text) {
		text = repair(text)
	}
	t.verbatim.split(text, func(p piece, id int32) {
		if id >= 0 {
			e.ids = append(e.ids, int(id))
		} else {
			e.normalize(t, p)
		}
	})
	return e.err
}

func (e *encoder) normalize(t *Tokenizer, p piece) {
	text, err := t.normalizer.apply(p.text)
	if err != nil {
		e.err = err
		return
	}
	t.normalized.split(text, func(q piece, id int32) {
		if id >= 0 {
			e.ids = append(e.ids, int(id))
			return
		}
		q.first = q.first && p.first
		e.split(t, 0, q)
	})
}

// split hands a piece to the splitter i, or to the model after the last.
func (e *encoder) split(t *Tokenizer, i int, p piece) {
	switch {
	case e.err != nil || p.text == "":
	case i == len(t.splitters):
		e.ids = t.model.encode(p.text, &e.word, e.ids)
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
