package release

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startLimit is the time limit of a program's start, without a model.
const startLimit = 30 * time.Second

// addGLIBC copies the loader and the libraries that a program needs into the folder, and nothing else
// of this system.
func addGLIBC(t *testing.T, folder, program string) {
	t.Helper()
	f, err := elf.Open(filepath.Join(folder, program))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	needed, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, segment := range f.Progs {
		if segment.Type != elf.PT_INTERP {
			continue
		}
		loader, err := io.ReadAll(segment.Open())
		if err != nil {
			t.Fatal(err)
		}
		copyFile(t, string(bytes.TrimRight(loader, "\x00")), folder)
	}
	for _, name := range needed {
		at := slices.IndexFunc(libraryFolders(), func(dir string) bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil })
		if at < 0 {
			t.Fatalf("this system has no %s", name)
		}
		copyFile(t, filepath.Join(libraryFolders()[at], name), folder)
	}
}

func libraryFolders() []string {
	return []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"}
}

// copyFile copies a file of this system to the same path below a folder.
func copyFile(t *testing.T, path, folder string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(folder, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, content, 0o755)); err != nil {
		t.Fatal(err)
	}
}

// serves starts a program in a folder that it sees as the root of the file system, and checks that it
// answers /version and /health, and ends at SIGTERM. No tritonserver runs, so it isn't ready.
func serves(t *testing.T, folder, program string, args ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(folder, "tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*startLimit)
	defer cancel()
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, program, append(args, "--host=127.0.0.1", fmt.Sprintf("--openai-port=%d", port), "--triton-endpoint=127.0.0.1:1")...)
	cmd.Args[0] = program
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = "/", []string{"HOME=/tmp", "PATH=/usr/bin:/bin"}, &log, &log
	cmd.SysProcAttr = inRoot(folder)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	if err := until(ctx, ended, func() error { return answers(ctx, base) }); err != nil {
		_ = cmd.Process.Kill() // the error below counts
		t.Fatalf("%s in %s: %v\n%s", program, folder, err, log.String())
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v\n%s", err, log.String())
	}
}

// inRoot makes a process see folder as the root. Other users than root need a user namespace for that.
func inRoot(folder string) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Chroot: folder}
	if id := os.Getuid(); id != 0 {
		attr.Cloneflags = syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// until repeats a check until it succeeds, or until the program ends or the context's end.
func until(ctx context.Context, ended <-chan error, check func() error) error {
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case failed := <-ended:
			return fmt.Errorf("the program ended: %w", errors.Join(failed, err))
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// answers checks the two responses of a Trident without a tritonserver.
func answers(ctx context.Context, base string) error {
	var about struct{ Version string }
	status, text, err := get(ctx, base+"/version")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &about); err != nil || status != http.StatusOK || !strings.HasPrefix(about.Version, version) {
		return fmt.Errorf("/version: %d %s", status, text)
	}
	if status, text, err = get(ctx, base+"/health/live"); err != nil || status != http.StatusOK {
		return fmt.Errorf("/health/live: %d %s: %w", status, text, err)
	}
	if status, text, err = get(ctx, base+"/health"); err != nil || status != http.StatusServiceUnavailable {
		return fmt.Errorf("/health: %d %s: %w", status, text, err)
	}
	return nil
}

func get(ctx context.Context, url string) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, text, errors.Join(err, response.Body.Close())
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
