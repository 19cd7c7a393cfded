package tokenizer_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// alphabets are the letters of which sentences makes words, as ranges, with the punctuation and
// the space of their script.
var alphabets = []struct {
	letters     string
	stop, comma string
	space       string
}{
	{"azaaeezz", ". ", ", ", " "},
	{"azeeiionrtàÿ", ". ", "; ", " "},
	{"azaeāžőű", "! ", ", ", " "},
	{"azơưạỹ", ". ", ", ", " "},
	{"αωάώ", ". ", "· ", " "},
	{"аяєїђџ", ". ", " — ", " "},
	{"աֆ", "։ ", ", ", " "},
	{"את", ". ", ", ", " "},
	{"بيكک", "؟ ", "، ", " "},
	{"कहाौंँ", "। ", ", ", " "},
	{"কহাৌ", "। ", ", ", " "},
	{"கஹாௌ", ". ", ", ", " "},
	{"กฮะูเไ่์", " ", " ", ""},
	{"ကအါှ", "။ ", "၊ ", ""},
	{"აჰ", ". ", ", ", " "},
	{"አኸ", "። ", "፣ ", " "},
	{"ぁん", "。", "、", ""},
	{"ァヶーー", "。", "・", ""},
	{"一丁三仅人仟", "。", "，", ""},
	{"가힣", ". ", ", ", " "},
	{"𐐀𐐧", ". ", ", ", " "},
}

// words returns the words of an alphabet.
func wordsOf(random *rand.Rand, letters []rune, n int) []string {
	all := make([]string, n)
	for i := range all {
		var b strings.Builder
		for range random.IntN(9) + 1 {
			pair := random.IntN(len(letters)/2) * 2
			b.WriteRune(letters[pair] + random.Int32N(max(letters[pair+1]-letters[pair], 0)+1))
		}
		all[i] = b.String()
	}
	return all
}

// sentences returns lines of sentences in 21 scripts, with numbers, quotation marks and links.
// Frequent words repeat as in prose. Different seeds use the same words.
func sentences(n int, seed uint64) []text {
	random := rand.New(rand.NewPCG(13, 14))
	lexicon := make([][]string, len(alphabets))
	for i, a := range alphabets {
		lexicon[i] = wordsOf(random, []rune(a.letters), 3000)
	}
	random = rand.New(rand.NewPCG(seed, 15))
	texts := make([]text, n)
	for i := range texts {
		script := random.IntN(len(alphabets))
		var b strings.Builder
		for range random.IntN(30) + 1 {
			sentenceWord(random, &b, script, lexicon[script])
		}
		texts[i] = text{fmt.Sprintf("sentences %d %.60q", i, b.String()), b.String()}
	}
	return texts
}

// sentenceWord appends a word, or sometimes something else, and what separates it from the next
// one.
func sentenceWord(random *rand.Rand, b *strings.Builder, script int, lexicon []string) {
	word := lexicon[int(float64(len(lexicon))*random.Float64()*random.Float64()*random.Float64())]
	switch a := alphabets[script]; random.IntN(40) {
	case 0:
		fmt.Fprintf(b, "%d%s", random.IntN(100_000), a.space)
	case 1:
		fmt.Fprintf(b, "https://example.com/%x?q=%d#%s ", random.IntN(1<<20), random.IntN(99), word)
	case 2:
		b.WriteString("“" + word + "”" + a.comma)
	case 3:
		b.WriteString(strings.ToUpper(word) + a.space)
	case 4:
		b.WriteString([]string{"  ", "\t", "\u00a0", "\u3000", "🙂", "👩‍🚀 ", "<b>", "</s>", "[SEP]", "(…)", "50 %", "e\u0301", "ﬁ", "№ ①"}[random.IntN(14)])
	case 5, 6, 7:
		b.WriteString(word + a.stop)
	case 8, 9:
		b.WriteString(word + a.comma)
	default:
		b.WriteString(word + a.space)
	}
}

// names returns lines of names of languages and regions in all languages of Unicode's CLDR, from
// golang.org/x/text.
func names(n int) []text {
	random := rand.New(rand.NewPCG(17, 18))
	in := display.Supported.Tags()
	var regions []language.Region
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			if r, err := language.ParseRegion(string([]rune{a, b})); err == nil && r.IsCountry() {
				regions = append(regions, r)
			}
		}
	}
	texts := make([]text, n)
	for i := range texts {
		tag := in[random.IntN(len(in))]
		languages, countries := display.Languages(tag), display.Regions(tag)
		var b strings.Builder
		for range random.IntN(12) + 1 {
			if languages != nil {
				b.WriteString(languages.Name(in[random.IntN(len(in))]) + ", ")
			}
			if countries != nil {
				b.WriteString(countries.Name(regions[random.IntN(len(regions))]) + "; ")
			}
		}
		texts[i] = text{fmt.Sprintf("names %d in %v %.60q", i, tag, b.String()), b.String()}
	}
	return texts
}

// installedLines returns the lines of texts in installed packages: descriptions of Python's
// packages, and the samples of a module for Unicode's rules, which have broken UTF-8.
func installedLines(t *testing.T) (texts []text) {
	t.Helper()
	files, err := filepath.Glob("../../.venv-test/lib/python3*/site-packages/*.dist-info/METADATA")
	if err != nil || len(files) == 0 {
		t.Fatalf("no packages of Python: %v: run make setup-test", err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/clipperhouse/uax29/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	samples := filepath.Join(strings.TrimSpace(string(out)), "testdata")
	for _, file := range append(files, filepath.Join(samples, "sample.txt"), filepath.Join(samples, "UTF-8-test.txt")) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(data), "\n") {
			if line != "" {
				texts = append(texts, text{fmt.Sprintf("line %d of %s", i+1, filepath.Base(filepath.Dir(file))), line})
			}
		}
	}
	return texts
}
