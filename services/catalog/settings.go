package catalog

import (
	"github.com/trident-inference/trident/services/inference"
)

// settings are the values given for a model, first wins: those of the command line
// for this model, those of its own config.pbtxt, those of the command line for all,
// those detected.
type settings []inference.Setting

func (c *Catalog) settings(m inference.Model, detected []inference.Setting) settings {
	var s settings
	for _, o := range c.overrides {
		if o.Model == m.Name {
			s = append(s, o.Setting)
		}
	}
	for key, p := range m.Config.GetParameters() {
		if len(key) > len(inference.ParamPrefix) && key[:len(inference.ParamPrefix)] == inference.ParamPrefix && p.GetStringValue() != "" {
			name := key[len(inference.ParamPrefix):]
			s = append(s, inference.Setting{Name: name, Value: c.located(m.Name, name, p.GetStringValue()), Origin: "config.pbtxt: " + key})
		}
	}
	for _, o := range c.overrides {
		if o.Model == "" {
			s = append(s, o.Setting)
		}
	}
	return append(s, detected...)
}

// located returns the value of a parameter of config.pbtxt. A folder of the tokenizer may
// be given relative to that file, so that a model's folder can be moved.
func (c *Catalog) located(model, name, value string) string {
	if name != inference.SettingTokenizer || c.library == nil {
		return value
	}
	return c.library.Locate(model, value)
}

// overridesOf are those that concern a model.
func (c *Catalog) overridesOf(model string) []inference.Override {
	var of []inference.Override
	for _, o := range c.overrides {
		if o.Model == model || o.Model == "" {
			of = append(of, o)
		}
	}
	return of
}

// get is the setting that wins, with an empty value where nobody gave one.
func (s settings) get(name string) inference.Setting {
	for _, setting := range s {
		if setting.Name == name {
			return setting
		}
	}
	return inference.Setting{Name: name}
}
