package jinja

import (
	"errors"
	"math"
	"math/big"
	"strconv"
)

// maxBits limits integers, so that no arithmetic on them is slow.
const maxBits = 1 << 16

// number is an operand: a big integer, a float64 or a small integer.
type number struct {
	i       int64
	f       float64
	b       *big.Int
	isFloat bool
}

func toNumber(v any) (number, bool) {
	switch v := v.(type) {
	case int64:
		return number{i: v}, true
	case float64:
		return number{f: v, isFloat: true}, true
	case bool:
		i, _ := toInt(v)
		return number{i: i}, true
	case *big.Int:
		return number{b: v}, true
	}
	return number{}, false
}

func (n number) bigInt() *big.Int {
	if n.b != nil {
		return n.b
	}
	return big.NewInt(n.i)
}

// float converts to float64. ok is false if an integer is too large.
func (n number) float() (f float64, ok bool) {
	switch {
	case n.isFloat:
		return n.f, true
	case n.b == nil:
		return float64(n.i), true
	}
	f, _ = new(big.Float).SetInt(n.b).Float64()
	return f, !math.IsInf(f, 0)
}

func (n number) isZero() bool {
	if n.isFloat {
		return n.f == 0
	}
	return n.b == nil && n.i == 0
}

// fromBig returns b as a template value.
func fromBig(b *big.Int) (any, error) {
	if b.IsInt64() {
		return b.Int64(), nil
	}
	if b.BitLen() > maxBits {
		return nil, &LimitError{"integer bits", maxBits}
	}
	return b, nil
}

var errOverflow = failf("integer too large to convert to float")

// arith computes a op b for numbers: + - * / // % **.
func arith(op tokenKind, x, y number) (any, error) {
	if (op == tokDiv || op == tokFloorDiv || op == tokMod) && y.isZero() {
		return nil, failf("division by zero")
	}
	if x.isFloat || y.isFloat {
		a, ok1 := x.float()
		b, ok2 := y.float()
		if !ok1 || !ok2 {
			return nil, errOverflow
		}
		return floatArith(op, a, b)
	}
	if x.b == nil && y.b == nil {
		if v, ok := smallArith(op, x.i, y.i); ok {
			return v, nil
		}
	}
	return bigArith(op, x, y)
}

// smallArith computes results that fit in 64 bits.
func smallArith(op tokenKind, a, b int64) (any, bool) {
	switch op {
	case tokAdd:
		c := a + b
		return c, (c > a) == (b > 0)
	case tokSub:
		c := a - b
		return c, (c < a) == (b > 0)
	case tokMul:
		if a == 0 || b == 0 {
			return int64(0), true
		}
		c := a * b
		return c, c/b == a && (a != -1 || b != math.MinInt64) && (b != -1 || a != math.MinInt64)
	case tokDiv:
		const exact = 1 << 53
		if a > -exact && a < exact && b > -exact && b < exact {
			return float64(a) / float64(b), true
		}
	case tokFloorDiv:
		if a == math.MinInt64 && b == -1 {
			return nil, false
		}
		q := a / b
		if a%b != 0 && (a < 0) != (b < 0) {
			q--
		}
		return q, true
	case tokMod:
		if b == -1 {
			return int64(0), true
		}
		m := a % b
		if m != 0 && (m < 0) != (b < 0) {
			m += b
		}
		return m, true
	}
	return nil, false
}

func bigArith(op tokenKind, x, y number) (any, error) {
	a, b := x.bigInt(), y.bigInt()
	z := new(big.Int)
	switch op {
	case tokAdd:
		z.Add(a, b)
	case tokSub:
		z.Sub(a, b)
	case tokMul:
		z.Mul(a, b)
	case tokDiv:
		f, _ := new(big.Rat).SetFrac(a, b).Float64()
		if math.IsInf(f, 0) {
			return nil, errOverflow
		}
		return f, nil
	case tokFloorDiv, tokMod:
		m := new(big.Int)
		z.DivMod(a, b, m) // Euclidean division: the remainder is never negative
		if m.Sign() != 0 && b.Sign() < 0 {
			m.Add(m, b)
			z.Sub(z, big.NewInt(1))
		}
		if op == tokMod {
			z = m
		}
	case tokPow:
		return bigPow(a, b, x, y)
	}
	return fromBig(z)
}

func bigPow(a, b *big.Int, x, y number) (any, error) {
	if b.Sign() < 0 {
		p, ok1 := x.float()
		q, ok2 := y.float()
		if !ok1 || !ok2 {
			return nil, errOverflow
		}
		return floatArith(tokPow, p, q)
	}
	if a.BitLen() > 1 && (!b.IsInt64() || b.Int64() > maxBits || int64(a.BitLen()-1)*b.Int64() > maxBits) {
		return nil, &LimitError{"integer bits", maxBits}
	}
	if a.BitLen() <= 1 { // powers of 0, 1 and -1 depend only on whether the exponent is zero, and on its parity
		b = new(big.Int).SetInt64(min(1, int64(b.Sign())) * int64(2-b.Bit(0)))
	}
	return fromBig(new(big.Int).Exp(a, b, nil))
}

func floatArith(op tokenKind, a, b float64) (any, error) {
	switch op {
	case tokAdd:
		return a + b, nil
	case tokSub:
		return a - b, nil
	case tokMul:
		return a * b, nil
	case tokDiv:
		return a / b, nil
	case tokFloorDiv, tokMod:
		q, m := floatDivMod(a, b)
		if op == tokMod {
			return m, nil
		}
		return q, nil
	}
	if a == 0 && b < 0 {
		return nil, failf("zero cannot be raised to a negative power")
	}
	if a < 0 && b != math.Trunc(b) && !math.IsInf(a, 0) && !math.IsNaN(b) {
		return nil, failf("a negative number cannot be raised to a fractional power")
	}
	r := math.Pow(a, b)
	if math.IsInf(r, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
		return nil, failf("numerical result out of range")
	}
	return r, nil
}

// floatDivMod implements Python's divmod: the remainder has the divisor's sign.
func floatDivMod(a, b float64) (q, m float64) {
	m = math.Mod(a, b)
	q = (a - m) / b
	if m != 0 {
		if (b < 0) != (m < 0) {
			m += b
			q--
		}
	} else {
		m = math.Copysign(0, b)
	}
	if q == 0 {
		return math.Copysign(0, a/b), m
	}
	f := math.Floor(q)
	if q-f > 0.5 {
		f++
	}
	return f, m
}

// compareNumbers returns -1, 0 or 1, and false for NaN.
func compareNumbers(x, y number) (int, bool) {
	if !x.isFloat && !y.isFloat {
		if x.b == nil && y.b == nil {
			return compareOrdered(x.i, y.i), true
		}
		return x.bigInt().Cmp(y.bigInt()), true
	}
	if x.isFloat && y.isFloat {
		if math.IsNaN(x.f) || math.IsNaN(y.f) {
			return 0, false
		}
		return compareOrdered(x.f, y.f), true
	}
	if y.isFloat {
		c, ok := compareNumbers(y, x)
		return -c, ok
	}
	if math.IsNaN(x.f) || math.IsInf(x.f, 0) {
		return compareOrdered(x.f, 0), !math.IsNaN(x.f)
	}
	return new(big.Float).SetFloat64(x.f).Cmp(new(big.Float).SetInt(y.bigInt())), true
}

func compareOrdered[T int64 | float64 | string](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// roundFloat implements Python's round(f, digits): to nearest, with ties decided by the
// exact binary value.
func roundFloat(f float64, digits int) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) || digits > 323 {
		return f
	}
	if digits < -308 {
		return math.Copysign(0, f)
	}
	if digits >= 0 {
		r, _ := parseFloat(formatFixed(f, digits))
		return r
	}
	p := math.Pow(10, float64(-digits))
	return math.RoundToEven(f/p) * p
}

func bigFromText(s string, base int) (any, bool) {
	if i, err := strconv.ParseInt(s, base, 64); err == nil {
		return i, true
	}
	b, ok := new(big.Int).SetString(s, base)
	if !ok {
		return nil, false
	}
	v, err := fromBig(b)
	return v, err == nil
}

func isRangeError(err error) bool { return errors.Is(err, strconv.ErrRange) }

// floatToInt truncates the fraction.
func floatToInt(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, failf("%s can't be converted to an integer", floatRepr(f))
	}
	b, _ := new(big.Float).SetFloat64(f).Int(nil)
	return fromBig(b)
}
