// Package configfield has the errors of configurations, which name the invalid field. The
// caller that prints an error replaces the field by the operator's name for it, the flag in
// cmd/trident. This package and other services name no flags. The flags belong to
// cmd/trident.
package configfield

import (
	"errors"
	"fmt"
	"strings"
)

// Field is a field of a configuration: the name of the package, a dot, and the name of the
// field.
type Field string

// Names has what operators call the fields. It may be used concurrently.
type Names struct{ names map[Field]string }

// NamesOf returns the names of a table, which the caller must not change afterwards.
func NamesOf(table map[Field]string) *Names { return &Names{table} }

// Of returns the operators' name of a field. If n is nil or has no name for the field, Of
// returns the name that the code uses for the field.
func (n *Names) Of(field Field) string {
	if n != nil {
		if name, found := n.names[field]; found {
			return name
		}
	}
	return string(field)
}

// Error is the error of an invalid field.
type Error struct {
	// Field is the first of the fields that the error names.
	Field Field

	format string
	args   []any
}

// Errorf returns the error of a field. Format and args are those of [fmt.Errorf]. A [Field]
// in args is renamed as the invalid field is.
func Errorf(field Field, format string, args ...any) error {
	return Textf("%s: "+format, append([]any{field}, args...)...)
}

// Textf returns the error of the fields in args, each at its place in the format.
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

// Error returns the message with the fields' names in the code.
func (e *Error) Error() string { return e.Named(func(f Field) string { return string(f) }) }

// Named returns the message with the fields renamed by a function.
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

// Text returns the message of an error with the fields renamed by a function. It renames
// the fields of each [Error] in the tree of err, also inside the messages of wrapping
// errors.
func Text(err error, name func(Field) string) string {
	text := err.Error()
	var walk func(error)
	walk = func(err error) {
		if e, ok := err.(*Error); ok { //nolint:errorlint // each error of the tree is checked
			text = strings.ReplaceAll(text, e.Error(), e.Named(name))
		}
		switch e := err.(type) { //nolint:errorlint // each error of the tree is checked
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
