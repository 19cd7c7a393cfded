package main

import (
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/trident-inference/trident/services/auth"
)

// setting is the value of a flag and where it comes from.
type setting struct {
	flag   *kong.Flag
	value  any
	origin string
}

// The origins of settings that are not in the file.
const (
	originDefault = "default"
	originFlag    = "flag"
)

// note keeps what each flag has and where from.
func (f *flags) note(ctx *kong.Context) {
	f.app = ctx.Model
	given := map[*kong.Flag]bool{}
	for _, p := range ctx.Path {
		if p.Flag != nil && !p.Resolved {
			given[p.Flag] = true
		}
	}
	for _, flag := range ctx.Model.Flags {
		if flag.Name == "help" {
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

// whence adds to an error about flags where their values are that aren't on the command
// line.
func (f *flags) whence(err error) error {
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

// texts are a value as the command line would have it; none for an empty list, and for
// a flag that tells nothing from its zero.
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
	if m, ok := v.(encoding.TextMarshaler); ok {
		if text, err := m.MarshalText(); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(v)
}

// mask stands for a secret.
const mask = auth.HiddenKey

// secretPart is what looks like a secret in the value of any flag.
var secretPart = regexp.MustCompile(`(?i)((?:password|secret|token|credential)[\w.-]*=).*`)

// masked is a text of a flag without what nobody should read over a shoulder.
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

// ofKubernetes matches what Kubernetes puts into the environment for a Service whose
// name begins with trident.
var ofKubernetes = regexp.MustCompile(`_SERVICE_(HOST|PORT)(_\w+)?$|_PORT(_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)?$`)

// unknownVariables are those that look like settings of ours and are none, each with the
// one that was meant, if that can be told.
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
