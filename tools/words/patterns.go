package main

import (
	"regexp"
	"slices"
	"strings"
)

// pattern is a rule about words. Rules that need judgement aren't here: a pattern stays only if at
// least nine of ten of its hits are real.
type pattern struct {
	name    string
	message string // message of a hit: what to write instead
	bad     string // an example that the pattern matches
	good    string // the same meaning in plain terms, which no pattern matches
	kinds   []kind // all kinds if empty
	expr    *regexp.Regexp
	except  *regexp.Regexp      // exceptions, matched from ten bytes before the hit
	find    func(i *item) []int // find replaces expr and returns the offsets of the hits
}

// hits returns the offsets of the hits in an item.
func (p *pattern) hits(i *item) []int {
	if len(p.kinds) > 0 && !slices.Contains(p.kinds, i.kind) {
		return nil
	}
	if p.find != nil {
		return p.find(i)
	}
	text := i.joined()
	var found []int
	for _, m := range p.expr.FindAllStringIndex(text, -1) {
		if p.except == nil || !p.except.MatchString(text[max(0, m[0]-10):min(len(text), m[1]+20)]) {
			found = append(found, m[0])
		}
	}
	return found
}

// phrase compiles an expression for whole words in any case.
func phrase(expr string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:` + expr + `)\b`) }

// patterns returns all patterns. docs/contributing/style.md has the rules behind them.
func patterns() []pattern { return slices.Concat(terms(), phrases(), forms(), errorForms()) }

// terms returns the patterns of words for which the field has a standard term.
func terms() []pattern {
	return []pattern{
		{
			name: "who-asks", message: `write "the client", "the caller" or "the request"`,
			expr: phrase(`who asks|who asked|whoever|whom|(?:to|of|by|for|from|than|as|blames|tells|what) who (?:\w+s|may|can|has)`),
			bad:  "A field is nil for who isn't asked; all are alike to who asks.", good: "The field is nil if the caller isn't authenticated.",
		},
		{
			name: "nobody", message: `name the party: "no client", "a caller"`,
			expr: phrase(`nobody|somebody|anybody`),
			bad:  "The stream ends when nobody reads it.", good: "The stream ends when it has no reader.",
		},
		{
			name: "turns", message: `write "fair queueing", "round robin" or "alternately"; a request waits "in the queue"`,
			expr: phrase(`by turns|in turns|(?:its|their|whose) turns?`),
			bad:  "Clients are served by turns.", good: "Clients are served by fair queueing.",
		},
		{
			name: "stop-text", message: `write "stop sequence"`,
			expr: phrase(`stop(?:ping)?[- ]texts?`),
			bad:  "It cuts the answer at a stop text.", good: "It cuts the answer at a stop sequence.",
		},
		{
			name: "one-piece", message: `write "non-streaming response", "whole" or "at once"`,
			expr: phrase(`in one piece`),
			bad:  "An answer in one piece has no events.", good: "A non-streaming response has no events.",
		},
		{
			name: "sign-of-life", message: `write "keep-alive" or "health check"`,
			expr: phrase(`signs? of life`),
			bad:  "The server is asked for a sign of life.", good: "The server gets a health check.",
		},
		{
			name: "tells", message: `write "reports", "logs", "returns", "shows" or "distinguishes"`,
			expr: phrase(`tells?|told|telling`),
			bad:  "It tells of each model what it holds.", good: "It reports the size of each model.",
		},
		{
			name: "gives", message: `write "returns", "yields" or "sends"; "releases" or "returns" for "gives back"`,
			expr: phrase(`gives? (?:\w+ ){0,3}(?:back|away)|(?:gives|given) (?:out|on)`),
			bad:  "The buffer is used, then it gives its memory back.", good: "The buffer releases its memory.",
		},
		{
			name: "silence", message: `write "idle", "stalled", "without output"; "idle timeout"`,
			expr:   phrase(`silence|(?:falls?|fell|is|are|was|were|stays?|be|goes|a|of|being|long|still|after) silent`),
			except: regexp.MustCompile(`in silence`),
			bad:    "The silence of a model ends the request.", good: "The idle timeout cancels the request.",
		},
		{
			name: "demanded", message: `write "a forced tool call"`,
			expr: phrase(`demanded (?:tool )?calls?|demands? (?:a|the) (?:tool )?calls?`),
			bad:  "A demanded call needs a name.", good: "A forced tool call needs a name.",
		},
		{
			name: "authorities", message: `write "CA certificates" or "CA bundle"`,
			expr: phrase(`authorities`),
			bad:  "The file of the authorities that sign clients.", good: "The CA bundle that verifies client certificates.",
		},
		{
			name: "client-leaves", message: `write "disconnects" or "cancels"`,
			expr: phrase(`(?:clients?|callers?|readers?|consumers?) (?:that |who |which )?(?:leaves?|left|is gone|are gone|has left|have left|has gone|went away|goes away|goes)`),
			bad:  "The client left before the first token.", good: "The client disconnected before the first token.",
		},
		{
			name: "this-process", message: `write "in-process Triton", "in process"`,
			expr: phrase(`in (?:this|our|its|trident's|one) (?:own )?process`),
			bad:  "Triton in this process has no port.", good: "In-process Triton has no port.",
		},
	}
}

// phrases returns the patterns of phrases that have a plain form.
func phrases() []pattern {
	return []pattern{
		{
			name: "apart-by", message: `write "separated by", "comma-separated"`,
			expr: phrase(`apart by`),
			bad:  "Names, apart by commas.", good: "A comma-separated list of names.",
		},
		{
			name: "is-none", message: `write "isn't a …", "is missing" or "is nil"`,
			expr: phrase(`(?:is|are|was|were|be) none`), except: regexp.MustCompile(`(?i)\b(?:there|neither|choice) (?:is|are|was|were|be) none|none of|none,? (?:or )?(?:auto|required)`),
			bad: "A number that is none is refused.", good: "A string that isn't a number is refused.",
		},
		{
			name: "of-before", message: `write "previous", "earlier" or "old"`,
			expr: phrase(`what (?:was|were|stood) before|\w+ of before`),
			bad:  "The file of before stays: what was before goes on.", good: "The previous file stays.",
		},
		{
			name: "all-but", message: `write "except", "all except"`,
			expr: phrase(`all but|but for|save for`),
			bad:  "All tests run, but for the slow ones.", good: "All tests run except the slow ones.",
		},
		{
			name: "says", message: `write "reports whether", "describes", "specifies" or "states"`,
			expr: phrase(`says? (?:whether|what|which|how|so|of|where|when)|said (?:so|of|what)`),
			bad:  "The flag says whether keys are needed.", good: "The flag specifies the minimum number of keys.",
		},
		{
			name: "likewise", message: `repeat the fact`,
			expr: phrase(`likewise|the same of`),
			bad:  "Requests in the queue, likewise.", good: "Maximum number of requests in the queue.",
		},
		{
			name: "is-whether", message: `write "X reports whether …"`,
			expr: phrase(`(?:is|are|was|be) whether`),
			bad:  "closed is whether the stream has ended.", good: "closed reports whether the stream has ended.",
		},
		{
			name: "for-ever", message: `write "forever", "indefinitely" or "without a limit"`,
			expr: phrase(`for ever|without end`),
			bad:  "A request waits for ever.", good: "A request waits indefinitely.",
		},
		{
			name: "archaic", message: `use the common word: "from where", "of it", "again", "as before"`,
			expr: phrase(`whence|hence|thereof|therein|wherein|whereof|whither|lest|aught|naught|nought|thence|henceforth|withal|albeit|heed|ought|anew|as ever|be it`),
			bad:  "The address whence the request came.", good: "The remote address of the request.",
		},
		{
			name: "made-of", message: `write "built from", "generated from" or "computed from"`,
			expr: phrase(`(?:made|makes?) (?:out )?of`),
			bad:  "Requests made of the OpenAPI document.", good: "Requests generated from the OpenAPI document.",
		},
		{
			name: "hears", message: `write "is notified of" or "receives"`,
			expr: phrase(`(?:hears?|heard) (?:of|from|that)|not hear|n't hear`),
			bad:  "The catalog hears of a change.", good: "The catalog is notified of a change.",
		},
		{
			name: "of-ours", message: `write "our", "its" or the owner's name before the noun`,
			expr: phrase(`of (?:ours|theirs)`),
			bad:  "A failure of ours is logged.", good: "An internal error is logged.",
		},
		{
			name: "holds-to", message: `write "checks that", "limits … to" or "tests that"`,
			expr:   phrase(`(?:holds?|held) (?:[\w.']+ ){1,5}to (?:the|its|their|a|an|it|them|that|what|one|those)`),
			except: regexp.MustCompile(`(?i)hold on|hold nothing|hold for`),
			bad:    "TestTable holds the table to the list.", good: "TestTable checks that the table equals the list.",
		},
	}
}

// forms returns the patterns of sentences.
func forms() []pattern {
	return []pattern{
		{
			name: "long-sentence", message: "split the sentence: 35 words at most, better 10 to 20", find: longSentences,
			bad: strings.Repeat("it reads the file and ", 8) + "ends.", good: "It reads the file. It then closes the file.",
		},
		{
			name: "doc-gives", message: `write "X returns …", "X sends …"`, kinds: []kind{doc, comment},
			expr: regexp.MustCompile(`^(?:[A-Za-z_]\w*) gives\b`),
			bad:  "Name gives the model's name.", good: "Name returns the model's name.",
		},
		{
			name: "is-what", message: `name the thing: "X is the …"`, kinds: []kind{doc, comment},
			expr: regexp.MustCompile(`^\w+(?:,? (?:and )?\w+)*? (?:is|are) what\b`),
			bad:  "secretPart is what looks like a secret.", good: "secretPart matches strings that look like secrets.",
		},
		{
			name: "doc-name", message: "begin the comment with the name that it documents", kinds: []kind{doc}, find: misnamed,
			bad: "Finds the model.", good: "Example finds the model.",
		},
		{
			name: "headless", message: `begin with the subject: a comment is a sentence, "X is …", "The …"`,
			expr: regexp.MustCompile(`^(?:What|Who|Whose|Whom|Those|By which|By what|Of which|In which|With which)\b[^?]*$`), kinds: []kind{comment, doc, help, description, metric},
			bad: "What the message doesn't say.", good: "hint returns advice that the message lacks.",
		},
	}
}

// longest is the number of words that a sentence may have.
const longest = 35

// sentenceEnd matches the end of a sentence, of a paragraph or of an item of a list.
var sentenceEnd = regexp.MustCompile(`[.!?]["')\]]*\s+|\n\s*\n|\n\s*(?:[-*]|\d+\.)\s|\n(?:  +|\t)[^\n]*|\|`)

func longSentences(i *item) []int {
	var found []int
	start := 0
	check := func(end int) {
		text := i.text[start:end]
		if n := words(text); n > longest && !strings.Contains(text, "\t") {
			found = append(found, start+len(text)-len(strings.TrimLeft(text, " \n\t")))
		}
	}
	if i.kind == message {
		return nil // the string may be a program or the input of a test
	}
	for _, m := range sentenceEnd.FindAllStringIndex(i.text, -1) {
		if m[0] >= start {
			check(m[0])
			start = m[1]
		}
	}
	check(len(i.text))
	return found
}

// misnamed finds the comment of an exported declaration that begins with another word.
func misnamed(i *item) []int {
	name := i.name
	if name == "" {
		name = "Example" // this is the name in the examples of the pattern
	}
	text := strings.TrimSpace(i.text)
	for _, article := range []string{"A ", "An ", "The ", "Package ", "Deprecated: "} {
		text = strings.TrimPrefix(text, article)
	}
	if text == "" || testFunction.MatchString(name) || regexp.MustCompile(`^`+name+`\b`).MatchString(text) {
		return nil
	}
	return []int{0}
}

// testFunction matches the names of functions that `go test` runs, whose comments describe a case.
var testFunction = regexp.MustCompile(`^(Test|Benchmark|Fuzz|Example.)`)

// errorForms returns the patterns of errors.
func errorForms() []pattern {
	only := []kind{failure}
	return []pattern{
		{
			name: "error-capital", message: "begin an error with a lower-case word or a name", kinds: only,
			expr:   regexp.MustCompile(`^[A-Z][a-z]+ `),
			except: regexp.MustCompile(`^(?:Triton|Trident|Hugging|Python|Jinja|Connect|Go|Linux|Prometheus|Bearer|Vertex|Outlines|Unicode)\b`),
			bad:    "Reading the file failed", good: "read the file: %w",
		},
		{
			name: "error-period", message: "end an error without a period", kinds: only,
			expr: regexp.MustCompile(`[^.]\.$`),
			bad:  "no such model.", good: "no such model",
		},
		{
			name: "error-word", message: `write what failed, on what, why and what to do, without "right", "wrong" and "who"`, kinds: only,
			expr: phrase(`right|wrong|who`),
			bad:  "the key is wrong", good: "--keys: line 3 has no name: write NAME=KEY",
		},
	}
}
