package extension

import (
	"sync"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// LogValues are the values of the log settings.
type LogValues struct {
	Info, Warning, Error bool
	// Verbose is the level of detail. The value 0 turns verbose messages off.
	Verbose uint32
	// Format is LogFormatDefault or LogFormatISO8601.
	Format string
}

// Formats of the prefix of a log line. The default is LMMDD hh:mm:ss.ssssss,
// and ISO8601 is YYYY-MM-DDThh:mm:ssZ L.
const (
	LogFormatDefault = "default"
	LogFormatISO8601 = "ISO8601"
)

// Logs has tritonserver's log settings. The settings' meaning and error messages
// are those of tritonserver 2.51 (src/grpc/grpc_server.cc of its sources).
// Setting may be called concurrently.
type Logs struct {
	apply func(LogValues) error

	mu     sync.Mutex
	values LogValues
}

// NewLogs returns the settings of a server that logs with these values. It calls
// apply to put other values into effect, from one goroutine at a time.
func NewLogs(values LogValues, apply func(LogValues) error) *Logs {
	return &Logs{values: values, apply: apply}
}

// Setting changes the settings of the request, one by one up to the first
// invalid one, and returns the resulting settings. As in tritonserver, unknown
// settings are ignored. The log file can't be changed.
func (l *Logs) Setting(req *kserve.LogSettingsRequest) (*kserve.LogSettingsResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(req.GetSettings()) > 0 {
		next, wrong := l.values.changed(req.GetSettings())
		if err := l.apply(next); err != nil {
			return nil, err
		}
		l.values = next
		if wrong != nil {
			return nil, wrong
		}
	}
	return l.values.answer(), nil
}

// changed returns the values after a change. If a setting is invalid, it
// returns the values with the changes before that setting, and an error.
func (v LogValues) changed(settings map[string]*kserve.LogSettingsRequest_SettingValue) (LogValues, error) {
	if _, there := settings["log_file"]; there {
		return v, unsupported("log file location can not be updated through network protocol")
	}
	for _, switched := range []struct {
		name string
		to   *bool
	}{{"log_info", &v.Info}, {"log_warning", &v.Warning}, {"log_error", &v.Error}} {
		value, there := settings[switched.name]
		choice, right := value.GetParameterChoice().(*kserve.LogSettingsRequest_SettingValue_BoolParam)
		switch {
		case !there:
		case !right:
			return v, invalid("expect boolean for '%s'", switched.name)
		default:
			*switched.to = choice.BoolParam
		}
	}
	if value, there := settings["log_verbose_level"]; there {
		choice, right := value.GetParameterChoice().(*kserve.LogSettingsRequest_SettingValue_Uint32Param)
		if !right {
			return v, invalid("expect int32 for 'log_verbose_level'")
		}
		v.Verbose = uint32(max(int32(choice.Uint32Param), 0)) // Triton reads the value as an int32
	}
	if value, there := settings["log_format"]; there {
		choice, right := value.GetParameterChoice().(*kserve.LogSettingsRequest_SettingValue_StringParam)
		switch {
		case !right:
			return v, invalid("expect string for 'log_format'")
		case choice.StringParam != LogFormatDefault && choice.StringParam != LogFormatISO8601:
			return v, invalid("invalid argument for log_format, got: %s", choice.StringParam)
		}
		v.Format = choice.StringParam
	}
	return v, nil
}

// answer returns the values in tritonserver's form.
func (v LogValues) answer() *kserve.LogSettingsResponse {
	type value = kserve.LogSettingsResponse_SettingValue
	boolean := func(b bool) *value {
		return &value{ParameterChoice: &kserve.LogSettingsResponse_SettingValue_BoolParam{BoolParam: b}}
	}
	text := func(s string) *value {
		return &value{ParameterChoice: &kserve.LogSettingsResponse_SettingValue_StringParam{StringParam: s}}
	}
	return &kserve.LogSettingsResponse{Settings: map[string]*value{
		"log_file":          text(""),
		"log_info":          boolean(v.Info),
		"log_warning":       boolean(v.Warning),
		"log_error":         boolean(v.Error),
		"log_verbose_level": {ParameterChoice: &kserve.LogSettingsResponse_SettingValue_Uint32Param{Uint32Param: v.Verbose}},
		"log_format":        text(v.Format),
	}}
}
