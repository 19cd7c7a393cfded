// Package modelfiles reads facts about models from files beside their tensors. The
// sources are the files of Triton's model repository, and what the model's authors
// published: folders of Hugging Face's layout, or its hub. Deciding between the
// sources of a setting belongs to package catalog.
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

// Config has the locations of models' files.
type Config struct {
	// Repositories are model repositories: folders of this machine. Other
	// locations, such as addresses of cloud storage, are ignored.
	Repositories []string
	// Hub configures the lookup of model ids.
	Hub HubConfig
}

// Limits of the pause after the hub couldn't be reached. The pause doubles after each
// failure.
const (
	firstRetry = 30 * time.Second
	maxRetry   = 10 * time.Minute
)

// Library implements [inference.Library]. It fetches files from the hub in the
// background, by one goroutine a model, until Stop: one model's download must not delay
// the lookup of another. A Library may be used concurrently.
type Library struct {
	repositories []string
	hub          *hub
	log          *slog.Logger

	ctx     context.Context //nolint:containedctx // ends the fetches of Open at Stop
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	fetches map[string]*fetch
}

// fetch is the state of the download of one hub id.
type fetch struct {
	running chan struct{} // closed when the download ends; nil if none is running
	folder  string
	err     error
	pause   time.Duration // time until the retry after a temporary error; 0 for no retry
	retry   time.Time     // time of the end of the pause
}

// New returns a library that has read no file and sent no request yet.
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

// Stop cancels the downloads and waits until they end.
func (l *Library) Stop() {
	l.stop()
	l.running.Wait()
}

// Wait blocks until no download is running, or until ctx ends. It doesn't wait for
// the retry of a failed download.
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

// inProgress returns a channel that is closed when one of the downloads ends.
// It returns nil if no download is running.
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

// Open reads the published files in a folder, or under an id of the hub.
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
		return nil, fmt.Errorf("%s is neither a folder nor in the Hugging Face cache %s, and HF_HUB_OFFLINE disables downloads", reference, l.hub.config.Cache)
	}
	f := l.fetched(repo)
	switch {
	case f.running != nil:
		return nil, inference.ErrFetching
	case f.err == nil:
		return readFolder(f.folder)
	case folder != "":
		return readFolder(folder) // the snapshot may be incomplete
	case f.pause > 0:
		return nil, fmt.Errorf("%w; the last attempt failed: %w", inference.ErrFetching, f.err)
	}
	return nil, f.err
}

// fetched returns the state of an id's download. The first call starts the
// download in the background. After temporary errors, later calls retry it once
// the pause has passed.
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
		l.log.Warn("download of the model's files from the Hugging Face hub failed", "id", repo.String(), "error", err)
	default:
		l.log.Info("downloaded the model's files from the Hugging Face hub", "id", repo.String(), "seconds", time.Since(start).Seconds())
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

// folderOf returns the folder of a model in the first repository that has one, or
// an empty string.
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
