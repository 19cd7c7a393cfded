package main

import (
	"encoding/xml"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPlay checks that the picture has the commands, their output as a terminal shows it, and nothing of a
// command that is still running after its step.
func TestPlay(t *testing.T) {
	session := &terminal{folder: t.TempDir(), columns: 20}
	defer session.close()
	steps := []step{
		{command: `printf 'one\033[1m bold\033[0m\n\ttab <&>\nready\n'; sleep 60`, until: regexp.MustCompile("^ready$"), limit: 20 * time.Second},
		{comment: "# next", command: "[ -t 1 ] &&\necho a terminal of $(tput cols) columns", limit: 20 * time.Second},
	}
	for _, s := range steps {
		if err := session.play(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range session.rows[4:] {
		got = append(got, r.text)
	}
	want := []string{"one bold", "        tab <&>", "ready", "", "# next", "$ [ -t 1 ] &&", "echo a terminal of $", "(tput cols) columns", "a terminal of 20 col", "umns"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !slices.IsSortedFunc(session.rows, func(a, b row) int { return int(a.at - b.at) }) {
		t.Errorf("the rows aren't in the order of time: %v", session.rows)
	}
	for name, colors := range themes {
		picture := svg(session.rows, colors)
		if err := wellFormed(picture); err != nil || !strings.Contains(picture, ">        tab &lt;&amp;&gt;</text>") || !strings.Contains(picture, colors.paper) {
			t.Errorf("%s: %v\n%s", name, err, picture)
		}
	}
}

// TestPlayFails checks that a failed command, one that ends too early and one that takes too long are errors.
func TestPlayFails(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		step       step
	}{
		{"exit code", "exit status 3", step{command: "echo no; exit 3", limit: 20 * time.Second}},
		{"early end", "it ended too early", step{command: "echo no", until: regexp.MustCompile("yes"), limit: 20 * time.Second}},
		{"too long", "deadline exceeded", step{command: "echo no; sleep 60", until: regexp.MustCompile("yes"), limit: 300 * time.Millisecond}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			session := &terminal{folder: t.TempDir(), columns: 80}
			defer session.close()
			err := session.play(t.Context(), tt.step)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "no\n") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func wellFormed(text string) error {
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
