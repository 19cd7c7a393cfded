package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestIgnoreMany checks that the list of a request's ignored fields is limited: a client may send
// thousands of them.
func TestIgnoreMany(t *testing.T) {
	fields := make([]IgnoredField, 5000)
	for i := range fields {
		fields[i].Name = fmt.Sprint("f", i)
	}
	header, rec := http.Header{}, &Record{}
	ctx := context.WithValue(t.Context(), ignoredKey{}, &ignored{header: header, record: rec})
	if err := Ignore(ctx, fields...); err != nil {
		t.Fatal(err)
	}
	if err := Ignore(ctx, IgnoredField{Name: "more"}); err != nil {
		t.Fatal(err)
	}
	if n := len(rec.Ignored); n != MaxIgnored+1 || rec.Ignored[0] != "f0" {
		t.Errorf("%d fields", n)
	}
	if got := header.Get(IgnoredHeader); !strings.HasPrefix(got, "f0, f1, ") || !strings.HasSuffix(got, "f63, ...") {
		t.Errorf("%s", got)
	}
}

func TestHeaderList(t *testing.T) {
	if got := headerList([]string{"a", "b\r\nc", "é"}); got != "a, b%0D%0Ac, %C3%A9" {
		t.Errorf("got %q", got)
	}
	if got := headerList([]string{strings.Repeat("x", 2*maxIgnoredBytes)}); len(got) > maxIgnoredBytes {
		t.Errorf("%d bytes", len(got))
	}
}
