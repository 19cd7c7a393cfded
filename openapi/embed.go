// Package openapi holds the OpenAPI documents that Trident's HTTP surfaces are
// generated from, validated against and described by.
package openapi

import _ "embed"

//go:embed openai.yaml
var openAI string

// OpenAI returns the document of the OpenAI-compatible API, OpenAPI 3.0.3 in YAML.
// The caller owns the bytes.
func OpenAI() []byte { return []byte(openAI) }

//go:embed anthropic.yaml
var anthropic string

// Anthropic returns the document of Anthropic's Messages API, OpenAPI 3.0.3 in YAML. The
// caller owns the bytes.
func Anthropic() []byte { return []byte(anthropic) }

//go:embed encoders.yaml
var encoders string

// Encoders returns the document of the APIs that rank, score, classify and embed texts, OpenAPI 3.0.3 in
// YAML. The caller owns the bytes.
func Encoders() []byte { return []byte(encoders) }

//go:embed kserve.yaml
var kserve string

// KServe returns the document of the KServe v2 REST API, OpenAPI 3.0.3 in YAML. The
// caller owns the bytes.
func KServe() []byte { return []byte(kserve) }
