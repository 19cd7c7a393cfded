package main

import (
	"strings"
	"testing"
)

// TestCount checks when a counted run fails: a skipped test is a failure only if everything that the
// tests need is provided.
func TestCount(t *testing.T) {
	const passed = `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n"
	const skipped = `{"Action":"skip","Package":"p","Test":"TestB"}` + "\n"
	t.Setenv("TRIDENT_TEST_GIVEN", "x")
	t.Setenv("TRIDENT_TEST_GIVEN_TOO", "x")
	t.Setenv("TRIDENT_TEST_EMPTY", "")
	for name, row := range map[string]struct {
		events string
		needs  []string
		want   string
	}{
		"all passed":               {passed, []string{"TRIDENT_TEST_GIVEN"}, ""},
		"skipped":                  {passed + skipped, nil, ""},
		"skipped without its need": {passed + skipped, []string{"TRIDENT_TEST_GIVEN", "TRIDENT_TEST_EMPTY"}, ""},
		"skipped with its need":    {passed + skipped, []string{"TRIDENT_TEST_GIVEN", "TRIDENT_TEST_GIVEN_TOO"}, "tests were skipped, although what they need is set: TRIDENT_TEST_GIVEN, TRIDENT_TEST_GIVEN_TOO"},
		"failed":                   {passed + `{"Action":"fail","Package":"p","Test":"TestB"}` + "\n", nil, "tests failed"},
		"failed build":             {passed + `{"Action":"fail","Package":"p"}` + "\n", nil, "tests failed"},
		"no test":                  {`{"Action":"pass","Package":"p"}` + "\n", nil, "no test ran"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newResults()
			if err := r.read(strings.NewReader(row.events), nil, func(line string) { t.Errorf("no event: %s", line) }); err != nil {
				t.Fatal(err)
			}
			if got := (&countCommand{Needs: row.needs}).problem(r); got != row.want {
				t.Errorf("problem %q, want %q", got, row.want)
			}
		})
	}
}
