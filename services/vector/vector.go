// Package vector computes with the vectors of embeddings: it reads tensors of FP32, FP16 and BF16,
// pools the vectors of tokens, normalizes and quantizes. Code that knows the tensors of a kind of
// model belongs to package contracts, and the choice of a form of vectors to the frontends.
package vector

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Size returns the number of bytes of an element of a datatype of KServe, or 0 if vectors have no such
// datatype.
func Size(datatype string) int {
	switch datatype {
	case "FP32":
		return 4
	case "FP16", "BF16":
		return 2
	}
	return 0
}

// Read converts little-endian elements of a datatype for which [Size] isn't 0. The raw bytes must
// have as many elements as dst.
func Read(dst []float32, datatype string, raw []byte) {
	switch datatype {
	case "FP16":
		raw = raw[:2*len(dst)]
		for i := range dst {
			dst[i] = Half(binary.LittleEndian.Uint16(raw[2*i:]))
		}
	case "BF16":
		raw = raw[:2*len(dst)]
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[2*i:])) << 16)
		}
	default:
		raw = raw[:4*len(dst)]
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	}
}

// Half converts an IEEE 754 float of 16 bits.
func Half(bits uint16) float32 {
	magnitude, sign := uint32(bits&0x7fff)<<13, uint32(bits&0x8000)<<16
	if bits&0x7c00 == 0x7c00 { // infinite, or not a number
		return math.Float32frombits(sign | magnitude | 0xff<<23)
	}
	// The product corrects the bias of the exponent, also of denormal numbers.
	return math.Float32frombits(math.Float32bits(math.Float32frombits(magnitude)*0x1p112) | sign)
}

// Dot returns the sum of the products of the components of two vectors of equal length.
func Dot(a, b []float32) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64 // independent sums, so that the additions don't wait for each other
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := (*[4]float32)(a[i:]), (*[4]float32)(b[i:])
		s0 += float64(x[0]) * float64(y[0])
		s1 += float64(x[1]) * float64(y[1])
		s2 += float64(x[2]) * float64(y[2])
		s3 += float64(x[3]) * float64(y[3])
	}
	for ; i < len(a); i++ {
		s0 += float64(a[i]) * float64(b[i])
	}
	return s0 + s1 + s2 + s3
}

// Normalize scales a vector to unit length. It returns an error for a vector of the length 0, or with
// components that aren't finite.
func Normalize(v []float32) error {
	sum := Dot(v, v)
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return fmt.Errorf("the vector can't be normalized: its squared length is %v", sum)
	}
	if scale := float32(1 / math.Sqrt(sum)); scale != 1 {
		for i := range v {
			v[i] *= scale
		}
	}
	return nil
}

// Cosine returns the cosine of the angle between two vectors of equal length. It is 0 if one of them
// has the length 0.
func Cosine(a, b []float32) float64 {
	lengths := math.Sqrt(Dot(a, a)) * math.Sqrt(Dot(b, b))
	if lengths == 0 {
		return 0
	}
	return Dot(a, b) / lengths
}

// MaxSim returns the score of late interaction: the sum, over the rows of query, of the highest
// product with a row of document. The rows have the length columns.
func MaxSim(query, document []float32, columns int) float64 {
	sum := 0.0
	for q := 0; q+columns <= len(query); q += columns {
		best := math.Inf(-1)
		for d := 0; d+columns <= len(document); d += columns {
			best = max(best, Dot(query[q:q+columns], document[d:d+columns]))
		}
		if !math.IsInf(best, -1) {
			sum += best
		}
	}
	return sum
}
