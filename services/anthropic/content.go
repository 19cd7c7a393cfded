package anthropic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/strictjson"
)

// The types of content that have an effect.
const (
	blockText       = "text"
	blockImage      = "image"
	blockDocument   = "document"
	blockSearch     = "search_result"
	blockToolUse    = "tool_use"
	blockToolResult = "tool_result"
	blockThinking   = "thinking"
	blockRedacted   = "redacted_thinking"
	blockReference  = "tool_reference"
)

// blockTypes are all types of content that have an effect.
var blockTypes = []string{ //nolint:gochecknoglobals // a constant list
	blockText, blockImage, blockDocument, blockSearch, blockToolUse, blockToolResult, blockThinking, blockRedacted, blockReference,
}

// The authors of messages.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleSystem    = "system"
	roleTool      = "tool"
)

// billingPrefix is the prefix of a line of the system prompt that Claude Code changes with every request.
// In the prompt the line would defeat prefix caches.
const billingPrefix = "x-anthropic-billing-header:"

// decoder converts the messages of a request to those of the core.
type decoder struct {
	ignoredFields

	// open returns the reasoning of a seal.
	open     func(sealed string) (string, error)
	sealed   int // bytes of the seals so far
	messages []inference.Message
	origins  []string // the path of each message in the request, for errors
	images   []string // the path of each image in the request, for errors
}

func (d *decoder) push(m inference.Message, origin string) {
	d.messages = append(d.messages, m)
	d.origins = append(d.origins, origin)
}

// pushParts adds a message with parts. A single text is the content itself, as the same text without a block.
func (d *decoder) pushParts(m inference.Message, parts []inference.Part, origin string) {
	if m.Parts = parts; len(parts) == 1 && parts[0].Kind == inference.PartText {
		m.Parts, m.Text = nil, parts[0].Text
	}
	d.push(m, origin)
}

// system adds the system prompt.
func (d *decoder) system(body object) error {
	const key = "system"
	if text, ok := body.members[key].(string); ok {
		if text = d.withoutBilling(text, key); text != "" {
			d.push(inference.Message{Role: roleSystem, Text: text}, key)
		}
		return nil
	}
	list, err := body.list(key)
	if err != nil {
		return body.wrong(key, "a string or a list of blocks")
	}
	return d.systemBlocks(list, key, key)
}

// systemBlocks adds a system message of blocks.
func (d *decoder) systemBlocks(list []any, path, origin string) error {
	var parts []inference.Part
	for i, value := range list {
		o, kind, err := block(path, i, value)
		if err != nil {
			return err
		}
		if kind != blockText {
			d.add(o.path, "is a block of the type "+strictjson.Quote(kind)+", which has no effect in system messages")
			continue
		}
		text, err := d.text(o)
		if err != nil {
			return err
		}
		if text = d.withoutBilling(text, o.path); text != "" {
			parts = append(parts, inference.Part{Kind: inference.PartText, Text: text})
		}
	}
	if len(parts) > 0 {
		d.pushParts(inference.Message{Role: roleSystem}, parts, origin)
	}
	return nil
}

// withoutBilling removes the lines with the prefix billingPrefix from a text of the system prompt.
func (d *decoder) withoutBilling(text, path string) string {
	if !strings.Contains(text, billingPrefix) {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, billingPrefix) {
			d.add(path, "has the line "+billingPrefix+", which changes with every request: it is left out of the prompt")
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// message adds a message of the conversation.
func (d *decoder) message(o object) error {
	role, err := o.word("role", true, roleUser, roleAssistant, roleSystem)
	if err != nil {
		return err
	}
	d.unknown(o, "role", "content")
	const key = "content"
	if text, ok := o.members[key].(string); ok {
		if role == roleSystem {
			if text = d.withoutBilling(text, o.at(key)); text == "" {
				return nil
			}
		}
		d.push(inference.Message{Role: role, Text: text}, o.path)
		return nil
	}
	list, ok := o.members[key].([]any)
	if !ok {
		return o.wrong(key, "a string or a list of blocks")
	}
	switch role {
	case roleUser:
		return d.user(o, list)
	case roleAssistant:
		return d.assistant(o, list)
	}
	return d.systemBlocks(list, o.at(key), o.path)
}

// block returns the block at an index of a list, and its type.
func block(path string, i int, value any) (object, string, error) {
	o, err := item(path, i, value)
	if err != nil {
		return o, "", err
	}
	kind, err := o.text("type", true)
	return o, kind, err
}

// user adds the messages of a user's content: results of tools are messages of their own.
func (d *decoder) user(o object, list []any) error {
	var parts []inference.Part
	flush := func() {
		if len(parts) > 0 {
			d.pushParts(inference.Message{Role: roleUser}, parts, o.path)
			parts = nil
		}
	}
	for i, value := range list {
		b, kind, err := block(o.at("content"), i, value)
		if err != nil {
			return err
		}
		switch kind {
		case blockToolResult:
			flush()
			err = d.toolResult(b)
		case blockToolUse, blockThinking, blockRedacted:
			err = inference.Invalid(b.path, "%s is a block of the type %s, which only messages of the assistant have", b.path, kind)
		default:
			parts, err = d.part(parts, b, kind)
		}
		if err != nil {
			return err
		}
	}
	flush()
	return nil
}

// part appends the parts of a block that users and tools send. Other blocks are left out.
func (d *decoder) part(parts []inference.Part, o object, kind string) ([]inference.Part, error) {
	part := inference.Part{Kind: inference.PartText}
	var err error
	switch kind {
	case blockText:
		part.Text, err = d.text(o)
	case blockImage:
		part, err = d.image(o)
	case blockSearch:
		part.Text, err = d.searchResult(o)
	case blockReference:
		d.unknown(o, "type", "tool_name", "cache_control")
		part.Text, err = o.text("tool_name", true)
		part.Text = "The tool " + part.Text + " is available."
	case blockDocument:
		return d.document(parts, o)
	default:
		d.add(o.path, "is a block of the type "+strictjson.Quote(kind)+", which the model can't read: it is left out of the prompt")
		return parts, nil
	}
	return append(parts, part), err
}

// text returns the text of a block.
func (d *decoder) text(o object) (string, error) {
	d.unknown(o, "type", "text", "cache_control", "citations")
	return o.text("text", true)
}

// image returns the part of an image.
func (d *decoder) image(o object) (inference.Part, error) {
	part := inference.Part{Kind: inference.PartImage}
	d.images = append(d.images, o.path)
	d.unknown(o, "type", "source", "cache_control")
	source, ok, err := o.child("source")
	if err != nil || !ok {
		return part, o.wrong("source", "an object")
	}
	kind, err := source.text("type", true)
	if err != nil {
		return part, err
	}
	switch kind {
	case "base64":
		d.unknown(source, "type", "media_type", "data")
		media, err := source.word("media_type", true, "image/jpeg", "image/png", "image/gif", "image/webp")
		if err != nil {
			return part, err
		}
		data, err := source.text("data", true)
		part.URL = "data:" + media + ";base64," + data
		return part, err
	case "url":
		d.unknown(source, "type", "url")
		part.URL, err = source.text("url", true)
		return part, err
	}
	at := source.at("type")
	return part, inference.Unsupported(at, "%s must be base64 or url, got %s: the server stores no files", at, strictjson.Quote(kind))
}

// searchResult returns a result of a search as text.
func (d *decoder) searchResult(o object) (string, error) {
	d.unknown(o, "type", "title", "source", "content", "cache_control", "citations")
	if err := d.citations(o); err != nil {
		return "", err
	}
	title, err := o.text("title", true)
	if err != nil {
		return "", err
	}
	source, err := o.text("source", true)
	if err != nil {
		return "", err
	}
	list, ok := o.members["content"].([]any)
	if !ok {
		return "", o.wrong("content", "a list of blocks")
	}
	texts := make([]string, len(list))
	for i, value := range list {
		b, kind, err := block(o.at("content"), i, value)
		if err == nil && kind != blockText {
			err = inference.Invalid(b.at("type"), "%s must be text, got %s", b.at("type"), strictjson.Quote(kind))
		}
		if err == nil {
			texts[i], err = d.text(b)
		}
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("<search_result>\n<title>%s</title>\n<source>%s</source>\n%s\n</search_result>", title, source, strings.Join(texts, "\n")), nil
}

// citations reads the setting of citations of a document or of a search result.
func (d *decoder) citations(o object) error {
	citations, _, err := o.child("citations")
	if err != nil {
		return err
	}
	on, err := citations.flag("enabled")
	if on {
		d.add(o.at("citations"), "has no effect: models write no citations")
	}
	return err
}

// document appends the parts of a document, which is shown as text.
func (d *decoder) document(parts []inference.Part, o object) ([]inference.Part, error) {
	d.unknown(o, "type", "source", "title", "context", "cache_control", "citations")
	if err := d.citations(o); err != nil {
		return nil, err
	}
	head := []string{"<document>"}
	for _, key := range []string{"title", "context"} {
		text, err := o.text(key, false)
		if err != nil {
			return nil, err
		}
		if text != "" {
			head = append(head, "<"+key+">"+text+"</"+key+">")
		}
	}
	source, ok, err := o.child("source")
	if err != nil || !ok {
		return nil, o.wrong("source", "an object")
	}
	content, err := d.documentSource(source)
	if err != nil {
		return nil, err
	}
	first := len(parts)
	parts = append(parts, content...)
	if first == len(parts) || parts[first].Kind != inference.PartText {
		parts = slices.Insert(parts, first, inference.Part{Kind: inference.PartText})
	}
	parts[first].Text = strings.Join(append(head, parts[first].Text), "\n")
	last := len(parts) - 1
	if parts[last].Kind != inference.PartText {
		parts = append(parts, inference.Part{Kind: inference.PartText})
		last++
	}
	parts[last].Text += "\n</document>"
	return parts, nil
}

// documentSource returns the content of a document.
func (d *decoder) documentSource(source object) ([]inference.Part, error) {
	kind, err := source.text("type", true)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "text":
		d.unknown(source, "type", "media_type", "data")
		if _, err := source.word("media_type", true, "text/plain"); err != nil {
			return nil, err
		}
		text, err := source.text("data", true)
		return []inference.Part{{Kind: inference.PartText, Text: text}}, err
	case "content":
		d.unknown(source, "type", "content")
		return d.content(source, "content", blockText, blockImage)
	}
	at := source.at("type")
	return nil, inference.Unsupported(at, "%s must be text or content, got %s: the server reads no PDF and stores no files; send the text of the document", at, strictjson.Quote(kind))
}

// content returns the parts of a member that is a string or a list of blocks of some types. Blocks of unknown
// types are left out.
func (d *decoder) content(o object, key string, kinds ...string) ([]inference.Part, error) {
	switch value := o.members[key].(type) {
	case string:
		return []inference.Part{{Kind: inference.PartText, Text: value}}, nil
	case []any:
		parts := []inference.Part{}
		for i, value := range value {
			b, kind, err := block(o.at(key), i, value)
			if err == nil && !slices.Contains(kinds, kind) && slices.Contains(blockTypes, kind) {
				err = inference.Invalid(b.at("type"), "%s must be %s, got %s", b.at("type"), strictjson.ListWords(kinds), strictjson.Quote(kind))
			}
			if err == nil {
				parts, err = d.part(parts, b, kind)
			}
			if err != nil {
				return nil, err
			}
		}
		return parts, nil
	}
	return nil, o.wrong(key, "a string or a list of blocks")
}

// errorPrefix is the prefix of the result of a failed call. Chat templates have no other place for it.
const errorPrefix = "Error: "

// toolResult adds the result of a call.
func (d *decoder) toolResult(o object) error {
	d.unknown(o, "type", "tool_use_id", "content", "is_error", "cache_control")
	id, err := o.text("tool_use_id", true)
	if err != nil {
		return err
	}
	failed, err := o.flag("is_error")
	if err != nil {
		return err
	}
	var parts []inference.Part
	if o.has("content") {
		if parts, err = d.content(o, "content", blockText, blockImage, blockDocument, blockSearch, blockReference); err != nil {
			return err
		}
	}
	if len(parts) == 0 {
		parts = []inference.Part{{Kind: inference.PartText}}
	}
	if failed {
		if parts[0].Kind != inference.PartText {
			parts = slices.Insert(parts, 0, inference.Part{Kind: inference.PartText})
		}
		parts[0].Text = errorPrefix + parts[0].Text
	}
	d.pushParts(inference.Message{Role: roleTool, ToolCallID: id}, parts, o.path)
	return nil
}
