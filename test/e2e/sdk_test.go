package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sdk is one of OpenAI's client libraries, as a program that uses it.
type sdk struct {
	name string
	// command returns the program's command. mode is all or interrupted; in interrupted the program
	// expects its stream to fail.
	command func(t *testing.T, mode, url, down string) *exec.Cmd
}

var sdks = []sdk{
	{"Python", func(t *testing.T, mode, url, down string) *exec.Cmd {
		t.Helper()
		return exec.Command(installed(t, "python"), filepath.Join("python", "sdk.py"), mode, url, down)
	}},
	{"Node", func(t *testing.T, mode, url, down string) *exec.Cmd {
		t.Helper()
		return exec.Command(installed(t, "node"), filepath.Join(nodePrograms(t), "sdk.mjs"), mode, url, down)
	}},
	{"Go", func(t *testing.T, mode, url, down string) *exec.Cmd {
		t.Helper()
		cmd := exec.Command(sdkBinary(t), "-test.v", "-test.run=Test[^I]")
		cmd.Env = environment("TRIDENT_URL="+url, "TRIDENT_DOWN_URL="+down)
		if mode == "interrupted" {
			cmd = exec.Command(sdkBinary(t), "-test.run=TestInterrupted")
			cmd.Env = environment("TRIDENT_INTERRUPTED_URL=" + url)
		}
		return cmd
	}},
}

// sdkBinary is the compiled test of the Go SDK.
var sdkBinary = shared(func(t *testing.T) (string, error) {
	t.Helper()
	path := filepath.Join(scratch(t), "sdk.test")
	return path, command("sdk", "go", "test", "-c", "-o", path, ".")
})

// nodePrograms is the folder of the Node programs with their packages. The browser client among
// these comes from the server, as users get it.
var nodePrograms = shared(func(t *testing.T) (string, error) {
	t.Helper()
	if err := installModules(t, "node"); err != nil {
		return "", err
	}
	return "node", command("node", installed(t, "npm"), "install", "--no-save", "--no-audit", "--no-fund", serving(t).url+clientPackage)
})

// installModules installs the packages of a folder's package-lock.json, unless they are installed.
func installModules(t *testing.T, dir string) error {
	t.Helper()
	return command(".", filepath.Join(root(t), "tools", "npm-ci.sh"), dir)
}

// sdkLimit is the time limit of a program.
const sdkLimit = 5 * time.Minute

func TestSDK(t *testing.T) {
	t.Parallel()
	// The server is the test's own, because it must be idle after each program.
	s := ownEngine(t, demoOptions(t)).startReady(t, "--http-max-input-size=1048576")
	down := start(t, "--triton-endpoint=127.0.0.1:1")
	var seen recording
	for _, test := range sdks {
		t.Run(test.name, func(t *testing.T) {
			run := startSDK(t, test.command(t, "all", seen.proxy(t, s.url), seen.proxy(t, down.url)))
			run.awaitSuccess(t)
			violations.fail(t)
			t.Log(run.log)
			// The responses that the program cancelled would otherwise continue for half a minute.
			if inProcess() {
				checkFree(t, s)
			} else if !poll(lateLimit, func() bool { return s.metric(t, generationsInProgress) == 0 }) {
				t.Error("the model still generates for the program")
			}
		})
	}
	t.Run("types", seen.check)
}

// sdkRun is a running program.
type sdkRun struct {
	name   string
	log    *logLines
	exited chan struct{}
	err    error // error with which the program ended, or nil; valid once exited is closed
}

func startSDK(t *testing.T, cmd *exec.Cmd) *sdkRun {
	t.Helper()
	run := &sdkRun{name: cmd.Path, log: newLogLines(), exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = run.log, run.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(run.exited)
		run.err = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // the program has normally exited
		<-run.exited
	})
	return run
}

// interruptedSDKs starts all programs with a stream that is going to fail.
func interruptedSDKs(t *testing.T, url string) []*sdkRun {
	t.Helper()
	var commands []*exec.Cmd
	url = new(recording).proxy(t, url)
	for _, s := range sdks { // building one program may take longer than the others' streams
		commands = append(commands, s.command(t, "interrupted", url, ""))
	}
	var runs []*sdkRun
	for _, cmd := range commands {
		runs = append(runs, startSDK(t, cmd))
	}
	return runs
}

func (r *sdkRun) awaitStreaming(t *testing.T) {
	t.Helper()
	if _, ok := r.log.await(startLimit, r.exited, func(l logLine) bool { return strings.HasPrefix(l.text("raw"), "streaming") }); !ok {
		t.Fatalf("%s doesn't stream:\n%s", r.name, r.log)
	}
}

func (r *sdkRun) awaitSuccess(t *testing.T) {
	t.Helper()
	select {
	case <-r.exited:
	case <-time.After(sdkLimit):
		t.Fatalf("%s is still running:\n%s", r.name, r.log)
	}
	if r.err != nil {
		t.Errorf("%s: %v\n%s", r.name, r.err, r.log)
	}
}
