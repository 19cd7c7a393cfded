// Package jinja renders Hugging Face chat templates: the Jinja language with the semantics of
// Python. Messages, roles and tools belong to package chat.
//
// It follows the documentation of jinja2 3.1 (template designer documentation, sandbox) and of the Python
// language. Its configuration equals that of the environment in which transformers renders chat templates:
//
//   - sandboxed and immutable, with trim_blocks and lstrip_blocks on and autoescape off;
//   - with break and continue, and the generation tag;
//   - with json.dumps as tojson, and the globals raise_exception and strftime_now.
//
// TestOracle compares it byte for byte with that environment.
//
// Parse compiles a template once and binds every name to a slot. Render walks the tree and writes to one buffer.
// Templates are untrusted. Templates can access no files, no network and no Go values except their input, and can't
// change the input. Limits stop them.
//
// # Deliberate differences
//
//   - The language is limited to the features that chat templates use: the templates of the model hub that
//     @huggingface/ollama-utils collects, of vLLM's package and of this project's tests. Parse reports any other feature
//     by its name.
//   - Not supported are the tags block, include, import, extends and autoescape (a chat template is one file of plain
//     text); the filters attr, center, filesizeformat, forceescape, pprint, random, slice, striptags, urlencode, urlize,
//     wordwrap and xmlattr; the tests escaped, filter and test; the globals cycler, joiner and lipsum; the methods of
//     numbers and ranges, and dict.fromkeys; and of str casefold, center, encode, expandtabs, format_map, isascii,
//     isdecimal, isidentifier, isnumeric, isprintable, istitle, ljust, maketrans, rjust, swapcase, translate and zfill.
//     \N{...} escapes and complex numbers are rejected.
//   - Functions and iterators print without the memory address that Python shows.
//   - Constant expressions are evaluated when they are reached. An error that Python hides while it folds
//     constants, as in 'abc'['x':], is an error here. Infinity as a constant, which breaks Python's generated code,
//     is a value here.
//   - Limits replace Python's limits on its stack and compiler.
//   - Text is UTF-8. A lone surrogate, which Python can store but not print, is U+FFFD.
//   - Error messages differ from Python's, except those of raise_exception.
package jinja
