package inference_test

import (
	"slices"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// TestEncodePairs checks the pairs of two lists, and of one text with a list.
func TestEncodePairs(t *testing.T) {
	second := []string{"x", "y", "z"}
	for _, tt := range []struct{ first, want []string }{
		{[]string{"a", "b", "c"}, []string{"ax", "by", "cz"}},
		{[]string{"a"}, []string{"ax", "ay", "az"}},
	} {
		var got []string
		for i, pair := range inference.EncodePairs(tt.first, second) {
			got = append(got, pair.Text+*pair.Second)
			if pair.Second != &second[i] {
				t.Errorf("pair %d has a copy of its second text", i)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestRanking checks the order of scores, of which two are equal, and the maximum number of results.
func TestRanking(t *testing.T) {
	answer := inference.EncodeAnswer{Results: []inference.Encoded{{Score: 0.5}, {Score: -1}, {Score: 2}, {Score: 0.5}}}
	for top, want := range map[int][]int{0: {2, 0, 3, 1}, 1: {2}, 3: {2, 0, 3}, 4: {2, 0, 3, 1}, 9: {2, 0, 3, 1}} {
		if got := answer.Ranking(top); !slices.Equal(got, want) {
			t.Errorf("the first %d of the ranking are %v, want %v", top, got, want)
		}
	}
}

// TestLikeliest checks the class with the highest number, and the first one of several.
func TestLikeliest(t *testing.T) {
	for want, classes := range [][]float64{{0.5, 0.5}, {-2, -1, -1}, {0, 0.1, 0.9}} {
		if got := (&inference.Encoded{Classes: classes}).Likeliest(); got != want {
			t.Errorf("the likeliest class of %v is %d, want %d", classes, got, want)
		}
	}
}
