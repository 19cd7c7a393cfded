// Package images reads the pictures of requests: data: URIs, and addresses where the
// operator lets them be fetched.
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

// Config of the reader.
type Config struct {
	// AllowURLs lets pictures be fetched from addresses that requests name.
	AllowURLs bool
	// MaxCount bounds the pictures of a request.
	MaxCount int
	// MaxBytes bounds one picture, and MaxTotalBytes all of a request's.
	MaxBytes, MaxTotalBytes int64
	// FetchTimeout bounds the fetch of one picture, redirects and all.
	FetchTimeout time.Duration
	// Permit tells which addresses may be connected to; nil for public ones only. It is
	// for tests, whose servers are on this machine.
	Permit func(netip.Addr) bool
}

// Default is the configuration without flags.
func Default() Config {
	return Config{MaxCount: 16, MaxBytes: 20 << 20, MaxTotalBytes: 64 << 20, FetchTimeout: 10 * time.Second}
}

// Validate names the field that can't be used.
func (c Config) Validate() error {
	switch {
	case c.MaxCount < 0:
		return configfield.Errorf("images.MaxCount", "%d is negative", c.MaxCount)
	case c.MaxBytes < 1:
		return configfield.Errorf("images.MaxBytes", "%d is not positive; %s=0 refuses images", c.MaxBytes, configfield.Field("images.MaxCount"))
	case c.MaxBytes > math.MaxInt32:
		return configfield.Errorf("images.MaxBytes", "%d is more than %d, which a tensor can't hold", c.MaxBytes, math.MaxInt32)
	case c.MaxTotalBytes < c.MaxBytes:
		return configfield.Errorf("images.MaxTotalBytes", "%d is less than %s (%d)", c.MaxTotalBytes, configfield.Field("images.MaxBytes"), c.MaxBytes)
	case c.FetchTimeout <= 0:
		return configfield.Errorf("images.FetchTimeout", "%s is not positive", c.FetchTimeout)
	}
	return nil
}

// Reader reads the pictures of requests. It may be used concurrently.
type Reader struct {
	cfg    Config
	client *http.Client
}

// New makes a reader. It opens no connection.
func New(cfg Config) (*Reader, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Reader{cfg: cfg, client: newClient(cfg)}, nil
}

// parallel bounds the fetches of one request at once.
const parallel = 4

// Check finds what is wrong before anything is read: too many pictures, or one that is no data:
// URI and may not be fetched. Its error is an [*inference.Error] that names the Param.
func (r *Reader) Check(refs []inference.ImageRef) error {
	if len(refs) > r.cfg.MaxCount {
		return inference.Invalid(refs[r.cfg.MaxCount].Param, "a request may have at most %d images, this one has %d (--image-max-count)", r.cfg.MaxCount, len(refs))
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

// Read returns the pictures that have passed Check, in their order. Addresses are fetched side
// by side, once all data: URIs are known to be pictures. What isn't a picture, is too large or
// can't be fetched is an [*inference.Error] that names its Param. It ends with ctx, whose error
// it then returns, and leaves nothing running.
func (r *Reader) Read(ctx context.Context, refs []inference.ImageRef) ([]inference.Image, error) {
	images := make([]inference.Image, len(refs))
	var left room
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

// room is what the pictures of a request may still take, in bytes.
type room struct{ atomic.Int64 }

func (r *room) take(n int64) error {
	if r.Add(-n) < 0 {
		return errTotal
	}
	return nil
}

// What is wrong with a picture. The texts go on after the name of its field.
var (
	errTotal   = errors.New("is too much: the images of this request are together larger than this server takes")
	errTooBig  = errors.New("is larger than this server takes")
	errNoImage = errors.New("is not a PNG, JPEG, GIF, WebP or BMP image")
)

// notAllowedError is what this server doesn't do, as it was started.
type notAllowedError string

func (e notAllowedError) Error() string { return string(e) }

// explain makes the error of a picture: it names the field, and shows nothing of what
// is there or of how it was reached.
func (r *Reader) explain(ref inference.ImageRef, err error) error {
	text := err.Error()
	switch {
	case errors.Is(err, errTooBig):
		text += fmt.Sprintf(" (--image-max-bytes %d)", r.cfg.MaxBytes)
	case errors.Is(err, errTotal):
		text += fmt.Sprintf(" (--image-max-total-bytes %d)", r.cfg.MaxTotalBytes)
	}
	if _, refused := errors.AsType[notAllowedError](err); refused {
		return inference.Unsupported(ref.Param, "%s %s", ref.Param, text)
	}
	return inference.Invalid(ref.Param, "%s %s", ref.Param, text)
}

// imageType is the media type of a picture's first bytes, empty for others. These
// formats are what all models' image libraries read; what they read beside them, such
// as PostScript, is better kept away from them.
func imageType(head []byte) string {
	kind := http.DetectContentType(head)
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp":
		return kind
	}
	return ""
}

// sniffed is how many bytes tell a picture's type.
const sniffed = 32

func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
