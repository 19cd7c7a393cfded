package rest

import (
	"cmp"
	"maps"
	"math"
	"net/http"
	"slices"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/kserve"
)

// GetTraceSetting returns the settings of models without their own settings.
func (h *Handler) GetTraceSetting(w http.ResponseWriter, r *http.Request) {
	h.traceSetting(w, r, &api.TraceSettingRequest{})
}

// GetModelTraceSetting returns a model's settings.
func (h *Handler) GetModelTraceSetting(w http.ResponseWriter, r *http.Request, model string) {
	h.traceSetting(w, r, &api.TraceSettingRequest{ModelName: model})
}

// SetTraceSetting changes the settings of models without their own settings.
func (h *Handler) SetTraceSetting(w http.ResponseWriter, r *http.Request) {
	h.SetModelTraceSetting(w, r, "")
}

// SetModelTraceSetting changes a model's settings.
func (h *Handler) SetModelTraceSetting(w http.ResponseWriter, r *http.Request, model string) {
	body, err := readObject(r, false)
	req := &api.TraceSettingRequest{ModelName: model}
	if err == nil {
		req.Settings, err = traceSettings(body)
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	h.traceSetting(w, r, req)
}

// traceSetting responds with the settings as strings, except the levels.
func (h *Handler) traceSetting(w http.ResponseWriter, r *http.Request, req *api.TraceSettingRequest) {
	respond(w, r, h.service.TraceSetting, req, func(answer *api.TraceSettingResponse) any {
		all := map[string]any{}
		for name, value := range answer.GetSettings() {
			switch values := value.GetValue(); {
			case name == traceLevel:
				all[name] = values
			case len(values) > 0:
				all[name] = values[0]
			default:
				all[name] = ""
			}
		}
		return all
	})
}

// The trace settings with special treatment: tritonserver refuses trace_file, and
// trace_level is a list. Settings that traceSettings doesn't list are ignored, as in
// tritonserver.
const (
	traceFile  = "trace_file"
	traceLevel = "trace_level"
)

// traceSettings returns the settings that the body names. A null setting has no
// value.
func traceSettings(body object) (map[string]*api.TraceSettingRequest_SettingValue, error) {
	settings := map[string]*api.TraceSettingRequest_SettingValue{}
	if body.has(traceFile) {
		return nil, kserve.Unsupported("trace file location can not be updated through network protocol")
	}
	for _, name := range []string{traceLevel, "trace_rate", "trace_count", "log_frequency"} {
		if !body.has(name) {
			continue
		}
		value := &api.TraceSettingRequest_SettingValue{}
		var err error
		switch {
		case !body.given(name):
		case name == traceLevel:
			value.Value, err = body.texts(name)
		default:
			var one string
			one, err = body.text(name)
			value.Value = []string{one}
		}
		if err != nil {
			return nil, err
		}
		settings[name] = value
	}
	return settings, nil
}

// GetLogSettings returns the log settings.
func (h *Handler) GetLogSettings(w http.ResponseWriter, r *http.Request) {
	h.logSettings(w, r, &api.LogSettingsRequest{})
}

// SetLogSettings changes the log settings.
func (h *Handler) SetLogSettings(w http.ResponseWriter, r *http.Request) {
	body, err := readObject(r, false)
	req := &api.LogSettingsRequest{}
	if err == nil {
		req.Settings, err = logSettings(body)
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	h.logSettings(w, r, req)
}

func (h *Handler) logSettings(w http.ResponseWriter, r *http.Request, req *api.LogSettingsRequest) {
	respond(w, r, h.service.LogSettings, req, func(answer *api.LogSettingsResponse) any {
		all := map[string]any{}
		for name, value := range answer.GetSettings() {
			switch choice := value.GetParameterChoice().(type) {
			case *api.LogSettingsResponse_SettingValue_BoolParam:
				all[name] = choice.BoolParam
			case *api.LogSettingsResponse_SettingValue_Uint32Param:
				all[name] = choice.Uint32Param
			default:
				all[name] = value.GetStringParam()
			}
		}
		return all
	})
}

// logSettings returns the settings that the body names. null changes nothing.
func logSettings(body object) (map[string]*api.LogSettingsRequest_SettingValue, error) {
	settings := map[string]*api.LogSettingsRequest_SettingValue{}
	for _, name := range []string{"log_file", "log_info", "log_warning", "log_error", "log_verbose_level", "log_format"} {
		if !body.given(name) {
			continue
		}
		value, err := logSetting(body, name)
		if err != nil {
			return nil, err
		}
		settings[name] = value
	}
	return settings, nil
}

func logSetting(body object, name string) (*api.LogSettingsRequest_SettingValue, error) {
	value := &api.LogSettingsRequest_SettingValue{}
	switch name {
	case "log_file":
		return nil, kserve.Unsupported("log file location can not be updated through network protocol")
	case "log_format":
		s, err := body.text(name)
		value.ParameterChoice = &api.LogSettingsRequest_SettingValue_StringParam{StringParam: s}
		return value, err
	case "log_verbose_level":
		n, err := body.unsigned(name)
		value.ParameterChoice = &api.LogSettingsRequest_SettingValue_Uint32Param{Uint32Param: uint32(min(n, math.MaxInt32))}
		return value, err
	}
	b, err := body.boolean(name)
	value.ParameterChoice = &api.LogSettingsRequest_SettingValue_BoolParam{BoolParam: b}
	return value, err
}

// inOrder returns a map's values in the order of their keys.
func inOrder[K cmp.Ordered, V any](m map[K]V) []V {
	list := make([]V, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		list = append(list, m[key])
	}
	return list
}
