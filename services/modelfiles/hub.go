package modelfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// HubConfig configures the access to the Hugging Face hub and its cache.
type HubConfig struct {
	// Endpoint is the hub's address.
	Endpoint string
	// Token is a user's token for models with restricted access; empty for
	// none.
	Token string
	// Cache is the folder that huggingface_hub and other programs share.
	Cache string
	// Offline restricts models to the cache.
	Offline bool
	// Timeout bounds the fetch of one model's files.
	Timeout time.Duration
}

// HubFromEnvironment returns the configuration from the environment variables
// that huggingface_hub reads.
func HubFromEnvironment(getenv func(string) string) HubConfig {
	first := func(names ...string) string {
		for _, name := range names {
			if value := getenv(name); value != "" {
				return value
			}
		}
		return ""
	}
	home := first("HF_HOME")
	if home == "" {
		base := first("XDG_CACHE_HOME")
		if base == "" {
			base = filepath.Join(first("HOME"), ".cache")
		}
		home = filepath.Join(base, "huggingface")
	}
	config := HubConfig{
		Endpoint: strings.TrimRight(first("HF_ENDPOINT"), "/"),
		Token:    strings.TrimSpace(first("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")),
		Cache:    first("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"),
		Offline:  isTrue(first("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")),
		Timeout:  5 * time.Minute,
	}
	if config.Endpoint == "" {
		config.Endpoint = "https://huggingface.co"
	}
	if config.Cache == "" {
		config.Cache = filepath.Join(home, "hub")
	}
	if config.Token == "" {
		path := first("HF_TOKEN_PATH")
		if path == "" {
			path = filepath.Join(home, "token")
		}
		if data, err := readFile(path); err == nil {
			config.Token = strings.TrimSpace(string(data))
		}
	}
	return config
}

func isTrue(value string) bool {
	return slices.Contains([]string{"1", "ON", "YES", "TRUE"}, strings.ToUpper(value))
}

// repo is a model of the hub at a revision.
type repo struct{ id, revision string }

// Patterns of valid names on the hub. Each name is a folder in the cache.
var (
	validID       = regexp.MustCompile(`^[A-Za-z0-9_][\w.-]{0,95}(/[A-Za-z0-9_][\w.-]{0,95})?$`)
	validRevision = regexp.MustCompile(`^[A-Za-z0-9_][\w.-]*(/[A-Za-z0-9_][\w.-]*)*$`)
	validCommit   = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

func parseRepo(reference string) (repo, error) {
	id, revision, given := strings.Cut(reference, "@")
	if !given {
		revision = "main"
	}
	if !validID.MatchString(id) || strings.Contains(id, "--") || strings.Contains(id, "..") || !validRevision.MatchString(revision) || strings.Contains(revision, "..") {
		return repo{}, fmt.Errorf("%s is neither a folder on this machine nor the id of a model on the Hugging Face hub, such as org/model", reference)
	}
	return repo{id, revision}, nil
}

// String returns the id, with the revision unless that is main.
func (r repo) String() string {
	if r.revision == "main" {
		return r.id
	}
	return r.id + "@" + r.revision
}

// wantedFiles are the files that Trident reads.
func wantedFiles() []string {
	return []string{fileConfig, fileTokenizerConfig, fileTokenizer, fileSpecialTokens, fileTemplate, fileTemplateJSON, fileModules, filePooling, fileSentenceBERT, fileSentenceTrans}
}

// neededFiles must be in a snapshot of the cache, or be marked as missing. Otherwise
// Trident asks the hub. Only older versions of models' files use the other files of
// [wantedFiles].
func neededFiles() []string {
	return []string{fileConfig, fileTokenizerConfig, fileTokenizer, fileTemplate}
}

// errFinal marks errors that a retry can't fix.
var errFinal = errors.New("the download isn't retried")

// folder returns a path in the cache folder of a model. The layout is
// huggingface_hub's: blobs named by their etags, snapshots named by commits with
// links to the blobs, and refs from revisions to commits. Empty files in .no_exist
// mark the files that a commit lacks.
func (h *hub) folder(r repo, parts ...string) string {
	name := "models--" + strings.ReplaceAll(r.id, "/", "--")
	return filepath.Join(append([]string{h.config.Cache, name}, parts...)...)
}

// cached returns the folder of a model's snapshot in the cache, or an empty string.
// whole reports whether the snapshot is complete: each needed file is present or is
// marked as missing.
func (h *hub) cached(r repo) (folder string, whole bool) {
	commit := r.revision
	if !validCommit.MatchString(commit) {
		data, err := readFile(h.folder(r, "refs", filepath.FromSlash(r.revision)))
		if commit = strings.TrimSpace(string(data)); err != nil || !validCommit.MatchString(commit) {
			return "", false
		}
	}
	folder = h.folder(r, "snapshots", commit)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return "", false
	}
	for _, name := range neededFiles() {
		if !exists(filepath.Join(folder, name)) && !exists(h.folder(r, ".no_exist", commit, name)) {
			return folder, false
		}
	}
	return folder, true
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
