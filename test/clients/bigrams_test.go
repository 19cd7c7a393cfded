package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/trident-inference/trident/services/tokenizer"
)

// contracts is the folder of the models with a contract's tensors, relative to this package.
const contracts = "../models-contract"

// tokenizerFiles returns the files of the folder tokenizer: that of the model ensemble, as transformers reads it.
func tokenizerFiles() map[string]string {
	return map[string]string{
		"tokenizer/tokenizer.json":        must(os.ReadFile(filepath.Join(contracts, "ensemble", "tokenizer", "tokenizer.json"))),
		"tokenizer/tokenizer_config.json": `{"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>"}`,
	}
}

// must returns the text of a file of the source tree.
func must(text []byte, err error) string {
	if err != nil {
		panic(err)
	}
	return string(text)
}

// question is a line of the data set of lm-eval-loglikelihood.md.
type question struct {
	Question string   `json:"question"`
	Choices  []string `json:"choices"`
	Answer   int      `json:"answer"`
}

// questions returns the data set of the page.
func questions() (all []question) {
	p, err := readPage("lm-eval-loglikelihood")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(p.files["facts.jsonl"]) {
		var q question
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			panic(err)
		}
		all = append(all, q)
	}
	return all
}

// accuracies returns the lines of the accuracies that the harness must find, computed without it: from the number of
// times that the tokens of each answer follow each other in the model's corpus.
func accuracies() []string {
	words, _, err := tokenizer.Load(os.DirFS(filepath.Join(contracts, "ensemble", "tokenizer")))
	if err != nil {
		panic(err)
	}
	encode := func(text string) []int {
		ids, err := words.Encode(context.Background(), text, false, nil)
		if err != nil {
			panic(err)
		}
		return ids
	}
	pairs, sums := map[[2]int]int{}, map[int]int{}
	corpus := encode(must(os.ReadFile(filepath.Join(contracts, "corpus.txt"))))
	for i := range len(corpus) - 1 {
		pairs[[2]int{corpus[i], corpus[i+1]}]++
		sums[corpus[i]]++
	}
	var right, rightByLength, n int
	for _, q := range questions() {
		best, bestByLength, likeliest, likeliestByLength := -1, -1, math.Inf(-1), math.Inf(-1)
		for i, choice := range q.Choices {
			ids, sum := encode(q.Question+" "+choice), 0.0
			for at := len(encode(q.Question)); at < len(ids); at++ {
				sum += math.Log(float64(pairs[[2]int{ids[at-1], ids[at]}]+1) / float64(sums[ids[at-1]]+words.Size()))
			}
			if sum > likeliest {
				best, likeliest = i, sum
			}
			if each := sum / float64(len(choice)); each > likeliestByLength {
				bestByLength, likeliestByLength = i, each
			}
		}
		n++
		if best == q.Answer {
			right++
		}
		if bestByLength == q.Answer {
			rightByLength++
		}
	}
	if right == rightByLength || right == 0 || right == n {
		panic(fmt.Sprintf("the accuracies %d and %d of %d questions don't tell the metrics apart", right, rightByLength, n))
	}
	return []string{
		fmt.Sprintf("\"acc,none\": %v\n", float64(right)/float64(n)), fmt.Sprintf("\"acc_norm,none\": %v\n", float64(rightByLength)/float64(n)),
	}
}
