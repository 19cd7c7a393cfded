package openapi

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// JSON returns a document of this package as JSON, as servers send it to clients. Errors mean that the
// document is invalid.
func JSON(document []byte) ([]byte, error) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("load the OpenAPI document: %w", err)
	}
	text, err := doc.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode the OpenAPI document: %w", err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("decode the OpenAPI document: %w", err)
	}
	listNull(tree)
	return json.Marshal(tree)
}

// listNull adds null to the enumerations of nullable values. OpenAPI 3.0.3
// requires that (proposal 2019-10-31, clarify semantics of nullable), but the
// generator and the validator would take it for another enum value.
func listNull(tree any) {
	switch node := tree.(type) {
	case []any:
		for _, item := range node {
			listNull(item)
		}
	case map[string]any:
		if words, ok := node["enum"].([]any); ok && node["nullable"] == true && !slices.Contains(words, nil) {
			node["enum"] = append(words, nil)
		}
		for _, item := range node {
			listNull(item)
		}
	}
}
