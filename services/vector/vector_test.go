package vector

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func floats(values ...float32) []byte {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return raw
}

func words(values ...uint16) []byte {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint16(raw, v)
	}
	return raw
}

// TestRead checks the conversion of each datatype.
func TestRead(t *testing.T) {
	for _, tt := range []struct {
		datatype string
		raw      []byte
		want     string
	}{
		{"FP32", floats(1, -2.5, 0), "[1 -2.5 0]"},
		{"FP16", words(0x3c00, 0xc100, 0x0001, 0x7c00), "[1 -2.5 5.9604645e-08 +Inf]"},
		{"BF16", words(0x3f80, 0xc020), "[1 -2.5]"},
	} {
		got := make([]float32, len(tt.raw)/Size(tt.datatype))
		Read(got, tt.datatype, tt.raw)
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%s: got %v, want %s", tt.datatype, got, tt.want)
		}
	}
}

// TestHalf checks numbers of 16 bits: normal, subnormal, zero and infinite ones.
func TestHalf(t *testing.T) {
	for bits, want := range map[uint16]float64{
		0x3c00: 1, 0xc000: -2, 0x3555: 0.333251953125, 0x7bff: 65504, 0x0001: math.Pow(2, -24), 0x83ff: -1023 * math.Pow(2, -24), 0x0400: math.Pow(2, -14),
		0x0000: 0, 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1),
	} {
		if got := float64(Half(bits)); got != want {
			t.Errorf("%#x is %v, want %v", bits, got, want)
		}
	}
	if got := Half(0x7e00); !math.IsNaN(float64(got)) {
		t.Errorf("NaN is %v", got)
	}
}

// TestSize checks the sizes of elements, and that other datatypes have none.
func TestSize(t *testing.T) {
	for datatype, want := range map[string]int{"FP32": 4, "FP16": 2, "BF16": 2, "FP64": 0, "": 0} {
		if got := Size(datatype); got != want {
			t.Errorf("%q has %d bytes, want %d", datatype, got, want)
		}
	}
}

// TestPool checks each pooling of some rows.
func TestPool(t *testing.T) {
	rows := Rows{Type: "FP32", Columns: 5, Raw: floats(1, 2, 3, 4, 5, 3, 0, 3, -4, 5, 100, 100, 100, 100, 100)}
	for pooling, want := range map[Pooling]string{
		PoolMean: "[2 1 3 0 5]", PoolSqrt: "[2.828427 1.4142135 4.2426405 0 7.071068]", PoolWeighted: "[2.3333335 0.6666667 3 -1.3333334 5]",
		PoolMax: "[3 2 3 4 5]", PoolCLS: "[1 2 3 4 5]", PoolLast: "[3 0 3 -4 5]",
	} {
		got, err := rows.Pool(pooling, 0, 2)
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, %v, want %s", pooling, got, err, want)
		}
		if !pooling.Known() {
			t.Errorf("%s isn't known", pooling)
		}
	}
	if got, err := rows.Pool(PoolMean, 1, 2); err != nil || fmt.Sprint(got) != "[3 0 3 -4 5]" {
		t.Errorf("from the second row on: %v, %v", got, err)
	}
	for _, bad := range [][2]int{{0, 4}, {2, 2}, {-1, 1}} {
		if _, err := rows.Pool(PoolMean, bad[0], bad[1]); err == nil {
			t.Errorf("rows %v have no error", bad)
		}
	}
	if _, err := rows.Pool("median", 0, 1); err == nil || Pooling("median").Known() {
		t.Error("an unknown pooling has no error")
	}
}

// TestNormalize checks lengths, and vectors without one.
func TestNormalize(t *testing.T) {
	v := []float32{3, 4, 0, 0, 0}
	if err := Normalize(v); err != nil || fmt.Sprint(v) != "[0.6 0.8 0 0 0]" {
		t.Errorf("got %v, %v", v, err)
	}
	for _, bad := range []float32{0, float32(math.NaN()), float32(math.Inf(1))} {
		if err := Normalize([]float32{bad}); err == nil {
			t.Errorf("%v has no error", bad)
		}
	}
	if got := Cosine([]float32{1, 0}, []float32{1, 1}); math.Abs(got-math.Sqrt2/2) > 1e-12 || Cosine([]float32{0}, []float32{1}) != 0 {
		t.Errorf("cosine %v", got)
	}
	if got := MaxSim([]float32{1, 0, 0, 1}, []float32{2, 1, 1, 3}, 2); got != 5 {
		t.Errorf("late interaction %v", got)
	}
	if got := MaxSim([]float32{1, 0}, nil, 2); got != 0 {
		t.Errorf("late interaction with no document %v", got)
	}
}

// TestQuantize checks the integers of a vector.
func TestQuantize(t *testing.T) {
	v := []float32{1, -2, 0.5, 0, -0.1, 2, 0.3, -1, 0.7}
	if got := Int8(v); !slices.Equal(got, []int8{64, -127, 32, 0, -6, 127, 19, -64, 44}) {
		t.Errorf("int8 %v", got)
	}
	if got := Uint8(v); !slices.Equal(got, []uint8{192, 1, 160, 128, 122, 255, 147, 64, 172}) {
		t.Errorf("uint8 %v", got)
	}
	if got := Ubinary(v); !slices.Equal(got, []uint8{0b10100110, 0b10000000}) {
		t.Errorf("ubinary %08b", got)
	}
	if got := Binary(v); !slices.Equal(got, []int8{0b10100110 - 128, 0}) {
		t.Errorf("binary %v", got)
	}
	odd := []float32{float32(math.NaN()), float32(math.Inf(-1)), 1}
	if got := Int8(odd); !slices.Equal(got, []int8{0, 0, 127}) || !slices.Equal(Int8([]float32{0}), []int8{0}) {
		t.Errorf("not finite: %v", got)
	}
}

// TestJSON checks the JSON of components and of integers.
func TestJSON(t *testing.T) {
	v := []float32{1, -0.1, 1e-7}
	if got := string(AppendJSON([]byte("x"), v)); got != "x[1,-0.1,1e-07]" || string(AppendJSON(nil, nil)) != "[]" {
		t.Error(got)
	}
	if got := string(AppendBase64([]byte("x"), v)); got != `x"AACAP83MzL2Vv9Yz"` || string(AppendBase64(nil, nil)) != `""` {
		t.Error(got)
	}
	if got := string(AppendBytes(nil, Bytes([]int8{-127, 0, 1}))); got != `"gQAB"` {
		t.Error(got)
	}
}

// BenchmarkPool measures the pooling of a text of 100 tokens and 384 dimensions, with its normalization.
func BenchmarkPool(b *testing.B) {
	for _, datatype := range []string{"FP32", "FP16", "BF16"} {
		rows := Rows{Type: datatype, Columns: 384, Raw: make([]byte, 100*384*Size(datatype))}
		for i := range rows.Raw {
			rows.Raw[i] = byte(i%23) + 1
		}
		for _, pooling := range []Pooling{PoolMean, PoolMax, PoolCLS} {
			b.Run(datatype+"/"+string(pooling), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					v, err := rows.Pool(pooling, 0, 100)
					if err != nil {
						b.Fatal(err)
					}
					if err := Normalize(v); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkQuantize measures the quantization of 1024 dimensions.
func BenchmarkQuantize(b *testing.B) {
	v := make([]float32, 1024)
	for i := range v {
		v[i] = float32(i%17) - 8
	}
	b.Run("int8", func(b *testing.B) {
		for b.Loop() {
			Int8(v)
		}
	})
	b.Run("ubinary", func(b *testing.B) {
		for b.Loop() {
			Ubinary(v)
		}
	})
}

// BenchmarkAppend measures how a vector of 384 dimensions is written, and the time of each number. Trident's target is at most
// 100 ns more for a number of a JSON list than for one in base64.
func BenchmarkAppend(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 28))
	v := make([]float32, 384)
	for i := range v {
		v[i] = float32(random.NormFloat64())
	}
	if err := Normalize(v); err != nil {
		b.Fatal(err)
	}
	for name, write := range map[string]func([]byte, []float32) []byte{"json": AppendJSON, "base64": AppendBase64} {
		b.Run(name, func(b *testing.B) {
			var buffer []byte
			b.ReportAllocs()
			for b.Loop() {
				buffer = write(buffer[:0], v)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(v)), "ns/number")
		})
	}
}
