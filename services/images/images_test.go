package images

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/test/pause"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The first bytes of each format, followed by filler.
var (
	png  = "\x89PNG\r\n\x1a\n" + strings.Repeat("p", 90)
	jpeg = "\xff\xd8\xff\xe0" + strings.Repeat("j", 90)
	gif  = "GIF89a" + strings.Repeat("g", 90)
	webp = "RIFF\x10\x00\x00\x00WEBPVP8 " + strings.Repeat("w", 90)
	bmp  = "BM" + strings.Repeat("b", 90)
)

func encoded(image string) string { return base64.StdEncoding.EncodeToString([]byte(image)) }

func dataURI(image string) string { return "data:image/png;base64," + encoded(image) }

// reader returns a Reader whose Permit allows loopback addresses.
func reader(t *testing.T, change func(*Config)) *Reader {
	t.Helper()
	cfg := Default()
	cfg.AllowURLs, cfg.Permit = true, netip.Addr.IsLoopback
	if change != nil {
		change(&cfg)
	}
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func refs(urls ...string) []inference.ImageRef {
	list := make([]inference.ImageRef, len(urls))
	for i, url := range urls {
		list[i] = inference.ImageRef{URL: url, Param: fmt.Sprintf("messages[0].content[%d].image_url.url", i)}
	}
	return list
}

// read calls Check and Read, as the core does.
func read(ctx context.Context, r *Reader, urls ...string) ([]inference.Image, error) {
	if err := r.Check(refs(urls...)); err != nil {
		return nil, err
	}
	return r.Read(ctx, refs(urls...))
}

func TestDataURI(t *testing.T) {
	for _, tt := range []struct{ name, url, kind, data string }{
		{"PNG", dataURI(png), "image/png", encoded(png)},
		{"another type than it says", dataURI(jpeg), "image/jpeg", encoded(jpeg)},
		{"GIF", dataURI(gif), "image/gif", encoded(gif)},
		{"WebP", dataURI(webp), "image/webp", encoded(webp)},
		{"BMP", dataURI(bmp), "image/bmp", encoded(bmp)},
		{"no type", "data:;base64," + encoded(png), "image/png", encoded(png)},
		{"any case, and a parameter", "DATA:Image/PNG;name=a.png;Base64," + encoded(png), "image/png", encoded(png)},
		{"one sign of padding", dataURI(png[:26]), "image/png", encoded(png[:26])},
		{"two signs of padding", dataURI(png[:25]), "image/png", encoded(png[:25])},
		{"many pieces", dataURI(png + strings.Repeat("\x00\xff", 99_999)), "image/png", encoded(png + strings.Repeat("\x00\xff", 99_999))},
		{"pieces to the byte", dataURI(gif + strings.Repeat("x", 6144-len(gif))), "image/gif", encoded(gif + strings.Repeat("x", 6144-len(gif)))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(t.Context(), reader(t, nil), tt.url)
			if err != nil || got[0].Type != tt.kind || got[0].Base64 != tt.data {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestDataURIAllocates(t *testing.T) {
	r, list := reader(t, nil), refs(dataURI(png+strings.Repeat("x", 1<<20)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := r.Read(t.Context(), list)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; err != nil || n > 1<<16 {
		t.Errorf("%d bytes for an image of 1 MiB, which is there already; %v", n, err)
	}
}

// wantError checks the field and the words of an error, and that the error shows nothing
// else.
func wantError(t *testing.T, err error, index int, reason inference.Reason, message string) {
	t.Helper()
	e, ok := errors.AsType[*inference.Error](err)
	if !ok {
		t.Fatalf("got %v, want an error with %q", err, message)
	}
	param := refs(make([]string, index+1)...)[index].Param
	if e.Code != inference.CodeInvalid || e.Param != param || e.Reason != reason || !strings.Contains(e.Message, message) {
		t.Errorf("%s %s: %s", e.Reason, e.Param, e.Message)
	}
	for _, secret := range []string{"127.0.0.1", "secret", "dial", "lookup", "0x"} {
		if strings.Contains(e.Error(), secret) {
			t.Errorf("the error contains %s: %s", secret, e.Error())
		}
	}
}

func TestBadImages(t *testing.T) {
	r := reader(t, func(c *Config) { c.MaxCount, c.MaxBytes, c.MaxTotalBytes = 3, 200, 300 })
	for _, tt := range []struct {
		name    string
		urls    []string
		index   int
		message string
	}{
		{"no base64", []string{"data:image/png," + png}, 0, "with base64 data"},
		{"no data", []string{"data:image/png;base64"}, 0, "with base64 data"},
		{"nothing", []string{"data:image/png;base64,"}, 0, "is not a PNG, JPEG, GIF, WebP or BMP"},
		{"a text", []string{"data:text/plain;base64," + encoded(png)}, 0, "media type isn't image/"},
		{"a text that calls itself an image", []string{dataURI("<svg xmlns='http://www.w3.org/2000/svg'/>")}, 0, "is not a PNG"},
		{"PostScript", []string{dataURI("%!PS-Adobe-3.0 EPSF-3.0\n")}, 0, "is not a PNG"},
		{"no padding", []string{strings.TrimRight(dataURI(png[:25]), "=")}, 0, "multiple of 4"},
		{"a line break", []string{dataURI(png)[:60] + "\r\n\r\n" + dataURI(png)[60:]}, 0, "standard alphabet with padding and without line breaks"},
		{"line breaks at the end", []string{dataURI(png) + "\n\n\n\n"}, 0, "standard alphabet"},
		{"the alphabet of addresses", []string{"data:image/png;base64," + strings.Replace(encoded(png), "c", "_", 1)}, 0, "standard alphabet"},
		{"padding in the middle", []string{dataURI(png[:25]) + encoded(png[25:])}, 0, "standard alphabet"},
		{"bits behind the end", []string{"data:image/png;base64,iVBORw0KGgp="}, 0, "standard alphabet"},
		{"percent signs", []string{"data:image/png;base64," + strings.ReplaceAll(encoded(png[:25]), "=", "%3D")}, 0, "base64"},
		{"too large", []string{dataURI(png), dataURI(png + strings.Repeat("x", 110))}, 1, "is larger than this server accepts (images.MaxBytes 200)"},
		{"too large together", []string{dataURI(png), dataURI(png + strings.Repeat("x", 50)), dataURI(png)}, 2, "images.MaxTotalBytes 300"},
		{"too many", []string{dataURI(png), dataURI(png), "", ""}, 3, "at most 3 images, but this request has 4"},
		{"no address", []string{""}, 0, "must be a data: URI, or an http: or https: URL"},
		{"no host", []string{"http://"}, 0, "http: or https:"},
		{"a file", []string{"file:///etc/passwd"}, 0, "http: or https:"},
		{"another scheme", []string{"ftp://example.com/a.png"}, 0, "http: or https:"},
		{"a control character", []string{"http://example.com/\x00"}, 0, "http: or https:"},
		{"a user", []string{"https://secret:x@example.com/a.png"}, 0, "without a user name"},
		{"an IPv4 address in IPv6", []string{"http://[::ffff:127.0.0.1]/a.png"}, 0, "non-public IP address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read(t.Context(), r, tt.urls...)
			wantError(t, err, tt.index, inference.ReasonInvalidValue, tt.message)
		})
	}
	t.Run("an address where none are fetched", func(t *testing.T) {
		off, err := New(Default())
		if err != nil {
			t.Fatal(err)
		}
		_, err = read(t.Context(), off, "https://example.com/secret.png")
		wantError(t, err, 0, inference.ReasonUnsupported, "images.AllowURLs")
	})
}

// serve starts a server on a loopback port.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func TestFetch(t *testing.T) {
	var asked atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Referer")+r.Header.Get("Cookie")+r.Header.Get("Authorization")+r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("headers %v", r.Header)
		}
		switch r.URL.Path {
		case "/png":
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, png)
		case "/chunked":
			_, _ = io.WriteString(w, gif[:10])
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, gif[10:])
		case "/there":
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			http.Redirect(w, r, "/over", http.StatusFound)
		case "/over":
			http.Redirect(w, r, "/png", http.StatusTemporaryRedirect)
		}
	})
	got, err := read(t.Context(), reader(t, nil), url+"/png", dataURI(jpeg), url+"/chunked", url+"/there?secret")
	want := []inference.Image{{Type: "image/png", Base64: encoded(png)}, {Type: "image/jpeg", Base64: encoded(jpeg)}, {Type: "image/gif", Base64: encoded(gif)}, {Type: "image/png", Base64: encoded(png)}}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || asked.Load() != 5 {
		t.Errorf("got %v, %v after %d requests", got, err, asked.Load())
	}
}

func TestFetchFails(t *testing.T) {
	var rounds atomic.Int32
	big := bytes.Repeat([]byte("x"), 1<<20)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, png+"secret")
		case "/text":
			w.Header().Set("Content-Type", "image/png")
			_, _ = io.WriteString(w, "<html>secret</html>")
		case "/announced":
			_, _ = w.Write(append([]byte(png), big...))
		case "/endless":
			_, err := io.WriteString(w, png)
			for err == nil {
				_, err = w.Write(big)
			}
		case "/cut":
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, png)
		case "/round":
			rounds.Add(1)
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/user":
			http.Redirect(w, r, "http://secret@"+r.Host+"/png", http.StatusFound)
		case "/elsewhere":
			http.Redirect(w, r, "http://[::ffff:127.0.0.1]/", http.StatusFound)
		case "/large":
			_, _ = io.WriteString(w, png+strings.Repeat("x", 600))
		}
	})
	r := reader(t, func(c *Config) { c.MaxBytes, c.MaxTotalBytes = 1000, 1200 })
	for _, tt := range []struct {
		name, path, message string
	}{
		{"not there", "/gone", "the HTTP status 404"},
		{"no image", "/text", "is not a PNG"},
		{"nothing", "/empty", "is not a PNG"},
		{"too large, as it says", "/announced", "images.MaxBytes 1000"},
		{"too large", "/endless", "images.MaxBytes 1000"},
		{"cut", "/cut", "ends the response early"},
		{"redirects in a circle", "/round", "redirects more than 3 times"},
		{"a redirect to a file", "/file", "http: or https:"},
		{"a redirect with a user", "/user", "without a user name"},
		{"a redirect to a mapped address", "/elsewhere", "non-public IP address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := read(t.Context(), r, dataURI(png), url+tt.path)
			wantError(t, err, 1, inference.ReasonInvalidValue, tt.message)
		})
	}
	if n := rounds.Load(); n != 1+maxRedirects {
		t.Errorf("%d requests before a circle was left", n)
	}
	t.Run("together too large", func(t *testing.T) {
		_, err := read(t.Context(), r, url+"/large", url+"/large")
		e, _ := errors.AsType[*inference.Error](err)
		if e == nil || !strings.Contains(e.Message, "images.MaxTotalBytes 1200") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		server := httptest.NewServer(nil)
		server.Close()
		_, err := read(t.Context(), r, server.URL+"/secret")
		wantError(t, err, 0, inference.ReasonInvalidValue, "can't be reached")
	})
	t.Run("no such name", func(t *testing.T) {
		_, err := read(t.Context(), r, "http://secret.invalid/")
		wantError(t, err, 0, inference.ReasonInvalidValue, "can't be reached")
	})
}

// TestFetchKeepsAway checks that without the tests' Permit no fetch reaches this machine:
// not by any of its names and not by a redirect.
func TestFetchKeepsAway(t *testing.T) {
	var asked atomic.Int32
	private := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, png)
	})
	port := private[strings.LastIndexByte(private, ':'):]
	r := reader(t, func(c *Config) { c.Permit = nil })
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::]", "2130706433", "0x7f.1", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "10.0.0.1", "169.254.169.254", "[fe80::1%25lo]"} {
		t.Run(host, func(t *testing.T) {
			_, err := read(t.Context(), r, "http://"+host+port+"/")
			wantError(t, err, 0, inference.ReasonInvalidValue, "") // the address is refused, or the name doesn't exist
		})
	}
	t.Run("the environment's proxy", func(t *testing.T) {
		t.Setenv("http_proxy", private)
		t.Setenv("HTTP_PROXY", private)
		_, err := read(t.Context(), r, "http://secret.invalid/")
		wantError(t, err, 0, inference.ReasonInvalidValue, "can't be reached")
	})
	t.Run("a redirect", func(t *testing.T) {
		first := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, private, http.StatusFound) })
		allowed := netip.MustParseAddrPort(strings.TrimPrefix(first, "http://"))
		var dials atomic.Int32
		once := reader(t, func(c *Config) {
			c.Permit = func(a netip.Addr) bool { return a == allowed.Addr() && dials.Add(1) == 1 }
		})
		_, err := read(t.Context(), once, first)
		wantError(t, err, 0, inference.ReasonInvalidValue, "non-public IP address")
	})
	if asked.Load() > 0 {
		t.Errorf("%d requests came through", asked.Load())
	}
}

func TestPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "172.15.0.1": true, "172.32.0.1": true, "100.63.0.1": true, "2606:4700:4700::1111": true, "2a00:1450::1": true,
		"0.0.0.0": false, "10.1.2.3": false, "100.64.0.1": false, "100.127.255.255": false, "127.0.0.1": false, "127.255.0.1": false, "169.254.169.254": false,
		"172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "192.0.0.1": false, "192.0.2.1": false, "198.18.0.1": false, "198.19.255.255": false,
		"198.51.100.1": false, "203.0.113.1": false, "224.0.0.1": false, "239.255.255.255": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "::ffff:8.8.8.8": false, "::ffff:127.0.0.1": false, "::127.0.0.1": false, "64:ff9b::8.8.8.8": false, "64:ff9b:1::1": false,
		"100::1": false, "fc00::1": false, "fd12::1": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false, "ff02::1": false, "2001::1": false, "2001:db8::1": false,
		"2002:7f00:1::": false, "3fff::1": false, "4000::1": false,
	} {
		if got := public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// TestFetchEnds checks that fetching an image from a URL ends with the request and at the timeout.
func TestFetchEnds(t *testing.T) {
	for _, path := range []string{"/silent", "/slow"} {
		t.Run("the client leaves"+path, func(t *testing.T) {
			s := newStuck(t)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-s.begun
				cancel()
			}()
			if _, err := read(ctx, reader(t, nil), s.url+path); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			s.awaitIdle(t)
		})
		t.Run("the request's time is over"+path, func(t *testing.T) {
			s := newStuck(t)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := read(ctx, reader(t, nil), s.url+path); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			s.awaitIdle(t)
		})
		t.Run("the fetch's time is over"+path, func(t *testing.T) {
			s := newStuck(t)
			_, err := read(t.Context(), reader(t, func(c *Config) { c.FetchTimeout = 50 * time.Millisecond }), s.url+path)
			wantError(t, err, 0, inference.ReasonInvalidValue, "within the time limit of 50ms (images.FetchTimeout)")
			s.awaitIdle(t)
		})
		t.Run("another image is bad"+path, func(t *testing.T) {
			_, err := read(t.Context(), reader(t, nil), newStuck(t).url+path, "http://nobody.invalid/")
			wantError(t, err, 1, inference.ReasonInvalidValue, "can't be reached")
		})
	}
}

// stuck is a server that never ends a response by itself.
type stuck struct {
	url     string
	begun   chan struct{} // a token for each request
	running atomic.Int32  // number of running requests
}

func newStuck(t *testing.T) *stuck {
	t.Helper()
	s := &stuck{begun: make(chan struct{}, 8)}
	release := make(chan struct{})
	s.url = serve(t, func(w http.ResponseWriter, r *http.Request) {
		s.running.Add(1)
		defer s.running.Add(-1)
		if r.URL.Path == "/slow" {
			_, _ = io.WriteString(w, png)
			w.(http.Flusher).Flush()
		}
		s.begun <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-release:
		}
	})
	t.Cleanup(func() { close(release) })
	return s
}

// awaitIdle waits until no request is running. On a busy machine a request may end before
// it reaches the server.
func (s *stuck) awaitIdle(t *testing.T) {
	t.Helper()
	if !pause.Until(10*time.Second, func() bool { return s.running.Load() == 0 }) {
		t.Fatal("the server wasn't left")
	}
}

func TestConfig(t *testing.T) {
	for flag, change := range map[string]func(*Config){
		"":                     func(*Config) {},
		"images.MaxCount":      func(c *Config) { c.MaxCount = -1 },
		"images.MaxBytes":      func(c *Config) { c.MaxBytes = 0 },
		"images.MaxBytes: 3":   func(c *Config) { c.MaxBytes = 3 << 30 },
		"images.MaxTotalBytes": func(c *Config) { c.MaxTotalBytes = 1 },
		"images.FetchTimeout":  func(c *Config) { c.FetchTimeout = 0 },
	} {
		cfg := Default()
		change(&cfg)
		if _, err := New(cfg); (err == nil) != (flag == "") || err != nil && !strings.HasPrefix(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// FuzzDataURI checks that an accepted data URI contains an image, and that Python's decoder yields
// the same bytes for the model.
func FuzzDataURI(f *testing.F) {
	for _, seed := range []string{dataURI(png), dataURI(gif[:7]), "data:;base64,Qk0=", "data:image/png;base64,iVBORw0KGgo=", "DATA:a;b;BASE64,====", "data:image/png;base64,\n\n\n\n", "data:,x", strings.Repeat("QUJD", 3000)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		if !isDataURI(url) {
			return
		}
		var left byteBudget
		left.Store(1 << 20)
		image, err := readDataURI(url, 1<<20, &left)
		if err != nil {
			return
		}
		decoded, err := base64.StdEncoding.DecodeString(image.Base64)
		if err != nil || strings.ContainsAny(image.Base64, "\r\n") || !strings.HasSuffix(url, ","+image.Base64) {
			t.Fatalf("%q: %v", image.Base64, err)
		}
		if image.Type == "" || imageType(decoded) != image.Type {
			t.Errorf("type %s of %q", image.Type, decoded)
		}
		if taken := 1<<20 - left.Load(); taken != int64(len(decoded)) {
			t.Errorf("%d bytes were charged for %d", taken, len(decoded))
		}
	})
}
