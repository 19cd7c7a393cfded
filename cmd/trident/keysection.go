package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trident-inference/trident/services/auth"
)

// keyField is a key of an entry in the section keys, or of the entry's limits.
type keyField struct {
	name, help, kind string
	schema           schema
	into             func(e *auth.KeyEntry) any
	fields           []keyField // the keys of this key's value, if the value is a mapping
}

const wholeNumber = string(kindInt)

// keyFields returns the keys of an entry in a keys file.
func keyFields() []keyField {
	text, natural := schema{"type": "string"}, schema{"type": "integer", "minimum": 0}
	texts := schema{"type": "array", "items": text}
	return []keyField{
		{name: "name", help: "Name of the client in the log. Default: a name derived from the key's hash.", kind: "a string", schema: text, into: func(e *auth.KeyEntry) any { return &e.Name }},
		{name: "key", help: "API key of the client, or the hash of the key that trident key hash prints. A list has several keys, so that a new key can replace an old one.", kind: "a string or a list of strings", schema: schema{"anyOf": []schema{text, texts}}, into: func(e *auth.KeyEntry) any { return &e.Key }},
		{name: "models", help: "Names of the models, as in requests, that the client may use. Default: all models; [] allows none.", kind: "a list of strings", schema: texts, into: func(e *auth.KeyEntry) any { return &e.Models }},
		{name: "expires", help: "Date from which the client's keys are no longer accepted. Default: the keys don't expire.", kind: "a date such as 2027-06-30", schema: text, into: func(e *auth.KeyEntry) any { return &e.Expires }},
		{name: "limits", help: "Limits of the client's requests; 0 means no limit.", kind: "limits", fields: []keyField{
			{name: "in_flight", help: "Maximum number of the client's requests that are served at the same time; 0 means no limit.", kind: wholeNumber, schema: natural, into: func(e *auth.KeyEntry) any { return &e.Limits.InFlight }},
			{name: "queued", help: "Maximum number of the client's requests in the queue; 0 means no limit.", kind: wholeNumber, schema: natural, into: func(e *auth.KeyEntry) any { return &e.Limits.Queued }},
			{name: "rate", help: "Maximum number of the client's requests that start per second on average; 0 means no limit.", kind: "a number", schema: schema{"type": "number", "minimum": 0}, into: func(e *auth.KeyEntry) any { return &e.Limits.Rate }},
			{name: "burst", help: "Maximum number of the client's requests that may start at once under the rate; 0 means the number of requests in one second.", kind: wholeNumber, schema: natural, into: func(e *auth.KeyEntry) any { return &e.Limits.Burst }},
			{name: "tokens_per_minute", help: "Maximum number of tokens of the client's prompts and answers per minute; 0 means no limit. A request reserves its prompt and the maximum of its answer.", kind: wholeNumber, schema: natural, into: func(e *auth.KeyEntry) any { return &e.Limits.TokensPerMinute }},
		}},
	}
}

// keys reads the section of client keys. Problems only name the position, because a
// value may be a key.
func (r *settingsReader) keys(node *yaml.Node) {
	r.file.keys.File = r.file.path
	if node.Kind != yaml.SequenceNode || len(node.Content) == 0 {
		r.problemf(node, "keys: must be a list of clients with at least one entry, such as {name: NAME, key: KEY}")
		return
	}
	for i, item := range node.Content {
		var entry auth.KeyEntry
		where, wrong := fmt.Sprintf("keys: entry %d", i+1), len(r.problems)
		r.keyFields(resolved(item), where, keyFields(), &entry)
		if len(r.problems) > wrong {
			continue
		}
		if err := r.file.keys.Add(entry); err != nil {
			r.problemf(item, "%s: %w", where, err)
		}
	}
}

func (r *settingsReader) keyFields(node *yaml.Node, where string, fields []keyField, entry *auth.KeyEntry) {
	if node.Kind != yaml.MappingNode {
		r.problemf(node, "%s: must be a mapping with the keys %s", where, namesOf(fields))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], resolved(node.Content[i+1])
		at := slices.IndexFunc(fields, func(f keyField) bool { return f.name == key.Value })
		switch {
		case at < 0 || key.Kind != yaml.ScalarNode:
			r.problemf(key, "%s: unknown key: the keys are %s", where, namesOf(fields))
		case seen[key.Value]:
			r.problemf(key, "%s: duplicate key %q", where, key.Value)
		case fields[at].fields != nil:
			r.keyFields(value, where+": "+key.Value, fields[at].fields, entry)
		default:
			if err := fields[at].decode(value, entry); err != nil {
				r.problemf(value, "%s: %s: %w", where, key.Value, err)
			}
		}
		seen[key.Value] = true
	}
}

// decode reads a value. A null value is an error, because it could be misread as "no
// limit".
func (f keyField) decode(value *yaml.Node, entry *auth.KeyEntry) error {
	if tag := value.ShortTag(); tag == "!!null" || f.kind == wholeNumber && tag != "!!int" || value.Decode(f.into(entry)) != nil {
		return errors.New("must be " + f.kind)
	}
	return nil
}

func namesOf(fields []keyField) string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

// keysSchema returns the schema of the section keys.
func keysSchema() schema {
	entry := fieldsSchema(keyFields())
	entry["required"] = []string{"key"}
	return schema{"type": "array", "minItems": 1, "items": entry}
}

func fieldsSchema(fields []keyField) schema {
	properties := schema{}
	for _, f := range fields {
		property := schema{}
		if f.fields != nil {
			property = fieldsSchema(f.fields)
		}
		maps.Copy(property, f.schema)
		property["description"] = f.help
		properties[f.name] = property
	}
	return schema{"type": "object", "additionalProperties": false, "properties": properties}
}

// hideKeys masks the secrets of the section.
func hideKeys(section *yaml.Node) {
	for _, entry := range section.Content {
		for i := 0; i+1 < len(entry.Content); i += 2 {
			if entry.Content[i].Value != "key" {
				continue
			}
			values := entry.Content[i+1 : i+2]
			if values[0].Kind == yaml.SequenceNode {
				values = values[0].Content
			}
			for j := range values {
				values[j] = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: auth.HiddenKey}
			}
		}
	}
}

// bare returns a copy of a node without comments, which may contain commented-out
// secrets, and without anchors.
func bare(node *yaml.Node) *yaml.Node {
	node = resolved(node)
	clone := &yaml.Node{Kind: node.Kind, Style: node.Style, Tag: node.Tag, Value: node.Value}
	for _, child := range node.Content {
		clone.Content = append(clone.Content, bare(child))
	}
	return clone
}
