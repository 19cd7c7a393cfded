package tokenizer_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// text is one text of the corpus.
type text struct{ name, text string }

// corpus returns prose, code, other usual input of models, and unusual input.
func corpus(tb testing.TB) []text {
	tb.Helper()
	data, err := os.ReadFile("testdata/corpus.txt")
	if err != nil {
		tb.Fatal(err)
	}
	var texts []text
	var all strings.Builder
	for _, part := range strings.Split("\n"+string(data), "\n=== ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		texts = append(texts, text{name, body})
		all.WriteString(body)
	}
	texts = append(texts, text{"everything", all.String()})
	return append(texts, oddTexts()...)
}

// oddTexts returns texts of invisible characters, and long texts.
func oddTexts() []text {
	return []text{
		{"nothing", ""},
		{"a space", " "},
		{"spaces", "     "},
		{"a newline", "\n"},
		{"newlines", "\n\n\n\n"},
		{"newlines and spaces", " \n  \n \n\n   x \n "},
		{"carriage returns", "a\r\nb\r\n\r\nc\rd \r\n e\r"},
		{"other spaces", "a\u00a0b\u2003c\u3000d\u202fe\u1680f\u0085g\u2028h\u2029i\vj\fk \u00a0 \u00a0l"},
		{"not quite spaces", "a\u200bb\u200cc\u200dd\u2060e\ufefff\u180eg\u00adh"},
		{"controls", "a\x00b\x01c\x02\x03\x1b[31mred\x1b[0m\x7f\x80\u009f\x00\x00"},
		{"replacement", "a\ufffdb\ufffd\ufffdc \ufffd"},
		{"private and unassigned", "\ue000\uf8ff\U000f0000\U0010fffd \u0378\u0380 \U0001fbff \ufffe\uffff\U0010ffff"},
		{"direction marks", "\u202eevil\u202c \u2066x\u2069 \u200fy\u200e"},
		{"combining", "e\u0301 e\u0327\u0301 e\u0301\u0327 \u0301lone a\u0308\u0304 q\u0307\u0323 q\u0323\u0307 \u1e9b\u0323 \u0344 \u0958 \u2126 \u212b"},
		{"combining, many", "x" + strings.Repeat("\u0301\u0327\u0323", 25) + "y" + strings.Repeat("\u0300", 64)},
		{"hangul by letters", "\u1112\u1161\u11ab\u1100\u1173\u11af \u1100\u1161 \uac00\u11a8 \u11a8"},
		{"compatibility", "ﷺ ﬃ ㍿ ㋿ ① ㎏ ｆｕｌｌｗｉｄｔｈ ＡＢＣ ﾊﾝｶｸ ⅷ ℌ ª º ĳ ŉ ǆ ſt"},
		{"new letters", "\u1c89\u1c8a\ua7cb\ua7da\ua7dc\U0001c000\U00016d40\U00016d41 \U0002ebf0\U0002ebf1 \U00010d50\U00010d70 \U0001cc00\U0001cd00 \U00011938\u061d\u2e43\u0898"},
		{"special tokens", "<s>a</s> <|endoftext|><|begin_of_text|>b<|eot_id|> [CLS] c [SEP]<unk><bos><eos><pad> <|im_start|>user\nhi<|im_end|>\n<｜begin▁of▁sentence｜>x<｜User｜> <tool_call></tool_call><think> <|reserved_special_token_5|> <start_of_turn> [INST] [/INST] <|fim_prefix|>"},
		{"broken special tokens", "<|endoftext <|endoftext|> |> <s <s > </s><<s>> < |im_start| > <|im_start <unused0><unused99> <0x0A> <0xE4><0xBD><0xA0> ▁ ▁▁ Ġ Ċ"},
		{"metaspace", "▁a▁▁b ▁ c▁"},
		{"word pieces", "##ing unaffable " + strings.Repeat("x", 99) + " " + strings.Repeat("y", 100) + " " + strings.Repeat("z", 101)},
		{"a letter, long", strings.Repeat("a", 3000)},
		{"two letters, long", strings.Repeat("ab", 1500) + "c"},
		{"capitals, long", strings.Repeat("A", 700) + "中" + strings.Repeat("B", 700)},
		{"digits, long", strings.Repeat("1234567890", 120)},
		{"spaces, long", "x" + strings.Repeat(" ", 1500) + "y" + strings.Repeat(" ", 100) + "\n" + strings.Repeat("\t", 100)},
		{"newlines, long", strings.Repeat("\n", 700) + " " + strings.Repeat("\r\n", 100)},
		{"dashes, long", strings.Repeat("-", 500) + strings.Repeat("=-", 200)},
		{"chinese, long", strings.Repeat("中文字符", 300)},
		{"emoji, long", strings.Repeat("👩‍👩‍👧‍👦", 50)},
		{"no space", strings.Repeat("supercalifragilistic", 40)},
		{"base64", strings.Repeat("QmFzZTY0IGlzIG5vdCBwcm9zZQ+/aGVsbG8gd29ybGQ9", 30) + "=="},
	}
}

// shuffled returns artificial texts: characters of all kinds and the strings at
// which tokenizers split, in random order. The seed is fixed.
func shuffled(n int) []text {
	random := rand.New(rand.NewPCG(3, 4))
	kinds := [][2]rune{
		{0x20, 0x7e},
		{'a', 'z'},
		{'A', 'Z'},
		{'0', '9'},
		{1, 0x20},
		{0xa0, 0x24f},
		{0x300, 0x36f},
		{0x370, 0x5ff},
		{0x600, 0x6ff},
		{0x900, 0xdff},
		{0xe00, 0xe7f},
		{0x1100, 0x11ff},
		{0x1e00, 0x1fff},
		{0x2000, 0x206f},
		{0x20a0, 0x2bff},
		{0x3000, 0x30ff},
		{0x3300, 0x33ff},
		{0x4e00, 0x9fff},
		{0xac00, 0xd7a3},
		{0xe000, 0xffff},
		{0x10000, 0x1ffff},
		{0x20000, 0x323af},
		{1, 0xd7ff},
	}
	bits := []string{" ", "  ", "\n", "\r\n", "\t", "'s", "'LL", "'ſ", "▁", "Ġ", "<s>", "</s>", "<unk>", "<0x41>", "[SEP]", "the", "##a", "--", "\u3000", "ß"}
	texts := make([]text, n)
	for i := range texts {
		var b strings.Builder
		for range random.IntN(24) + 1 {
			kind := kinds[random.IntN(len(kinds))]
			for range random.IntN(4) {
				b.WriteRune(kind[0] + random.Int32N(kind[1]-kind[0]+1))
			}
			if random.IntN(3) == 0 {
				b.WriteString(bits[random.IntN(len(bits))])
			}
		}
		texts[i] = text{fmt.Sprintf("shuffled %d %.60q", i, b.String()), b.String()}
	}
	return texts
}
