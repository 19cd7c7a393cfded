package golden

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func questionsOf(t *testing.T, names ...string) (all []Question, keys []string) {
	t.Helper()
	for _, name := range names {
		q := Question{Name: name, Body: map[string]string{"text": name}}
		key, err := q.key()
		if err != nil {
			t.Fatal(err)
		}
		all, keys = append(all, q), append(keys, key)
	}
	return all, keys
}

// bookOf returns a book that answers each question with its name and a suffix.
func bookOf(questions []Question, keys []string, suffix string) book {
	b := book{header: header{Versions: []string{"jinja2==0"}}, lines: map[string]line{}}
	for i, q := range questions {
		text := q.Name + suffix
		b.add(line{Name: q.Name, Key: keys[i], Answer: text, Digest: digestOf([]byte(text))})
	}
	return b
}

func TestFiles(t *testing.T) {
	questions, keys := questionsOf(t, "a", "<b>\n")
	for file, digests := range map[string]bool{"plain.golden": false, "packed.golden.gz": false, "digests.golden": true} {
		path := filepath.Join(t.TempDir(), file)
		want := bookOf(questions, keys, "!")
		if err := want.write(path, digests); err != nil {
			t.Fatal(err)
		}
		got, err := readBook(path)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.order, want.order) || !slices.Equal(got.header.Versions, want.header.Versions) {
			t.Errorf("%s: got %v", file, got)
		}
		for _, key := range keys {
			was, is := want.lines[key], got.lines[key]
			if is.Digest != was.Digest || is.Name != was.Name || !digests && is.Answer != was.Answer || digests && is.Answer != "" {
				t.Errorf("%s: got %v, want %v", file, is, was)
			}
		}
	}
	if _, err := readBook(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing file is no error")
	}
}

func TestStale(t *testing.T) {
	questions, keys := questionsOf(t, "a", "b")
	recorded := bookOf(questions, keys, "!")
	if got := recorded.lacks(questions, keys); got != "" {
		t.Errorf("got %s", got)
	}
	others, otherKeys := questionsOf(t, "a", "c", "d")
	const want = `2 questions are new or changed (such as ["c" "d"]), and 1 recorded answers belong to no question`
	if got := recorded.lacks(others, otherKeys); got != want {
		t.Errorf("got %s", got)
	}
	if got := recorded.differs(bookOf(questions, keys, "!")); got != "" {
		t.Errorf("got %s", got)
	}
	fresh := bookOf(questions, keys, "!")
	fresh.add(line{Name: "b", Key: keys[1], Answer: "other", Digest: digestOf([]byte("other"))})
	if got := recorded.differs(fresh); got != `the oracle answers 1 questions differently (such as ["b"])` {
		t.Errorf("got %s", got)
	}
}

func TestPinned(t *testing.T) {
	const requirements = "# text\njinja2==3.1.6\ntransformers==5.20.2 ; python_full_version < '3.11'\ny==2 --hash=sha256:0\nz==1\n"
	for version, pinned := range map[string]bool{
		"jinja2==3.1.6": true, "jinja2==3.1": false, "inja2==3.1.6": false, "transformers==5.20.2": true, "transformers==5": false, "y==2": true,
	} {
		b := book{header: header{Versions: []string{version}}}
		if err := b.pinned("file", requirements); (err == nil) != pinned {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestDiffers(t *testing.T) {
	full := Answer{text: "right", digest: digestOf([]byte("right")), compare: "the command"}
	digest := Answer{digest: full.digest, compare: full.compare}
	for name, test := range map[string]struct {
		answer Answer
		got    string
		want   string
	}{
		"equal":             {full, "right", ""},
		"other":             {full, "left", "\ngot    left\noracle right"},
		"equal, by digest":  {digest, "right", ""},
		"other, by digest":  {digest, "left", "the command\ngot left"},
		"nothing by digest": {digest, "", "the command"},
	} {
		if got := test.answer.Differs(test.got); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestCommand checks that command returns the go test command that runs the calling test, which
// error messages show.
func TestCommand(t *testing.T) {
	t.Run("part", func(t *testing.T) {
		if got, want := command(t, "A=1 ", " -update"), "A=1 go test ./test/golden -run '^TestCommand$' -update"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
