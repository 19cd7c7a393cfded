package tokenizer

import (
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestExplore(t *testing.T) {
	for _, name := range []string{"llama3", "deepseek_v3"} {
		data, err := os.ReadFile("../../test/tokenizer/node_modules/@lenml/tokenizer-" + name + "/models/tokenizer.json")
		if err != nil {
			t.Fatal(err)
		}
		tok, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		longest := 0
		for _, s := range tok.vocabulary.tokens {
			longest = max(longest, len(s))
		}
		fmt.Println(name, "longest", longest)
		corpus, _ := os.ReadFile("testdata/corpus.txt")
		r := rand.New(rand.NewSource(1))
		letters := make([]byte, 4<<20)
		for i := range letters {
			letters[i] = byte('a' + r.Intn(26))
		}
		bin := make([]rune, 1<<20)
		for i := range bin {
			bin[i] = rune(0x4e00 + r.Intn(20000))
		}
		digits := strings.Repeat("1 2", 1<<20)
		for label, unit := range map[string]string{
			"corpus": string(corpus), "spaces": " ", "a": "a", "letters": string(letters), "han": string(bin), "digits": digits, "newlines": "\n", "punct": "!?", "marks": "a\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309", "emoji": "\U0001F468\u200d",
			"cr": " \n", "quotes": "'", "mix": "aA",
		} {
			for _, n := range []int{1 << 20, 4 << 20} {
				text := strings.Repeat(unit, n/len(unit)+1)[:n]
				runtime.GC()
				var m0, m1 runtime.MemStats
				runtime.ReadMemStats(&m0)
				c0 := cpu()
				ids, err := tok.Encode(text, false)
				d := cpu() - c0
				runtime.GC()
				runtime.ReadMemStats(&m1)
				fmt.Printf("%-9s %4d KB %7v %8d ids alloc %4d MB kept %4d MB %v\n", label, n>>10, d.Round(time.Millisecond), len(ids), (m1.TotalAlloc-m0.TotalAlloc)>>20, (int(m1.HeapAlloc)-int(m0.HeapAlloc))>>20, err)
			}
		}
	}
}
