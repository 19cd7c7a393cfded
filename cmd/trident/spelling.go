package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// spellings are the flag spellings of the proxies that Trident can replace: a short
// form, other long forms, and the suffix of an OPENAI_TRTLLM_* variable. That
// variable is read if the TRIDENT_* variable isn't set.
var spellings = []struct { //nolint:gochecknoglobals // a constant table
	flag     string
	short    rune
	aliases  []string
	variable string
}{
	{"host", 'H', nil, "HOST"},
	{"openai-port", 'p', []string{"port"}, "PORT"},
	{"triton-endpoint", 't', nil, "TRITON_ENDPOINT"},
	{"otlp-endpoint", 'o', nil, "OTLP_ENDPOINT"},
	{"history-template", 0, nil, "HISTORY_TEMPLATE"},
	{"history-template-file", 0, nil, "HISTORY_TEMPLATE_FILE"},
	{"api-key", 0, nil, "API_KEY"},
	{"tokenizer", 0, []string{"tokenizer_dir"}, ""},
	{"engine-dir", 0, []string{"engine_dir"}, ""},
	{"default-max-tokens", 0, []string{"default_max_tokens"}, ""},
}

// The prefixes of the environment variables that set flags.
const (
	ownVariables   = "TRIDENT"
	proxyVariables = "OPENAI_TRTLLM"
)

// otherSpellings adds the spellings to the existing flags. It must be called after
// [kong.DefaultEnvars], whose variables take precedence.
func otherSpellings() kong.Option {
	return kong.PostBuild(func(k *kong.Kong) error {
		for _, s := range spellings {
			i := slices.IndexFunc(k.Model.Flags, func(f *kong.Flag) bool { return f.Name == s.flag })
			if i < 0 {
				continue
			}
			flag := k.Model.Flags[i]
			flag.Short = s.short
			flag.Aliases = append(flag.Aliases, s.aliases...)
			if s.variable != "" {
				flag.Envs = append(flag.Envs, proxyVariables+"_"+s.variable)
				flag.Tag.Envs = flag.Envs
			}
		}
		return nil
	})
}

// variableOf returns a flag's TRIDENT_* environment variable.
func variableOf(name string) string {
	return ownVariables + "_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}
