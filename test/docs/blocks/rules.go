package blocks

import (
	"fmt"
	"regexp"
	"strings"
)

// leastReason is the minimum number of words of the reason why a block is never run.
const leastReason = 3

// neverRun matches the words by which a page states that a part of it was never run.
var neverRun = regexp.MustCompile(`(?i)\b(never|not|weren't|wasn't|didn't|couldn't|can't)\s+(be\s+|been\s+)?(run|ran|started|executed|built|tested)\b`)

// Verify returns the problems of a page's blocks: a kind or a reason is missing, or output belongs to no
// run block. If a block is never run, the first paragraph of the page must name it.
func Verify(page, text string) []string {
	all, err := Parse(page, text)
	if err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	unrun := false
	for i, b := range all {
		var before Block
		if i > 0 {
			before = all[i-1]
		}
		if problem := b.problem(before); problem != "" {
			wrong = append(wrong, fmt.Sprintf("%s: %s", b, problem))
		}
		unrun = unrun || b.Kind == Unrun
	}
	if unrun && !neverRun.MatchString(firstParagraph(text)) {
		wrong = append(wrong, page+": a block is marked unrun, but the first paragraph doesn't name the part that was never run")
	}
	return wrong
}

func (b Block) problem(before Block) string {
	switch {
	case b.Lang == "":
		return "the block has no language: text for what isn't code"
	case b.Kind == "" && b.Lang == mermaid:
		return ""
	case b.Kind == "":
		return "the block isn't marked run, check or `unrun: REASON` after its language, nor is it output or a figure"
	case b.Kind == Unrun && len(strings.Fields(b.Note)) < leastReason:
		return "unrun needs a reason: `unrun: needs a GPU`"
	case b.Kind == Output && before.Kind != Run:
		return "output follows no run block: only run blocks show output"
	case b.Kind == Figure && b.Lang != "text":
		return "a figure has the language text"
	case b.Kind == Check:
		if _, err := b.Tool(); err != nil {
			return err.Error()
		}
	case b.Kind == Run && b.File() == "" && Runners[b.Lang] == "":
		return "no test runs blocks of this language: sh, python or js"
	}
	return ""
}

// Runners has the program that runs a block, by its language.
var Runners = map[string]string{"sh": "bash", "bash": "bash", "python": "python", "js": "node"} //nolint:gochecknoglobals // a constant table

// firstParagraph returns the text between the heading of a page and its next heading or blank line.
func firstParagraph(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	rest = strings.TrimLeft(rest, "\n")
	paragraph, _, _ := strings.Cut(rest, "\n\n")
	return paragraph
}

// Tools of check blocks.
const (
	Shell      = "shellcheck"
	Python     = "python"
	Node       = "node"
	TypeScript = "typescript"
	Go         = "go"
	JSON       = "json"
	TOML       = "toml"
	Liquid     = "liquid"
	ModelFile  = "config.pbtxt"
	Settings   = "settings"   // trident config check
	Keys       = "keys"       // the file of --api-keys-file
	Compose    = "compose"    // compose's own library
	Kube       = "kube"       // kubeconform
	Container  = "container"  // kubeconform, of fields of a container
	Values     = "values"     // Helm, values of Trident's chart
	Prometheus = "prometheus" // promtool check config
	Hadolint   = "hadolint"
	Systemd    = "systemd"
	Proxy      = "proxy" // nginx, Caddy and haproxy themselves
	Envoy      = "envoy" // Envoy's protos
)

// byLanguage has the tool of a language.
var byLanguage = map[string]string{ //nolint:gochecknoglobals // a constant table
	"sh": Shell, "bash": Shell, "python": Python, "js": Node, "mjs": Node, "ts": TypeScript, "go": Go, "json": JSON, "jsonl": JSON, "toml": TOML, "liquid": Liquid,
	"pbtxt": ModelFile, "dockerfile": Hadolint, "systemd": Systemd, "nginx": Proxy, "caddyfile": Proxy, "haproxy": Proxy,
}

// byContent has the tools of YAML by what such a file contains.
var byContent = []struct { //nolint:gochecknoglobals // a constant table
	tool    string
	pattern *regexp.Regexp
}{
	{Settings, regexp.MustCompile(`(?m)^# yaml-language-server: `)},
	{Kube, regexp.MustCompile(`(?m)^apiVersion:`)},
	{Compose, regexp.MustCompile(`(?m)^services:`)},
	{Prometheus, regexp.MustCompile(`(?m)^scrape_configs:`)},
}

// named are the tools that a block of YAML can name.
var named = []string{Settings, Keys, Compose, Kube, Container, Values, Prometheus, Envoy} //nolint:gochecknoglobals // a constant list

// Tool returns the tool that reads a check block: that of its language, and for YAML that which the block names or
// that of its content.
func (b Block) Tool() (string, error) {
	if tool := byLanguage[b.Lang]; tool != "" {
		return tool, nil
	}
	if b.Lang != "yaml" {
		return "", fmt.Errorf("no test reads blocks of the language %s", b.Lang)
	}
	for _, tool := range named {
		if b.Has(tool) {
			return tool, nil
		}
	}
	for _, row := range byContent {
		if row.pattern.MatchString(b.Code) {
			return row.tool, nil
		}
	}
	return "", fmt.Errorf("the content doesn't show which tool reads the block: name one after check (%s)", strings.Join(named, ", "))
}

// ReadBy returns the check blocks that a tool reads.
func ReadBy(all []Block, tool string) []Block {
	var found []Block
	for _, b := range all {
		if b.Kind != Check {
			continue
		}
		if t, err := b.Tool(); err == nil && t == tool {
			found = append(found, b)
		}
	}
	return found
}
