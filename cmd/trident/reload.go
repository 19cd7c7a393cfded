package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/fx"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/metrics"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/triton/fleet"
)

// reload is a part of Trident that accepts new settings at run time. Parts register in
// the fx group "reloads".
type reload struct {
	// flags are the settings that the part accepts. Settings of no part need a restart.
	flags []string
	// prepare checks the new settings. It returns a function that applies them, which
	// can't fail. No part applies anything before all parts are prepared.
	prepare func(f *flags, cfg config) (apply func(), err error)
}

// modelReload applies new settings to the models. Running requests keep their card.
func modelReload(models *catalog.Catalog) reload {
	return reload{
		flags: []string{"tokenizer", "chat-template", "tool-call-parser", "reasoning-parser", "engine-dir", "history-template", "history-template-file"},
		prepare: func(_ *flags, cfg config) (func(), error) {
			return func() { models.Override(context.Background(), cfg.Overrides) }, nil
		},
	}
}

// splitReload replaces the splits of aliases. Requests in flight keep their models.
func splitReload(models *catalog.Catalog, log *slog.Logger) reload {
	return reload{
		flags: []string{"alias-split"},
		prepare: func(_ *flags, cfg config) (func(), error) {
			return func() {
				if err := models.Split(cfg.Catalog.Splits); err != nil { // can't fail: the configuration has been validated
					log.Error("the splits of aliases can't be used", "error", err)
				}
			}, nil
		},
	}
}

// levelReload sets the log level.
func levelReload(level *slog.LevelVar) reload {
	return reload{
		flags: []string{"log-level"},
		prepare: func(f *flags, _ config) (func(), error) {
			return func() { level.Set(slog.Level(f.LogLevel)) }, nil
		},
	}
}

// limitReload changes the limits. Running and waiting requests aren't affected.
func limitReload(service *serving.Service) reload {
	return reload{
		flags: []string{
			"max-in-flight", "max-queued", "max-in-flight-per-model", "max-queued-per-model", "requests-per-second", "burst",
			"max-body-bytes-in-flight", "max-reading", "max-decoding", "request-timeout",
		},
		prepare: func(_ *flags, cfg config) (func(), error) {
			if err := cfg.Inference.Bounds.Validate(); err != nil {
				return nil, err
			}
			return func() { _ = service.Admission().SetBounds(cfg.Inference.Bounds) }, nil // the bounds have been validated, so this can't fail
		},
	}
}

// endpointReload replaces the addresses of several tritonservers. Streams of servers that are gone
// continue.
func endpointReload(several *fleet.Engine, log *slog.Logger) reload {
	return reload{
		flags: []string{"triton-endpoint"},
		prepare: func(f *flags, _ config) (func(), error) {
			endpoints := f.endpoints()
			return func() {
				if err := several.Update(endpoints); err != nil {
					log.Error("some endpoints can't be used", "error", err)
				}
			}, nil
		},
	}
}

// keyReload applies the keys of the settings file, and reads the keys file immediately.
// Otherwise the keys file is read when it has changed.
func keyReload(gate *auth.Gate) reload {
	return reload{prepare: func(_ *flags, cfg config) (func(), error) { return gate.Prepare(cfg.Auth.Keys) }}
}

// sealReload reads the file of seal keys again. Without a file the random key of the start stays,
// which isn't reported twice.
func sealReload(frontend *openai.Handler, log *slog.Logger) reload {
	return reload{prepare: func(_ *flags, cfg config) (func(), error) {
		apply, err := frontend.PrepareSealKeys()
		if err != nil || cfg.OpenAI.SealKeyFile == "" {
			return apply, err
		}
		return func() { apply(); frontend.ReportSealKeys(log) }, nil
	}}
}

// reloading reads the settings again on SIGHUP and when the settings file changes.
func reloading(f *flags) fx.Option {
	return fx.Options(
		fx.Supply(f),
		fx.Provide(
			fx.Annotate(modelReload, fx.ResultTags(`group:"reloads"`)),
			fx.Annotate(splitReload, fx.ResultTags(`group:"reloads"`)),
			fx.Annotate(limitReload, fx.ResultTags(`group:"reloads"`)),
			fx.Annotate(keyReload, fx.ResultTags(`group:"reloads"`)),
			fx.Annotate(sealReload, fx.ResultTags(`group:"reloads"`)),
			fx.Annotate(func(f *flags) reload { return levelReload(&f.level) }, fx.ResultTags(`group:"reloads"`)),
			func(r *reloader) metrics.Settings { return r },
			fx.Annotate(newReloader, fx.OnStart((*reloader).Start), fx.OnStop((*reloader).Stop)),
		),
		fx.Invoke(func(*reloader) {}),
	)
}

// settle is the time without changes after which a file is read, because editors and
// Kubernetes write in several steps. settleLimit is the maximum wait, for folders with
// constant changes such as temporary folders.
const (
	settle      = 100 * time.Millisecond
	settleLimit = 2 * time.Second
)

// reloader reads the settings again from the same command line and environment.
type reloader struct {
	begun   *flags // settings at the start
	parts   []reload
	log     *slog.Logger
	hangups <-chan os.Signal

	outcome atomic.Pointer[metrics.Reloads]

	seen    []byte            // latest file content that was tried; only follow's goroutine uses this field
	watcher *fsnotify.Watcher // nil if the file can't be watched
	target  string            // path that the file's links resolve to
	stop    context.CancelFunc
	done    sync.WaitGroup
}

// reloaderParts are the dependencies of a reloader in the graph.
type reloaderParts struct {
	fx.In

	Begun *flags
	Parts []reload `group:"reloads"`
	Log   *slog.Logger
}

func newReloader(p reloaderParts) *reloader {
	begun := p.Begun
	r := &reloader{begun: begun, parts: p.Parts, log: p.Log, hangups: begun.hangups}
	r.outcome.Store(&metrics.Reloads{At: time.Now()})
	if begun.file != nil {
		r.seen = begun.file.data
	}
	return r
}

// Reloads implements [metrics.Settings].
func (r *reloader) Reloads() metrics.Reloads { return *r.outcome.Load() }

// count records the outcome of a reload. Only follow's goroutine calls it.
func (r *reloader) count(taken bool) {
	next := *r.outcome.Load()
	if next.Stale = !taken; taken {
		next.Taken, next.At = next.Taken+1, time.Now()
	} else {
		next.Refused++
	}
	r.outcome.Store(&next)
}

// Start starts waiting for signals and changes, until Stop.
func (r *reloader) Start(ctx context.Context) error {
	if r.begun.file != nil {
		r.watch()
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	r.done.Go(func() { r.follow(ctx) })
	return nil
}

// Stop ends the goroutine of Start and waits for it.
func (r *reloader) Stop(context.Context) error {
	r.stop()
	r.done.Wait()
	if r.watcher != nil {
		return r.watcher.Close()
	}
	return nil
}

// watch watches the folders of the file and of its link target. The file itself may be
// replaced, and Kubernetes replaces a link in the path.
func (r *reloader) watch() {
	path := r.begun.file.path
	var err error
	if r.watcher == nil {
		r.watcher, err = fsnotify.NewWatcher()
	}
	if err == nil {
		err = r.watcher.Add(filepath.Dir(path))
	}
	if target, linkErr := filepath.EvalSymlinks(path); err == nil && linkErr == nil {
		r.target = target
		err = r.watcher.Add(filepath.Dir(target))
	}
	if err != nil {
		r.log.Warn("can't watch the settings file: send SIGHUP after each change", "file", path, "error", err)
	}
}

// follow runs reloads one after another.
func (r *reloader) follow(ctx context.Context) {
	var events chan fsnotify.Event // nil without a watcher
	var errs chan error
	if r.watcher != nil {
		events, errs = r.watcher.Events, r.watcher.Errors
	}
	settled := time.NewTimer(0)
	<-settled.C
	var since time.Time // time of the first event that wasn't handled yet
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.hangups:
			r.reloadIfChanged(true) //nolint:contextcheck // its checks are fast
		case event := <-events:
			if !r.affects(event) {
				continue
			}
			if since.IsZero() {
				since = time.Now()
			}
			settled.Reset(max(0, min(settle, settleLimit-time.Since(since))))
		case err := <-errs:
			r.log.Warn("error while watching the settings file", "error", err)
			settled.Reset(settle) // events may be lost
		case <-settled.C:
			since = time.Time{}
			r.reloadIfChanged(false) //nolint:contextcheck // its checks are fast
		}
	}
}

// affects reports whether an event may change the settings. An event may do so if it
// concerns the settings file or the file's link target. It may also do so if it
// creates, removes or renames an entry of their folders, because the entry may be a
// link in the file's path. A write to another file, such as a log in the same folder,
// doesn't change the settings.
func (r *reloader) affects(event fsnotify.Event) bool {
	name := filepath.Base(event.Name)
	return name == filepath.Base(r.begun.file.path) || name == filepath.Base(r.target) || event.Has(fsnotify.Create|fsnotify.Remove|fsnotify.Rename)
}

// reloadIfChanged reloads the settings if their file changed, or if asked is set.
func (r *reloader) reloadIfChanged(asked bool) {
	if r.begun.file != nil {
		if r.watcher != nil {
			r.watch() // the link target may have changed
		}
		data, err := readBounded(r.begun.file.path)
		if !asked && (err != nil && r.seen == nil || err == nil && r.seen != nil && bytes.Equal(data, r.seen)) {
			return
		}
		r.seen = data
	}
	r.reload()
}

// reload applies the current settings: all or none.
func (r *reloader) reload() {
	next, apply, err := r.prepare()
	if err != nil {
		r.count(false)
		r.log.Error("reload failed: the previous settings stay in effect", "error", message(err))
		return
	}
	for _, f := range apply {
		f()
	}
	r.count(true)
	r.log.Info("settings reloaded")
	if names := r.waiting(next); len(names) > 0 {
		r.log.Warn("changed settings take effect at restart", "settings", names)
	}
}

func (r *reloader) prepare() (*flags, []func(), error) {
	cli, _, err := read(r.begun.args)
	if err != nil {
		return nil, nil, err
	}
	next := &cli.flags
	cfg, err := next.config()
	if err != nil {
		return nil, nil, err
	}
	var apply []func()
	for _, part := range r.parts {
		f, err := part.prepare(next, cfg)
		if err != nil {
			return nil, nil, err
		}
		apply = append(apply, f)
	}
	return next, apply, nil
}

// waiting returns the settings that differ from the running ones and need a restart.
func (r *reloader) waiting(next *flags) (names []string) {
	for i, s := range r.begun.settings {
		taken := slices.ContainsFunc(r.parts, func(part reload) bool { return slices.Contains(part.flags, s.flag.Name) })
		if !taken && !slices.Equal(s.texts(), next.settings[i].texts()) {
			names = append(names, s.flag.Name)
		}
	}
	return names
}
