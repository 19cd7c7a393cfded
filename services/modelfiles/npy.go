package modelfiles

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// npyArray is the header of a NumPy file. It has the type in NumPy's notation and
// the length of each dimension. The values follow the header up to the end of the
// file, row by row. They are little-endian if the type specifies that.
//
// Source: NumPy's documentation of numpy.lib.format, versions 1.0 and 2.0.
type npyArray struct {
	descr string
	shape []int64
}

// maxNPYHeader is the maximum size of a header, in bytes. NumPy's own limit for
// untrusted files is 10,000.
const maxNPYHeader = 10_000

const npyMagic = "\x93NUMPY"

// npyHeaders matches a header, which NumPy writes as a Python dictionary with the
// keys in this order.
var npyHeaders = regexp.MustCompile(`^\{ *'descr' *: *'([^'\\]+)' *, *'fortran_order' *: *(True|False) *, *'shape' *: *\(([0-9, ]*)\) *,? *\} *\n?$`)

// readNPY reads a header. After that, r contains only the values.
func readNPY(r io.Reader) (npyArray, error) {
	var none npyArray
	start := make([]byte, len(npyMagic)+2)
	if _, err := io.ReadFull(r, start); err != nil || !bytes.HasPrefix(start, []byte(npyMagic)) {
		return none, errors.New("the file is not a NumPy file (.npy)")
	}
	size, width := make([]byte, 4), 2
	switch version := start[len(npyMagic):]; string(version) {
	case "\x01\x00":
	case "\x02\x00":
		width = 4
	default:
		return none, fmt.Errorf("the NumPy file has version %d.%d of the format, but only 1.0 and 2.0 are supported", version[0], version[1])
	}
	if _, err := io.ReadFull(r, size[:width]); err != nil {
		return none, errors.New("the NumPy file is truncated in its header")
	}
	length := binary.LittleEndian.Uint32(size)
	if length > maxNPYHeader {
		return none, fmt.Errorf("the NumPy file has a header of %d bytes, which is too long", length)
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(r, header); err != nil {
		return none, errors.New("the NumPy file is truncated in its header")
	}
	return parseNPY(string(header))
}

func parseNPY(header string) (npyArray, error) {
	m := npyHeaders.FindStringSubmatch(header)
	if m == nil {
		return npyArray{}, errors.New("the NumPy file has a header that NumPy doesn't write")
	}
	if m[2] == "True" {
		return npyArray{}, errors.New("the NumPy file has its values in column-major order (fortran_order): save it from a C-contiguous array")
	}
	a := npyArray{descr: m[1]}
	dims := strings.Split(m[3], ",")
	if last := len(dims) - 1; strings.TrimSpace(dims[last]) == "" {
		dims = dims[:last] // Python's comma after a single dimension, or no dimension
	}
	for _, dim := range dims {
		n, err := strconv.ParseInt(strings.TrimSpace(dim), 10, 64)
		if err != nil {
			return npyArray{}, errors.New("the NumPy file has a shape that NumPy doesn't write")
		}
		a.shape = append(a.shape, n)
	}
	return a, nil
}

// bytes returns the size of the values in bytes, if each has width bytes. It returns
// -1 on overflow.
func (a npyArray) bytes(width int64) int64 {
	size := width
	for _, n := range a.shape {
		if n != 0 && size > math.MaxInt64/n {
			return -1
		}
		size *= n
	}
	return size
}
