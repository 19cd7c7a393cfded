package vector

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Pooling is the way in which the vectors of a text's tokens become one vector. The names are those of
// sentence-transformers' configurations, without pooling_mode.
type Pooling string

// The poolings.
const (
	PoolMean     Pooling = "mean"          // the average
	PoolSqrt     Pooling = "mean_sqrt"     // the sum, divided by the square root of the number of tokens
	PoolWeighted Pooling = "weighted_mean" // the average, weighted by the position from 1
	PoolMax      Pooling = "max"           // the highest value of each component
	PoolCLS      Pooling = "cls"           // the first token
	PoolLast     Pooling = "last"          // the last token
)

// Poolings returns the names of all poolings.
func Poolings() []string {
	return []string{string(PoolMean), string(PoolCLS), string(PoolLast), string(PoolMax), string(PoolWeighted), string(PoolSqrt)}
}

// Known reports whether there is a pooling of this name.
func (p Pooling) Known() bool { return slices.Contains(Poolings(), string(p)) }

// Rows are the vectors of a text's tokens as a model returns them.
type Rows struct {
	Type    string // datatype for which [Size] isn't 0
	Columns int    // number of components of a vector
	Raw     []byte // little-endian rows, one after the other
}

// Count returns the number of rows.
func (r Rows) Count() int { return len(r.Raw) / (Size(r.Type) * r.Columns) }

// row returns the bytes of a row.
func (r Rows) row(i int) []byte {
	size := Size(r.Type) * r.Columns
	return r.Raw[i*size:][:size]
}

// All returns the rows, one after the other.
func (r Rows) All() []float32 {
	values := make([]float32, len(r.Raw)/Size(r.Type))
	Read(values, r.Type, r.Raw)
	return values
}

// Pool joins the rows from first to the one before end into one vector. It returns an error if there
// are none.
func (r Rows) Pool(how Pooling, first, end int) ([]float32, error) {
	if first < 0 || end > r.Count() || first >= end {
		return nil, fmt.Errorf("rows %d to %d of %d can't be pooled", first, end, r.Count())
	}
	v := make([]float32, r.Columns)
	switch how {
	case PoolCLS:
		Read(v, r.Type, r.row(first))
	case PoolLast:
		Read(v, r.Type, r.row(end-1))
	case PoolMax:
		r.highest(v, first, end)
	case PoolMean:
		scale(v, r.sum(v, first, end, false))
	case PoolSqrt:
		r.sum(v, first, end, false)
		scale(v, math.Sqrt(float64(end-first)))
	case PoolWeighted:
		scale(v, r.sum(v, first, end, true))
	default:
		return nil, fmt.Errorf("the pooling %q is unknown", how)
	}
	return v, nil
}

// sum adds rows to v, and returns the sum of their weights. The weights are 1, or the positions from 1.
func (r Rows) sum(v []float32, first, end int, weighted bool) float64 {
	if r.Type == "FP32" && !weighted {
		r.sumFloats(v, first, end)
		return float64(end - first)
	}
	buffer := make([]float32, r.Columns)
	total, weight := 0.0, float32(1)
	for i := first; i < end; i++ {
		Read(buffer, r.Type, r.row(i))
		if weighted {
			weight = float32(i - first + 1)
		}
		addScaled(v, buffer, weight)
		total += float64(weight)
	}
	return total
}

// sumFloats is sum for the most common case: it adds eight columns at a time, whose sums stay in
// registers.
func (r Rows) sumFloats(v []float32, first, end int) {
	stride := 4 * r.Columns
	raw := r.Raw[first*stride : end*stride]
	c := 0
	for ; c+8 <= len(v); c += 8 {
		var s0, s1, s2, s3, s4, s5, s6, s7 float32
		for at := 4 * c; at+32 <= len(raw); at += stride {
			x := raw[at : at+32 : at+32]
			s0 += float(x[0:4])
			s1 += float(x[4:8])
			s2 += float(x[8:12])
			s3 += float(x[12:16])
			s4 += float(x[16:20])
			s5 += float(x[20:24])
			s6 += float(x[24:28])
			s7 += float(x[28:32])
		}
		sums := v[c : c+8 : c+8]
		sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7] = s0, s1, s2, s3, s4, s5, s6, s7
	}
	for ; c < len(v); c++ {
		for at := 4 * c; at+4 <= len(raw); at += stride {
			v[c] += float(raw[at : at+4])
		}
	}
}

func float(raw []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(raw)) }

// addScaled adds the product of a vector and a weight to v.
func addScaled(v, other []float32, weight float32) {
	other = other[:len(v)]
	i := 0
	for ; i+4 <= len(v); i += 4 {
		x, y := v[i:i+4:i+4], other[i:i+4:i+4]
		x[0] += weight * y[0]
		x[1] += weight * y[1]
		x[2] += weight * y[2]
		x[3] += weight * y[3]
	}
	for ; i < len(v); i++ {
		v[i] += weight * other[i]
	}
}

// scale divides a vector by a number.
func scale(v []float32, by float64) {
	factor := float32(1 / by)
	for i := range v {
		v[i] *= factor
	}
}

// highest sets v to the highest values of the rows. A component that isn't a number stays one.
func (r Rows) highest(v []float32, first, end int) {
	buffer := make([]float32, r.Columns)
	Read(v, r.Type, r.row(first))
	for i := first + 1; i < end; i++ {
		Read(buffer, r.Type, r.row(i))
		for k, x := range buffer {
			v[k] = max(v[k], x)
		}
	}
}
