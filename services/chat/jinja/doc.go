// Package jinja renders Hugging Face chat templates: the Jinja language with the semantics of Python.
//
// It follows the documentation of jinja2 3.1 (template designer documentation, sandbox) and of the Python
// language, and is configured like the environment in which transformers renders chat templates: sandboxed
// and immutable, trim_blocks and lstrip_blocks on, autoescape off, break and continue, the generation tag,
// json.dumps as tojson, and the globals raise_exception and strftime_now. TestOracle compares it byte for byte
// with that environment.
//
// Parse compiles a template once, with every name bound to a slot; Render walks that tree and writes to one
// buffer. Templates are untrusted: they reach no file, network or Go value beyond the ones that they are given,
// can't change those, and are stopped by Limits.
//
// # Deliberate differences
//
//   - include, import, extends and autoescape are refused by Parse: a chat template is one file of plain text.
//     A block only opens a scope; there is no self and no super.
//   - The filters pprint, random, urlize and wordwrap and the global lipsum do not exist: rendering depends on
//     nothing but the template, its variables and the clock.
//   - str has no encode, casefold, translate or maketrans, since there are no bytes. \N{...} escapes and complex
//     numbers are refused.
//   - Functions and iterators print without the memory address that Python shows.
//   - Constant expressions are evaluated when they are reached. An error that Python hides while it folds
//     constants, as in 'abc'['x':], is an error here; infinity as a constant, which breaks Python's generated code,
//     is a value here.
//   - Python's limits on its own stack and compiler are replaced by Limits.
//   - Text is UTF-8: a lone surrogate, which Python can hold but not print, is U+FFFD.
//   - Error messages have words of their own, but for those of raise_exception.
package jinja
