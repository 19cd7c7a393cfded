package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// child is a process that the bench has started. It ends with the bench: its
// input ends, and the kernel tells it.
type child struct {
	name   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	log    string // path of what it wrote to standard error
	lines  chan string
	exited chan struct{}
}

// startChild starts a program whose standard error goes to a file in the folder.
// It must be called on a thread that lives as long as the bench.
func startChild(folder, name string, args ...string) (*child, error) {
	c := &child{name: name, log: filepath.Join(folder, name+".log"), lines: make(chan string, 1), exited: make(chan struct{})}
	log, err := os.Create(c.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()                          //nolint:errcheck // the child has its own
	c.cmd = exec.Command(args[0], args[1:]...) //nolint:gosec,noctx // our own programs, which are stopped in order
	c.cmd.Stderr, c.cmd.SysProcAttr = log, attributes()
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, inherited, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer inherited.Close() //nolint:errcheck // the child has its own
	c.cmd.Stdout = inherited
	if err := c.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), out.Close())
	}
	go c.read(out)
	go c.wait()
	return c, nil
}

// wait ends what the child leaves behind.
func (c *child) wait() {
	_ = c.cmd.Wait()
	killGroup(c.cmd.Process.Pid)
	close(c.exited)
}

// maxLine bounds a line of a child: the text of an answer is in it.
const maxLine = 16 << 20

// read takes the lines of the child, and of its own children, until all end.
func (c *child) read(out io.ReadCloser) {
	defer close(c.lines)
	defer out.Close() //nolint:errcheck // it has been read
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, maxLine)
	for scanner.Scan() {
		c.lines <- scanner.Text()
	}
	_, _ = io.Copy(io.Discard, out) // after a line that was too long
}

// line waits for the child's next line.
func (c *child) line(ctx context.Context) (string, error) {
	select {
	case line, ok := <-c.lines:
		if !ok {
			return "", c.failed(errors.New("it has ended"))
		}
		return line, nil
	case <-ctx.Done():
		return "", c.failed(ctx.Err())
	}
}

// failed adds the end of the child's log to an error.
func (c *child) failed(err error) error {
	return fmt.Errorf("%s: %w; its log, %s, ends with:\n%s", c.name, err, c.log, tail(c.log))
}

// tail is the end of a file.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return lastLines(string(text))
}

// lastLines returns the last ten lines of a text.
func lastLines(text string) string {
	const enough = 10
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-enough):], "\n")
}

// stopTime is what a child gets to end by itself.
const stopTime = 20 * time.Second

// stop ends the child: its input ends, which its own workers take for the end,
// and it is told to. What is left of it after a while is killed.
func (c *child) stop() error {
	_ = c.in.Close()
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // fails when it has ended
	late := time.NewTimer(stopTime)
	defer late.Stop()
	var err error
	select {
	case <-c.exited:
	case <-late.C:
		err = c.failed(fmt.Errorf("it didn't end in %s and was killed", stopTime))
		killGroup(c.cmd.Process.Pid)
	}
	for range c.lines { // what it has still said is nobody's
	}
	<-c.exited
	return err
}
