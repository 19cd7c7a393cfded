package encoders

import (
	"math"
	"math/rand/v2"
	"strings"
)

// words are those of the texts: common and rare English ones, numbers, punctuation, and words of
// other scripts.
const words = `the of and a to in is it was for on with as by at from this that river mountain engine market doctor teacher
window garden harbour station letter number winter summer morning evening yellow purple quiet rapid gentle broken ancient
electricity photosynthesis constitution thermodynamics counterintuitive internationalization hippopotamus chrysanthemum
walks sings measured computed borrowed remembered forgets travelling swimming rebuilding 7 42 1969 3.14 $12 50% , . ; : ! ? ( )
- " ' naïve café Zürich Ångström façade œuvre straße Łódź İstanbul привет мир книга Αθήνα λόγος שלום مرحبا नमस्ते 東京 日本語 こんにちは
한국어 中文 你好 🙂 🚀 e-mail http://example.org C++ co-operate it's don't U.S.A. x² ½ ﬁne ＡＢＣ`

// Texts returns texts that are the same in each run. Their numbers of words are log-uniform between
// the bounds, and the first text has the least number.
func Texts(seed uint64, count, least, most int) []string {
	all := strings.Fields(words)
	random := rand.New(rand.NewPCG(seed, 28)) //nolint:gosec // the texts must be the same in each run
	texts := make([]string, count)
	for i := range texts {
		size := least
		if i > 0 {
			size = int(math.Round(float64(least) * math.Pow(float64(most)/float64(least), random.Float64())))
		}
		chosen := make([]string, size)
		for j := range chosen {
			chosen[j] = all[random.IntN(len(all))]
		}
		texts[i] = strings.Join(chosen, " ")
	}
	return texts
}
