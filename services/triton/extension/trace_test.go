package extension

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
)

func TestParseTraceConfig(t *testing.T) {
	config := func(change func(*TraceConfig)) TraceConfig {
		c := DefaultTraceConfig()
		change(&c)
		return c
	}
	for _, test := range []struct {
		name   string
		values []string
		want   TraceConfig
		error  string
	}{
		{"nothing", nil, DefaultTraceConfig(), ""},
		{
			"all",
			[]string{"triton,file=/tmp/a=b,c", "triton,log-frequency=5", "rate=7", "count=9", "level=TIMESTAMPS", "level=tensors", "mode=Triton"},
			TraceConfig{File: "/tmp/a=b,c", Level: TraceTimestamps | TraceTensors, Rate: 7, Count: 9, LogFrequency: 5},
			"",
		},
		{"off wins", []string{"level=OFF", "level=TIMESTAMPS"}, DefaultTraceConfig(), ""},
		{"old names of a level", []string{"level=MAX", "triton,file=x"}, config(func(c *TraceConfig) { c.Level, c.File = TraceTimestamps, "x" }), ""},
		{"no bound", []string{"count=-1"}, DefaultTraceConfig(), ""},
		{"no value", []string{"rate"}, TraceConfig{}, `must be SETTING=VALUE or triton,SETTING=VALUE, not "rate"`},
		{"an empty value", []string{"rate="}, TraceConfig{}, "must be SETTING=VALUE"},
		{"a rate of 0", []string{"rate=0"}, TraceConfig{}, `rate: must be a whole number from 1 to 2147483647, not "0"`},
		{"a count below the least", []string{"count=-2"}, TraceConfig{}, "count: must be a whole number from -1"},
		{"no number", []string{"triton,log-frequency=x"}, TraceConfig{}, `triton,log-frequency: must be a whole number from 0 to 2147483647, not "x"`},
		{"an unknown level", []string{"level=LOUD"}, TraceConfig{}, `level: must be OFF, TIMESTAMPS or TENSORS, not "LOUD"`},
		{"another mode", []string{"mode=opentelemetry"}, TraceConfig{}, `mode: must be triton, not "opentelemetry"`},
		{"another mode's setting", []string{"opentelemetry,url=x"}, TraceConfig{}, "opentelemetry,url: unknown setting"},
		{"a level without a file", []string{"level=TIMESTAMPS"}, TraceConfig{}, "the trace settings need a file unless the trace level is OFF: add triton,file=PATH"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseTraceConfig(test.values)
			switch {
			case test.error == "" && (err != nil || got != test.want):
				t.Errorf("got %+v, %v; want %+v", got, err, test.want)
			case test.error != "" && (err == nil || !strings.HasPrefix(err.Error(), test.error)):
				t.Errorf("got %v, want %s", err, test.error)
			}
		})
	}
}

// traceRun has the settings under test and the folder of their files.
type traceRun struct {
	*Traces

	t   *testing.T
	log bytes.Buffer
	dir string
}

func newRun(t *testing.T, config TraceConfig) *traceRun {
	t.Helper()
	run := &traceRun{t: t, dir: t.TempDir()}
	config.File = filepath.Join(run.dir, "traces")
	run.Traces = NewTraces(config, slog.New(slog.NewTextHandler(&run.log, nil)))
	return run
}

// request runs a request to the model. The trace has the model's name.
func (r *traceRun) request(model string) {
	if trace := r.Sample(model); trace != nil {
		trace.End([]TraceRecord{{ID: 1, Model: model, Version: 1, Activity: "REQUEST_START"}})
	}
}

// files returns the models of the traces in each file.
func (r *traceRun) files() map[string]string {
	r.t.Helper()
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	all := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(r.dir, entry.Name()))
		if err != nil {
			r.t.Fatal(err)
		}
		var lines []traceLine
		if err := json.Unmarshal(text, &lines); err != nil {
			r.t.Fatalf("%s: %v in %s", entry.Name(), err, text)
		}
		var models []string
		for _, line := range lines {
			if line.Model != "" {
				models = append(models, line.Model)
			}
		}
		all[entry.Name()] = strings.Join(models, "")
	}
	return all
}

func (r *traceRun) set(model string, settings map[string][]string) {
	r.t.Helper()
	req := &kserve.TraceSettingRequest{ModelName: model, Settings: map[string]*kserve.TraceSettingRequest_SettingValue{}}
	for name, values := range settings {
		req.Settings[name] = &kserve.TraceSettingRequest_SettingValue{Value: values}
	}
	if _, err := r.Setting(req); err != nil {
		r.t.Error(err)
	}
}

func (r *traceRun) want(step string, files map[string]string) {
	r.t.Helper()
	if got := r.files(); !maps.Equal(got, files) {
		r.t.Errorf("%s: got %v, want %v", step, got, files)
	}
	if r.log.Len() > 0 {
		r.t.Errorf("%s: logged %s", step, &r.log)
	}
}

type files = map[string]string

func TestTraceFiles(t *testing.T) {
	traced := TraceConfig{Level: TraceTimestamps, Rate: 1, Count: -1}
	with := func(change func(*TraceConfig)) TraceConfig {
		c := traced
		change(&c)
		return c
	}
	letters := func(r *traceRun, models string) {
		for _, model := range models {
			r.request(string(model))
		}
	}
	t.Run("all in one file", func(t *testing.T) {
		r := newRun(t, traced)
		r.want("before", files{})
		letters(r, "ab")
		r.want("meanwhile", files{"traces": "ab"})
		r.set("", map[string][]string{"trace_rate": {"2"}})
		letters(r, "cdef")
		r.Close()
		r.want("at the end", files{"traces": "abdf"})
		r.request("g")
		r.want("afterwards", files{"traces": "abdf"})
	})
	t.Run("a file each so many", func(t *testing.T) {
		r := newRun(t, with(func(c *TraceConfig) { c.LogFrequency = 2 }))
		letters(r, "abcde")
		r.want("meanwhile", files{"traces.0": "ab", "traces.1": "cd"})
		r.Close()
		r.want("at the end", files{"traces.0": "ab", "traces.1": "cd", "traces.2": "e"})
	})
	t.Run("so many in all", func(t *testing.T) {
		r := newRun(t, with(func(c *TraceConfig) { c.Count, c.Rate = 2, 2 }))
		letters(r, "abc")
		r.want("meanwhile", files{})
		letters(r, "defg")
		r.want("when they are there", files{"traces.0": "bd"})
		r.Close()
		r.want("at the end", files{"traces.0": "bd"})
	})
	t.Run("fewer than the count", func(t *testing.T) {
		r := newRun(t, with(func(c *TraceConfig) { c.Count = 5 }))
		letters(r, "ab")
		r.set("", map[string][]string{"trace_level": {"OFF"}})
		r.want("after a change", files{"traces": "ab"})
		if r.On() {
			t.Error("tracing is on")
		}
		r.Close()
	})
	t.Run("a trace ends after a change", func(t *testing.T) {
		r := newRun(t, with(func(c *TraceConfig) { c.LogFrequency = 9 }))
		late := r.Sample("z")
		r.request("a")
		r.set("", map[string][]string{"trace_rate": {"3"}})
		r.want("before its end", files{})
		late.End([]TraceRecord{{ID: 7, Model: "z", Activity: "REQUEST_START"}})
		r.want("after it", files{"traces.0": "az"})
		r.Close()
	})
	t.Run("a trace without records", func(t *testing.T) {
		r := newRun(t, traced)
		r.Sample("a").End(nil)
		r.want("nothing", files{})
		r.Close()
	})
	t.Run("one model", func(t *testing.T) {
		r := newRun(t, with(func(c *TraceConfig) { c.Level = TraceOff }))
		letters(r, "ab")
		r.set("b", map[string][]string{"trace_level": {"TIMESTAMPS"}})
		letters(r, "abab")
		r.set("b", map[string][]string{"trace_level": nil})
		letters(r, "ab")
		r.want("while it is traced", files{"traces": "bb"})
		r.Close()
	})
}

func TestTraceFileFails(t *testing.T) {
	var log bytes.Buffer
	traces := NewTraces(TraceConfig{File: filepath.Join(t.TempDir(), "none", "traces"), Level: TraceTimestamps, Rate: 1, Count: -1},
		slog.New(slog.NewTextHandler(&log, nil)))
	traces.Sample("a").End([]TraceRecord{{ID: 1, Activity: "REQUEST_START"}})
	if !strings.Contains(log.String(), "the trace file can't be written") {
		t.Errorf("logged %s", &log)
	}
	traces.Close()
}

// TestTraceText checks that trace records of each kind are written in the format of tritonserver's
// trace files.
func TestTraceText(t *testing.T) {
	records := []TraceRecord{
		{ID: 4, Activity: "REQUEST_START", Nanoseconds: 10, Model: "a", Version: 2, RequestID: `"quoted"`},
		{ID: 5, Parent: 4, Activity: "REQUEST_START", Nanoseconds: 11, Model: "b", Version: 1},
		{ID: 4, Activity: "QUEUE_START", Nanoseconds: 12},
		{ID: 4, Activity: "TENSOR_QUEUE_INPUT", Tensor: &TraceTensor{Name: "IN", Datatype: "INT32", Shape: []int64{1, 2}, Data: []byte{1, 0, 0, 0, 255, 255, 255, 255}}},
	}
	want := `{"id":4,"model_name":"a","model_version":2,"request_id":"\"quoted\""},{"id":4,"timestamps":[{"name":"REQUEST_START","ns":10}]},` +
		`{"id":4,"timestamps":[{"name":"QUEUE_START","ns":12}]},` +
		`{"id":4,"activity":"TENSOR_QUEUE_INPUT","tensor":{"name":"IN","data":"1,-1","shape":"1,2","dtype":"INT32"}},` +
		`{"id":5,"model_name":"b","model_version":1,"parent_id":4},{"id":5,"timestamps":[{"name":"REQUEST_START","ns":11}]}`
	if got := string(appendTrace(nil, records)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if records[1].ID != 5 {
		t.Error("the caller's records were sorted")
	}
}

func TestTraceTensors(t *testing.T) {
	little := binary.LittleEndian
	text := func(all ...string) (raw []byte) {
		for _, s := range all {
			raw = append(little.AppendUint32(raw, uint32(len(s))), s...)
		}
		return raw
	}
	for _, test := range []struct {
		datatype string
		data     []byte
		want     string
	}{
		{"BOOL", []byte{0, 1, 2}, "0,1,1"},
		{"UINT8", []byte{0, 255}, "0,255"},
		{"UINT16", []byte{1, 1}, "257"},
		{"UINT32", []byte{0, 0, 0, 128}, "2147483648"},
		{"UINT64", little.AppendUint64(nil, math.MaxUint64), strconv.FormatUint(math.MaxUint64, 10)},
		{"INT8", []byte{128}, "-128"},
		{"INT16", []byte{255, 255}, "-1"},
		{"INT32", []byte{255, 255, 255, 255, 5}, "-1"},
		{"INT64", little.AppendUint64(nil, 1<<63), strconv.FormatInt(math.MinInt64, 10)},
		{"FP32", little.AppendUint32(nil, math.Float32bits(1.5e10)), "1.5e+10"},
		{"FP64", slices.Concat(little.AppendUint64(nil, math.Float64bits(-0.25)), little.AppendUint64(nil, math.Float64bits(math.Inf(1)))), "-0.25,+Inf"},
		{"FP16", []byte{1, 2}, ""},
		{"BYTES", text("a", `b"c`), `"a","b"c"`},
		{"BYTES", text("a")[:4], ""},
		{"BYTES", []byte{9}, ""},
	} {
		tensor := TraceTensor{Datatype: test.datatype, Data: test.data}
		if got := tensor.text(); got != test.want {
			t.Errorf("%s %v: got %s, want %s", test.datatype, test.data, got, test.want)
		}
	}
}

// BenchmarkSampleOff measures the cost that the trace settings add to a request while tracing is
// off.
func BenchmarkSampleOff(b *testing.B) {
	traces := NewTraces(DefaultTraceConfig(), slog.New(slog.DiscardHandler))
	for b.Loop() {
		if traces.Sample("a") != nil {
			b.Fatal("traced")
		}
	}
}
