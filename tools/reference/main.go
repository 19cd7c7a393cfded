// Command reference writes reference pages of the documentation from the schemas of the APIs. With
// arguments it writes a page of an OpenAPI document: reference DOCUMENT.yaml PAGE.md. Without
// arguments it is a plugin of buf, which writes a page of the services, messages and enums of the
// protos. `make generate` runs both.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/getkin/kin-openapi/openapi3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	var err error
	switch len(os.Args) {
	case 1:
		err = plugin(os.Stdin, os.Stdout)
	case 3:
		err = httpPage(os.Args[1], os.Args[2])
	default:
		err = errors.New("usage: reference DOCUMENT.yaml PAGE.md")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// httpPage writes the page of an OpenAPI document.
func httpPage(document, page string) error {
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return fmt.Errorf("load %s: %w", document, err)
	}
	return os.WriteFile(page, []byte(describe(doc, filepath.Base(document))), 0o644) //nolint:gosec // a page of the documentation
}

// typedPage is the name of the page of the protos.
const typedPage = "typed-api.md"

// plugin reads a request of buf and writes the response with the page.
func plugin(r io.Reader, w io.Writer) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	var request pluginpb.CodeGeneratorRequest
	if err := proto.Unmarshal(text, &request); err != nil {
		return fmt.Errorf("decode the request: %w", err)
	}
	response := &pluginpb.CodeGeneratorResponse{
		SupportedFeatures: proto.Uint64(uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)),
		File:              []*pluginpb.CodeGeneratorResponse_File{{Name: proto.String(typedPage), Content: proto.String(typed(&request))}},
	}
	text, err = proto.Marshal(response)
	if err != nil {
		return fmt.Errorf("encode the response: %w", err)
	}
	_, err = w.Write(text)
	return err
}
