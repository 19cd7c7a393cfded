package local

import (
	"encoding"
	"reflect"
	"strings"
	"testing"
)

// TestOptionTexts checks that flag values in tritonserver's form are parsed, and that invalid values
// are refused with the expected form.
func TestOptionTexts(t *testing.T) {
	for _, test := range []struct {
		text string
		into encoding.TextUnmarshaler
		want any    // nil if parsing must fail
		err  string // start of the error, which ends with text
	}{
		{"python,a=b", &BackendSetting{}, &BackendSetting{"python", "a", "b"}, ""},
		{"tensorrt,plugins=/a.so;/b,c=d.so", &BackendSetting{}, &BackendSetting{"tensorrt", "plugins", "/a.so;/b,c=d.so"}, ""},
		{"a=b,c", &BackendSetting{}, &BackendSetting{"", "a", "b,c"}, ""},
		{",a=b", &BackendSetting{}, nil, "must be BACKEND,KEY=VALUE, or KEY=VALUE for all backends"},
		{"python", &BackendSetting{}, nil, "must be BACKEND,KEY=VALUE"},
		{"python,=b", &BackendSetting{}, nil, "must be BACKEND,KEY=VALUE"},
		{"python,a=", &BackendSetting{}, nil, "must be BACKEND,KEY=VALUE"},
		{"=", &BackendSetting{}, nil, "must be BACKEND,KEY=VALUE"},
		{"redis,host=a=b", &CacheSetting{}, &CacheSetting{"redis", "host", "a=b"}, ""},
		{"size=1", &CacheSetting{}, nil, "must be CACHE,KEY=VALUE"},
		{",size=1", &CacheSetting{}, nil, "must be CACHE,KEY=VALUE"},
		{"summary_quantiles=0.5:0.05,0.9:0.01", &MetricsSetting{}, &MetricsSetting{"summary_quantiles", "0.5:0.05,0.9:0.01"}, ""},
		{"x,a=b", &MetricsSetting{}, nil, "must be KEY=VALUE"},
		{"a:1", &RateLimitResource{}, &RateLimitResource{"a", 1, EveryDevice}, ""},
		{"a:1:2", &RateLimitResource{}, &RateLimitResource{"a", 1, 2}, ""},
		{"a", &RateLimitResource{}, nil, "must be NAME:COUNT or NAME:COUNT:DEVICE"},
		{":1", &RateLimitResource{}, nil, "must be NAME:COUNT"},
		{"a:x", &RateLimitResource{}, nil, "must be NAME:COUNT"},
		{"a:-1", &RateLimitResource{}, nil, "must be NAME:COUNT"},
		{"a:1:x", &RateLimitResource{}, nil, "must be NAME:COUNT"},
		{"a:1:-1", &RateLimitResource{}, nil, "must be NAME:COUNT"},
		{"a:1:2:3", &RateLimitResource{}, nil, "must be NAME:COUNT"},
		{"1:67108864", &MemoryPool{}, &MemoryPool{1, 67108864}, ""},
		{"1:64MiB", &MemoryPool{}, &MemoryPool{1, 64 << 20}, ""},
		{"1", &MemoryPool{}, nil, "must be DEVICE:SIZE"},
		{"-1:2", &MemoryPool{}, nil, "must be DEVICE:SIZE"},
		{"1:-2", &MemoryPool{}, nil, "must be DEVICE:SIZE"},
		{"1:2MB", &MemoryPool{}, &MemoryPool{1, 2e6}, ""},
		{"1:2 gigs", &MemoryPool{}, nil, "must be DEVICE:SIZE"},
	} {
		t.Run(reflect.TypeOf(test.into).Elem().Name()+" "+test.text, func(t *testing.T) {
			err := test.into.UnmarshalText([]byte(test.text))
			switch {
			case test.want != nil && (err != nil || !reflect.DeepEqual(test.into, test.want)):
				t.Errorf("got %+v, %v; want %+v", test.into, err, test.want)
			case test.want != nil:
				again := strings.Replace(test.text, "67108864", "64MiB", 1) // sizes are written with their unit
				if text, err := test.into.(encoding.TextMarshaler).MarshalText(); string(text) != again || err != nil {
					t.Errorf("written again it is %q, %v", text, err)
				}
			case test.want == nil && (err == nil || !strings.HasPrefix(err.Error(), test.err) || !strings.HasSuffix(err.Error(), `"`+test.text+`"`)):
				t.Errorf("got %v", err)
			}
		})
	}
}
