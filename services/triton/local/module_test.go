package local

import (
	"errors"
	"testing"
)

// TestStartFailure checks that the reason of a failed start is one line with the first model and the cause, without
// what Triton repeats.
func TestStartFailure(t *testing.T) {
	python := errors.New("model two: load failed for model 'two': version 1 is at UNAVAILABLE state: Internal: ModuleNotFoundError: No module named 'x'\n\nAt:\n  model.py(1): <module>\n") //nolint:revive // Triton's own text
	for _, test := range []struct {
		failed []error
		want   string
	}{
		{[]error{python}, "can't load model two: ModuleNotFoundError: No module named 'x'; local.ExitOnError=false serves the other models"},
		{[]error{python, python, python}, "can't load model two: ModuleNotFoundError: No module named 'x', and 2 more can't be loaded; local.ExitOnError=false serves the other models"},
		{[]error{errors.New("list the model repository: no such folder")}, "can't load the models: list the model repository: no such folder; local.ExitOnError=false serves the other models"},
		{[]error{errors.New("model a: load failed for model 'a': version 2 is at UNAVAILABLE state: Not found: no library;")}, "can't load model a: no library; local.ExitOnError=false serves the other models"},
	} {
		if got := startFailure(test.failed).Error(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}
