// Package images reads the images of requests: data: URIs, and addresses if the operator allows
// fetching them. The place of an image in a prompt belongs to package chat, and its tensor to
// package contracts.
package images

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
)

// Config configures the reader.
type Config struct {
	// AllowURLs allows fetching images from addresses in requests.
	AllowURLs bool
	// MaxCount is the maximum number of images in a request.
	MaxCount int
	// MaxBytes is the maximum size of one image, and MaxTotalBytes that of all images of a
	// request.
	MaxBytes, MaxTotalBytes int64
	// FetchTimeout is the time limit for fetching one image, including redirects.
	FetchTimeout time.Duration
	// Permit reports whether a connection to an address is allowed. If nil, only public
	// addresses are. Permit is for tests, whose servers are on this machine.
	Permit func(netip.Addr) bool
	// Names are the operators' names of the fields; nil for the fields' own names.
	Names *configfield.Names
}

// Default is the configuration without flags.
func Default() Config {
	return Config{MaxCount: 16, MaxBytes: 20 << 20, MaxTotalBytes: 64 << 20, FetchTimeout: 10 * time.Second}
}

// Validate returns an error that names the invalid field.
func (c Config) Validate() error {
	switch {
	case c.MaxCount < 0:
		return configfield.Errorf("images.MaxCount", "%d is negative: give 0 or more images", c.MaxCount)
	case c.MaxBytes < 1:
		return configfield.Errorf("images.MaxBytes", "%d is not a positive number of bytes: to refuse images, set %s to 0", c.MaxBytes, configfield.Field("images.MaxCount"))
	case c.MaxBytes > math.MaxInt32:
		return configfield.Errorf("images.MaxBytes", "%d is more than %d bytes, the maximum of a tensor", c.MaxBytes, math.MaxInt32)
	case c.MaxTotalBytes < c.MaxBytes:
		return configfield.Errorf("images.MaxTotalBytes", "%d is less than %s (%d): give at least as many bytes", c.MaxTotalBytes, configfield.Field("images.MaxBytes"), c.MaxBytes)
	case c.FetchTimeout <= 0:
		return configfield.Errorf("images.FetchTimeout", "%s is not a positive duration", c.FetchTimeout)
	}
	return nil
}

// Reader reads the images of requests. It may be used concurrently.
type Reader struct {
	cfg    Config
	client *http.Client
}

// New returns a reader. It opens no connection.
func New(cfg Config) (*Reader, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Reader{cfg: cfg, client: newClient(cfg)}, nil
}

// parallel is the maximum number of concurrent fetches of one request.
const parallel = 4

// Check finds errors before any image is read: too many images, or one that isn't a data: URI
// and may not be fetched. Its error is an [*inference.Error] that names the Param.
func (r *Reader) Check(refs []inference.ImageRef) error {
	if len(refs) > r.cfg.MaxCount {
		return inference.Invalid(refs[r.cfg.MaxCount].Param, "a request may have at most %d images, but this request has %d (%s)", r.cfg.MaxCount, len(refs), r.cfg.Names.Of("images.MaxCount"))
	}
	for _, ref := range refs {
		if isDataURI(ref.URL) {
			continue
		}
		if err := r.checkAddress(ref.URL); err != nil {
			return r.explain(ref, err)
		}
	}
	return nil
}

// Read returns images that passed Check, in their order. It fetches addresses concurrently,
// after it has checked that all data: URIs are images. If data isn't an image, is too large or
// can't be fetched, the error is an [*inference.Error] that names its Param. If ctx ends, Read
// returns its error. No goroutine runs on after Read returns.
func (r *Reader) Read(ctx context.Context, refs []inference.ImageRef) ([]inference.Image, error) {
	images := make([]inference.Image, len(refs))
	var left byteBudget
	left.Store(r.cfg.MaxTotalBytes)
	var addresses []int
	for i, ref := range refs {
		if !isDataURI(ref.URL) {
			addresses = append(addresses, i)
			continue
		}
		var err error
		if images[i], err = readDataURI(ref.URL, r.cfg.MaxBytes, &left); err != nil {
			return nil, r.explain(ref, err)
		}
	}
	group, fetching := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, i := range addresses {
		group.Go(func() (err error) {
			if images[i], err = r.fetch(fetching, refs[i].URL, &left); err != nil {
				err = r.explain(refs[i], err)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return images, nil
}

// byteBudget is the number of bytes that the images of a request may still use.
type byteBudget struct{ atomic.Int64 }

func (r *byteBudget) take(n int64) error {
	if r.Add(-n) < 0 {
		return errTotal
	}
	return nil
}

// Errors about an image of a request. An error that the client gets has the name of the image's field
// before this text.
var (
	errTotal   = errors.New("exceeds the size limit: all images of this request together are larger than this server accepts")
	errTooBig  = errors.New("is larger than this server accepts")
	errNoImage = errors.New("is not a PNG, JPEG, GIF, WebP or BMP image")
)

// notAllowedError is returned for a feature that is disabled in this server's configuration.
type notAllowedError string

func (e notAllowedError) Error() string { return string(e) }

// explain returns the error of an image. It names the field and doesn't disclose the content,
// the host or the connection.
func (r *Reader) explain(ref inference.ImageRef, err error) error {
	text := err.Error()
	switch {
	case errors.Is(err, errTooBig):
		text += fmt.Sprintf(" (%s %d)", r.cfg.Names.Of("images.MaxBytes"), r.cfg.MaxBytes)
	case errors.Is(err, errTotal):
		text += fmt.Sprintf(" (%s %d)", r.cfg.Names.Of("images.MaxTotalBytes"), r.cfg.MaxTotalBytes)
	}
	if _, refused := errors.AsType[notAllowedError](err); refused {
		return inference.Unsupported(ref.Param, "%s %s", ref.Param, text)
	}
	return inference.Invalid(ref.Param, "%s %s", ref.Param, text)
}

// imageType returns the media type of an image by its first bytes, or "" for other data. All
// models' image libraries read these formats. Some read more formats, such as PostScript, which
// are a security risk.
func imageType(head []byte) string {
	kind := http.DetectContentType(head)
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp":
		return kind
	}
	return ""
}

// sniffed is the number of bytes that determine an image's type.
const sniffed = 32

func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
