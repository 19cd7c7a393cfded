// Package modelfiles finds what is known of models beside their tensors: in the files of
// Triton's model repository, and in what their makers published, in folders of
// Hugging Face's layout or on its hub.
package modelfiles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// Config says where to look.
type Config struct {
	// Repositories are model repositories: folders of this machine. Others, such as
	// addresses of cloud storage, are passed over.
	Repositories []string
	// Hub that ids of models are looked up in.
	Hub HubConfig
}

// The hub is left alone after it couldn't be asked, twice as long after each failure.
const (
	firstRetry = 30 * time.Second
	maxRetry   = 10 * time.Minute
)

// Library implements [inference.Library]. What the hub is asked for is fetched in the
// background, by one goroutine a model, until Stop: one model's download must not delay
// the lookup of another. It may be used concurrently.
type Library struct {
	repositories []string
	hub          *hub
	log          *slog.Logger

	ctx     context.Context //nolint:containedctx // ends what Open began, at Stop
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	fetches map[string]*fetch
}

// fetch is the state of one id of the hub.
type fetch struct {
	running chan struct{} // closed at its end; nil when it doesn't run
	folder  string
	err     error
	pause   time.Duration // before it is asked again after an error that may pass; 0 for never
	retry   time.Time     // its end
}

// New makes a library that has read nothing and asks nobody yet.
func New(config Config, log *slog.Logger) *Library {
	l := &Library{hub: newHub(config.Hub), log: log, fetches: map[string]*fetch{}}
	l.ctx, l.stop = context.WithCancel(context.Background())
	for _, repository := range config.Repositories {
		if !strings.Contains(repository, "://") {
			l.repositories = append(l.repositories, repository)
		}
	}
	return l
}

// Stop ends what is being fetched and waits for it.
func (l *Library) Stop() {
	l.stop()
	l.running.Wait()
}

// Wait until nothing is being fetched, or ctx ends. What couldn't be fetched for now
// is not waited for.
func (l *Library) Wait(ctx context.Context) error {
	for {
		done := l.inProgress()
		if done == nil {
			return nil
		}
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// inProgress is closed when some fetch ends; nil when there is none.
func (l *Library) inProgress() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.fetches {
		if f.running != nil {
			return f.running
		}
	}
	return nil
}

// Locate implements [inference.Library].
func (l *Library) Locate(model, reference string) string {
	folder := l.folderOf(model)
	if folder == "" || reference == "" || filepath.IsAbs(reference) {
		return reference
	}
	local := filepath.Join(folder, reference)
	if info, err := os.Stat(local); err != nil || !info.IsDir() {
		return reference
	}
	return local
}

// Open reads what was published in a folder, or under an id of the hub.
func (l *Library) Open(reference string) (*inference.Published, error) {
	if info, err := os.Stat(reference); err == nil && info.IsDir() {
		return readFolder(reference)
	}
	repo, err := parseRepo(reference)
	if err != nil {
		return nil, err
	}
	folder, whole := l.hub.cached(repo)
	switch {
	case whole, folder != "" && l.hub.config.Offline:
		return readFolder(folder)
	case l.hub.config.Offline:
		return nil, fmt.Errorf("%s is neither a folder nor in the hub's cache (%s), and HF_HUB_OFFLINE is set", reference, l.hub.config.Cache)
	}
	f := l.fetched(repo)
	switch {
	case f.running != nil:
		return nil, inference.ErrFetching
	case f.err == nil:
		return readFolder(f.folder)
	case folder != "":
		return readFolder(folder) // what there is of it
	case f.pause > 0:
		return nil, fmt.Errorf("%w, for now in vain: %w", inference.ErrFetching, f.err)
	}
	return nil, f.err
}

// fetched is the state of an id, which is fetched in the background the first time
// and, after errors that may pass, from time to time.
func (l *Library) fetched(repo repo) fetch {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.fetches[repo.String()]
	if f == nil {
		f = &fetch{}
		l.fetches[repo.String()] = f
	}
	again := f.folder == "" && f.err == nil || f.pause > 0 && time.Now().After(f.retry)
	if f.running == nil && again {
		f.running = make(chan struct{})
		l.running.Go(func() { l.fetch(repo, f) })
	}
	return *f
}

func (l *Library) fetch(repo repo, f *fetch) {
	start := time.Now()
	folder, err := l.hub.fetch(l.ctx, repo)
	switch {
	case l.ctx.Err() != nil:
	case err != nil:
		l.log.Warn("model could not be fetched from the hub", "id", repo.String(), "error", err)
	default:
		l.log.Info("model fetched from the hub", "id", repo.String(), "seconds", time.Since(start).Seconds())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	close(f.running)
	f.running, f.folder, f.err = nil, folder, err
	if err == nil || errors.Is(err, errFinal) {
		f.pause = 0
		return
	}
	f.pause = min(max(2*f.pause, firstRetry), maxRetry)
	f.retry = time.Now().Add(f.pause)
}

// folderOf is the folder of a model in the first repository that has one, empty for
// none.
func (l *Library) folderOf(model string) string {
	if model != filepath.Base(model) {
		return ""
	}
	for _, repository := range l.repositories {
		folder := filepath.Join(repository, model)
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			return folder
		}
	}
	return ""
}
