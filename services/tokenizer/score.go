package tokenizer

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// parseScore parses a JSON number as Rust's serde_json does, because Hugging Face's
// library reads scores with it. The result may differ from the nearest float64. The
// difference can decide which of two segmentations of a word is better. number must be
// valid.
func parseScore(number string) (float64, error) {
	digits, negative := strings.CutPrefix(number, "-")
	mantissa, power := digits, 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		mantissa = digits[:i]
		power, _ = strconv.Atoi(digits[i+1:]) // the nearest int if the exponent is out of range
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	significand, taken := takeDigits(0, whole)
	exponent := len(whole) - taken
	if taken == len(whole) {
		significand, taken = takeDigits(significand, fraction)
		exponent -= taken
	}
	f, err := scale(float64(significand), exponent+max(min(power, maxPower), -maxPower))
	if negative {
		f = -f
	}
	return f, err
}

// maxPower is larger than all powers of ten of a float64.
const maxPower = 1 << 20

// takeDigits appends digits to a number, up to the first digit that overflows it.
func takeDigits(to uint64, digits string) (_ uint64, taken int) {
	for i := range len(digits) {
		digit := uint64(digits[i] - '0')
		if to > (math.MaxUint64-digit)/10 {
			return to, i
		}
		to = 10*to + digit
	}
	return to, len(digits)
}

// largestPower is the largest power of ten in the range of float64.
const largestPower = 308

// scale multiplies f by a power of ten.
func scale(f float64, power int) (float64, error) {
	for ; power < -largestPower && f != 0; power += largestPower {
		f /= 1e308
	}
	switch {
	case f == 0:
		return 0, nil
	case power < 0:
		return f / exactPower(-power), nil
	case power <= largestPower:
		f *= exactPower(power)
	default:
		f = math.Inf(1)
	}
	if math.IsInf(f, 0) {
		return 0, errors.New("the score of a token is out of range")
	}
	return f, nil
}

// exactPower returns the float64 nearest to a power of ten.
func exactPower(n int) float64 {
	f, _ := strconv.ParseFloat("1e"+strconv.Itoa(n), 64) // n is in range
	return f
}
