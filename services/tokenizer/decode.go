package tokenizer

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// decoder is one step of the conversion of tokens to text.
type decoder struct {
	// start returns a stage for one text. With whole, the stage may wait for all
	// tokens. Without whole, for a stream, the stage holds back as little as
	// possible.
	start func(whole bool) stage
	// bytes returns the bytes of a token inside of a text. It is nil if the
	// decoder doesn't change single tokens.
	bytes func(token []byte) []byte
}

// stage receives tokens and emits the resulting tokens or text.
type stage interface {
	push(token string, emit func(string))
	end(emit func(string))
}

// newDecoders reads a decoder. Some decoders join all tokens into one. The
// decoders after them receive this token in parts. Decoders that can't process
// parts receive it gathered.
func newDecoders(c *component) ([]decoder, error) {
	if c == nil {
		return []decoder{{start: func(bool) stage { return &spaced{} }}}, nil
	}
	parts, err := flatten(c)
	if err != nil {
		return nil, err
	}
	var all []decoder
	fused := false
	for _, part := range parts {
		d, joins, streams, err := newDecoder(part, fused)
		if err != nil {
			return nil, err
		}
		if fused && !streams {
			all = append(all, decoder{start: func(bool) stage { return &gathered{} }})
		}
		all = append(all, d)
		fused = fused || joins
	}
	return all, nil
}

func flatten(c *component) ([]*component, error) {
	if c == nil {
		return nil, nil
	}
	if c.kind != "Sequence" {
		return []*component{c}, nil
	}
	var f struct {
		typed
		Decoders []*component `json:"decoders"`
	}
	if err := c.decode(&f); err != nil {
		return nil, err
	}
	var all []*component
	for _, part := range f.Decoders {
		parts, err := flatten(part)
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
	}
	return all, nil
}

// newDecoder reads one decoder. joins reports whether the decoder joins all
// tokens into one. streams reports whether it can process one token in parts.
func newDecoder(c *component, fused bool) (d decoder, joins, streams bool, err error) {
	switch c.kind {
	case "Fuse":
		return decoder{start: func(bool) stage { return pass{} }}, true, true, c.bare()
	case "ByteLevel":
		return decoder{func(bool) stage { return &utf8Stage{} }, alphabetBytes}, true, false, c.decode(&byteLevelJSON{})
	case "ByteFallback":
		return decoder{func(whole bool) stage { return &fallbackStage{whole: whole} }, fallbackBytes}, false, false, c.bare()
	case "Replace":
		d, streams, err = newReplaceDecoder(c)
		return d, false, streams, err
	case "Strip":
		d, streams, err = newStripDecoder(c, fused)
		return d, false, streams, err
	case "Metaspace":
		d, err = newMetaspaceDecoder(c)
	case "WordPiece":
		d, err = newWordPieceDecoder(c)
	case "BPEDecoder":
		d, err = newSuffixDecoder(c)
	default:
		err = c.unknown("decoder")
	}
	return d, false, false, err
}

// mapped changes each token depending on its position.
type mapped struct {
	n      int
	change func(token string, n int) string
}

func (m *mapped) push(token string, emit func(string)) {
	emit(m.change(token, m.n))
	m.n++
}

func (*mapped) end(func(string)) {}

type pass struct{}

func (pass) push(token string, emit func(string)) { emit(token) }
func (pass) end(func(string))                     {}

// spaced puts spaces between tokens. It is used if a file has no decoder.
type spaced struct{ any bool }

func (s *spaced) push(token string, emit func(string)) {
	if s.any {
		emit(" ")
	}
	s.any = true
	emit(token)
}

func (*spaced) end(func(string)) {}

// gathered joins all tokens into one.
type gathered struct{ all strings.Builder }

func (g *gathered) push(token string, _ func(string)) { g.all.WriteString(token) }
func (g *gathered) end(emit func(string))             { emit(g.all.String()) }

func newReplaceDecoder(c *component) (d decoder, streams bool, err error) {
	var f struct {
		typed
		Pattern patternJSON `json:"pattern"`
		Content string      `json:"content"`
	}
	if err := c.decode(&f); err != nil {
		return d, false, err
	}
	if f.Pattern.String == nil || *f.Pattern.String == "" {
		return d, false, errors.New("Replace: a decoder with a regular expression is not supported")
	}
	from := *f.Pattern.String
	change := func(token string) string { return strings.ReplaceAll(token, from, f.Content) }
	return alone(change), utf8.RuneCountInString(from) == 1, nil
}

// alone returns a decoder that changes each token independently.
func alone(change func(string) string) decoder {
	return decoder{
		func(bool) stage { return &mapped{change: func(token string, _ int) string { return change(token) }} },
		func(token []byte) []byte { return []byte(change(string(token))) },
	}
}

func newMetaspaceDecoder(c *component) (decoder, error) {
	m, err := c.metaspace()
	if err != nil {
		return decoder{}, err
	}
	change := func(token string, n int) string {
		to := " "
		if n == 0 && m.prepend != never {
			to = ""
		}
		return strings.ReplaceAll(token, m.replacement, to)
	}
	return placed(change), nil
}

// placed returns a decoder that changes each token depending on its position.
func placed(change func(token string, n int) string) decoder {
	return decoder{
		func(bool) stage { return &mapped{change: change} },
		func(token []byte) []byte { return []byte(change(string(token), 1)) },
	}
}

func newWordPieceDecoder(c *component) (decoder, error) {
	var f struct {
		typed
		Prefix  string `json:"prefix"`
		Cleanup bool   `json:"cleanup"`
	}
	if err := c.decode(&f); err != nil {
		return decoder{}, err
	}
	return placed(func(token string, n int) string {
		if rest, inside := strings.CutPrefix(token, f.Prefix); n > 0 && inside {
			token = rest
		} else if n > 0 {
			token = " " + token
		}
		if f.Cleanup {
			token = cleanup(token)
		}
		return token
	}), nil
}

// cleanup removes the spaces that splitting at punctuation has inserted. The
// rules apply in the order of Hugging Face's library, each to the result of the
// previous rules.
func cleanup(text string) string {
	for _, rule := range [][2]string{
		{" .", "."},
		{" ?", "?"},
		{" !", "!"},
		{" ,", ","},
		{" ' ", "'"},
		{" n't", "n't"},
		{" 'm", "'m"},
		{" do not", " don't"},
		{" 's", "'s"},
		{" 've", "'ve"},
		{" 're", "'re"},
	} {
		text = strings.ReplaceAll(text, rule[0], rule[1])
	}
	return text
}

// suffixStage replaces the suffix of words by a space, except for the last word.
type suffixStage struct {
	suffix string
	held   *string
}

func newSuffixDecoder(c *component) (decoder, error) {
	var f struct {
		typed
		Suffix string `json:"suffix"`
	}
	if err := c.decode(&f); err != nil {
		return decoder{}, err
	}
	if f.Suffix == "" {
		return decoder{}, errors.New("BPEDecoder: the suffix is empty")
	}
	return decoder{
		func(bool) stage { return &suffixStage{suffix: f.Suffix} },
		func(token []byte) []byte { return []byte(strings.ReplaceAll(string(token), f.Suffix, " ")) },
	}, nil
}

func (s *suffixStage) push(token string, emit func(string)) {
	if s.held != nil {
		emit(strings.ReplaceAll(*s.held, s.suffix, " "))
	}
	s.held = &token
}

func (s *suffixStage) end(emit func(string)) {
	if s.held != nil {
		emit(strings.ReplaceAll(*s.held, s.suffix, ""))
	}
}

// stripStage removes a limited number of a character from the start of the one
// token that arrives in parts.
type stripStage struct {
	content rune
	left    int
}

func newStripDecoder(c *component, fused bool) (d decoder, streams bool, err error) {
	var f struct {
		typed
		Content string `json:"content"`
		Start   int    `json:"start"`
		Stop    int    `json:"stop"`
	}
	if err := c.decode(&f); err != nil {
		return d, false, err
	}
	content, size := utf8.DecodeRuneInString(f.Content)
	if size == 0 || size != len(f.Content) || f.Start < 0 || f.Stop < 0 {
		return d, false, fmt.Errorf("Strip: content %q is not one character, or start or stop is negative", f.Content)
	}
	if fused && f.Stop == 0 {
		return decoder{start: func(bool) stage { return &stripStage{content, f.Start} }}, true, nil
	}
	return decoder{start: func(bool) stage {
		return &mapped{change: func(token string, _ int) string { return strip(token, f.Content, f.Start, f.Stop) }}
	}}, false, nil
}

func strip(token, content string, start, stop int) string {
	for ; start > 0 && strings.HasPrefix(token, content); start-- {
		token = token[len(content):]
	}
	for ; stop > 0 && strings.HasSuffix(token, content); stop-- {
		token = token[:len(token)-len(content)]
	}
	return token
}

func (s *stripStage) push(token string, emit func(string)) {
	for s.left > 0 && token != "" {
		r, size := utf8.DecodeRuneInString(token)
		if r != s.content {
			s.left = 0
			break
		}
		token = token[size:]
		s.left--
	}
	emit(token)
}

func (*stripStage) end(func(string)) {}
