package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// excluded lists the paths in which no patterns are searched, with the reason. A path ends with /
// for a whole folder; one that begins with / has any folder before it.
func excluded() []struct{ path, reason string } {
	return []struct{ path, reason string }{
		{"gen/", "generated"},
		{"web/dist/", "generated"},
		{"web/client/dist/", "generated"},
		{"/testdata/", "inputs and recorded answers of tests"},
		{"third_party/", "written by others"},
		{"api/kserve/", "written by others"},
		{"api/grpc/", "written by others"},
		{"test/mutations/list/", "parts of other files"},
		{"docs/", "rebuilt by an issue of its own"},
		{"README.md", "rebuilt by an issue of its own"},
		{"services/README.md", "rebuilt by an issue of its own"},
		{"CHANGELOG.md", "history"},
		{"tools/words/patterns.go", "has examples of bad words"},
		{"tools/words/words_test.go", "has examples of bad words"},
	}
}

// included lists the parts of excluded folders in which patterns are searched.
func included() []string { return []string{"docs/contributing/"} }

// covers reports whether the patterns are searched in a file.
func covers(file string) bool {
	if slices.ContainsFunc(included(), func(p string) bool { return strings.HasPrefix(file, p) }) {
		return true
	}
	for _, e := range excluded() {
		switch {
		case strings.HasPrefix(e.path, "/") && strings.Contains("/"+file, e.path), e.path == file,
			strings.HasSuffix(e.path, "/") && strings.HasPrefix(file, e.path):
			return false
		}
	}
	return true
}

// git returns the output of a git command in the tree.
func git(ctx context.Context, root string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...) //nolint:gosec // arguments of this program
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(out), nil
}

// listed returns the covered files of the tree in order: those that git has, and new ones.
func listed(ctx context.Context, root string) ([]string, error) {
	out, err := git(ctx, root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	var files []string
	for file := range strings.SplitSeq(out, "\x00") {
		if file != "" && covers(file) && reader(file) != nil {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// reader returns the function that reads the items of a file. It is nil for files without comments.
func reader(file string) func(file string, source []byte) ([]item, error) {
	plain := func(read func(string, []byte) []item) func(string, []byte) ([]item, error) {
		return func(file string, source []byte) ([]item, error) { return read(file, source), nil }
	}
	lines := func(s syntax) func(string, []byte) ([]item, error) {
		return func(file string, source []byte) ([]item, error) { return readLines(file, source, s), nil }
	}
	switch filepath.Ext(file) {
	case ".go":
		return readGo
	case ".py":
		return plain(readPython)
	case ".yaml", ".yml":
		return plain(readYAML)
	case ".md":
		return plain(readMarkdown)
	case ".ts", ".tsx", ".js", ".mjs":
		return lines(scripts())
	case ".c", ".cc", ".h", ".proto":
		return lines(slashes())
	case ".sh", ".service", ".toml", ".remote":
		return lines(hashes())
	}
	switch filepath.Base(file) {
	case "Makefile", "Containerfile", "run", "protoc-gen-es":
		return lines(hashes())
	}
	return nil
}

// read returns the items of all covered files of the tree, in the order of the files and lines.
func read(ctx context.Context, root string) ([]item, []allowance, error) {
	files, err := listed(ctx, root)
	if err != nil {
		return nil, nil, err
	}
	items, allowed, errs := make([][]item, len(files)), make([][]allowance, len(files)), make([]error, len(files))
	var group sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for n, file := range files {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			source, err := os.ReadFile(filepath.Join(root, file))
			if os.IsNotExist(err) {
				return // removed, and git doesn't know yet
			}
			if err == nil {
				items[n], err = reader(file)(file, source)
				slices.SortStableFunc(items[n], func(a, b item) int { return a.line - b.line })
				allowed[n] = allowances(file, source)
			}
			errs[n] = err
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, nil, err
		}
	}
	return slices.Concat(items...), slices.Concat(allowed...), nil
}
