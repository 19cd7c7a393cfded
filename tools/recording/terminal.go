package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// terminal runs commands, each in a terminal of its own, and collects what they print.
type terminal struct {
	folder  string // working directory of the commands
	columns int
	rows    []row
	clock   time.Duration // time in the picture
	running []*exec.Cmd
}

// play runs a step. A command that fails, or that doesn't print the awaited line, is an error with its
// last lines.
func (t *terminal) play(ctx context.Context, s step) error {
	if s.comment != "" {
		t.add("", rowOutput)
		t.add(s.comment, rowComment)
	}
	for i, line := range strings.Split(s.command, "\n") {
		t.add(map[bool]string{true: "$ ", false: ""}[i == 0]+line, rowCommand)
	}
	t.clock += pause
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	printed, ended, err := t.start(s.command)
	if err != nil {
		return err
	}
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w after the lines\n%s", s.command, ctx.Err(), t.tail())
		case line, open := <-printed:
			if !open {
				return t.end(s, <-ended)
			}
			t.clock += min(time.Since(last), pause)
			last = time.Now()
			t.add(line, rowOutput)
			if s.until != nil && s.until.MatchString(line) {
				go discard(printed)
				return nil
			}
		}
	}
}

// end returns the error of a step whose command has ended.
func (t *terminal) end(s step, err error) error {
	if err == nil && s.until != nil {
		err = errors.New("it ended too early")
	}
	if err != nil {
		return fmt.Errorf("%s: %w after the lines\n%s", s.command, err, t.tail())
	}
	return nil
}

// start runs a command by the program script, which gives it a terminal. The lines channel is closed at
// the end of the output; after that the other channel has the command's error.
func (t *terminal) start(command string) (<-chan string, <-chan error, error) {
	shell := fmt.Sprintf("stty cols %d rows 50 -echo; %s", t.columns, command)
	cmd := exec.Command("script", "--quiet", "--return", "--flush", "--command", shell, "/dev/null") //nolint:gosec,noctx // the session's own commands; close stops them
	cmd.Dir = t.folder
	// Below another make, make prints the folder that it enters.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS") })
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("script (package util-linux): %w", err)
	}
	t.running = append(t.running, cmd)
	lines, ended := make(chan string), make(chan error, 1)
	go func() {
		readLines(output, lines)
		close(lines)
		ended <- cmd.Wait()
	}()
	return lines, ended, nil
}

func readLines(r io.Reader, lines chan<- string) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		lines <- strings.TrimRight(scanner.Text(), "\r")
	}
}

func discard(lines <-chan string) {
	for range lines { //nolint:revive // the command must not block on its output
	}
}

func (t *terminal) add(line string, kind rowKind) {
	for _, text := range wrapped(line, t.columns) {
		t.rows = append(t.rows, row{text, kind, t.clock})
	}
}

func (t *terminal) tail() string {
	var b strings.Builder
	for _, r := range t.rows[max(0, len(t.rows)-20):] {
		b.WriteString(r.text + "\n")
	}
	return b.String()
}

// close interrupts the commands that are still running, as Ctrl-C does, and waits for them.
func (t *terminal) close() {
	for _, cmd := range t.running {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // fails if the command has ended
	}
	for _, cmd := range t.running {
		for range 200 {
			if syscall.Kill(-cmd.Process.Pid, 0) != nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}
