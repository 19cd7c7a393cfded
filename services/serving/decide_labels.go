package serving

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// label is the answer to a question that stands for an option. It is one token.
type label struct {
	text string
	id   int
}

// labelFinder finds labels in a vocabulary. It keeps what it has found for the questions of a request.
type labelFinder struct {
	tokenizer inference.Tokenizer
	ids       map[string]int // ids of texts that are one token; -1 for other texts
}

func newLabelFinder(tokenizer inference.Tokenizer) *labelFinder {
	return &labelFinder{tokenizer: tokenizer, ids: map[string]int{}}
}

// find returns a label for each option of a question: its words, or labels of the first alphabet that
// has enough labels of one token.
func (f *labelFinder) find(ctx context.Context, q *DecisionQuestion, model string) ([]label, error) {
	if q.Messages != nil {
		return f.words(ctx, q.Words, model)
	}
	n, most := len(q.Options), 0
	for _, texts := range labelAlphabets(q.Words, n) {
		labels, err := f.choose(ctx, texts, n)
		if err != nil {
			return nil, err
		}
		if len(labels) == n {
			return labels, nil
		}
		most = max(most, len(labels))
	}
	return nil, inference.Unsupported("question", "question has %d answers, but the vocabulary of the model `%s` has only %d labels of one token: ask for fewer answers", n, model, most)
}

// words returns the labels of the only words that a model may answer with.
func (f *labelFinder) words(ctx context.Context, words []string, model string) ([]label, error) {
	labels, err := f.choose(ctx, slices.Values(words), len(words))
	if err == nil && len(labels) < len(words) {
		err = inference.Unsupported("model", "scores are not supported by the model `%s`: its vocabulary doesn't have each of %s as one token", model, strings.Join(words, ", "))
	}
	return labels, err
}

// choose returns the first n texts that are one token, or all if there are fewer.
func (f *labelFinder) choose(ctx context.Context, texts iter.Seq[string], n int) ([]label, error) {
	labels, seen := make([]label, 0, n), make(map[int]bool, n)
	for text := range texts {
		id, err := f.id(ctx, text)
		if err != nil {
			return nil, err
		}
		if id < 0 || seen[id] {
			continue
		}
		seen[id] = true
		if labels = append(labels, label{text: text, id: id}); len(labels) == n {
			break
		}
	}
	return labels, nil
}

// id returns the id of a text that is one token, or -1. A tokenizer that puts a space before each text
// does so before an answer, too.
func (f *labelFinder) id(ctx context.Context, text string) (int, error) {
	if id, known := f.ids[text]; known {
		return id, nil
	}
	ids, err := f.tokenizer.Encode(ctx, text, false, nil)
	if err != nil {
		return 0, err
	}
	id := -1
	if len(ids) == 1 && strings.TrimSpace(f.tokenizer.Decode(ids, true)) == text {
		id = ids[0]
	}
	f.ids[text] = id
	return id, nil
}

// labelAlphabets returns the words, if there are as many as options, and then alphabets of labels. The last
// one has all labels.
func labelAlphabets(words []string, n int) []iter.Seq[string] {
	var alphabets []iter.Seq[string]
	if len(words) == n {
		alphabets = append(alphabets, slices.Values(words))
	}
	return append(alphabets, letters, numbers, pairs, allLabels)
}

// allLabels yields the labels of all alphabets.
func allLabels(yield func(string) bool) {
	for _, texts := range []iter.Seq[string]{letters, numbers, pairs, characters} {
		for text := range texts {
			if !yield(text) {
				return
			}
		}
	}
}

// letters yields A to Z.
func letters(yield func(string) bool) {
	for c := 'A'; c <= 'Z' && yield(string(c)); c++ { //nolint:revive // the condition yields
	}
}

// numbers yields 1 to 999. Many vocabularies have a token for each of them, others for each digit.
func numbers(yield func(string) bool) {
	for i := 1; i < 1000 && yield(strconv.Itoa(i)); i++ { //nolint:revive // the condition yields
	}
}

// pairs yields AA to ZZ.
func pairs(yield func(string) bool) {
	for first := range letters {
		for second := range letters {
			if !yield(first + second) {
				return
			}
		}
	}
}

// characters yields single characters of several scripts.
func characters(yield func(string) bool) {
	for _, span := range [][2]rune{{'a', 'z'}, {'0', '9'}, {'Α', 'Ω'}, {'α', 'ω'}, {'А', 'я'}, {'ぁ', 'ん'}, {'一', '一' + 1023}} {
		for c := span[0]; c <= span[1]; c++ {
			if !yield(string(c)) {
				return
			}
		}
	}
}
