package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// methods are the HTTP methods in the order of a path's operations.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// operation is an operation of a document with its place.
type operation struct {
	*openapi3.Operation

	name string // method and path
	item *openapi3.PathItem
}

// describe returns the page of a document: its introduction, its operations by tag, and its schemas.
func describe(doc *openapi3.T, file string) string {
	var b strings.Builder
	title := doc.Info.Title
	if _, after, found := strings.Cut(title, ", "); found {
		title = after
	}
	fmt.Fprintf(&b, "# HTTP: %s\n\nThis page is generated from [openapi/%[2]s](../../openapi/%[2]s), and describes each operation and each field.\n\n%s\n\n## Operations\n\n", title, file, paragraphs(doc.Info.Description))
	byTag := map[string][]operation{}
	var rows [][]string
	for _, o := range operations(doc) {
		byTag[o.Tags[0]] = append(byTag[o.Tags[0]], o)
		rows = append(rows, []string{fmt.Sprintf("[`%s`](#%s)", o.name, anchor(o.name)), cell(o.Summary)})
	}
	b.WriteString(table([]string{"operation", "purpose"}, rows))
	for _, tag := range doc.Tags {
		fmt.Fprintf(&b, "## %s operations\n\n%s\n\n", strings.ToUpper(tag.Name[:1])+tag.Name[1:], paragraphs(tag.Description))
		for _, o := range byTag[tag.Name] {
			o.write(&b)
		}
	}
	b.WriteString("## Schemas\n\n" +
		"In the column *required*, \"yes\" means that a request must have the field, or that a response always has it. " +
		"A field of a nested object has the name of that object as a prefix, and `[]` means each element of a list.\n\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		if s := doc.Components.Schemas[name].Value; !inlined(s) {
			writeSchema(&b, name, s)
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// operations returns the operations of a document, by path.
func operations(doc *openapi3.T) (all []operation) {
	for _, path := range doc.Paths.InMatchingOrder() {
		item := doc.Paths.Value(path)
		for _, method := range methods {
			if o := item.GetOperation(method); o != nil {
				all = append(all, operation{Operation: o, name: method + " " + path, item: item})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b operation) int {
		return strings.Compare(a.name[strings.Index(a.name, "/"):], b.name[strings.Index(b.name, "/"):])
	})
	return all
}

func (o operation) write(b *strings.Builder) {
	fmt.Fprintf(b, "### `%s`\n\n%s.\n\n", o.name, escape(strings.TrimSuffix(o.Summary, ".")))
	if o.Description != "" {
		b.WriteString(paragraphs(o.Description) + "\n\n")
	}
	var rows [][]string
	for _, p := range append(slices.Clone(o.item.Parameters), o.Parameters...) {
		v := p.Value
		rows = append(rows, []string{"`" + v.Name + "`", v.In, typeOf(v.Schema), demanded(v.Required), cell(v.Description + bounds(v.Schema.Value))})
	}
	b.WriteString(table([]string{"parameter", "in", "type", "required", "meaning"}, rows))
	if o.RequestBody != nil {
		fmt.Fprintf(b, "Body: %s. %s\n\n", contents(o.RequestBody.Value.Content), escape(o.RequestBody.Value.Description))
	}
	rows = nil
	responses := o.Responses.Map()
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		r := responses[status].Value
		description := ""
		if r.Description != nil {
			description = *r.Description
		}
		var headers []string
		for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
			headers = append(headers, "`"+name+"`")
		}
		rows = append(rows, []string{status, contents(r.Content), strings.Join(headers, ", "), cell(description)})
	}
	b.WriteString(table([]string{"status", "body", "headers", "meaning"}, rows))
}

// contents returns the media types of a body with their schemas.
func contents(content openapi3.Content) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(content)) {
		text := "`" + name + "`"
		if s := content[name].Schema; s != nil {
			text += " " + typeOf(s)
		}
		all = append(all, text)
	}
	return strings.Join(all, " or ")
}

func demanded(required bool) string {
	if required {
		return "yes"
	}
	return ""
}
