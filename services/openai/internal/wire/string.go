package wire

import "github.com/trident-inference/trident/services/jsonstring"

// Quoted is [jsonstring.Quoted].
func Quoted(s string) []byte { return jsonstring.Quoted(s) }

// AppendEscaped is [jsonstring.AppendEscaped].
func AppendEscaped(dst, text []byte) []byte { return jsonstring.AppendEscaped(dst, text) }
