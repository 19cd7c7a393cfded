package jinja

import (
	"math"
	"slices"
)

func filterAbs(c *call) (any, error) {
	n, ok := toNumber(c.self)
	switch {
	case !ok:
		return nil, failf("the filter abs needs a number, not %s", typeName(c.self))
	case n.isFloat:
		return math.Abs(n.f), nil
	case n.b == nil && n.i >= 0:
		return n.i, nil
	case n.b == nil || n.b.Sign() < 0:
		return arith(tokSub, number{}, n)
	}
	return n.b, nil
}

func filterInt(c *call) (any, error) {
	var p [2]any
	if err := c.bind("int", 0, p[:], "default", "base"); err != nil {
		return nil, err
	}
	def := p[0]
	if def == missing {
		def = int64(0)
	}
	if u, ok := c.self.(*undefined); ok {
		return nil, u.err()
	}
	if s, ok := text(c.self); ok {
		// If int(text, base) fails, even because of the base, jinja2 tries
		// float(text).
		base, err := wantInt("the argument base", p[1], 10)
		if err == nil && (base == 0 || base >= 2 && base <= 36) {
			if v, ok := parseInt(s, base); ok {
				return v, c.rt.step(len(s))
			}
		}
		f, ok := parseFloat(s)
		if v, err := floatToInt(f); ok && err == nil {
			return v, nil
		}
		return def, nil
	}
	n, ok := toNumber(c.self)
	switch {
	case !ok:
		return def, nil
	case !n.isFloat:
		return fromBig(n.bigInt())
	case math.IsNaN(n.f):
		return def, nil
	}
	return floatToInt(n.f)
}

func filterFloat(c *call) (any, error) {
	var p [1]any
	if err := c.bind("float", 0, p[:], "default"); err != nil {
		return nil, err
	}
	def := p[0]
	if def == missing {
		def = 0.0
	}
	if u, ok := c.self.(*undefined); ok {
		return nil, u.err()
	}
	if s, ok := text(c.self); ok {
		if f, ok := parseFloat(s); ok {
			return f, nil
		}
		return def, nil
	}
	n, ok := toNumber(c.self)
	if !ok {
		return def, nil
	}
	f, ok := n.float()
	if !ok {
		return nil, errOverflow
	}
	return f, nil
}

func filterRound(c *call) (any, error) {
	var p [2]any
	if err := c.bind("round", 0, p[:], "precision", "method"); err != nil {
		return nil, err
	}
	method, err := wantText("the argument method", p[1], "common")
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"common", "ceil", "floor"}, method) {
		return nil, failf("the argument method of the filter round must be common, ceil or floor")
	}
	digits, err := wantInt("the argument precision", p[0], 0)
	if err != nil {
		return nil, err
	}
	n, ok := toNumber(c.self)
	if !ok {
		return nil, failf("the filter round needs a number, not %s", typeName(c.self))
	}
	if method == "common" && !n.isFloat {
		return roundInt(n, digits)
	}
	f, ok := n.float()
	if !ok {
		return nil, errOverflow
	}
	if method == "common" {
		return roundFloat(f, digits), nil
	}
	scale := math.Pow(10, float64(digits))
	if math.IsNaN(f) || math.IsInf(f, 0) || math.IsInf(scale, 0) {
		return nil, failf("the filter round can't round %s to %d digits", floatRepr(f), digits)
	}
	if method == "ceil" {
		return math.Ceil(f*scale) / scale, nil
	}
	return math.Floor(f*scale) / scale, nil
}

// roundInt rounds to a power of ten, ties to the even multiple.
func roundInt(n number, digits int) (any, error) {
	if digits >= 0 {
		return fromBig(n.bigInt())
	}
	if digits < -maxDigits {
		return int64(0), nil
	}
	unit, err := bigPow(number{i: 10}.bigInt(), number{i: int64(-digits)}.bigInt(), number{i: 10}, number{i: int64(-digits)})
	if err != nil {
		return nil, err
	}
	u, _ := toNumber(unit)
	rest, err := arith(tokMod, n, u)
	if err != nil {
		return nil, err
	}
	r, _ := toNumber(rest)
	down, err := arith(tokSub, n, r)
	if err != nil {
		return nil, err
	}
	twice, err := arith(tokMul, r, number{i: 2})
	if err != nil {
		return nil, err
	}
	t, _ := toNumber(twice)
	d, _ := toNumber(down)
	cmp, _ := compareNumbers(t, u)
	if cmp == 0 {
		q, err := arith(tokFloorDiv, d, u)
		if err != nil {
			return nil, err
		}
		n, _ := toNumber(q)
		cmp = int(2*n.bigInt().Bit(0)) - 1
	}
	if cmp > 0 {
		return arith(tokAdd, d, u)
	}
	return down, nil
}
