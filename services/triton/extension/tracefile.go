package extension

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
)

// TraceRecord is an event of a traced request, or of a request that its model
// derived from it.
type TraceRecord struct {
	// ID identifies the request within a trace. Parent is the request that it
	// was derived from, or 0.
	ID, Parent uint64
	// Activity is Triton's name of the event, such as COMPUTE_START.
	Activity string
	// Nanoseconds is a time of the monotonic clock.
	Nanoseconds int64
	// Model is the request's model. Model, Version and RequestID are set in the
	// first record of a request, and are empty in the others.
	Model     string
	Version   int64
	RequestID string
	// Tensor is set in the record of a tensor, which has no time.
	Tensor *TraceTensor
}

// TraceTensor is an input or output tensor in a request's trace.
type TraceTensor struct {
	Name, Datatype string // Datatype is a datatype of KServe v2
	Shape          []int64
	// Data has the elements in row-major order, little-endian. Each BYTES
	// element is a little-endian u32 length and that many bytes.
	Data []byte
}

// traceLine is one object of the file. Its fields are in the file's order.
type traceLine struct {
	ID         uint64           `json:"id"`
	Model      string           `json:"model_name,omitempty"`
	Version    int64            `json:"model_version,omitempty"`
	RequestID  string           `json:"request_id,omitempty"`
	Parent     uint64           `json:"parent_id,omitempty"`
	Timestamps []traceTimestamp `json:"timestamps,omitempty"`
	Activity   string           `json:"activity,omitempty"`
	Tensor     *traceTensor     `json:"tensor,omitempty"`
}

type traceTimestamp struct {
	Name        string `json:"name"`
	Nanoseconds int64  `json:"ns"`
}

// traceTensor is a tensor in the file. Its elements and shape are strings.
type traceTensor struct {
	Name     string `json:"name"`
	Data     string `json:"data"`
	Shape    string `json:"shape"`
	Datatype string `json:"dtype"`
}

// appendTrace appends the records as comma-separated JSON objects, grouped by
// request.
func appendTrace(to []byte, records []TraceRecord) []byte {
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b TraceRecord) int { return int(int64(a.ID) - int64(b.ID)) })
	for _, r := range records {
		if r.Model != "" {
			to = appendLine(to, traceLine{ID: r.ID, Model: r.Model, Version: r.Version, RequestID: r.RequestID, Parent: r.Parent})
		}
		line := traceLine{ID: r.ID}
		if r.Tensor != nil {
			line.Activity = r.Activity
			line.Tensor = &traceTensor{r.Tensor.Name, r.Tensor.text(), joined(r.Tensor.Shape), r.Tensor.Datatype}
		} else {
			line.Timestamps = []traceTimestamp{{r.Activity, r.Nanoseconds}}
		}
		to = appendLine(to, line)
	}
	return to
}

func appendLine(to []byte, line traceLine) []byte {
	text, err := json.Marshal(line)
	if err != nil { // these types always marshal
		return to
	}
	if len(to) > 0 {
		to = append(to, ',')
	}
	return append(to, text...)
}

func joined(shape []int64) string {
	var text []byte
	for i, n := range shape {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, n, 10)
	}
	return string(text)
}

// text returns the tensor's elements, comma-separated. As in tritonserver, it
// returns none for FP16 and BF16.
func (t *TraceTensor) text() string {
	if t.Datatype == "BYTES" {
		return t.strings()
	}
	var size int
	var element func(to, raw []byte) []byte
	unsigned := func(to []byte, n uint64) []byte { return strconv.AppendUint(to, n, 10) }
	signed := func(to []byte, n int64) []byte { return strconv.AppendInt(to, n, 10) }
	order := binary.LittleEndian
	switch t.Datatype {
	case "BOOL":
		size, element = 1, func(to, raw []byte) []byte { return unsigned(to, uint64(min(raw[0], 1))) }
	case "UINT8":
		size, element = 1, func(to, raw []byte) []byte { return unsigned(to, uint64(raw[0])) }
	case "UINT16":
		size, element = 2, func(to, raw []byte) []byte { return unsigned(to, uint64(order.Uint16(raw))) }
	case "UINT32":
		size, element = 4, func(to, raw []byte) []byte { return unsigned(to, uint64(order.Uint32(raw))) }
	case "UINT64":
		size, element = 8, func(to, raw []byte) []byte { return unsigned(to, order.Uint64(raw)) }
	case "INT8":
		size, element = 1, func(to, raw []byte) []byte { return signed(to, int64(int8(raw[0]))) }
	case "INT16":
		size, element = 2, func(to, raw []byte) []byte { return signed(to, int64(int16(order.Uint16(raw)))) }
	case "INT32":
		size, element = 4, func(to, raw []byte) []byte { return signed(to, int64(int32(order.Uint32(raw)))) }
	case "INT64":
		size, element = 8, func(to, raw []byte) []byte { return signed(to, int64(order.Uint64(raw))) }
	case "FP32":
		size, element = 4, func(to, raw []byte) []byte {
			return strconv.AppendFloat(to, float64(math.Float32frombits(order.Uint32(raw))), 'g', -1, 32)
		}
	case "FP64":
		size, element = 8, func(to, raw []byte) []byte {
			return strconv.AppendFloat(to, math.Float64frombits(order.Uint64(raw)), 'g', -1, 64)
		}
	default:
		return ""
	}
	var text []byte
	for raw := t.Data; len(raw) >= size; raw = raw[size:] {
		if len(text) > 0 {
			text = append(text, ',')
		}
		text = element(text, raw[:size])
	}
	return string(text)
}

// strings returns the elements of a BYTES tensor in quotes.
func (t *TraceTensor) strings() string {
	var text []byte
	for raw := t.Data; len(raw) >= 4; {
		size := binary.LittleEndian.Uint32(raw)
		if uint64(size) > uint64(len(raw)-4) {
			break
		}
		if len(text) > 0 {
			text = append(text, ',')
		}
		text = append(text, '"')
		text = append(text, raw[4:4+size]...)
		text = append(text, '"')
		raw = raw[4+size:]
	}
	return string(text)
}

// traceFile writes traces to files. Each file has an array of JSON objects.
type traceFile struct {
	path  string
	index int // index of the next indexed file

	open   *os.File // the file without an index
	end    int64    // offset of the closing bracket in open
	closed bool
}

// save writes traces to a new indexed file, or appends them to the file without
// an index.
func (f *traceFile) save(traces []byte, indexed bool) error {
	if f.closed {
		return os.ErrClosed
	}
	if indexed {
		path := fmt.Sprintf("%s.%d", f.path, f.index)
		f.index++
		return os.WriteFile(path, slices.Concat([]byte{'['}, traces, []byte{']'}), tracePermissions)
	}
	separator := byte(',')
	if f.open == nil {
		var err error
		if f.open, err = os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, tracePermissions); err != nil {
			return err
		}
		separator = '['
	}
	// The write replaces the closing bracket, so the file is valid after each
	// write.
	text := slices.Concat([]byte{separator}, traces, []byte{']'})
	n, err := f.open.WriteAt(text, f.end)
	if n == len(text) {
		f.end += int64(n) - 1
	}
	return err
}

// tracePermissions are the permissions of the files. They are strict, because
// traces may contain tensors.
const tracePermissions = 0o600

func (f *traceFile) close() error {
	f.closed = true
	if f.open == nil {
		return nil
	}
	return f.open.Close()
}
