package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestReferencePages checks that the pages of the commands and of the environment match the program. With -update it
// writes them.
func TestReferencePages(t *testing.T) {
	parser, err := newParser(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"cli.md": commandPage(parser.Model), "environment.md": environmentPage(parser.Model)} {
		file := filepath.Join("..", "..", "docs", "reference", name)
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("docs/reference/%s differs from the program; update it: go test ./cmd/trident -run TestReferencePages -update (%v)", name, err)
		}
	}
}

// commandPage returns the page of the commands, with the flags of each.
func commandPage(app *kong.Application) string {
	var b strings.Builder
	b.WriteString("# Command line\n\n`trident [COMMAND] [FLAG]...` runs a command. Without a command, Trident serves models. This page is generated from the program, and lists each command with its own flags. " +
		"[The configuration](configuration.md#all-flags) lists the flags for serving, which all commands accept. A command that needs the settings of a server reads them from the same flags, variables and file as `trident serve`.\n\n")
	b.WriteString("| command | purpose |\n|---|---|\n")
	leaves := app.Leaves(true)
	for _, node := range leaves {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", node.FullPath(), strings.ReplaceAll(node.FullPath(), " ", "-"), cell.Replace(node.Help))
	}
	for _, node := range leaves {
		fmt.Fprintf(&b, "\n## `%s`\n\n%s\n\nUsage: `%s`\n", node.FullPath(), node.Help, strings.Join(usageOf(node), " "))
		var rows strings.Builder
		for _, arg := range node.Positional {
			fmt.Fprintf(&rows, "| `%s` | | %s |\n", arg.Summary(), cell.Replace(arg.Help))
		}
		for _, flag := range node.Flags {
			value := ""
			if flag.Default != "" {
				value = "`" + flag.Default + "`"
			}
			fmt.Fprintf(&rows, "| `--%s` | %s | %s |\n", flag.Name, value, cell.Replace(flag.Help))
		}
		if rows.Len() > 0 {
			fmt.Fprintf(&b, "\n| argument or flag | default | purpose |\n|---|---|---|\n%s", &rows)
		}
	}
	return b.String()
}

// usageOf returns the parts of a command's usage.
func usageOf(node *kong.Node) []string {
	parts := []string{node.FullPath()}
	for _, arg := range node.Positional {
		parts = append(parts, arg.Summary())
	}
	return append(parts, "[FLAG]...")
}

// otherVariables are the environment variables that set no flag, by their readers.
var otherVariables = []struct{ names, meaning string }{
	{"HF_ENDPOINT", "URL of the hub from which Trident downloads tokenizers and chat templates. Default: Hugging Face's hub."},
	{"HF_TOKEN", "Token for the hub. It takes precedence over the file of HF_TOKEN_PATH."},
	{"HUGGING_FACE_HUB_TOKEN", "Token for the hub, if HF_TOKEN isn't set."},
	{"HF_TOKEN_PATH", "File with the token for the hub. Default: `token` in the folder of HF_HOME."},
	{"HF_HOME", "Folder of the hub's files. Default: `huggingface` in the folder of XDG_CACHE_HOME."},
	{"HF_HUB_CACHE", "Folder of downloaded files. Default: `hub` in the folder of HF_HOME."},
	{"HUGGINGFACE_HUB_CACHE", "Folder of downloaded files, if HF_HUB_CACHE isn't set."},
	{"HF_HUB_OFFLINE", "With a true value, Trident downloads no files, and reads only files that are already in the cache."},
	{"TRANSFORMERS_OFFLINE", "With a true value, Trident downloads no files. It applies if HF_HUB_OFFLINE isn't set."},
	{"XDG_CACHE_HOME", "Folder of the user's caches. Default: `~/.cache`."},
	{"OTEL_EXPORTER_OTLP_ENDPOINT", "URL of a collector of traces, if `--otlp-endpoint` isn't set."},
	{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "URL of a collector of traces. It takes precedence over OTEL_EXPORTER_OTLP_ENDPOINT."},
	{"OTEL_EXPORTER_OTLP_PROTOCOL", "Protocol of the collector, `grpc` or `http/protobuf`, if `--otlp-protocol` isn't set."},
	{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "Protocol of the collector. It takes precedence over OTEL_EXPORTER_OTLP_PROTOCOL."},
	{"OTEL_SDK_DISABLED", "`true` turns traces off."},
	{"OTEL_TRACES_EXPORTER", "`none` turns traces off."},
	{"AIP_MODE", "`PREDICTION` turns Vertex AI's endpoint on."},
	{"AIP_PREDICT_ROUTE", "Path of predictions at Vertex AI's endpoint."},
	{"AIP_HEALTH_ROUTE", "Path of health checks at Vertex AI's endpoint."},
	{"AIP_STORAGE_URI", "Model repository of Vertex AI, if no model repository is set."},
	{"SAGEMAKER_TRITON_DEFAULT_MODEL_NAME", "Model for SageMaker requests that don't name a model."},
	{"SAGEMAKER_TRITON_INFERENCE_TYPE", "API of the requests to SageMaker's endpoint, as for tritonserver: infer, generate or generate_stream."},
	{"SAGEMAKER_TRITON_PING_MODE", "State that `/ping` of SageMaker's endpoint reports, as for tritonserver: ready or live. Default: ready."},
	{"GOGC", "Target percentage of Go's garbage collector. Default: 200."},
	{"GOMEMLIMIT", "Go's soft memory limit. If the variable is set, Trident doesn't set the limit."},
	{"LD_LIBRARY_PATH", "Folders of shared libraries. For the processes of Python models, in-process Triton adds the folders of its backends."},
}

// environmentPage returns the page of the environment variables.
func environmentPage(app *kong.Application) string {
	var b strings.Builder
	b.WriteString("# Environment variables\n\nEach flag for serving has an environment variable: `TRIDENT_` and the flag's name in upper case, with `_` for `-`. This page is generated from the program, and lists the variables of all these flags. A flag overrides its variable, and the variable overrides the file of `--config`. " +
		"Some flags have a second variable, such as `OPENAI_TRTLLM_PORT`. The second variable applies if the `TRIDENT_` variable isn't set. [The configuration](configuration.md) describes the values.\n\n| variable | flag | default |\n|---|---|---|\n")
	for _, flag := range app.Flags {
		for _, name := range flag.Envs {
			value := ""
			if flag.Default != "" && !strings.HasPrefix(flag.Name, "allow-vertex-ai") {
				value = "`" + flag.Default + "`"
			}
			fmt.Fprintf(&b, "| `%s` | `--%s` | %s |\n", name, flag.Name, value)
		}
	}
	b.WriteString("\n## Variables without a flag\n\n| variable | meaning |\n|---|---|\n")
	for _, v := range otherVariables {
		fmt.Fprintf(&b, "| `%s` | %s |\n", v.names, v.meaning)
	}
	return b.String()
}

// TestReferenceVariables checks that the page of the environment has each variable that the sources name, and no other
// one.
func TestReferenceVariables(t *testing.T) {
	name := regexp.MustCompile(`"((?:HF|HUGGING_?FACE|TRANSFORMERS|AIP|OTEL|SAGEMAKER|XDG|LD)_[A-Z_]+|GOGC|GOMEMLIMIT)"`)
	found := map[string]bool{}
	for _, root := range []string{".", "../../services"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range name.FindAllStringSubmatch(string(text), -1) {
				found[m[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range otherVariables {
		if !found[v.names] {
			t.Errorf("no source names %s", v.names)
		}
	}
	for variable := range found {
		if !slices.ContainsFunc(otherVariables, func(v struct{ names, meaning string }) bool { return v.names == variable }) {
			t.Errorf("the page lacks %s", variable)
		}
	}
}
