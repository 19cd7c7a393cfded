//nolint:thelper // these are the tests themselves, not their helpers
package tritontest

import (
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton/extension"
)

// TraceFile returns the path at which the suite's subjects must write traces. A
// subject must start with tracing off and info logs on.
func TraceFile(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(tb.TempDir(), traceFile)
}

const traceFile = "suite-traces.json"

// traceSettings are the settings of a request. A nil value clears a setting.
type traceSettings map[string][]string

// traced has the settings in a response, without the file and the mode.
type traced struct{ level, rate, count, frequency string }

// traceStep is a request and tritonserver's response to it after the previous
// steps.
type traceStep struct {
	name   string
	model  string
	change traceSettings
	want   traced
	// Expected error of a refused request: code and the following fields.
	code  inference.Code
	error string
}

func traceSteps() []traceStep {
	invalid, refused := inference.CodeInvalid, inference.CodeUnsupported
	usual := traced{"OFF", "1000", "-1", "0"}
	set := func(name string, values ...string) traceSettings { return traceSettings{name: values} }
	steps := []traceStep{
		{name: "settings at start", want: usual},
		{name: "a model's at start", model: "echo", want: usual},
		{name: "a model that isn't there", model: "nobody", code: inference.CodeNotFound, error: "Request for unknown model"},
		{name: "the file", change: set("trace_file", "x"), code: refused, error: "trace file location can not be updated through network protocol"},
		{name: "unknown settings", change: set("nonsense", "x"), want: usual},
		{name: "the mode", change: set("trace_mode", "opentelemetry"), want: usual},
		{name: "an unknown level", change: set("trace_level", "LOUD"), want: usual},
		{name: "off and more", change: set("trace_level", "TIMESTAMPS", "OFF"), code: invalid, error: "Expect only one trace level 'OFF' is specified"},
		{name: "two rates", change: set("trace_rate", "1", "2"), code: invalid, error: "expect only 1 value for 'trace_rate'"},
		{name: "two counts", change: set("trace_count", "1", "2"), code: invalid, error: "expect only 1 value for 'trace_count'"},
		{name: "two frequencies", change: set("log_frequency", "1", "2"), code: invalid, error: "expect only 1 value for 'log_frequency'"},
		{name: "no number", change: set("trace_rate", "x"), code: invalid, error: "Unable to parse 'trace_rate', got: x"},
		{name: "an empty number", change: set("trace_rate", ""), code: invalid, error: "Unable to parse 'trace_rate', got:"},
		{name: "a count that is none", change: set("trace_count", "x"), code: invalid, error: "Unable to parse 'trace_count', got: x"},
		{name: "a frequency that is none", change: set("log_frequency", "x"), code: invalid, error: "Unable to parse 'log_frequency', got: x"},
		{name: "a large rate", change: set("trace_rate", "9999999999"), code: invalid, error: "Unable to parse 'trace_rate', value is out of range [ 0, 4294967295 ], got: 9999999999"},
		{name: "a large count", change: set("trace_count", "9999999999"), code: invalid, error: "Unable to parse 'trace_count', value is out of range [ -1, 2147483647 ], got: 9999999999"},
		{name: "a small count", change: set("trace_count", "-2"), code: invalid, error: "Unable to parse 'trace_count'. Expecting value >= -1, got: -2"},
		{name: "a large frequency", change: set("log_frequency", "9999999999"), code: invalid, error: "Unable to parse 'log_frequency', value is out of range [ 0, 4294967295 ], got: 9999999999"},
		{name: "the first wrong one", change: traceSettings{"trace_count": {"x"}, "trace_rate": {"y"}}, code: invalid, error: "Unable to parse 'trace_rate', got: y"},
		{name: "a number with more behind", change: set("trace_rate", " +7 of them"), want: traced{"OFF", "7", "-1", "0"}},
		{name: "a negative rate", change: set("trace_rate", "-1"), want: traced{"OFF", "4294967295", "-1", "0"}},
		{name: "a rate of 0 while off", change: set("trace_rate", "0"), want: traced{"OFF", "0", "-1", "0"}},
		{name: "a level with a rate of 0", change: set("trace_level", "TIMESTAMPS"), code: invalid, error: "Attempting to set invalid trace setting :sample rate must be non-zero"},
		{name: "after the refusal", want: traced{"OFF", "0", "-1", "0"}},
		{name: "all values", change: traceSettings{"trace_level": {"TENSORS", "TIMESTAMPS"}, "trace_rate": {"50"}, "trace_count": {"9"}, "log_frequency": {"3"}}, want: traced{"TIMESTAMPS TENSORS", "50", "9", "3"}},
		{name: "which a model follows", model: "echo", want: traced{"TIMESTAMPS TENSORS", "50", "9", "3"}},
		{name: "a model's own rate", model: "echo", change: set("trace_rate", "60"), want: traced{"TIMESTAMPS TENSORS", "60", "9", "3"}},
		{name: "is none of the others'", model: "stream", want: traced{"TIMESTAMPS TENSORS", "50", "9", "3"}},
		{name: "a new global level", change: set("trace_level", "TENSORS"), want: traced{"TENSORS", "50", "9", "3"}},
		{name: "which the model follows, with its rate", model: "echo", want: traced{"TENSORS", "60", "9", "3"}},
		{name: "a model's own level", model: "echo", change: set("trace_level", "OFF"), want: traced{"OFF", "60", "9", "3"}},
		{name: "a cleared global level", change: set("trace_level"), want: traced{"OFF", "50", "9", "3"}},
		{name: "a model's cleared values", model: "echo", change: traceSettings{"trace_level": nil, "trace_rate": nil}, want: traced{"OFF", "50", "9", "3"}},
		{name: "the rest cleared", change: traceSettings{"trace_rate": nil, "trace_count": nil, "log_frequency": nil}, want: usual},
		{name: "which a model follows again", model: "echo", want: usual},
	}
	return steps
}

func testTraceSettings(t *testing.T, s Subject) {
	settings, ok := open(t, s, longLimits()).(inference.Settings)
	if !ok {
		t.Fatal("the engine has no settings")
	}
	for _, step := range traceSteps() {
		req := &kserve.TraceSettingRequest{ModelName: step.model, Settings: map[string]*kserve.TraceSettingRequest_SettingValue{}}
		for name, values := range step.change {
			req.Settings[name] = &kserve.TraceSettingRequest_SettingValue{Value: values}
		}
		answer, err := settings.TraceSetting(t.Context(), req)
		if step.error != "" {
			wantRefused(t, step.name, err, step.code, step.error)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", step.name, err)
			continue
		}
		value := func(name string) string { return strings.Join(answer.GetSettings()[name].GetValue(), " ") }
		got := traced{value("trace_level"), value("trace_rate"), value("trace_count"), value("log_frequency")}
		if got != step.want || value("trace_mode") != "triton" || !strings.HasSuffix(value("trace_file"), traceFile) || len(answer.GetSettings()) != 6 {
			t.Errorf("%s: got %v, want %v", step.name, answer.GetSettings(), step.want)
		}
	}
}

func wantRefused(t *testing.T, name string, err error, code inference.Code, text string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: not refused", name)
		return
	}
	if e := asError(t, err); e.Code != code || !strings.HasPrefix(e.Message, text) {
		t.Errorf("%s: got %s %q, want %s %q", name, e.Code, e.Message, code, text)
	}
}

type logSettings map[string]*kserve.LogSettingsRequest_SettingValue

func testLogSettings(t *testing.T, s Subject) {
	settings, ok := open(t, s, longLimits()).(inference.Settings)
	if !ok {
		t.Fatal("the engine has no settings")
	}
	boolean := func(b bool) *kserve.LogSettingsRequest_SettingValue {
		return &kserve.LogSettingsRequest_SettingValue{ParameterChoice: &kserve.LogSettingsRequest_SettingValue_BoolParam{BoolParam: b}}
	}
	number := func(n uint32) *kserve.LogSettingsRequest_SettingValue {
		return &kserve.LogSettingsRequest_SettingValue{ParameterChoice: &kserve.LogSettingsRequest_SettingValue_Uint32Param{Uint32Param: n}}
	}
	text := func(s string) *kserve.LogSettingsRequest_SettingValue {
		return &kserve.LogSettingsRequest_SettingValue{ParameterChoice: &kserve.LogSettingsRequest_SettingValue_StringParam{StringParam: s}}
	}
	usual := extension.LogValues{Info: true, Warning: true, Error: true, Format: "default"}
	invalid := inference.CodeInvalid
	for _, step := range []struct {
		name   string
		change logSettings
		want   extension.LogValues
		code   inference.Code
		error  string
	}{
		{name: "settings at start", want: usual},
		{name: "unknown ones", change: logSettings{"nonsense": boolean(true)}, want: usual},
		{name: "the file", change: logSettings{"log_file": text("x")}, code: inference.CodeUnsupported, error: "log file location can not be updated through network protocol"},
		{name: "a text for a truth value", change: logSettings{"log_info": text("x")}, code: invalid, error: "expect boolean for 'log_info'"},
		{name: "a number for a truth value", change: logSettings{"log_warning": number(1)}, code: invalid, error: "expect boolean for 'log_warning'"},
		{name: "nothing for a truth value", change: logSettings{"log_error": {}}, code: invalid, error: "expect boolean for 'log_error'"},
		{name: "a text for a number", change: logSettings{"log_verbose_level": text("1")}, code: invalid, error: "expect int32 for 'log_verbose_level'"},
		{name: "a truth value for a text", change: logSettings{"log_format": boolean(true)}, code: invalid, error: "expect string for 'log_format'"},
		{name: "an unknown format", change: logSettings{"log_format": text("x")}, code: invalid, error: "invalid argument for log_format, got: x"},
		{name: "still as at start", want: usual},
		{
			name:   "one right and one wrong",
			change: logSettings{"log_info": boolean(false), "log_verbose_level": boolean(true)},
			code:   invalid, error: "expect int32 for 'log_verbose_level'",
		},
		{name: "the right one counts", want: extension.LogValues{Warning: true, Error: true, Format: "default"}},
		{
			name:   "all",
			change: logSettings{"log_info": boolean(true), "log_warning": boolean(false), "log_error": boolean(false), "log_verbose_level": number(1), "log_format": text("ISO8601")},
			want:   extension.LogValues{Info: true, Verbose: 1, Format: "ISO8601"},
		},
		{name: "a level beyond int32", change: logSettings{"log_verbose_level": number(1 << 31)}, want: extension.LogValues{Info: true, Format: "ISO8601"}},
		{
			name:   "all back",
			change: logSettings{"log_warning": boolean(true), "log_error": boolean(true), "log_format": text("default")},
			want:   usual,
		},
	} {
		answer, err := settings.LogSettings(t.Context(), &kserve.LogSettingsRequest{Settings: step.change})
		if step.error != "" {
			wantRefused(t, step.name, err, step.code, step.error)
			continue
		}
		want, _ := extension.NewLogs(step.want, nil).Setting(&kserve.LogSettingsRequest{})
		if err != nil || !proto.Equal(answer, want) {
			t.Errorf("%s: got %v, %v; want %v", step.name, answer.GetSettings(), err, want.GetSettings())
		}
	}
}
