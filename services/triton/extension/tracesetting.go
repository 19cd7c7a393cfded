package extension

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// TraceLevel is the set of data to record of a request, as bits of
// TRITONSERVER_InferenceTraceLevel.
type TraceLevel uint32

// Bits of a TraceLevel.
const (
	TraceOff        TraceLevel = 0
	TraceTimestamps TraceLevel = 4 // the trace has the times of the request's activities
	TraceTensors    TraceLevel = 8 // the trace has the inputs and outputs, with their contents
)

// TraceConfig has the settings that a server starts with.
type TraceConfig struct {
	// File is the path of the traces' file. With a LogFrequency, or when a Count
	// is reached, traces go to files with this name and the suffixes .0, .1 and
	// so on. If File is empty, no request is traced.
	File string
	// Level selects the data to record.
	Level TraceLevel
	// Rate is the number of requests of which one is traced.
	Rate uint32
	// Count is the number of traces to record; -1 means no limit.
	Count int32
	// LogFrequency is the number of traces in a file; 0 means no limit.
	LogFrequency uint32
}

// DefaultTraceConfig traces no request until a level is set, and then one
// request of 1000.
func DefaultTraceConfig() TraceConfig {
	return TraceConfig{Rate: 1000, Count: -1}
}

// traceMode is the only mode. tritonserver has "opentelemetry" too.
const traceMode = "triton"

// ParseTraceConfig parses the values of tritonserver's flag --trace-config:
// SETTING=VALUE for level, rate, count and mode, and triton,SETTING=VALUE for file
// and log-frequency. Levels are combined, but OFF overrides all others.
func ParseTraceConfig(values []string) (TraceConfig, error) {
	config := DefaultTraceConfig()
	off := false
	for _, value := range values {
		setting, text, found := strings.Cut(value, "=")
		if !found || setting == "" || text == "" {
			return config, fmt.Errorf("must be SETTING=VALUE or %s,SETTING=VALUE, not %q", traceMode, value)
		}
		disabled, err := config.parse(setting, text)
		if err != nil {
			return config, fmt.Errorf("%s: %w", setting, err)
		}
		off = off || disabled
	}
	if off {
		config.Level = TraceOff
	}
	if config.Level != TraceOff && config.File == "" {
		return config, fmt.Errorf("the trace settings need a file unless the trace level is OFF: add %s,file=PATH", traceMode)
	}
	return config, nil
}

func (c *TraceConfig) parse(setting, text string) (off bool, err error) {
	number := func(low, high int64) int64 {
		n, failed := strconv.ParseInt(text, 10, 64)
		if failed != nil || n < low || n > high {
			err = fmt.Errorf("must be a whole number from %d to %d, not %q", low, high, text)
		}
		return n
	}
	switch setting {
	case "rate":
		c.Rate = uint32(number(1, math.MaxInt32))
	case "count":
		c.Count = int32(number(-1, math.MaxInt32))
	case traceMode + ",log-frequency":
		c.LogFrequency = uint32(number(0, math.MaxInt32))
	case traceMode + ",file":
		c.File = text
	case "level":
		return c.addLevel(text)
	case "mode":
		if !strings.EqualFold(text, traceMode) {
			err = fmt.Errorf("must be %s, not %q: the in-process engine has no other mode", traceMode, text)
		}
	default:
		err = fmt.Errorf("unknown setting: use level, rate, count, mode, %[1]s,file or %[1]s,log-frequency", traceMode)
	}
	return false, err
}

func (c *TraceConfig) addLevel(text string) (off bool, err error) {
	switch strings.ToLower(text) {
	case "false", "off":
		return true, nil
	case "true", "on", "min", "max", "timestamps":
		c.Level |= TraceTimestamps
	case "tensors":
		c.Level |= TraceTensors
	default:
		return false, fmt.Errorf("must be OFF, TIMESTAMPS or TENSORS, not %q", text)
	}
	return false, nil
}

// Names of the settings, in tritonserver's order.
const (
	traceFileSetting      = "trace_file"
	traceLevelSetting     = "trace_level"
	traceRateSetting      = "trace_rate"
	traceCountSetting     = "trace_count"
	traceFrequencySetting = "log_frequency"
	traceModeSetting      = "trace_mode"
)

// traceParser parses a change and keeps the first error.
type traceParser struct {
	settings map[string]*kserve.TraceSettingRequest_SettingValue
	change   traceChange
	err      error
}

func parseTraceChange(settings map[string]*kserve.TraceSettingRequest_SettingValue) (traceChange, error) {
	if _, there := settings[traceFileSetting]; there {
		return traceChange{}, unsupported("trace file location can not be updated through network protocol")
	}
	p := traceParser{settings: settings}
	set, cleared := &p.change.set, &p.change.cleared
	p.level()
	p.change.rate = uint32(p.number(traceRateSetting, 0, math.MaxUint32, &set.rate, &cleared.rate))
	p.change.count = p.number(traceCountSetting, minTraceCount, math.MaxInt32, &set.count, &cleared.count)
	if p.err == nil && p.change.count < minTraceCount {
		p.err = invalid("Unable to parse '%s'. Expecting value >= %d, got: %s",
			traceCountSetting, minTraceCount, settings[traceCountSetting].GetValue()[0])
	}
	p.change.logFrequency = uint32(p.number(traceFrequencySetting, 0, math.MaxUint32, &set.logFrequency, &cleared.logFrequency))
	return p.change, p.err
}

// minTraceCount means no limit.
const minTraceCount = -1

func (p *traceParser) level() {
	value, there := p.settings[traceLevelSetting]
	if !there {
		return
	}
	names := value.GetValue()
	p.change.cleared.level = len(names) == 0
	for _, name := range names {
		switch name {
		case "OFF":
			if len(names) > 1 {
				p.err = invalid("Expect only one trace level 'OFF' is specified")
			}
		case "TIMESTAMPS":
			p.change.level |= TraceTimestamps
		case "TENSORS":
			p.change.level |= TraceTensors
		default: // tritonserver ignores it
			continue
		}
		p.change.set.level = true
	}
}

// number parses a number as tritonserver does. tritonserver accepts any int32,
// although its error message names the bounds. A negative rate becomes a very
// large one.
func (p *traceParser) number(name string, low, high int64, set, cleared *bool) int32 {
	value, there := p.settings[name]
	if !there || p.err != nil {
		return 0
	}
	texts := value.GetValue()
	switch len(texts) {
	case 0:
		*cleared = true
		return 0
	case 1:
	default:
		p.err = invalid("expect only 1 value for '%s'", name)
		return 0
	}
	*set = true
	n, err := leadingInt(texts[0])
	switch {
	case errors.Is(err, strconv.ErrRange):
		p.err = invalid("Unable to parse '%s', value is out of range [ %d, %d ], got: %s", name, low, high, texts[0])
	case err != nil:
		p.err = invalid("Unable to parse '%s', got: %s", name, texts[0])
	}
	return n
}

// leadingInt parses the number at the start of a string, as std::stoi does: after
// white space, with an optional sign, and with any suffix.
func leadingInt(text string) (int32, error) {
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end == 0 && (text[0] == '-' || text[0] == '+')) {
		end++
	}
	n, err := strconv.ParseInt(text[:end], 10, 32)
	return int32(n), err
}

// answer returns the values in tritonserver's form.
func (v *traceValues) answer(file string) *kserve.TraceSettingResponse {
	var levels []string
	if v.level == TraceOff {
		levels = append(levels, "OFF")
	}
	if v.level&TraceTimestamps != 0 {
		levels = append(levels, "TIMESTAMPS")
	}
	if v.level&TraceTensors != 0 {
		levels = append(levels, "TENSORS")
	}
	values := map[string][]string{
		traceFileSetting:      {file},
		traceLevelSetting:     levels,
		traceRateSetting:      {strconv.FormatUint(uint64(v.rate), 10)},
		traceCountSetting:     {strconv.FormatInt(int64(v.count), 10)},
		traceFrequencySetting: {strconv.FormatUint(uint64(v.logFrequency), 10)},
		traceModeSetting:      {traceMode},
	}
	answer := &kserve.TraceSettingResponse{Settings: make(map[string]*kserve.TraceSettingResponse_SettingValue, len(values))}
	for name, value := range values {
		answer.Settings[name] = &kserve.TraceSettingResponse_SettingValue{Value: value}
	}
	return answer
}
