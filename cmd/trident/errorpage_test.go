package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/wirecode"
)

const errorPage = "../../docs/reference/errors.md"

// TestErrorPage checks that the tables of the page of errors match the table in package wirecode. With
// -update it writes the tables.
func TestErrorPage(t *testing.T) {
	data, err := os.ReadFile(errorPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	page = replaced(t, page, "errors", errorRows(t))
	page = replaced(t, page, "forms", errorForms())
	page = replaced(t, page, "codes", errorCodes())
	page = replaced(t, page, "triton", tritonCodes())
	if *update {
		if err := os.WriteFile(errorPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if page != string(data) {
		t.Error("docs/reference/errors.md differs from wirecode.Table; update it: go test ./cmd/trident -run TestErrorPage -update")
	}
	for _, link := range regexp.MustCompile(`\]\(([^)#]+)`).FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.Join(filepath.Dir(errorPage), link[1])); err != nil {
			t.Errorf("a broken link: %v", err)
		}
	}
}

// withFlags returns a text with the flags of the fields in braces.
func withFlags(t *testing.T, text string) string {
	t.Helper()
	return regexp.MustCompile(`\{([a-z]+\.[\w.]+)\}`).ReplaceAllStringFunc(text, func(field string) string {
		name := strings.Trim(field, "{}")
		flag := flagNames().Of(configfield.Field(name))
		if flag == name {
			t.Errorf("the field %s of wirecode.Table has no flag", name)
		}
		return "`" + flag + "`"
	})
}

// nameOf returns a reason as a cell of a table.
func nameOf(reason inference.Reason) string {
	if reason == inference.ReasonNone {
		return "null"
	}
	return "`" + reason.String() + "`"
}

// errorRows returns the table of all errors in OpenAI's form, with their code in gRPC and Connect.
func errorRows(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| `code` | status | `type` | gRPC, Connect | cause | remedy |\n|---|---|---|---|---|---|\n")
	for _, row := range wirecode.Table() {
		status, kind := wirecode.OpenAI(row.Code, row.Reason)
		fmt.Fprintf(&b, "| %s | %d | `%s` | %s | %s | %s |\n", nameOf(row.Reason), status, kind, codeNames(wirecode.GRPC(row.Code)), withFlags(t, row.When), withFlags(t, row.Remedy))
	}
	return b.String()
}

// codeNames returns a gRPC code in gRPC's and in Connect's spelling.
func codeNames(code codes.Code) string {
	if code == codes.Canceled { // Go and Connect spell it with one L
		return "`CANCELLED`, `canceled`"
	}
	upper := regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(code.String(), "${1}_$2")
	return "`" + strings.ToUpper(upper) + "`, `" + strings.ToLower(upper) + "`"
}

// errorForms returns the table of the errors whose status or type differs by API.
func errorForms() string {
	var b strings.Builder
	b.WriteString("| `code` in OpenAI's form | OpenAI, Jina, Cohere, vLLM | Anthropic | TEI | `error.code` of a failed response |\n|---|---|---|---|---|\n")
	last := ""
	for _, row := range wirecode.Table() {
		status, kind := wirecode.OpenAI(row.Code, row.Reason)
		message, messageKind := wirecode.Anthropic(row.Code, row.Reason)
		tei, teiKind := wirecode.TEI(row.Code, row.Reason)
		cells := fmt.Sprintf(" | %d `%s` | %d `%s` | %d `%s` | `%s` |\n", status, kind, message, messageKind, tei, teiKind, wirecode.Response(row.Code))
		if cells == last { // the same as the row before
			text := strings.TrimSuffix(b.String(), cells)
			b.Reset()
			b.WriteString(text + ", " + nameOf(row.Reason) + cells)
			continue
		}
		b.WriteString("| " + nameOf(row.Reason) + cells)
		last = cells
	}
	return b.String()
}

// errorCodes returns the table of the core's codes, which KServe's clients, the log and the metrics show.
func errorCodes() string {
	var b strings.Builder
	b.WriteString("| code in metrics and traces | gRPC, Connect | KServe's REST |\n|---|---|---|\n")
	for code := inference.CodeInternal; !strings.HasPrefix(code.String(), "code("); code++ {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", code, codeNames(wirecode.GRPC(code)), strconv.Itoa(wirecode.KServeHTTP(&inference.Error{Code: code})))
	}
	return b.String()
}

// tritonCodes returns the table of Triton's own codes in KServe's API.
func tritonCodes() string {
	names := map[inference.TritonCode]string{
		inference.TritonUnknown: "UNKNOWN", inference.TritonInternal: "INTERNAL", inference.TritonNotFound: "NOT_FOUND", inference.TritonInvalidArg: "INVALID_ARG",
		inference.TritonUnavailable: "UNAVAILABLE", inference.TritonUnsupported: "UNSUPPORTED", inference.TritonAlreadyExists: "ALREADY_EXISTS", inference.TritonCancelled: "CANCELLED",
	}
	var b strings.Builder
	b.WriteString("| `TRITONSERVER_Error_Code` | gRPC, Connect | REST |\n|---|---|---|\n")
	for code := inference.TritonUnknown; code <= inference.TritonCancelled; code++ {
		e := &inference.Error{Triton: code}
		fmt.Fprintf(&b, "| `%s` | %s | %d |\n", names[code], codeNames(wirecode.KServe(e)), wirecode.KServeHTTP(e))
	}
	return b.String()
}
