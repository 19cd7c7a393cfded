// Command recording runs a session in a terminal and writes it as two pictures, in light and dark colours:
// docs/terminal-light.svg and docs/terminal-dark.svg. All output is that of the run. `make recording` starts it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

func main() {
	root := flag.String("root", "..", "folder of the repository")
	out := flag.String("out", "docs", "folder of the pictures, relative to the repository")
	port := flag.Int("port", 9000, "TCP port of the server that is recorded")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *root, *out, *port); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1) //nolint:gocritic // stop only resets signals
	}
}

func run(ctx context.Context, root, out string, port int) error {
	t := &terminal{folder: root, columns: columns}
	defer t.close()
	for _, s := range session(port) {
		if err := t.play(ctx, s); err != nil {
			return err
		}
	}
	for name, colors := range themes {
		path := filepath.Join(root, out, "terminal-"+name+".svg")
		if err := os.WriteFile(path, []byte(svg(t.rows, colors)), 0o644); err != nil { //nolint:gosec // the picture is public
			return err
		}
		fmt.Println(path)
	}
	return nil
}

// step is a command of the session.
type step struct {
	comment string // shown above the command; empty for none
	command string
	// until ends the step at the first line that matches it, and leaves the command running. With nil the
	// step ends when the command has ended.
	until *regexp.Regexp
	limit time.Duration
}

// session returns the steps that the picture shows: the first start of the demo models, and a request.
func session(port int) []step {
	start := "make run"
	if port != 9000 {
		start += fmt.Sprintf(" PORT=%d", port)
	}
	request := fmt.Sprintf(`curl -s http://127.0.0.1:%d/v1/chat/completions -d '{"model": "chat",
  "messages": [{"role": "user", "content": "Say hello."}]}'`, port)
	return []step{
		{command: start, until: regexp.MustCompile(`^Ctrl-C stops it`), limit: 10 * time.Minute},
		{comment: "# in a second terminal", command: request, limit: time.Minute},
	}
}

const (
	columns = 112                     // of the terminal
	pause   = 1200 * time.Millisecond // longest pause that the picture shows
)

// row is a line of the terminal.
type row struct {
	text string
	kind rowKind
	at   time.Duration // time at which the row appears in the picture
}

type rowKind int

const (
	rowOutput rowKind = iota
	rowCommand
	rowComment
)

// escape matches the control sequences of terminals.
var escape = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]|\x1b[@-Z\\\\-_]|[\x00-\x08\x0b-\x1f\x7f]")

// wrapped returns the rows of a line, as a terminal of this width shows them.
func wrapped(line string, width int) []string {
	text := []rune(strings.ReplaceAll(escape.ReplaceAllString(line, ""), "\t", "        "))
	if len(text) == 0 {
		return []string{""}
	}
	var rows []string
	for ; len(text) > width; text = text[width:] {
		rows = append(rows, string(text[:width]))
	}
	return append(rows, string(text))
}
