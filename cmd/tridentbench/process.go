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

// child is a process that the bench has started. It ends with the bench, because
// its input ends and the kernel sends it a signal.
type child struct {
	name   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	log    string // path of the file with the process's standard error output
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
	defer log.Close()                          //nolint:errcheck // the child has its own descriptor
	c.cmd = exec.Command(args[0], args[1:]...) //nolint:gosec,noctx // this project's programs, which are stopped in order
	c.cmd.Stderr, c.cmd.SysProcAttr = log, attributes()
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, inherited, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer inherited.Close() //nolint:errcheck // the child has its own descriptor
	c.cmd.Stdout = inherited
	if err := c.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), out.Close())
	}
	go c.read(out)
	go c.wait()
	return c, nil
}

// wait waits for the child and kills its remaining process group.
func (c *child) wait() {
	_ = c.cmd.Wait()
	killGroup(c.cmd.Process.Pid)
	close(c.exited)
}

// maxLine is the maximum length of a child's line, which may contain the text of
// a response.
const maxLine = 16 << 20

// read reads the lines of the child and of the child's children, until all of
// them end.
func (c *child) read(out io.ReadCloser) {
	defer close(c.lines)
	defer out.Close() //nolint:errcheck // it has been read
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, maxLine)
	for scanner.Scan() {
		c.lines <- scanner.Text()
	}
	_, _ = io.Copy(io.Discard, out) // the scanner stops at a line that is too long; the child must not block on its output
}

// line waits for the child's next line.
func (c *child) line(ctx context.Context) (string, error) {
	select {
	case line, ok := <-c.lines:
		if !ok {
			return "", c.failed(errors.New("the process exited before it printed the next line"))
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

// tail returns the end of a file.
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

// stopTime is the time limit for a child to end by itself.
const stopTime = 20 * time.Second

// stop ends the child. It closes the child's input, which ends the child's own
// workers, and sends SIGTERM. After stopTime it kills what is left.
func (c *child) stop() error {
	_ = c.in.Close()
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // fails if the child has ended
	late := time.NewTimer(stopTime)
	defer late.Stop()
	var err error
	select {
	case <-c.exited:
	case <-late.C:
		err = c.failed(fmt.Errorf("the process didn't exit within %s after the request to stop and was killed", stopTime))
		killGroup(c.cmd.Process.Pid)
	}
	for range c.lines { // discards the remaining output
	}
	<-c.exited
	return err
}
