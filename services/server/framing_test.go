package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// framing is a row of the table in docs/security.md as requests on the wire.
type framing struct {
	row      string   // the first cell of the table's row
	head     string   // additional header lines, with their line ends
	bodies   []string // alternatives after the header; each has the same result
	whole    string   // the whole request, if its header has unusual line ends or another version
	status   int      // expected status of the response
	read     string   // the body that the handler reads, for status 200
	reused   bool     // reports whether the next request on the connection is served
	desynced bool     // the rest is read as the next request and refused
}

const chunkedABC = "3\r\nabc\r\n0\r\n\r\n"

// chunkedHead is the header line of a chunked body.
const chunkedHead = "Transfer-Encoding: chunked\r\n"

func framings() []framing {
	abc := []string{"abc"}
	taken := func(row, head string, bodies ...string) framing {
		return framing{row: row, head: head, bodies: bodies, status: http.StatusOK, read: "abc", reused: true}
	}
	refused := func(row, head string, bodies ...string) framing {
		return framing{row: row, head: head, bodies: bodies, status: http.StatusBadRequest}
	}
	unsupported := func(row string, head string) framing {
		return framing{row: row, head: head, bodies: []string{"abc", chunkedABC}, status: http.StatusNotImplemented}
	}
	const both, several, sign, codings, fold, lf, character, chunk = "`Content-Length` and `Transfer-Encoding: chunked`", "several different `Content-Length` lines, or a list of values in one line",
		"a `Content-Length` that isn't only digits", "a `Transfer-Encoding` other than one `chunked`", "a header line that continues on the next line (obs-fold)",
		"a header line that ends with LF only", "a space before a colon, CR or NUL in a value, or a line without a colon", "a chunk line that ends with LF only, or a chunk size that has a sign or `0x`, is invalid or is too large"
	return []framing{
		taken(both, "Content-Length: 3\r\n"+chunkedHead, chunkedABC),
		taken(both, chunkedHead+"Content-Length: 30\r\n", chunkedABC),
		refused("`Transfer-Encoding: chunked` and a `Content-Length` that isn't a number", chunkedHead+"Content-Length: x\r\n", chunkedABC),
		taken("several equal `Content-Length` lines", "Content-Length: 3\r\nContent-Length: 3\r\n", abc...),
		refused(several, "Content-Length: 3\r\nContent-Length: 4\r\n", abc...),
		refused(several, "Content-Length: 3, 3\r\n", abc...),
		refused(sign, "Content-Length: +3\r\n", abc...),
		refused(sign, "Content-Length: -3\r\n", abc...),
		refused(sign, "Content-Length: 0x3\r\n", abc...),
		refused(sign, "Content-Length: 3a\r\n", abc...),
		refused(sign, "Content-Length: \r\n", abc...),
		refused(sign, "Content-Length: 99999999999999999999\r\n", abc...),
		taken("a `Content-Length` with leading zeros, or spaces around it", "Content-Length: 03\r\n", abc...),
		taken("a `Content-Length` with leading zeros, or spaces around it", "Content-Length:  3 \r\n", abc...),
		unsupported(codings, "Transfer-Encoding: chunked, chunked\r\n"),
		unsupported(codings, "Transfer-Encoding: gzip, chunked\r\n"),
		unsupported(codings, "Transfer-Encoding: identity\r\n"),
		unsupported(codings, "Transfer-Encoding: xchunked\r\n"),
		unsupported(codings, "Content-Length: 3\r\nTransfer-Encoding: xchunked\r\n"),
		unsupported(codings, chunkedHead+"Transfer-Encoding: chunked\r\n"),
		unsupported(codings, chunkedHead+"Transfer-Encoding: identity\r\n"),
		taken("`chunked` in upper or mixed case", "Transfer-Encoding: Chunked\r\n", chunkedABC),
		{
			row: "`Transfer-Encoding` in HTTP/1.0", whole: "POST / HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n" + chunkedHead + "\r\n" + chunkedABC,
			status: http.StatusOK, desynced: true,
		},
		{
			row: "`Transfer-Encoding` in HTTP/1.0", whole: "POST / HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n" + chunkedHead + "Content-Length: 3\r\n\r\nabc",
			status: http.StatusOK, read: "abc", reused: true,
		},
		taken(fold, "X: a\r\n b\r\nContent-Length: 3\r\n", abc...),
		taken(fold, "X: a\r\n\tContent-Length: 9\r\nContent-Length: 3\r\n", abc...),
		taken(fold, "Transfer-Encoding:\r\n chunked\r\n", chunkedABC),
		taken(lf, "X: a\nContent-Length: 3\r\n", abc...),
		{row: lf, whole: "POST / HTTP/1.1\nHost: localhost\nContent-Length: 3\n\nabc", status: http.StatusOK, read: "abc", reused: true},
		refused(character, "Content-Length : 3\r\n", abc...),
		refused(character, "Transfer-Encoding : chunked\r\n", chunkedABC),
		refused(character, "X: a\rb\r\nContent-Length: 3\r\n", abc...),
		refused(character, "X: a\x00b\r\nContent-Length: 3\r\n", abc...),
		refused(character, "X a\r\nContent-Length: 3\r\n", abc...),
		taken("a chunk size with an extension, leading zeros or a trailing space", chunkedHead, "3;a=b\r\nabc\r\n0\r\n\r\n", "0003\r\nabc\r\n0\r\n\r\n", "3 \r\nabc\r\n0\r\n\r\n"),
		refused(chunk, chunkedHead, "3\nabc\r\n0\r\n\r\n", "3\r\nabc\n0\r\n\r\n", "3;a\nb\r\nabc\r\n0\r\n\r\n", "3\r\nabc\r\n0\n\n", "+3\r\nabc\r\n0\r\n\r\n", " 3\r\nabc\r\n0\r\n\r\n",
			"0x3\r\nabc\r\n0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n", "2\r\nabc\r\n0\r\n\r\n", "10000000000000003\r\nabc\r\n0\r\n\r\n"),
		taken("a trailer, also one with framing headers", chunkedHead, "3\r\nabc\r\n0\r\nX: t\r\nContent-Length: 7\r\n\r\n"),
		{row: "a body that is longer than its `Content-Length`", head: "Content-Length: 3\r\n", bodies: []string{"abcd\r\n\r\n"}, status: http.StatusOK, read: "abc", desynced: true},
		refused("no `Host` header, or several", "Host: localhost\r\nContent-Length: 3\r\n", abc...),
		{row: "no `Host` header, or several", whole: "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", status: http.StatusBadRequest},
	}
}

// TestSmuggling checks each row of the table of request framing in docs/security.md. Requests that
// two servers may read differently are refused or read as documented.
func TestSmuggling(t *testing.T) {
	url, _, _ := start(t, Default(), noWork{}, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = fmt.Fprintf(w, "%s read %q", r.Method, body)
	})
	documented := rowsOnFraming(t)
	for _, f := range framings() {
		ending, ok := documented[f.row]
		if want := f.ending(); !ok || !strings.HasSuffix(ending, want) {
			t.Errorf("docs/security.md says on %q: %q, want an end of %q", f.row, ending, want)
		}
		requests := []string{f.whole}
		if f.whole == "" {
			requests = nil
			for _, body := range f.bodies {
				requests = append(requests, "POST / HTTP/1.1\r\nHost: localhost\r\n"+f.head+"\r\n"+body)
			}
		}
		for _, request := range requests {
			f.check(t, strings.TrimPrefix(url, "http://"), request)
		}
	}
	for row := range documented {
		if !tested(row) {
			t.Errorf("docs/security.md has the row %q, which no request tests", row)
		}
	}
}

func tested(row string) bool {
	for _, f := range framings() {
		if f.row == row {
			return true
		}
	}
	return false
}

// ending returns the expected suffix of the row's second cell.
func (f framing) ending() string {
	switch {
	case f.status != http.StatusOK:
		return fmt.Sprintf("%d, and the connection is closed", f.status)
	case f.reused && f.row != "`Transfer-Encoding` in HTTP/1.0":
		return "the connection stays open"
	default:
		return "what follows is read as the next request"
	}
}

// check sends the request and then another one on the same connection.
func (f framing) check(t *testing.T, address, request string) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, request+"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	status, body, _ := nextAnswer(answers)
	if status != f.status || status == http.StatusOK && body != fmt.Sprintf("POST read %q", f.read) {
		t.Errorf("%q: %d %s", request, status, body)
	}
	status, body, err = nextAnswer(answers)
	switch {
	case f.reused && (status != http.StatusOK || body != `GET read ""`), f.desynced && status != http.StatusBadRequest, !f.reused && !f.desynced && err == nil:
		t.Errorf("%q: then %d %s, %v", request, status, body, err)
	}
}

func nextAnswer(from *bufio.Reader) (status int, body string, err error) {
	answer, err := http.ReadResponse(from, nil)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// rowsOnFraming returns the rows of the documentation's table by their first cell.
func rowsOnFraming(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Framing of HTTP/1.1\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.+) \| (.+) \|$`).FindAllStringSubmatch(section, -1) {
		if row[1] != "request" {
			rows[row[1]] = row[2]
		}
	}
	if len(rows) == 0 {
		t.Fatal("docs/security.md has no table on framing")
	}
	return rows
}
