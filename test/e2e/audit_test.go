package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trident-inference/trident/test/tier"
)

// leastAccessibility is the lowest score of accessibility that a view may have, of Lighthouse's 100.
const leastAccessibility = 95

// paintLoads is the number of times that each page is loaded. It is odd, so that one of the times is the median.
const paintLoads = 21

// mostPaint is the maximum time to the playground's first contentful paint, in times of an empty page.
const mostPaint = 2.0

// emptyPage is the least that Chromium counts as contentful: a character.
const emptyPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Empty</title><p>.</p></html>`

// TestPlaygroundAudit checks that Lighthouse finds each view of the playground accessible.
func TestPlaygroundAudit(t *testing.T) {
	tier.OnlySlow(t)
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is missing, which the test uses as browser: apt-get install chromium")
	}
	address := serving(t).url
	dir := filepath.Join(root(t), "tools", "lighthouse")
	if err := installModules(t, dir); err != nil {
		t.Fatal(err)
	}
	args := []string{"accessibility.mjs"}
	views := []string{"chat", "embeddings", "ranking", "models", "metrics"}
	for _, view := range views {
		args = append(args, address+"/#/"+view)
	}
	printed := nodeOutput(t, dir, args, "CHROMIUM="+chromium)
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	if len(lines) != len(views) {
		t.Fatalf("got %d scores of %d views:\n%s", len(lines), len(views), printed)
	}
	for i, line := range lines {
		fields := strings.Fields(line)
		if score, err := strconv.Atoi(fields[1]); err != nil || score < leastAccessibility {
			t.Errorf("%s: the score is %s, want at least %d; failed audits: %s", views[i], fields[1], leastAccessibility, strings.Join(fields[2:], ", "))
		}
	}
	t.Log(printed)
}

// TestPlaygroundPaint compares the time to the playground's first contentful paint with that of an empty page of the same
// server. Chromium reports the times by its Paint Timing API, for a visitor without a cache.
func TestPlaygroundPaint(t *testing.T) {
	tier.OnlySlow(t)
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is missing, which the test uses as browser: apt-get install chromium")
	}
	address := servingEmptyPage(t)
	printed := nodeOutput(t, nodePrograms(t), []string{"paint.mjs", strconv.Itoa(paintLoads), address + "/", address + "/assets/empty.html"}, "CHROMIUM="+chromium)
	var paints [2][]float64 // milliseconds
	if err := json.Unmarshal([]byte(printed), &paints); err != nil || len(paints[0]) != paintLoads || len(paints[1]) != paintLoads {
		t.Fatalf("%v: %s", err, printed)
	}
	for _, times := range paints {
		slices.Sort(times)
	}
	page, empty := paints[0][paintLoads/2], paints[1][paintLoads/2]
	t.Logf("median time to the first contentful paint: playground %.1f ms, empty page %.1f ms, ratio %.2f", page, empty, page/empty)
	t.Logf("sorted times in ms: %.0f", paints)
	if empty <= 0 || page > mostPaint*empty {
		t.Errorf("the playground's first contentful paint is after %.1f ms, want at most %.1f × %.1f ms", page, mostPaint, empty)
	}
}

// servingEmptyPage starts a trident with the demo models, which has an empty page among the playground's files, and returns
// its address.
func servingEmptyPage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	page, overlay, binary := filepath.Join(dir, "empty.html"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "trident")
	added, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root(t), "web", "dist", "assets", "empty.html"): page}})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.WriteFile(page, []byte(emptyPage), 0o600), os.WriteFile(overlay, added, 0o600),
		command(root(t), "go", "build", "-overlay", overlay, "-ldflags=-X main.version="+testVersion, "-o", binary, "./cmd/trident"))
	if err != nil {
		t.Fatal(err)
	}
	models := demoModels(t)
	started, err := launchBinary(t, binary, "", models.env, slices.Concat(models.flags, models.files)...)
	s := owned(t, started, err)
	if err := s.awaitModels(); err != nil {
		t.Fatal(err)
	}
	return s.url
}

// nodeOutput returns the standard output of a Node program in a folder.
func nodeOutput(t *testing.T, dir string, args []string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), installed(t, "node"), args...)
	cmd.Dir, cmd.Env = dir, environment(env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, failureOf(err))
	}
	return string(out)
}
