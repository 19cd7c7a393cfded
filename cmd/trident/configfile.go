package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
)

// configFlags is the flag for the settings file, and the content that was read from it.
type configFlags struct {
	Config configPath `placeholder:"FILE" help:"Settings file in YAML: a key with the name of each flag, such as openai-port, and the sections models and keys. Check a file with trident config check."`

	args     []string // arguments of Trident's command line
	app      *kong.Application
	file     *settingsFile  // nil without a settings file
	settings []setting      // settings of all flags; set when the flags have been read
	level    slog.LevelVar  // log level, which may change at run time
	hangups  chan os.Signal // SIGHUP since the process started
	notices  []notice       // flags of another program that have no effect
}

// configPath is the flag's value. kong reads the file before it resolves other flags.
type configPath string

// BeforeResolve reads the file. The file then provides the values of flags that aren't
// on the command line.
func (configPath) BeforeResolve(app *kong.Kong, ctx *kong.Context, trace *kong.Path, f *flags) error {
	path, ok := ctx.FlagValue(trace.Flag).(configPath)
	if !ok || path == "" {
		return nil
	}
	file, err := readSettings(string(path), app.Model)
	if err != nil {
		return err
	}
	f.file = file
	ctx.AddResolver(file)
	return nil
}

// settingsFile is a validated settings file. It has a key for each flag, with the
// flag's name, and sections.
type settingsFile struct {
	path      string
	data      []byte
	values    map[string]entry // values of the flags, keyed by flag name
	overrides []inference.Override
	keys      auth.KeySection
	sections  *yaml.Node // contents of the keys that aren't flags, in a form that may be printed
}

// modelSettings returns the settings of the section models, or nil without a file.
func (f *settingsFile) modelSettings() []inference.Override {
	if f == nil {
		return nil
	}
	return f.overrides
}

// clientKeys returns the keys of the section keys, or none without a file.
func (f *settingsFile) clientKeys() auth.KeySection {
	if f == nil {
		return auth.KeySection{}
	}
	return f.keys
}

// entry is the file's value of a flag: a string or a list of strings.
type entry struct {
	value any
	line  int
}

// Validate implements [kong.Resolver]. The file was validated when it was read.
func (*settingsFile) Validate(*kong.Application) error { return nil }

// Resolve returns the file's value of a flag, unless an environment variable sets it.
func (f *settingsFile) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	e, found := f.values[flag.Name]
	if !found || variableSet(flag) != "" {
		return nil, nil //nolint:nilnil // nil means no value in kong
	}
	return e.value, nil
}

// variableSet returns the name of the environment variable that sets a flag, or "".
func variableSet(flag *kong.Flag) string {
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return name
		}
	}
	return ""
}

// origin returns the position of a line in the file.
func (f *settingsFile) origin(line int) string { return fmt.Sprintf("%s:%d", f.path, line) }

// maxSettings is the maximum size of the file in bytes.
const maxSettings = 8 << 20

// readSettings reads and validates a file. Its error has a line for each problem.
func readSettings(path string, app *kong.Application) (*settingsFile, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	r := &settingsReader{file: &settingsFile{path: path, data: data, values: map[string]entry{}, sections: &yaml.Node{Kind: yaml.MappingNode}}, app: app}
	r.read()
	if len(r.problems) > 0 {
		return nil, fileErrors(r.problems)
	}
	return r.file, nil
}

// fileErrors are all problems of a file, each with its line number.
type fileErrors []error

// Error returns one line per problem.
func (p fileErrors) Error() string { return errors.Join(p...).Error() }

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(io.LimitReader(file, maxSettings+1))
	if err == nil && len(data) > maxSettings {
		err = fmt.Errorf("%s is larger than the maximum of %d bytes", path, maxSettings)
	}
	return data, err
}

// settingsReader collects a file's values and all its problems.
type settingsReader struct {
	file     *settingsFile
	app      *kong.Application
	trial    trial
	problems []error
}

func (r *settingsReader) problemf(node *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf("%s: %w", r.file.origin(node.Line), fmt.Errorf(format, args...)))
}

var yamlAnchor = regexp.MustCompile(`unknown anchor '.*' referenced`)

func (r *settingsReader) read() {
	decoder := yaml.NewDecoder(strings.NewReader(string(r.file.data)))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF): // the file has only comments
		return
	case err != nil:
		// YAML reads a string with the prefix * as an alias name. The string may be a
		// secret, so the error must not contain the string.
		text := yamlAnchor.ReplaceAllString(strings.TrimPrefix(err.Error(), "yaml: "), "unknown anchor: put a string with the prefix * in quotes")
		r.problems = append(r.problems, fmt.Errorf("%s: %s", r.file.path, text))
		return
	}
	var second yaml.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		r.problemf(&second, "the settings file has more than one YAML document: keep only one")
	}
	r.eachKey(document.Content[0], "the file", func(key, value *yaml.Node) {
		for _, s := range sections() {
			if s.name == key.Value {
				wrong := len(r.problems)
				s.read(r, value)
				if len(r.problems) == wrong { // a section without problems shows which values are secret
					r.file.sections.Content = append(r.file.sections.Content, bare(key), s.printable(value))
				}
				return
			}
		}
		r.flag(key, value)
	})
}

// eachKey calls visit for the keys of a mapping. Duplicate keys are a problem.
func (r *settingsReader) eachKey(node *yaml.Node, what string, visit func(key, value *yaml.Node)) {
	node = resolved(node)
	if node.Kind != yaml.MappingNode {
		r.problemf(node, "%s must be a mapping of keys to values", what)
		return
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], resolved(node.Content[i+1])
		switch line, twice := lines[key.Value]; {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			r.problemf(key, "keys of the settings file must be strings; merge keys (<<) aren't supported")
		case twice:
			r.problemf(key, "duplicate key %s: line %d already has it", key.Value, line)
		default:
			lines[key.Value] = key.Line
			visit(key, value)
		}
	}
}

// resolved follows a YAML alias.
func resolved(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// flag reads the value of a flag.
func (r *settingsReader) flag(key, node *yaml.Node) {
	i := slices.IndexFunc(r.app.Flags, func(f *kong.Flag) bool { return f.Name == key.Value })
	if i < 0 || !inFile(r.app.Flags[i]) {
		r.problemf(key, "unknown key %s%s", key.Value, r.suggest(key.Value))
		return
	}
	flag := r.app.Flags[i]
	texts, err := textsOf(flag.Target.Type(), node)
	if err == nil {
		err = r.trial.take(flag.Name, texts)
	}
	if err != nil {
		r.problemf(node, "%s: %w", flag.Name, err)
		return
	}
	r.file.values[flag.Name] = entry{value: resolvable(flag, texts), line: key.Line}
}

// inFile reports whether a settings file may contain a flag. The flag that names the
// file is excluded.
func inFile(flag *kong.Flag) bool { return isSetting(flag) && flag.Name != "config" }

// resolvable returns a value in the form that kong accepts from a resolver. kong
// doesn't split a list again.
func resolvable(flag *kong.Flag, texts []string) any {
	if !isList(flag.Target.Type()) {
		return texts[0]
	}
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

func isList(t reflect.Type) bool { return t.Kind() == reflect.Slice }

// textsOf returns the strings that a flag of this type would have on the command line.
// A list with one item may be written as the item alone.
func textsOf(t reflect.Type, node *yaml.Node) ([]string, error) {
	if !isList(t) {
		text, err := textOf(kindOfType(t), node)
		return []string{text}, err
	}
	items := []*yaml.Node{node}
	if node.Kind == yaml.SequenceNode {
		items = node.Content
	}
	texts := []string{}
	for _, item := range items {
		text, err := textOf(kindOfType(t.Elem()), resolved(item))
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// valueKind is the required type of a value in YAML.
type valueKind string

// The kinds of values of settings, in words for error messages.
const (
	kindString   valueKind = "a string"
	kindBool     valueKind = "true or false"
	kindInt      valueKind = "a whole number"
	kindNumber   valueKind = "a number"
	kindDuration valueKind = "a duration such as 30s or 5m"
	kindSize     valueKind = "a size such as 4GiB or a number of bytes"
	kindTime     valueKind = "a duration such as 30s or a whole number" // of a flag with a unit in its name
)

func kindOfType(t reflect.Type) valueKind {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return kindDuration
	case t == reflect.TypeFor[size](), t == reflect.TypeFor[byteSize]():
		return kindSize
	case t == reflect.TypeFor[seconds](), t == reflect.TypeFor[milliseconds]():
		return kindTime
	case t == reflect.TypeFor[bool]():
		return kindBool
	case reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ UnmarshalText(text []byte) error }]()):
		return kindString
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return kindInt
	case reflect.Float32, reflect.Float64:
		return kindNumber
	default:
		return kindString
	}
}

// textOf returns the string of a scalar. It returns an error if the scalar isn't of the
// kind.
func textOf(kind valueKind, node *yaml.Node) (string, error) {
	tags := map[valueKind][]string{
		kindString: {"!!str"}, kindDuration: {"!!str"}, kindBool: {"!!bool"}, kindInt: {"!!int"}, kindNumber: {"!!int", "!!float"},
		kindSize: {"!!str", "!!int"}, kindTime: {"!!str", "!!int"},
	}[kind]
	if node.Kind == yaml.ScalarNode && slices.Contains(tags, node.ShortTag()) {
		return node.Value, nil
	}
	hint := ""
	if node.Kind == yaml.ScalarNode && kind == kindString && node.ShortTag() != "!!null" {
		hint = fmt.Sprintf(": write %q with quotes", node.Value)
	}
	return "", fmt.Errorf("must be %s%s", kind, hint)
}

// trial parses values as the command line does, without the environment. An error is
// then about a value of the settings file, and the caller can name the value's line.
type trial struct{ parser *kong.Kong } // nil before the first value

func (t *trial) take(flag string, texts []string) (err error) {
	if t.parser == nil {
		if t.parser, err = kong.New(&commandLine{}, kong.Exit(func(int) {}), kong.Bind(&flags{}), defaults()); err != nil {
			return err
		}
	}
	for _, text := range texts {
		if _, err := t.parser.Parse([]string{"--" + flag + "=" + text}); err != nil {
			return errors.New(strings.TrimPrefix(err.Error(), "--"+flag+": "))
		}
	}
	return nil
}

// suggest returns a hint with the key that was probably meant, or "".
func (r *settingsReader) suggest(name string) string {
	var names []string
	for _, flag := range r.app.Flags {
		if !inFile(flag) {
			continue
		}
		if slices.Contains(flag.Aliases, name) {
			return didYouMean(flag.Name)
		}
		names = append(names, flag.Name)
	}
	for _, s := range sections() {
		names = append(names, s.name)
	}
	return didYouMean(nearest(strings.ToLower(strings.ReplaceAll(name, "_", "-")), names))
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return ": did you mean " + name + "?"
}

// nearest returns the name within a small edit distance, or "".
func nearest(name string, names []string) string {
	best, least := "", 1+max(1, len(name)/4)
	for _, candidate := range names {
		if d := levenshtein.ComputeDistance(name, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}
