package modelfiles

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Limits for responses of the hub. The largest tokenizer.json that is known has 35
// MB, and the longest list of a model's files has some hundred KB.
const (
	maxHubFile = 256 << 20 // maximum bytes of a downloaded file
	maxHubInfo = 16 << 20  // maximum bytes of the list of a model's files
	maxHops    = 5         // maximum number of redirects of a request
)

// hub fetches models' files into the cache.
type hub struct {
	config HubConfig
	client *http.Client
}

// newHub returns a hub with time limits for connecting and for the response
// headers.
func newHub(config HubConfig) *hub {
	return &hub{config, &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		DisableKeepAlives:     true, // only a few files are fetched, once
		ForceAttemptHTTP2:     true,
	}}}
}

// fetch downloads the missing files of a model into the cache and returns the
// folder of its snapshot. It writes the revision last, so that other programs
// find a complete snapshot or none.
func (h *hub) fetch(ctx context.Context, r repo) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, h.config.Timeout, fmt.Errorf("the download from the Hugging Face hub took longer than %s", h.config.Timeout))
	defer cancel()
	commit, files, err := h.info(ctx, r)
	if err != nil {
		return "", err
	}
	for _, name := range wantedFiles() {
		if slices.Contains(files, name) {
			err = h.file(ctx, r, commit, name)
		} else {
			err = write(h.folder(r, ".no_exist", commit, name), nil)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, name := range files {
		if validTemplate.MatchString(name) {
			if err := h.file(ctx, r, commit, name); err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if r.revision != commit {
		if err := write(h.folder(r, "refs", filepath.FromSlash(r.revision)), []byte(commit)); err != nil {
			return "", err
		}
	}
	return h.folder(r, "snapshots", commit), nil
}

// validTemplate matches the paths of additional chat templates.
var validTemplate = regexp.MustCompile(`^` + folderTemplates + `/[A-Za-z0-9_][\w.-]*\` + extTemplate + `$`)

// info returns the commit of a revision and the names of its files.
func (h *hub) info(ctx context.Context, r repo) (commit string, files []string, err error) {
	answer, err := h.get(ctx, h.config.Endpoint+"/api/models/"+r.id+"/revision/"+url.PathEscape(r.revision), nil)
	if err != nil {
		return "", nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // nothing was written
	var info struct {
		Commit string `json:"sha"`
		Files  []struct {
			Name string `json:"rfilename"`
		} `json:"siblings"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxHubInfo)).Decode(&info); err != nil {
		return "", nil, fmt.Errorf("decode the hub's list of files: %w", err)
	}
	if !validCommit.MatchString(info.Commit) {
		return "", nil, fmt.Errorf("the hub's list of files has the commit %q, which isn't a commit hash", info.Commit)
	}
	for _, f := range info.Files {
		files = append(files, f.Name)
	}
	return info.Commit, files, nil
}

// validEtag matches the names of blobs, which are hashes.
var validEtag = regexp.MustCompile(`^[0-9A-Za-z_-]{1,128}$`)

// file fetches one file, unless the snapshot has it.
func (h *hub) file(ctx context.Context, r repo, commit, name string) error {
	link := h.folder(r, "snapshots", commit, filepath.FromSlash(name))
	if exists(link) {
		return nil
	}
	etag := ""
	answer, err := h.get(ctx, h.config.Endpoint+"/"+r.id+"/resolve/"+commit+"/"+name, &etag)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // nothing was written
	if !validEtag.MatchString(etag) {
		return fmt.Errorf("the hub's response has the ETag %q, which can't be the name of a file in the cache", etag)
	}
	blob := h.folder(r, "blobs", etag)
	if !exists(blob) {
		if err := save(blob, etag, answer); err != nil {
			return err
		}
	}
	return linkTo(blob, link)
}

// save writes the body of a response to a blob atomically. The etag of a large file
// is its SHA-256, which save verifies.
func save(blob, etag string, answer *http.Response) error {
	if answer.ContentLength > maxHubFile {
		return fmt.Errorf("the hub's file has %d bytes, but may have at most %d bytes", answer.ContentLength, maxHubFile)
	}
	return atomically(blob, func(out io.Writer) error {
		sum := sha256.New()
		n, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(answer.Body, maxHubFile+1))
		switch {
		case err != nil:
			return err
		case n > maxHubFile:
			return fmt.Errorf("the hub's file has more than %d bytes", maxHubFile)
		case len(etag) == hex.EncodedLen(sha256.Size) && etag != hex.EncodeToString(sum.Sum(nil)):
			return errors.New("the downloaded file is damaged: its SHA-256 hash differs from the hub's")
		}
		return nil
	})
}

// linkTo links a blob into the snapshot. It copies the blob if the file system
// has no symbolic links.
func linkTo(blob, link string) error {
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil { //nolint:gosec // a cache is shared with other users' programs
		return err
	}
	target, err := filepath.Rel(filepath.Dir(link), blob)
	if err != nil {
		return err
	}
	err = os.Symlink(target, link)
	if err == nil || errors.Is(err, os.ErrExist) {
		return nil
	}
	return atomically(link, func(out io.Writer) error {
		in, err := os.Open(blob)
		if err != nil {
			return err
		}
		defer in.Close() //nolint:errcheck // nothing was written
		_, err = io.Copy(out, in)
		return err
	})
}

func write(name string, data []byte) error {
	return atomically(name, func(out io.Writer) error { _, err := out.Write(data); return err })
}

// atomically creates a file that other programs see complete or not at all.
func atomically(name string, fill func(io.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // a cache is shared with other users' programs
		return fmt.Errorf("%w: set HF_HOME to a writable folder", err)
	}
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.incomplete")
	if err != nil {
		return fmt.Errorf("%w: set HF_HOME to a writable folder", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // the first error explains more
		}
	}()
	err = errors.Join(fill(file), file.Chmod(0o644), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}

// get sends a request to the hub. It sends the user's token only to the hub,
// not to the host of a redirect. If etag isn't nil, get stores the file's etag
// in it, which the first response has.
func (h *hub) get(ctx context.Context, address string, etag *string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "trident")
	if h.config.Token != "" {
		request.Header.Set("Authorization", "Bearer "+h.config.Token)
	}
	client := *h.client
	client.CheckRedirect = func(next *http.Request, before []*http.Request) error {
		if len(before) > maxHops {
			return fmt.Errorf("the hub redirects more than %d times", maxHops)
		}
		if request.URL.Scheme == "https" && next.URL.Scheme != "https" {
			return errors.New("the hub redirects to an address without https")
		}
		if next.URL.Host != request.URL.Host {
			next.Header.Del("Authorization")
		}
		takeEtag(etag, next.Response)
		return nil
	}
	answer, err := client.Do(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("request to the hub: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		_ = answer.Body.Close() // the body isn't read
		return nil, h.refused(answer)
	}
	takeEtag(etag, answer)
	return answer, nil
}

func takeEtag(etag *string, answer *http.Response) {
	if etag == nil || *etag != "" || answer == nil {
		return
	}
	value := answer.Header.Get("X-Linked-Etag")
	if value == "" && answer.StatusCode == http.StatusOK {
		value = answer.Header.Get("Etag")
	}
	*etag = strings.Trim(strings.TrimPrefix(value, "W/"), `"`)
}

// refused returns the error for a response without a file, with advice for the
// operator.
func (h *hub) refused(answer *http.Response) error {
	place := path.Join(answer.Request.URL.Host, answer.Request.URL.Path)
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		if h.config.Token == "" {
			return fmt.Errorf("%s responded %s: the model doesn't exist, or isn't public: set HF_TOKEN (%w)", place, answer.Status, errFinal)
		}
		return fmt.Errorf("%s responded %s: the Hugging Face token has no access to the model (%w)", place, answer.Status, errFinal)
	case http.StatusNotFound:
		return fmt.Errorf("%s responded %s: the model or its revision doesn't exist (%w)", place, answer.Status, errFinal)
	}
	return fmt.Errorf("%s responded %s", place, answer.Status)
}
