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

// HubConfig says how to reach the Hugging Face hub and where its cache is.
type HubConfig struct {
	// Endpoint is the hub's address.
	Endpoint string
	// Token of a user, for models that aren't free for all; empty for none.
	Token string
	// Cache is the folder that huggingface_hub and others share.
	Cache string
	// Offline takes models from the cache only.
	Offline bool
	// Timeout bounds the fetch of one model's files.
	Timeout time.Duration
}

// HubFromEnvironment is the configuration by the variables that huggingface_hub
// reads.
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

// Names as the hub has them; each is a folder in the cache.
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
		return repo{}, fmt.Errorf("%s is neither a folder on this machine nor an id on the Hugging Face hub", reference)
	}
	return repo{id, revision}, nil
}

// String is the id with the revision that isn't the usual one.
func (r repo) String() string {
	if r.revision == "main" {
		return r.id
	}
	return r.id + "@" + r.revision
}

// wantedFiles are those that Trident reads.
func wantedFiles() []string {
	return []string{fileConfig, fileTokenizerConfig, fileTokenizer, fileSpecialTokens, fileTemplate, fileTemplateJSON}
}

// neededFiles must be in a snapshot of the cache, or be known to be missing, for it to
// do without asking the hub. The others are of older versions.
func neededFiles() []string {
	return []string{fileConfig, fileTokenizerConfig, fileTokenizer, fileTemplate}
}

// errFinal marks errors that asking again won't mend.
var errFinal = errors.New("it isn't tried again")

// folder of a model in the cache, with the layout of huggingface_hub: blobs by their
// etags, snapshots of links to them by commits, refs from revisions to commits, and
// empty files in .no_exist for what a commit lacks.
func (h *hub) folder(r repo, parts ...string) string {
	name := "models--" + strings.ReplaceAll(r.id, "/", "--")
	return filepath.Join(append([]string{h.config.Cache, name}, parts...)...)
}

// cached is the snapshot of a model in the cache, empty for none, and whether it has
// all that there is to read.
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
