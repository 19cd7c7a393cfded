package images

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// maxRedirects is the maximum number of redirects when an image is fetched.
const maxRedirects = 3

var (
	errScheme    = errors.New("must be a data: URI, or an http: or https: URL")
	errUser      = errors.New("must be a URL without a user name")
	errRedirects = fmt.Errorf("is a URL that redirects more than %d times", maxRedirects)
	errPrivate   = errors.New("is a URL whose host has a non-public IP address, which this server doesn't access")
)

// newClient returns the client of all fetches. It keeps no connections, cookies or
// credentials. It takes no proxy from the environment, because a proxy would connect
// to the address itself and bypass the check. It requests no compression, which would
// hide an image's size.
func newClient(cfg Config) *http.Client {
	permit := cfg.Permit
	if permit == nil {
		permit = public
	}
	dialer := &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error { return checkDial(address, permit) }}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
			TLSHandshakeTimeout: cfg.FetchTimeout,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			req.Header.Del("Referer") // the previous address may contain a secret
			if len(via) > maxRedirects {
				return errRedirects
			}
			return checkURL(req.URL)
		},
	}
}

// checkDial checks the address right before the connection, because each DNS lookup
// of a name may return another address.
func checkDial(address string, permit func(netip.Addr) bool) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || at.Addr().Zone() != "" || !permit(at.Addr()) {
		return errPrivate
	}
	return nil
}

// checkAddress finds errors in an address before any fetch.
func (r *Reader) checkAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return errScheme
	case checkURL(u) != nil:
		return checkURL(u)
	case !r.cfg.AllowURLs:
		return notAllowedError(fmt.Sprintf("is a URL, but this server doesn't fetch images from URLs (%s): send a data: URI", r.cfg.Names.Of("images.AllowURLs")))
	}
	return nil
}

func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errScheme
	case u.User != nil:
		return errUser
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && addr.Is4In6() {
		return errPrivate // the dialer would use the embedded IPv4 address
	}
	return nil
}

// fetch fetches an image.
func (r *Reader) fetch(ctx context.Context, address string, left *byteBudget) (inference.Image, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.cfg.FetchTimeout, slowError{r.cfg.FetchTimeout, r.cfg.Names.Of("images.FetchTimeout")})
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return inference.Image{}, errScheme
	}
	req.Header.Set("User-Agent", "trident")
	req.Header.Set("Accept", "image/png, image/jpeg, image/gif, image/webp, image/bmp")
	resp, err := r.client.Do(req)
	if err != nil {
		return inference.Image{}, failure(ctx, err)
	}
	defer resp.Body.Close() //nolint:errcheck // nothing was written
	switch {
	case resp.StatusCode != http.StatusOK:
		return inference.Image{}, fmt.Errorf("can't be fetched: its server responds with the HTTP status %d", resp.StatusCode)
	case resp.ContentLength > r.cfg.MaxBytes:
		return inference.Image{}, errTooBig
	}
	image, err := encode(resp.Body, resp.ContentLength, r.cfg.MaxBytes, left)
	if err != nil {
		return inference.Image{}, failure(ctx, err)
	}
	return image, nil
}

// slowError is the error of a fetch that took longer than the limit, which setting sets.
type slowError struct {
	limit   time.Duration
	setting string
}

func (e slowError) Error() string {
	return fmt.Sprintf("can't be fetched within the time limit of %s (%s)", e.limit, e.setting)
}

// failure removes host names and addresses from an error.
func failure(ctx context.Context, err error) error {
	for _, known := range []error{errScheme, errUser, errRedirects, errPrivate, errTooBig, errTotal, errNoImage} {
		if errors.Is(err, known) {
			return known
		}
	}
	if slow, ok := errors.AsType[slowError](context.Cause(ctx)); ok {
		return slow
	}
	return errors.New("can't be fetched: its server can't be reached, or ends the response early")
}

// encode reads an image of at most `most` bytes directly into base64. length is the
// server's Content-Length, or -1 if it is unknown.
func encode(body io.Reader, length, most int64, left *byteBudget) (inference.Image, error) {
	reader := bufio.NewReaderSize(&limited{from: body, most: most, left: left}, 16<<10)
	head, err := reader.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return inference.Image{}, err
	}
	image := inference.Image{Type: imageType(head)}
	if image.Type == "" {
		return inference.Image{}, errNoImage
	}
	var text strings.Builder
	if length > 0 {
		text.Grow(base64.StdEncoding.EncodedLen(int(length))) // length is within the limit
	}
	encoder := base64.NewEncoder(base64.StdEncoding, &text)
	if _, err := io.Copy(encoder, reader); err != nil {
		return inference.Image{}, err
	}
	if err := encoder.Close(); err != nil { // writing to a strings.Builder never fails
		return inference.Image{}, err
	}
	image.Base64 = text.String()
	return image, nil
}

// limited returns an error if one image or all images together are too large.
type limited struct {
	from io.Reader
	most int64
	left *byteBudget
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	if l.most -= int64(n); l.most < 0 {
		return 0, errTooBig
	}
	if full := l.left.take(int64(n)); full != nil {
		return 0, full
	}
	return n, err
}
