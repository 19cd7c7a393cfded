package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/trident-inference/trident/services/inference"
)

// schema is a JSON schema, or part of one.
type schema map[string]any

// duration matches a flag's duration.
const duration = `^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`

// sizePattern matches a flag's size.
const sizePattern = `^[0-9]+(\.[0-9]+)? ?([KkMmGgTtPp][Ii]?)?[Bb]?$`

// schema returns the JSON schema of settings files, generated from the flags.
func (f *flags) schema() ([]byte, error) {
	properties := schema{}
	for _, s := range f.settings {
		if inFile(s.flag) {
			properties[s.flag.Name] = flagSchema(s.flag)
		}
	}
	for _, s := range sections() {
		property := s.schema()
		property["description"] = s.help
		properties[s.name] = property
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(schema{
		"$schema": "http://json-schema.org/draft-07/schema#", // the version that editors support
		"title":   "Settings of Trident (--config)",
		"type":    "object", "additionalProperties": false, "properties": properties,
	})
	if err != nil {
		return nil, fmt.Errorf("print the schema: %w", err)
	}
	return b.Bytes(), nil
}

func flagSchema(flag *kong.Flag) schema {
	t := flag.Target.Type()
	if isList(t) {
		return listOf(kindSchema(kindOfType(t.Elem())), flag.Help)
	}
	kind := kindOfType(t)
	s := kindSchema(kind)
	s["description"] = flag.Help
	if flag.Enum != "" {
		s["enum"] = strings.Split(flag.Enum, ",")
	}
	if flag.HasDefault && flag.Default != "" {
		s["default"] = typed(kind, flag.Default)
	}
	return s
}

// listOf returns the schema of a list. A single item needs no list.
func listOf(item schema, help string) schema {
	return schema{"description": help, "anyOf": []schema{item, {"type": "array", "items": item}}}
}

func kindSchema(kind valueKind) schema {
	switch kind {
	case kindBool:
		return schema{"type": "boolean"}
	case kindInt:
		return schema{"type": "integer"}
	case kindNumber:
		return schema{"type": "number"}
	case kindDuration:
		return schema{"type": "string", "pattern": duration}
	case kindSize:
		return schema{"anyOf": []schema{{"type": "integer", "minimum": 0}, {"type": "string", "pattern": sizePattern}}}
	case kindTime:
		return schema{"anyOf": []schema{{"type": "integer"}, {"type": "string", "pattern": duration}}}
	case kindString:
	}
	return schema{"type": "string"}
}

// typed converts a default to a JSON value.
func typed(kind valueKind, text string) any {
	switch kind {
	case kindBool:
		return text == "true"
	case kindInt, kindNumber:
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	case kindString, kindDuration, kindSize, kindTime:
	}
	return text
}

// modelsSchema returns the schema of the section models.
func modelsSchema() schema {
	properties := schema{}
	for _, k := range modelKeys() {
		item := kindSchema(k.kind)
		if k.kind == kindInt {
			item["minimum"] = 1
		}
		if k.setting == inference.SettingMaxLogprobs {
			item["minimum"] = -1 // all
		}
		if k.list {
			properties[k.name] = listOf(item, k.help)
			continue
		}
		item["description"] = k.help
		properties[k.name] = item
	}
	return schema{"type": "object", "additionalProperties": schema{"type": "object", "additionalProperties": false, "properties": properties}}
}
