package jinja

import "math/big"

// testNamed returns one of Jinja's tests, or nil. The package documentation lists the unsupported
// tests.
func testNamed(name string) filterFunc { return checks[name] }

var checks = map[string]filterFunc{
	"defined":   isA(func(v any) bool { _, ok := v.(*undefined); return !ok }),
	"undefined": isA(func(v any) bool { _, ok := v.(*undefined); return ok }),
	"none":      isA(func(v any) bool { return v == nil }),
	"boolean":   isA(func(v any) bool { _, ok := v.(bool); return ok }),
	"true":      isA(func(v any) bool { return v == true }),
	"false":     isA(func(v any) bool { return v == false }),
	"integer":   isA(isInteger),
	"float":     isA(func(v any) bool { _, ok := v.(float64); return ok }),
	"number":    isA(func(v any) bool { _, ok := toNumber(v); return ok }),
	"string":    isA(func(v any) bool { _, ok := text(v); return ok }),
	"mapping":   isA(func(v any) bool { _, ok := v.(*Dict); return ok }),
	"sequence":  isA(isSequence),
	"iterable":  isA(isIterable),
	"callable":  isA(isCallable),

	"odd":         plain("odd", func(c *call) (any, error) { return c.remainder(int64(2), 1) }),
	"even":        plain("even", func(c *call) (any, error) { return c.remainder(int64(2), 0) }),
	"divisibleby": checkDivisible,
	"lower":       plain("lower", checkCase(isLower)),
	"upper":       plain("upper", checkCase(isUpper)),
	"sameas":      checkSame,
	"in":          checkIn,

	"==":          checkOp(tokEq),
	"eq":          checkOp(tokEq),
	"equalto":     checkOp(tokEq),
	"!=":          checkOp(tokNe),
	"ne":          checkOp(tokNe),
	">":           checkOp(tokGt),
	"gt":          checkOp(tokGt),
	"greaterthan": checkOp(tokGt),
	">=":          checkOp(tokGe),
	"ge":          checkOp(tokGe),
	"<":           checkOp(tokLt),
	"lt":          checkOp(tokLt),
	"lessthan":    checkOp(tokLt),
	"<=":          checkOp(tokLe),
	"le":          checkOp(tokLe),
}

func isA(is func(v any) bool) filterFunc {
	return func(c *call) (any, error) {
		if len(c.args) > 0 || len(c.kw) > 0 {
			return nil, failf("the test after 'is' takes no arguments")
		}
		return is(c.self), nil
	}
}

func isInteger(v any) bool {
	switch v.(type) {
	case int64, *big.Int:
		return true
	}
	return false
}

// isSequence reports whether a value has a length and items by key. Mappings and undefined values
// have a length and items by key too.
func isSequence(v any) bool {
	if _, isView := v.(*dictView); isView {
		return false
	}
	_, ok := length(v)
	return ok
}

func isIterable(v any) bool {
	switch v.(type) {
	case *dictView, *lazy, *loopState:
		return true
	}
	return isSequence(v)
}

func isCallable(v any) bool {
	switch v.(type) {
	case *builtin, *macro, *loopState, *undefined:
		return true
	}
	return false
}

// remainder reports whether self % by equals want.
func (c *call) remainder(by any, want int64) (any, error) {
	r, err := c.f.binary(tokMod, c.self, by)
	if err != nil {
		return nil, err
	}
	return c.rt.equal(r, want, 0)
}

func checkDivisible(c *call) (any, error) {
	var p [1]any
	if err := c.bind("divisibleby", 1, p[:], "num"); err != nil {
		return nil, err
	}
	return c.remainder(p[0], 0)
}

func checkCase(want func(rune) bool) filterFunc {
	return func(c *call) (any, error) {
		s, err := c.soft()
		return allCased(s, want), err
	}
}

func checkSame(c *call) (any, error) {
	var p [1]any
	if err := c.bind("sameas", 1, p[:], "other"); err != nil {
		return nil, err
	}
	return identical(c.self, p[0]), nil
}

func checkIn(c *call) (any, error) {
	var p [1]any
	if err := c.bind("in", 1, p[:], "seq"); err != nil {
		return nil, err
	}
	return c.rt.contains(p[0], c.self)
}

func checkOp(op tokenKind) filterFunc {
	return func(c *call) (any, error) {
		if err := c.positional("the test", 1, 1); err != nil {
			return nil, err
		}
		return c.rt.compare(op, c.self, c.args[0])
	}
}
