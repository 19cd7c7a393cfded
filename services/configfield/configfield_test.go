package configfield_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/trident-inference/trident/services/configfield"
)

// TestText checks that Text replaces the names of configuration fields in an error by the names of
// flags, also in wrapped and joined errors.
func TestText(t *testing.T) {
	flags := map[configfield.Field]string{"a.Port": "--port", "a.Host": "--host"}
	name := func(f configfield.Field) string { return flags[f] }
	port := configfield.Errorf("a.Port", "%d is no port of %s", 70000, configfield.Field("a.Host"))
	file := configfield.Errorf("a.Host", "%w", fs.ErrNotExist)
	for _, test := range []struct {
		err         error
		plain, want string
	}{
		{port, "a.Port: 70000 is no port of a.Host", "--port: 70000 is no port of --host"},
		{configfield.Textf("choose %s, not %q", configfield.Field("a.Port"), "a.Port"), `choose a.Port, not "a.Port"`, `choose --port, not "a.Port"`},
		{fmt.Errorf("start: %w", errors.Join(port, file)), "start: a.Port: 70000 is no port of a.Host\na.Host: file does not exist", "start: --port: 70000 is no port of --host\n--host: file does not exist"},
		{errors.New("a.Port"), "a.Port", "a.Port"},
	} {
		if got := test.err.Error(); got != test.plain {
			t.Errorf("got %q, want %q", got, test.plain)
		}
		if got := configfield.Text(test.err, name); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	if !errors.Is(file, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
	if e, ok := errors.AsType[*configfield.Error](fmt.Errorf("start: %w", port)); !ok || e.Field != "a.Port" {
		t.Errorf("the field is %v", e)
	}
}
