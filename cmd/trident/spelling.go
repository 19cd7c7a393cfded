package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// spellings are how the proxies that Trident takes the place of spell its flags: a
// short form, other long ones, and the end of an OPENAI_TRTLLM_* variable, which is
// read where the TRIDENT_* one isn't set.
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

// The prefixes of environment twins.
const (
	ownVariables   = "TRIDENT"
	proxyVariables = "OPENAI_TRTLLM"
)

// otherSpellings adds them to the flags that there are. It comes after
// [kong.DefaultEnvars], whose variables are read first.
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

// variableOf is a flag's own environment twin.
func variableOf(name string) string {
	return ownVariables + "_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}
