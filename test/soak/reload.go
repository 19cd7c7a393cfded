package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/trident-inference/trident/test/pause"
)

// settings are settings of Trident that change under load: one of the log, one of the limits and
// one of a model.
type settings struct {
	level string
	limit int    // maximum number of requests in flight; 0 for no limit
	alias string // alias of the steady model
}

// usual returns the settings of the whole run. others returns different valid settings. invalid
// returns settings with an invalid limit, which must prevent the other settings from taking effect.
func usual() settings   { return settings{level: "info", limit: 0, alias: "steady-usual"} }
func others() settings  { return settings{level: "debug", limit: 1 << 16, alias: "steady-other"} }
func invalid() settings { return settings{level: "error", limit: -1, alias: "steady-spoilt"} }

func (s settings) text() string {
	return fmt.Sprintf("log-level: %s\nmax-in-flight: %d\nmodels:\n  %s:\n    aliases: [%s]\n", s.level, s.limit, steady, s.alias)
}

// write replaces the file atomically.
func (s settings) write(path string) error {
	if err := os.WriteFile(path+".new", []byte(s.text()), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Messages of Trident's log for which the soak test searches.
const (
	logReloaded      = "settings reloaded"
	logReloadRefused = "reload failed: the previous settings stay in effect"
	logMixed         = "the inference server sent another request's response" // log message about a response of another request; clients receive the same message
)

// reloadLimit is the time in which new settings must take effect or be refused, on a busy machine.
const reloadLimit = 10 * time.Second

// changeSettings changes the file to valid settings, which Trident must apply. It then changes it
// to spoilt ones, which Trident must refuse after the change and after SIGHUP.
func changeSettings(ctx context.Context, f *fleet) error {
	for _, step := range []struct {
		what string
		do   func() error
		said string
	}{
		{"a valid file", func() error { return others().write(f.trident.settings) }, logReloaded},
		{"an invalid file", func() error { return invalid().write(f.trident.settings) }, logReloadRefused},
		{"SIGHUP with an invalid file", f.trident.hangUp, logReloadRefused},
	} {
		if err := f.reload(ctx, step.do, step.said, others()); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// restoreSettings makes Trident apply the usual settings again, by a change and SIGHUP at the same
// time.
func restoreSettings(ctx context.Context, f *fleet) error {
	back := func() error { return errors.Join(usual().write(f.trident.settings), f.trident.hangUp()) }
	return f.reload(ctx, back, logReloaded, usual())
}

// reload calls do, which changes the settings, waits until Trident has logged the message said, and
// checks that the settings want are in effect.
func (f *fleet) reload(ctx context.Context, do func() error, said string, want settings) error {
	ctx, cancel := context.WithTimeout(ctx, reloadLimit)
	defer cancel()
	from, err := f.trident.logged()
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	for told := false; !told; {
		if err := pause.For(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("the log has no line %q: %w", said, err)
		}
		if told, err = f.trident.logHas(from, "msg", said); err != nil {
			return err
		}
	}
	return f.counts(ctx, want, said == logReloaded)
}

// counts returns an error unless the metrics, the log and chats show that the settings want are in
// effect. latest is the expected success of the last reload.
func (f *fleet) counts(ctx context.Context, want settings, latest bool) error {
	from, err := f.trident.logged()
	if err != nil {
		return err
	}
	page, err := get(ctx, f.trident.url+"/metrics")
	if err != nil {
		return err
	}
	limit, err := figure(page, "trident_requests_in_flight_limit")
	successful, unknown := figure(page, "trident_config_last_reload_successful")
	if err := errors.Join(err, unknown); err != nil {
		return err
	}
	if int(limit) != want.limit || (successful == 1) != latest {
		return fmt.Errorf("after a reload, trident_requests_in_flight_limit is %g, not %d, and trident_config_last_reload_successful is %g", limit, want.limit, successful)
	}
	c, err := newClients(f.trident.url, f.trident.native)
	if err != nil {
		return err
	}
	defer c.close() //nolint:errcheck // it has served
	for _, s := range []settings{usual(), others(), invalid()} {
		err := c.events(ctx, s.alias, &request{name: "reload"}, 1, func(int) error { return nil })
		if s.alias == want.alias && err != nil {
			return fmt.Errorf("a chat with the alias of the current settings failed: %w", err)
		}
		if e, told := errors.AsType[*ending](err); s.alias != want.alias && (!told || e.code != "model_not_found") {
			return fmt.Errorf("a chat with the alias %s, which isn't in effect: %w", s.alias, unlessAnswered(err))
		}
	}
	// Requests for the page of metrics are logged at level debug only.
	debugs, err := f.trident.logHas(from, "level", "DEBUG")
	if err != nil {
		return err
	}
	return levelError(debugs, want.level)
}

// levelError returns an error unless the log has lines of level debug exactly if its level is debug.
func levelError(debugs bool, level string) error {
	switch {
	case debugs && level != "debug":
		return fmt.Errorf("the log has lines of level debug although the level is %s", level)
	case !debugs && level == "debug":
		return errors.New("the log has no line of level debug although the level is debug")
	}
	return nil
}

// unlessAnswered returns an error also if the request succeeded, which should have failed.
func unlessAnswered(err error) error {
	if err == nil {
		return errors.New("the request succeeded, but it should have failed")
	}
	return err
}

func (t *trident) hangUp() error { return t.cmd.Process.Signal(syscall.SIGHUP) }

// logged returns the length of the log.
func (t *trident) logged() (int64, error) {
	log, err := os.Stat(t.logPath)
	if err != nil {
		return 0, err
	}
	return log.Size(), nil
}

// logHas reports whether the log has a line with this attribute after an offset.
func (t *trident) logHas(from int64, attribute, value string) (bool, error) {
	lines, err := t.lines(from, attribute, value)
	return len(lines) > 0, err
}

// lines returns all log lines that have the attribute after an offset.
func (t *trident) lines(from int64, attribute, value string) ([]string, error) {
	log, err := os.Open(filepath.Clean(t.logPath))
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.NewSectionReader(log, from, 1<<40))
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range bytes.Lines(text) {
		var record map[string]any
		if bytes.Contains(line, []byte(value)) && json.Unmarshal(line, &record) == nil && record[attribute] == value {
			found = append(found, string(line))
		}
	}
	return found, nil
}

// figure returns the value of a metric without labels from a page of metrics.
func figure(page, name string) (float64, error) {
	for line := range strings.Lines(page) {
		if text, found := strings.CutPrefix(line, name+" "); found {
			return strconv.ParseFloat(strings.TrimSpace(text), 64)
		}
	}
	return 0, fmt.Errorf("no metric %s in %.200s", name, page)
}

// get returns a page, by a new connection.
func get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close() //nolint:errcheck // it has been read
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}
