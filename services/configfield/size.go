package configfield

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dustin/go-humanize"
)

// ParseSize returns the number of bytes of a size: a number with an optional unit, such as
// 4GiB, 4Gi, 4GB or 4096. Units with an i are powers of 1024, the others powers of 1000.
func ParseSize(text string) (int64, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("%q isn't a size: write a number of bytes, or a number with a unit such as 2GiB", text)
	}
	return int64(n), nil
}

// SizeText returns the shortest text of a size: the number of bytes, or a whole number of a unit
// such as 4GiB or 2GB. [ParseSize] reads it.
func SizeText(bytes int64) string {
	text := strconv.FormatInt(bytes, 10)
	for _, units := range []struct {
		factor int64
		names  []string
	}{
		{1024, []string{"", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}},
		{1000, []string{"", "KB", "MB", "GB", "TB", "PB", "EB"}},
	} {
		n, unit := bytes, 0
		for n != 0 && n%units.factor == 0 && unit+1 < len(units.names) {
			n, unit = n/units.factor, unit+1
		}
		if short := strconv.FormatInt(n, 10) + units.names[unit]; len(short) < len(text) || len(short) == len(text) && units.factor == 1024 {
			text = short
		}
	}
	return text
}
