package wire

import (
	"strings"
	"testing"
)

func TestHeaderList(t *testing.T) {
	if got := headerList([]string{"a", "b\r\nc", "é"}); got != "a, b%0D%0Ac, %C3%A9" {
		t.Errorf("got %q", got)
	}
	if got := headerList([]string{strings.Repeat("x", 2*maxIgnoredBytes)}); len(got) > maxIgnoredBytes {
		t.Errorf("%d bytes", len(got))
	}
}
