package jinja

import (
	"errors"
	"fmt"
)

// SyntaxError is returned when a template can't be compiled. The same source fails each time.
type SyntaxError struct {
	Name    string // template's name passed to Parse
	Line    int    // 1-based line of the source, or 0 if no line is at fault
	Message string
}

func (e *SyntaxError) Error() string { return position(e.Name, e.Line) + e.Message }

func position(name string, line int) string {
	if line == 0 {
		return "template " + name + ": "
	}
	return fmt.Sprintf("template %s, line %d: ", name, line)
}

// RenderError is returned when a template fails on its input, for example because it uses an
// undefined value or an operation on the wrong types.
type RenderError struct {
	Name    string
	Line    int // line of the failed statement or expression, or 0 for an unusable input variable
	Message string
}

func (e *RenderError) Error() string { return position(e.Name, e.Line) + e.Message }

// RaisedError has the message that a template passed to raise_exception. The template's author
// rejects the input, so the message is meant for the client.
type RaisedError struct{ Message string }

func (e *RaisedError) Error() string { return e.Message }

// LimitError is returned when a render exceeds one of the Limits.
type LimitError struct {
	Limit string // "steps", "depth", "output bytes", "memory bytes" or "integer digits"
	Max   int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the template needs more than %d %s", e.Max, e.Limit)
}

// failf returns an error without template name and line. The enclosing statement adds both.
func failf(format string, args ...any) error {
	return &RenderError{Message: fmt.Sprintf(format, args...)}
}

// at adds the position of the innermost statement to err, unless err has a position or needs none.
func at(err error, name string, line int) error {
	if err == nil {
		return nil
	}
	if re, ok := errors.AsType[*RenderError](err); ok && re.Line == 0 {
		return &RenderError{Name: name, Line: line, Message: re.Message}
	}
	return err
}
