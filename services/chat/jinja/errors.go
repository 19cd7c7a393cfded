package jinja

import (
	"errors"
	"fmt"
)

// SyntaxError says that a template can't be compiled. It is final: the same source fails each time.
type SyntaxError struct {
	Name    string // the template's name as given to Parse
	Line    int    // 1-based line of the source, 0 where none is to blame
	Message string
}

func (e *SyntaxError) Error() string { return position(e.Name, e.Line) + e.Message }

func position(name string, line int) string {
	if line == 0 {
		return "template " + name + ": "
	}
	return fmt.Sprintf("template %s, line %d: ", name, line)
}

// RenderError says that a template failed on its input: an undefined value was used, types don't fit
// an operation, and the like.
type RenderError struct {
	Name    string
	Line    int // line of the statement or expression that failed, 0 for a variable that can't be used
	Message string
}

func (e *RenderError) Error() string { return position(e.Name, e.Line) + e.Message }

// RaisedError carries the message that a template passed to raise_exception: the template's author
// refuses the input, so the message is meant for whoever sent it.
type RaisedError struct{ Message string }

func (e *RaisedError) Error() string { return e.Message }

// LimitError says that a render was stopped because it passed one of the Limits.
type LimitError struct {
	Limit string // "steps", "depth", "output bytes", "memory bytes" or "integer digits"
	Max   int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("template needs more than %d %s", e.Max, e.Limit)
}

// failf reports a failure whose template and line the enclosing statement fills in.
func failf(format string, args ...any) error {
	return &RenderError{Message: fmt.Sprintf(format, args...)}
}

// at gives err the position of the innermost statement, unless it has one or needs none.
func at(err error, name string, line int) error {
	if err == nil {
		return nil
	}
	if re, ok := errors.AsType[*RenderError](err); ok && re.Line == 0 {
		return &RenderError{Name: name, Line: line, Message: re.Message}
	}
	return err
}
