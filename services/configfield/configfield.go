// Package configfield has the errors of configurations, which name the field at fault. What
// operators call the field (the flag, in cmd/trident) is said by the caller that prints the
// error. No flag is named here or in other services.
package configfield

import (
	"errors"
	"fmt"
	"strings"
)

// Field is a field of a configuration: the package, a dot, and the field's name.
type Field string

// Error is the error of a field that can't be used.
type Error struct {
	// Field is the first of the fields that the error names.
	Field Field

	format string
	args   []any
}

// Errorf returns the error of a field. Format and args are those of [fmt.Errorf]; a
// [Field] among args is named as the field at fault is.
func Errorf(field Field, format string, args ...any) error {
	return Textf("%s: "+format, append([]any{field}, args...)...)
}

// Textf returns the error of the fields that stand in args, at their places in the format.
func Textf(format string, args ...any) error {
	e := &Error{format: format, args: args}
	for _, arg := range args {
		if field, ok := arg.(Field); ok {
			e.Field = field
			break
		}
	}
	return e
}

// Error names the fields as the code does.
func (e *Error) Error() string { return e.Named(func(f Field) string { return string(f) }) }

// Named is the error's text with the fields named by a function.
func (e *Error) Named(name func(Field) string) string {
	args := make([]any, len(e.args))
	for i, arg := range e.args {
		args[i] = arg
		if field, ok := arg.(Field); ok {
			args[i] = name(field)
		}
	}
	return fmt.Errorf(e.format, args...).Error()
}

// Unwrap returns the errors that the format wraps.
func (e *Error) Unwrap() []error {
	var all []error
	for _, arg := range e.args {
		if err, ok := arg.(error); ok {
			all = append(all, err)
		}
	}
	return all
}

// Text is the text of an error in whose tree fields are named by a function: those of
// [Error] in it, also where other text stands around them.
func Text(err error, name func(Field) string) string {
	text := err.Error()
	var walk func(error)
	walk = func(err error) {
		if e, ok := err.(*Error); ok { //nolint:errorlint // each error of the tree is looked at
			text = strings.ReplaceAll(text, e.Error(), e.Named(name))
		}
		switch e := err.(type) { //nolint:errorlint // likewise
		case interface{ Unwrap() []error }:
			for _, one := range e.Unwrap() {
				walk(one)
			}
		default:
			if inner := errors.Unwrap(err); inner != nil {
				walk(inner)
			}
		}
	}
	walk(err)
	return text
}
