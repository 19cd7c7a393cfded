package main

import (
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/trident-inference/trident/services/auth"
)

// setting is the value of a flag and its origin.
type setting struct {
	flag   *kong.Flag
	value  any
	origin string
}

// The origins of settings whose value isn't from the settings file.
const (
	originDefault = "default"
	originFlag    = "flag"
)

// isSetting reports whether a flag of trident is a setting. Flags that print something aren't.
func isSetting(flag *kong.Flag) bool { return flag.Name != "help" && flag.Name != "version" }

// note records the value and the origin of each flag.
func (f *flags) note(ctx *kong.Context) {
	f.app = ctx.Model
	given := map[*kong.Flag]bool{}
	for _, p := range ctx.Path {
		if p.Flag != nil && !p.Resolved {
			given[p.Flag] = true
		}
	}
	for _, flag := range ctx.Model.Flags {
		if !isSetting(flag) {
			continue
		}
		s := setting{flag: flag, value: flag.Target.Interface(), origin: originDefault}
		switch variable := variableSet(flag); {
		case given[flag]:
			s.origin = originFlag
		case variable != "":
			s.origin = variable
		case f.file != nil:
			if e, found := f.file.values[flag.Name]; found {
				s.origin = f.file.origin(e.line)
			}
		}
		f.settings = append(f.settings, s)
	}
}

// addOrigins adds the origins of the values to an error about flags, except for values on
// the command line.
func (f *flags) addOrigins(err error) error {
	if err == nil {
		return nil
	}
	var places []string
	for _, s := range f.settings {
		if s.origin != originDefault && s.origin != originFlag && regexp.MustCompile("--"+s.flag.Name+"[:,]").MatchString(err.Error()) {
			places = append(places, s.origin)
		}
	}
	if len(places) == 0 {
		return err
	}
	return fmt.Errorf("%w (%s)", err, strings.Join(places, ", "))
}

// texts returns the value as on the command line. It returns nil for an empty list, and
// for a flag that doesn't distinguish unset from zero.
func (s setting) texts() []string {
	v := reflect.ValueOf(s.value)
	switch v.Kind() {
	case reflect.Slice:
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return []string{valueText(v.Elem().Interface())}
	default:
		return []string{valueText(s.value)}
	}
	texts := make([]string, v.Len())
	for i := range texts {
		texts[i] = valueText(v.Index(i).Interface())
	}
	return texts
}

func valueText(v any) string {
	if d, ok := v.(time.Duration); ok {
		return durationText(d)
	}
	if m, ok := v.(encoding.TextMarshaler); ok {
		if text, err := m.MarshalText(); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(v)
}

// mask replaces a secret.
const mask = auth.HiddenKey

// secretPart matches a probable secret in the value of any flag.
var secretPart = regexp.MustCompile(`(?i)((?:password|secret|token|credential)[\w.-]*=).*`)

// masked returns a flag's string without secrets.
func masked(flag, text string) string {
	switch flag {
	case "api-key", "openai-restricted-api":
		return mask
	case "grpc-restricted-protocol", "http-restricted-api":
		key, _, _ := strings.Cut(text, "=")
		return key + "=" + mask
	}
	return secretPart.ReplaceAllString(text, "${1}"+mask)
}

// ofKubernetes matches the variables that Kubernetes sets for a Service whose name
// starts with trident.
var ofKubernetes = regexp.MustCompile(`_SERVICE_(HOST|PORT)(_\w+)?$|_PORT(_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)?$`)

// unknownVariables returns variables that look like settings but aren't. Each has the
// name of the setting that was probably meant, or "".
func (f *flags) unknownVariables(environ []string) map[string]string {
	var known []string
	for _, s := range f.settings {
		known = append(known, s.flag.Envs...)
	}
	unknown := map[string]string{}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		prefixed := strings.HasPrefix(name, ownVariables+"_") || strings.HasPrefix(name, proxyVariables+"_")
		if prefixed && !slices.Contains(known, name) && !ofKubernetes.MatchString(name) {
			unknown[name] = nearest(name, known)
		}
	}
	return unknown
}
