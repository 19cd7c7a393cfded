package toolparser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/test/cputime"
	"github.com/trident-inference/trident/test/tier"
)

// BenchmarkText measures the cost of parsing one token of plain text. Budget: 100 ns of CPU and no
// allocation. Compare runs with `go test -bench Text -count 6` and benchstat.
func BenchmarkText(b *testing.B) {
	tokens := [][]byte{[]byte("The"), []byte(" quick"), []byte(" {brown}"), []byte(" fox"), []byte(".\n"), []byte(" a <b>"), []byte(" [1]"), []byte(" jumps")}
	for _, names := range [][2]string{{"", ""}, {"hermes", "qwen3"}, {"llama3", ""}, {"mistral", "mistral"}, {"qwen3_coder", "qwen3"}, {"deepseek_v31", ""}, {"pythonic", ""}, {"openai", "openai_gptoss"}} {
		b.Run(fmt.Sprintf("tools=%s,reasoning=%s", names[0], names[1]), func(b *testing.B) {
			p, err := Dialects{}.Parser(options(names[0], names[1]))
			if err != nil {
				b.Fatal(err)
			}
			p.Parse([]byte("It"))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				p.Parse(tokens[i&7])
				i++
			}
		})
	}
}

// BenchmarkArguments measures the cost of parsing one byte of a tool call's arguments, fed token by
// token.
func BenchmarkArguments(b *testing.B) {
	call := `<tool_call>{"name": "f", "arguments": {"x": "` + strings.Repeat(`word \"and\" `, 1000) + `"}}</tool_call>`
	parts := cut([]byte(call), 1)
	b.SetBytes(int64(len(call)))
	for b.Loop() {
		p, err := Dialects{}.Parser(options("hermes", ""))
		if err != nil {
			b.Fatal(err)
		}
		for _, part := range parts {
			p.Parse([]byte(part))
		}
	}
}

// TestLinear feeds texts that make the parsers look ahead repeatedly. Byte by byte, the
// held-back part must stay short. As a whole, the time must not be that of a quadratic
// parse.
func TestLinear(t *testing.T) {
	units := []string{
		"<", "<tool_call>", "\n{\"name\": ", "[TOOL_CALLS]a", " \n", "[", "{", "[f(x=[", "<function=", "<function=f>\n<parameter=", "<function=f>\n<parameter=x>\n",
		deepseekCall + "f", deepseekCall + "f" + deepseekSep, "<|channel|>a", "<|channel|><|message|>", "{\"arguments\": {\"x\": \"", "Here", "<think>", "<tool_call>f<arg_key>", "<|tool_call>call:f{x:[", m3Outer + m3Call + "f>" + m3Open + "a>", "<｜DSML｜invoke name=", "<|open|>", "</co", "<function_calls>f(x=1)\n", "\\", "[f(x=1, y='",
	}
	size := tier.Size(1<<14, 1<<17)
	if tier.Race {
		size /= 4
	}
	limit := time.Duration(size) * 40 * time.Microsecond // 5 s for 128 KiB
	for _, o := range every() {
		o.MaxBytes = 1 << 30
		for _, unit := range units {
			small, large := strings.Repeat(unit, 1<<10/len(unit)), strings.Repeat(unit, size/len(unit))
			if held := mostHeld(t, o, bytewise(small)); held > maxHeader+64 {
				t.Errorf("%s %s: of %q it holds back %d bytes", o.Tools, o.Reasoning, unit, held)
			}
			took := cputime.Of(t, func() { mostHeld(t, o, []string{large}) })
			if took > limit {
				t.Errorf("%s %s: %q takes %v for %d bytes", o.Tools, o.Reasoning, unit, took, len(large))
			}
		}
	}
}

// mostHeld feeds the parts to a parser. It returns the maximum number of held-back
// bytes.
func mostHeld(t *testing.T, o *inference.ParserOptions, parts []string) int {
	t.Helper()
	made, err := Dialects{}.Parser(o)
	if err != nil {
		t.Fatal(err)
	}
	p, most := made.(*parser), 0
	for _, part := range parts {
		p.Parse([]byte(part))
		most = max(most, len(p.dialect.base().held))
		if p.thinking != nil {
			most = max(most, len(p.thinking.held))
		}
	}
	p.Finish()
	return most
}

// BenchmarkFormats measures the cost of parsing one token in each format of tool calls and of reasoning.
// The inputs are text, and calls with nested arguments and code or reasoning, in tokens of four bytes. Budget: 1 µs of CPU a
// token. Compare runs with `go test -bench Formats -count 6` and benchstat.
func BenchmarkFormats(b *testing.B) {
	paths, err := filepath.Glob("testdata/vectors/*.json")
	if err != nil || len(paths) == 0 {
		b.Fatalf("no vectors: %v", err)
	}
	for _, path := range paths {
		f, tokens := benchTokens(b, path)
		o := options(f.Format, "")
		if strings.HasPrefix(filepath.Base(path), "reasoning_") {
			o = options(f.Format, f.Reasoning)
		}
		b.Run("format="+strings.TrimSuffix(filepath.Base(path), ".json"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := Dialects{}.Parser(o)
				if err != nil {
					b.Fatal(err)
				}
				for _, token := range tokens {
					p.Parse(token)
				}
				p.Finish()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(tokens)), "ns/token")
		})
	}
}

// benchTokens returns the recorded model outputs of a file that contain tool calls or reasoning, split
// into tokens.
func benchTokens(b *testing.B, path string) (*vectorFile, [][]byte) {
	b.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	var f vectorFile
	if err := json.Unmarshal(data, &f); err != nil {
		b.Fatal(err)
	}
	words := strings.Repeat("Some words of an answer that make up most of what a model writes. ", 10)
	text := words
	for range 10 {
		for _, v := range f.Vectors {
			switch v.Name {
			case "lines": // reasoning stands at the start
				text = strings.Replace(v.In, "Line 2", strings.Repeat("Line 2 ", 200), 1) + words
			case "nested", "parallel", "code in an argument", "quotes and line breaks":
				text += v.In + "\n"
			}
		}
	}
	var tokens [][]byte
	for text != "" {
		n := min(4, len(text))
		tokens = append(tokens, []byte(text[:n]))
		text = text[n:]
	}
	return &f, tokens
}
