package vector

import "math"

// Int8 quantizes a vector to integers from -127 to 127. The component with the highest magnitude
// becomes 127 or -127, so that the cosine of two quantized vectors is nearly that of the vectors. A
// component that isn't finite becomes 0.
func Int8(v []float32) []int8 {
	highest := float32(0)
	for _, x := range v {
		if x = abs(x); x <= math.MaxFloat32 {
			highest = max(highest, x)
		}
	}
	q := make([]int8, len(v))
	if highest == 0 {
		return q
	}
	factor := 127 / float64(highest)
	for i, x := range v {
		if abs(x) <= math.MaxFloat32 {
			q[i] = int8(math.RoundToEven(float64(x) * factor))
		}
	}
	return q
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// Uint8 quantizes a vector as [Int8] does, and adds 128 to each component.
func Uint8(v []float32) []uint8 {
	q := make([]uint8, len(v))
	for i, x := range Int8(v) {
		q[i] = uint8(int(x) + 128)
	}
	return q
}

// Ubinary packs the signs of 8 components into each byte: 1 for a component above 0, the first
// component in the highest bit. The last byte is filled with zeros. It is the form of
// sentence-transformers and of Cohere's API.
func Ubinary(v []float32) []uint8 {
	packed := make([]uint8, (len(v)+7)/8)
	whole := len(v) / 8
	for i := range whole {
		x := v[8*i : 8*i+8 : 8*i+8]
		packed[i] = bit(x[0])<<7 | bit(x[1])<<6 | bit(x[2])<<5 | bit(x[3])<<4 | bit(x[4])<<3 | bit(x[5])<<2 | bit(x[6])<<1 | bit(x[7])
	}
	for i := 8 * whole; i < len(v); i++ {
		packed[i/8] |= bit(v[i]) << (7 - i%8)
	}
	return packed
}

// bit returns 1 for a number above 0.
func bit(x float32) uint8 {
	if x > 0 {
		return 1
	}
	return 0
}

// Binary is [Ubinary] with 128 subtracted from each byte.
func Binary(v []float32) []int8 {
	packed := Ubinary(v)
	q := make([]int8, len(packed))
	for i, x := range packed {
		q[i] = int8(int(x) - 128)
	}
	return q
}
