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
//   - The language is what chat templates use: those of the model hub that @huggingface/ollama-utils collects, of vLLM's
//     package and of our tests. Parse reports anything else by its name.
//   - Not supported are the tags block, include, import, extends and autoescape (a chat template is one file of plain
//     text); the filters attr, center, filesizeformat, forceescape, pprint, random, slice, striptags, urlencode, urlize,
//     wordwrap and xmlattr; the tests escaped, filter and test; the globals cycler, joiner and lipsum; and of methods those
//     of numbers and ranges, dict.fromkeys, and of str casefold, center, encode, expandtabs, format_map, isascii,
//     isdecimal, isidentifier, isnumeric, isprintable, istitle, ljust, maketrans, rjust, swapcase, translate and zfill.
//     \N{...} escapes and complex numbers are refused.
//   - Functions and iterators print without the memory address that Python shows.
//   - Constant expressions are evaluated when they are reached. An error that Python hides while it folds
//     constants, as in 'abc'['x':], is an error here; infinity as a constant, which breaks Python's generated code,
//     is a value here.
//   - Python's limits on its own stack and compiler are replaced by Limits.
//   - Text is UTF-8: a lone surrogate, which Python can hold but not print, is U+FFFD.
//   - Error messages have words of their own, but for those of raise_exception.
package jinja
