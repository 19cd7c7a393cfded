package catalog

import (
	"github.com/trident-inference/trident/services/inference"
)

// settings are the values for a model in order of precedence; the first value of a name applies.
// The order is: the operator's for this model, the model's own config.pbtxt, the operator's for all
// models, and the detected ones.
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

// located returns the value of a parameter of config.pbtxt. The tokenizer's folder may be relative
// to that file, so that a model's folder can be moved.
func (c *Catalog) located(model, name, value string) string {
	if name != inference.SettingTokenizer || c.library == nil {
		return value
	}
	return c.library.Locate(model, value)
}

// overridesOf returns the operator's settings that apply to a model.
func (c *Catalog) overridesOf(model string) []inference.Override {
	var of []inference.Override
	for _, o := range c.overrides {
		if o.Model == model || o.Model == "" {
			of = append(of, o)
		}
	}
	return of
}

// get returns the setting that applies. Its value is empty if no source sets it.
func (s settings) get(name string) inference.Setting {
	for _, setting := range s {
		if setting.Name == name {
			return setting
		}
	}
	return inference.Setting{Name: name}
}
