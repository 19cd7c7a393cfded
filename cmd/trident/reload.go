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
	"github.com/trident-inference/trident/services/serving"
)

// reload is a part of Trident that takes new settings while it runs. More of them
// join by the fx group "reloads".
type reload struct {
	// flags whose new values it takes. Those of no part need a restart.
	flags []string
	// prepare checks the new settings and gives what makes them count, which can't
	// fail. Nothing has changed before all parts are prepared.
	prepare func(f *flags, cfg config) (apply func(), err error)
}

// modelReload gives the models their new settings. Requests keep the card that they
// began with.
func modelReload(models *catalog.Catalog) reload {
	return reload{
		flags: []string{"tokenizer", "chat-template", "tool-call-parser", "reasoning-parser", "engine-dir", "history-template", "history-template-file"},
		prepare: func(_ *flags, cfg config) (func(), error) {
			return func() { models.Override(context.Background(), cfg.Overrides) }, nil
		},
	}
}

// levelReload sets the log's level.
func levelReload(level *slog.LevelVar) reload {
	return reload{
		flags: []string{"log-level"},
		prepare: func(f *flags, _ config) (func(), error) {
			return func() { level.Set(slog.Level(f.LogLevel)) }, nil
		},
	}
}

// limitReload changes what is taken at once. Requests that are in flight or wait stay.
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
			return func() { _ = service.Admission().SetBounds(cfg.Inference.Bounds) }, nil // they are right
		},
	}
}

// keyReload takes the keys of the settings' file, and reads the file of keys at once,
// which otherwise is read when it has changed.
func keyReload(gate *auth.Gate) reload {
	return reload{prepare: func(_ *flags, cfg config) (func(), error) { return gate.Prepare(cfg.Auth.Keys) }}
}

// reloading reads the settings again on SIGHUP and when their file has changed.
func reloading(f *flags) fx.Option {
	return fx.Options(
		fx.Supply(f),
		fx.Provide(
			fx.Annotate(modelReload, fx.ResultTags(`group:"reloads"`)),
			fx.Annotate(limitReload, fx.ResultTags(`group:"reloads"`)),
			fx.Annotate(keyReload, fx.ResultTags(`group:"reloads"`)),
			fx.Annotate(func(f *flags) reload { return levelReload(&f.level) }, fx.ResultTags(`group:"reloads"`)),
			func(r *reloader) metrics.Settings { return r },
			fx.Annotate(newReloader, fx.OnStart((*reloader).Start), fx.OnStop((*reloader).Stop)),
		),
		fx.Invoke(func(*reloader) {}),
	)
}

// settle is how long a file must be left alone before it is read: editors and
// Kubernetes write in several steps. A folder in which there is always something new,
// such as one of temporary files, is no reason to wait longer than patience.
const (
	settle   = 100 * time.Millisecond
	patience = 2 * time.Second
)

// reloader reads settings again, from the same command line and environment.
type reloader struct {
	begun   *flags // what Trident was started with
	parts   []reload
	log     *slog.Logger
	hangups <-chan os.Signal

	outcome atomic.Pointer[metrics.Reloads]

	seen    []byte            // of the file, the latest that was tried; of follow's goroutine
	watcher *fsnotify.Watcher // nil where the file can't be watched
	target  string            // that the file's links lead to
	stop    context.CancelFunc
	done    sync.WaitGroup
}

// reloaderParts are what a reloader is made of, from the graph.
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

// count notes what became of settings; only follow's goroutine calls it.
func (r *reloader) count(taken bool) {
	next := *r.outcome.Load()
	if next.Stale = !taken; taken {
		next.Taken, next.At = next.Taken+1, time.Now()
	} else {
		next.Refused++
	}
	r.outcome.Store(&next)
}

// Start begins to wait for signals and changes until Stop.
func (r *reloader) Start(ctx context.Context) error {
	if r.begun.file != nil {
		r.watch()
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	r.done.Go(func() { r.follow(ctx) })
	return nil
}

// Stop ends what Start began.
func (r *reloader) Stop(context.Context) error {
	r.stop()
	r.done.Wait()
	if r.watcher != nil {
		return r.watcher.Close()
	}
	return nil
}

// watch looks at the folders of the file and of what it links to: the file itself may
// be replaced by another one, and Kubernetes exchanges a link in the path.
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
		r.log.Warn("changes of the settings' file aren't seen: send SIGHUP after them", "file", path, "error", err)
	}
}

// follow reloads one time after the other.
func (r *reloader) follow(ctx context.Context) {
	var events chan fsnotify.Event // none without a watcher
	var errs chan error
	if r.watcher != nil {
		events, errs = r.watcher.Events, r.watcher.Errors
	}
	settled := time.NewTimer(0)
	<-settled.C
	var since time.Time // of the first event that hasn't been looked into
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.hangups:
			r.look(true) //nolint:contextcheck // what it checks takes no time to speak of
		case event := <-events:
			if !r.concerns(event) {
				continue
			}
			if since.IsZero() {
				since = time.Now()
			}
			settled.Reset(max(0, min(settle, patience-time.Since(since))))
		case err := <-errs:
			r.log.Warn("watch the settings' file", "error", err)
			settled.Reset(settle) // events may be lost
		case <-settled.C:
			since = time.Time{}
			r.look(false) //nolint:contextcheck // likewise
		}
	}
}

// concerns tells whether the settings may be others after an event: by a change of their
// file, or of what is in its folders, through which a link may go. What is written to
// other files is none of it, such as a log in the same folder.
func (r *reloader) concerns(event fsnotify.Event) bool {
	name := filepath.Base(event.Name)
	return name == filepath.Base(r.begun.file.path) || name == filepath.Base(r.target) || event.Has(fsnotify.Create|fsnotify.Remove|fsnotify.Rename)
}

// look reads the settings when their file is another one, or when that is asked for.
func (r *reloader) look(asked bool) {
	if r.begun.file != nil {
		if r.watcher != nil {
			r.watch() // the links may lead elsewhere
		}
		data, err := readBounded(r.begun.file.path)
		if !asked && (err != nil && r.seen == nil || err == nil && r.seen != nil && bytes.Equal(data, r.seen)) {
			return
		}
		r.seen = data
	}
	r.reload()
}

// reload takes the settings as they are now, all or none.
func (r *reloader) reload() {
	next, apply, err := r.prepare()
	if err != nil {
		r.count(false)
		r.log.Error("the new settings can't be used: the old ones stay", "error", message(err))
		return
	}
	for _, f := range apply {
		f()
	}
	r.count(true)
	r.log.Info("settings read again")
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

// waiting are the settings that differ from what runs.
func (r *reloader) waiting(next *flags) (names []string) {
	for i, s := range r.begun.settings {
		taken := slices.ContainsFunc(r.parts, func(part reload) bool { return slices.Contains(part.flags, s.flag.Name) })
		if !taken && !slices.Equal(s.texts(), next.settings[i].texts()) {
			names = append(names, s.flag.Name)
		}
	}
	return names
}
