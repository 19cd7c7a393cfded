package main

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/trident-inference/trident/services/auth"
)

// accessFlags control who may call the server.
type accessFlags struct {
	APIKey              apiKeyFlag     `name:"api-key" placeholder:"KEY" help:"API key that clients must send as Authorization: Bearer KEY; repeatable. Without keys, no authentication is required. Prefer TRIDENT_API_KEY or --api-keys-file, because all users of a machine can read command lines."`
	APIKeysFile         string         `name:"api-keys-file" placeholder:"FILE" help:"File with the API keys of clients: one key per line, or a YAML list of entries with name, key, models, limits and expires. A changed file is read again without a restart."`
	OpenAIRestrictedAPI restrictedFlag `name:"openai-restricted-api" placeholder:"GROUP[,GROUP...] KEY VALUE" help:"Restrict groups of APIs to requests with the header KEY: VALUE; repeatable. The groups are inference, embedding, model-repository, metrics and health."`
}

// apiKeyFlag is a list of keys, one per line in the environment. An empty value is an empty
// key, which is rejected later. Ignoring an empty key would disable authentication.
type apiKeyFlag []auth.Secret

// Decode implements [kong.MapperValue]. Its errors don't contain values, because kong would
// quote the environment variable.
func (f *apiKeyFlag) Decode(ctx *kong.DecodeContext) error {
	token := ctx.Scan.Pop()
	if token.IsEOL() {
		return errors.New("the API key is missing: give one as the value of the flag")
	}
	if list, ok := token.Value.([]any); ok { // the settings file has a list of keys
		for _, item := range list {
			*f = append(*f, auth.Secret(fmt.Sprint(item)))
		}
		if len(list) == 0 {
			*f = append(*f, "")
		}
		return nil
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(fmt.Sprint(token.Value), "\n"), "\n") {
		*f = append(*f, auth.Secret(line))
	}
	return nil
}

// errNoKeysFile rejects an empty file name, which would disable authentication.
func (f *flags) errNoKeysFile() error {
	for _, s := range f.settings {
		if s.flag.Name == "api-keys-file" && s.origin != originDefault && f.APIKeysFile == "" {
			return errors.New("--api-keys-file: the file name is empty: set a name, or remove the setting to serve without API keys")
		}
	}
	return nil
}

// restrictedFlag takes three arguments, GROUPS KEY VALUE, as Triton's own frontend does. It
// also takes one argument that contains all three: "GROUPS KEY VALUE" or GROUPS:KEY=VALUE.
// In the environment variable each line is one such argument.
type restrictedFlag []auth.OpenAIRestriction

// Decode implements [kong.MapperValue]. In a settings file the value is a list.
func (f *restrictedFlag) Decode(ctx *kong.DecodeContext) error {
	if list, ok := ctx.Scan.Peek().Value.([]any); ok {
		ctx.Scan.Pop()
		for _, item := range list {
			if err := f.take(fmt.Sprint(item), func() (string, bool) { return "", false }); err != nil {
				return err
			}
		}
		return nil
	}
	var value string
	if err := ctx.Scan.PopValueInto("groups", &value); err != nil {
		return err
	}
	return f.take(value, func() (next string, ok bool) {
		ok = ctx.Scan.Peek().IsValue() && ctx.Scan.PopValueInto("header and value", &next) == nil
		return next, ok
	})
}

// take reads restrictions, one per line. Missing parts of a line are the next arguments.
func (f *restrictedFlag) take(value string, next func() (string, bool)) error {
	for line := range strings.Lines(value) {
		parts := restrictionParts(strings.TrimSpace(line))
		for len(parts) < 3 {
			part, ok := next()
			if !ok {
				return errors.New("must be GROUP[,GROUP...] KEY VALUE")
			}
			parts = append(parts, part)
		}
		r, err := auth.ParseOpenAIRestriction(parts[0], parts[1], parts[2])
		if err != nil {
			return err
		}
		*f = append(*f, r)
	}
	return nil
}

// restrictionParts returns all three parts, or only the first.
func restrictionParts(text string) []string {
	if parts := strings.SplitN(text, " ", 3); len(parts) == 3 {
		return parts
	}
	groups, rest, colon := strings.Cut(text, ":")
	header, value, equals := strings.Cut(rest, "=")
	if colon && equals {
		return []string{groups, header, value}
	}
	return []string{text}
}

// keyCommand creates keys and hashes.
type keyCommand struct {
	New  newKeyCommand  `cmd:"" help:"Print a new API key and, on the second line, its hash for --api-keys-file."`
	Hash hashKeyCommand `cmd:"" help:"Read an API key from standard input and print its hash for --api-keys-file."`
}

type newKeyCommand struct{}

// Run prints a key of 130 random bits.
func (newKeyCommand) Run() error {
	key := "sk-trident-" + strings.ToLower(rand.Text())
	hash, err := auth.HashKey(key)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%s\n%s\n", key, hash)
	return err
}

type hashKeyCommand struct{}

// Run reads the key from standard input, so that it isn't on a command line.
func (hashKeyCommand) Run() error { return hashKey(os.Stdin, os.Stdout) }

func hashKey(in io.Reader, out io.Writer) error {
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the API key from standard input: %w", err)
	}
	hash, err := auth.HashKey(strings.TrimSpace(line))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, hash)
	return err
}
