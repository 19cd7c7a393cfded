package extension

import (
	"errors"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// TestLogsApply checks that Logs.Setting returns the log settings that are in force. A setting that
// couldn't be applied isn't among them.
func TestLogsApply(t *testing.T) {
	start := LogValues{Info: true, Format: LogFormatDefault}
	applied, failure := start, error(nil)
	logs := NewLogs(start, func(v LogValues) error {
		if failure == nil {
			applied = v
		}
		return failure
	})
	set := func(level uint32) error {
		_, err := logs.Setting(&kserve.LogSettingsRequest{Settings: map[string]*kserve.LogSettingsRequest_SettingValue{
			"log_verbose_level": {ParameterChoice: &kserve.LogSettingsRequest_SettingValue_Uint32Param{Uint32Param: level}},
		}})
		return err
	}
	if err := set(3); err != nil || applied.Verbose != 3 {
		t.Errorf("%+v is in force; %v", applied, err)
	}
	failure = errors.New("the library can't")
	if err := set(4); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	answer, err := logs.Setting(&kserve.LogSettingsRequest{})
	if err != nil || answer.GetSettings()["log_verbose_level"].GetUint32Param() != 3 {
		t.Errorf("got the settings %v, %v", answer, err)
	}
}
