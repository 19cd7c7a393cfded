// Package openapi holds the OpenAPI documents that Trident's HTTP surfaces are
// generated from, validated against and described by.
package openapi

import _ "embed"

//go:embed openai.yaml
var openAI string

// OpenAI gives the document of the OpenAI surface, OpenAPI 3.0.3 in YAML. The
// bytes are the caller's own.
func OpenAI() []byte { return []byte(openAI) }

//go:embed kserve.yaml
var kserve string

// KServe gives the document of KServe v2 by REST, OpenAPI 3.0.3 in YAML. The bytes
// are the caller's own.
func KServe() []byte { return []byte(kserve) }
