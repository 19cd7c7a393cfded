package main

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// Numbers of the fields of descriptors, of which the paths of comments consist.
const (
	fileMessage, fileEnum, fileService       = 4, 5, 6
	messageField, messageNested, messageEnum = 2, 3, 4
	enumValue, serviceMethod                 = 2, 2
)

// typedWriter writes the page of the protos.
type typedWriter struct {
	strings.Builder

	own     map[string]bool   // full names of the types that have a heading
	comment map[string]string // leading comments of a file by path
}

// typed returns the page of the files that the request wants.
func typed(request *pluginpb.CodeGeneratorRequest) string {
	w := &typedWriter{own: map[string]bool{}}
	var files []*descriptorpb.FileDescriptorProto
	for _, f := range request.GetProtoFile() {
		if slices.Contains(request.GetFileToGenerate(), f.GetName()) {
			files = append(files, f)
			w.know("."+f.GetPackage(), f.GetMessageType(), f.GetEnumType())
		}
	}
	slices.SortFunc(files, func(a, b *descriptorpb.FileDescriptorProto) int { return strings.Compare(a.GetName(), b.GetName()) })
	w.WriteString("# Typed services: methods and messages\n\nThis page is generated from [api/trident/v1](../../api/trident/v1), and describes each service, message and field. " +
		"[The typed services](connect.md) describes how to call the methods, and their errors. In the column *GET*, `yes` marks methods that Connect's clients can also call with an HTTP GET.\n\n## Services\n\n")
	for _, f := range files {
		w.comments(f)
		for i, s := range f.GetService() {
			w.service(s, i)
		}
	}
	w.WriteString("## Messages\n\n")
	for _, f := range files {
		w.comments(f)
		for i, m := range f.GetMessageType() {
			w.message(m, "", []int32{fileMessage, int32(i)})
		}
	}
	w.WriteString("## Enums\n\n")
	for _, f := range files {
		w.comments(f)
		for i, e := range f.GetEnumType() {
			w.enum(e, "", []int32{fileEnum, int32(i)})
		}
		for i, m := range f.GetMessageType() {
			w.nestedEnums(m, m.GetName()+".", []int32{fileMessage, int32(i)})
		}
	}
	return strings.TrimRight(w.String(), "\n") + "\n"
}

// know notes the types that get a heading.
func (w *typedWriter) know(prefix string, messages []*descriptorpb.DescriptorProto, enums []*descriptorpb.EnumDescriptorProto) {
	for _, m := range messages {
		w.own[prefix+"."+m.GetName()] = true
		w.know(prefix+"."+m.GetName(), m.GetNestedType(), m.GetEnumType())
	}
	for _, e := range enums {
		w.own[prefix+"."+e.GetName()] = true
	}
}

func (w *typedWriter) comments(f *descriptorpb.FileDescriptorProto) {
	w.comment = map[string]string{}
	for _, l := range f.GetSourceCodeInfo().GetLocation() {
		w.comment[fmt.Sprint(l.GetPath())] = l.GetLeadingComments() + l.GetTrailingComments()
	}
}

func (w *typedWriter) at(path ...int32) string { return w.comment[fmt.Sprint(path)] }

// text writes a comment: paragraphs, and lists as they are.
func (w *typedWriter) text(comment string) {
	var lines []string
	for line := range strings.Lines(comment) {
		lines = append(lines, escape(strings.TrimPrefix(strings.TrimRight(line, " \n"), " ")))
	}
	if text := strings.TrimSpace(strings.Join(lines, "\n")); text != "" {
		w.WriteString(text + "\n\n")
	}
}

func (w *typedWriter) service(s *descriptorpb.ServiceDescriptorProto, i int) {
	fmt.Fprintf(w, "### %s\n\n", s.GetName())
	w.text(w.at(fileService, int32(i)))
	var rows [][]string
	for j, m := range s.GetMethod() {
		output := w.link(m.GetOutputType())
		if m.GetServerStreaming() {
			output = "stream of " + output
		}
		get := ""
		if m.GetOptions().GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS && !m.GetServerStreaming() { // Connect has no GET for streams
			get = "yes"
		}
		rows = append(rows, []string{"`" + m.GetName() + "`", w.link(m.GetInputType()), output, get, cell(w.at(fileService, int32(i), serviceMethod, int32(j)))})
	}
	w.WriteString(table([]string{"method", "request", "response", "GET", "purpose"}, rows))
}

func (w *typedWriter) message(m *descriptorpb.DescriptorProto, prefix string, path []int32) {
	if m.GetOptions().GetMapEntry() {
		return
	}
	fmt.Fprintf(w, "### %s%s\n\n", prefix, m.GetName())
	w.text(w.at(path...))
	var rows [][]string
	for i, f := range m.GetField() {
		rows = append(rows, []string{"`" + f.GetName() + "`", fmt.Sprint(f.GetNumber()), w.fieldType(m, f), cell(w.at(append(slices.Clone(path), messageField, int32(i))...))})
	}
	w.WriteString(table([]string{"field", "number", "type", "meaning"}, rows))
	for i, n := range m.GetNestedType() {
		w.message(n, prefix+m.GetName()+".", append(slices.Clone(path), messageNested, int32(i)))
	}
}

// fieldType returns the type of a field, with what is special of it: a list, a map, a presence, a oneof.
func (w *typedWriter) fieldType(m *descriptorpb.DescriptorProto, f *descriptorpb.FieldDescriptorProto) string {
	for _, n := range m.GetNestedType() {
		if n.GetOptions().GetMapEntry() && strings.HasSuffix(f.GetTypeName(), "."+m.GetName()+"."+n.GetName()) {
			return fmt.Sprintf("map of %s to %s", w.fieldType(n, n.GetField()[0]), w.fieldType(n, n.GetField()[1]))
		}
	}
	name := strings.ToLower(strings.TrimPrefix(f.GetType().String(), "TYPE_"))
	if f.GetTypeName() != "" {
		name = w.link(f.GetTypeName())
	}
	switch {
	case f.GetLabel() == descriptorpb.FieldDescriptorProto_LABEL_REPEATED:
		return "repeated " + name
	case f.GetProto3Optional():
		return "optional " + name
	case f.OneofIndex != nil:
		return fmt.Sprintf("%s, in the oneof `%s`", name, m.GetOneofDecl()[f.GetOneofIndex()].GetName())
	}
	return name
}

// link returns the name of a type, linked to its heading if it has one.
func (w *typedWriter) link(full string) string {
	if !w.own[full] {
		return "`" + strings.TrimPrefix(full, ".") + "`"
	}
	parts := strings.Split(full, ".")
	first := slices.IndexFunc(parts, func(p string) bool { return p != "" && p[0] >= 'A' && p[0] <= 'Z' })
	name := strings.Join(parts[first:], ".")
	return fmt.Sprintf("[%s](#%s)", name, anchor(name))
}

func (w *typedWriter) enum(e *descriptorpb.EnumDescriptorProto, prefix string, path []int32) {
	fmt.Fprintf(w, "### %s%s\n\n", prefix, e.GetName())
	w.text(w.at(path...))
	var rows [][]string
	for i, v := range e.GetValue() {
		rows = append(rows, []string{"`" + v.GetName() + "`", fmt.Sprint(v.GetNumber()), cell(w.at(append(slices.Clone(path), enumValue, int32(i))...))})
	}
	w.WriteString(table([]string{"value", "number", "meaning"}, rows))
}

func (w *typedWriter) nestedEnums(m *descriptorpb.DescriptorProto, prefix string, path []int32) {
	for i, e := range m.GetEnumType() {
		w.enum(e, prefix, append(slices.Clone(path), messageEnum, int32(i)))
	}
	for i, n := range m.GetNestedType() {
		w.nestedEnums(n, prefix+n.GetName()+".", append(slices.Clone(path), messageNested, int32(i)))
	}
}
