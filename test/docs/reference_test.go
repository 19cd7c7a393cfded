package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/trident-inference/trident/gen/go/trident/v1" // registers the descriptors
	"github.com/trident-inference/trident/openapi"
)

// section returns the lines of a page between a heading and the next heading of the same level or a higher one.
func section(page, heading string) string {
	level := strings.Count(strings.SplitN(heading, " ", 2)[0], "#")
	_, rest, found := strings.Cut("\n"+page, "\n"+heading+"\n")
	if !found {
		return ""
	}
	for i := 1; i <= level; i++ {
		rest, _, _ = strings.Cut(rest, "\n"+strings.Repeat("#", i)+" ")
	}
	return rest
}

// TestHTTPPages checks that the pages of the HTTP APIs have each operation with its statuses, and each field with its
// description.
func TestHTTPPages(t *testing.T) {
	for name, document := range map[string][]byte{
		"openai": openapi.OpenAI(), "anthropic": openapi.Anthropic(), "encoders": openapi.Encoders(), "kserve": openapi.KServe(),
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, "docs", "reference", "http-"+name+".md"))
			if err != nil {
				t.Fatal(err)
			}
			doc, err := openapi3.NewLoader().LoadFromData(document)
			if err != nil {
				t.Fatal(err)
			}
			for path, item := range doc.Paths.Map() {
				for method, o := range item.Operations() {
					part := section(string(text), "### `"+method+" "+path+"`")
					for status := range o.Responses.Map() {
						if !strings.Contains(part, "| "+status+" |") {
							t.Errorf("%s %s lacks the status %s", method, path, status)
						}
					}
				}
			}
			for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
				s := doc.Components.Schemas[name].Value
				part := section(string(text), "### "+name)
				for field, ref := range s.Properties {
					if !strings.Contains(part, "| `"+field+"` | ") {
						t.Errorf("%s lacks the field %s", name, field)
					}
					if first, _, _ := strings.Cut(ref.Value.Description, " "); !strings.Contains(part, first) {
						t.Errorf("%s.%s lacks its description", name, field)
					}
				}
			}
		})
	}
}

// TestPathsPage checks that docs/reference/paths.md has each operation of the OpenAPI documents. A path with … has all
// paths with this prefix.
func TestPathsPage(t *testing.T) {
	var listed []string
	for _, code := range regexp.MustCompile("`([A-Z]* ?/[^`]*)`").FindAllStringSubmatch(pages(t)["docs/reference/paths.md"], -1) {
		listed = append(listed, code[1])
	}
	count := 0
	for _, document := range [][]byte{openapi.OpenAI(), openapi.Anthropic(), openapi.Encoders(), openapi.KServe()} {
		doc, err := openapi3.NewLoader().LoadFromData(document)
		if err != nil {
			t.Fatal(err)
		}
		for path, item := range doc.Paths.Map() {
			if path == "/v1/models/{model_id}" { // Anthropic's form of OpenAI's path
				continue
			}
			for method := range item.Operations() {
				count++
				if !slices.ContainsFunc(listed, func(entry string) bool {
					prefix, all := strings.CutSuffix(entry, "…")
					return entry == method+" "+path || entry == path || all && strings.HasPrefix(path, prefix)
				}) {
					t.Errorf("docs/reference/paths.md lacks %s %s", method, path)
				}
			}
		}
	}
	if count < 50 {
		t.Errorf("%d operations, want 50 at least: are the documents read?", count)
	}
}

// TestTypedPage checks that the page of the typed services has each method, field and value.
func TestTypedPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "reference", "typed-api.md"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	want := func(heading, row string) {
		count++
		if part := section(string(text), "### "+heading); !strings.Contains(part, "| `"+row+"` | ") {
			t.Errorf("%s lacks %s", heading, row)
		}
	}
	protoregistry.GlobalFiles.RangeFilesByPackage("trident.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			for j := range s.Methods().Len() {
				want(string(s.Name()), string(s.Methods().Get(j).Name()))
			}
		}
		for i := range f.Messages().Len() {
			wantFields(f.Messages().Get(i), "", want)
		}
		for i := range f.Enums().Len() {
			for e, j := f.Enums().Get(i), 0; j < e.Values().Len(); j++ {
				want(string(e.Name()), string(e.Values().Get(j).Name()))
			}
		}
		return true
	})
	if count < 200 {
		t.Errorf("%d methods, fields and values, want 200 at least", count)
	}
}

func wantFields(m protoreflect.MessageDescriptor, prefix string, want func(heading, row string)) {
	if m.IsMapEntry() {
		return
	}
	name := prefix + string(m.Name())
	for i := range m.Fields().Len() {
		want(name, string(m.Fields().Get(i).Name()))
	}
	for i := range m.Messages().Len() {
		wantFields(m.Messages().Get(i), name+".", want)
	}
}
