package structured

import (
	"encoding/json"
	"math"
	"strconv"
)

// maxListed is the maximum number of integers that a schema lists instead of their limits.
const maxListed = 1000

// maxAllListed is the maximum number of listed integers in a whole schema.
const maxAllListed = 20_000

// integer checks the limits of integers. xgrammar converts many limits to an incorrect grammar. A
// small range becomes an enum. Other limits must be among those that xgrammar converts correctly.
func (w *schemaWalk) integer(n *node, path string) (*node, error) {
	out := object(member{"type", str("integer")})
	lo, hi, err := bounds(n, path)
	if err != nil {
		return nil, err
	}
	switch {
	case lo == nil && hi == nil:
		return out, nil
	case lo != nil && hi != nil && *lo > *hi:
		return nil, wrongf(path, "no integer is within the limits of the schema")
	case lo != nil && hi != nil && uint64(*hi)-uint64(*lo) < maxListed:
		if w.listed += int(*hi-*lo) + 1; w.listed > maxAllListed {
			return nil, w.refuse(Guidance, path, "limits with too many integers between them")
		}
		list := listed(*lo, *hi)
		return object(member{"enum", list}), w.grow(int64(len(list.appendJSON(nil))), path)
	}
	if err := w.need(XGrammar|Guidance, path, "a minimum or maximum of integers"); err != nil {
		return nil, err
	}
	switch {
	case hi == nil && *lo > 1 && *lo < 10: // with a minimum of 2 to 9, xgrammar starts at 1
		rest := object(member{"type", str("integer")}, member{"minimum", integer(10)})
		return object(member{"anyOf", array(object(member{"enum", listed(*lo, 9)}), rest)}), nil
	case hi == nil && *lo <= 1000 && *lo >= 0 || lo != nil && hi != nil && *lo >= 0 && *lo <= 1 && isRound(*hi) || lo == nil && *hi >= 0 && (*hi < 110 || isRound(*hi)):
		return object(append(out.members, limitMembers(lo, hi)...)...), nil
	}
	return nil, w.refuse(Guidance, path, "this combination of limits of integers")
}

// isRound reports whether n is 9, 10, 99, 100 …, up to 10^15.
func isRound(n int64) bool {
	for power := int64(10); power <= 1e15; power *= 10 {
		if n == power || n == power-1 {
			return true
		}
	}
	return false
}

func limitMembers(lo, hi *int64) (out []member) {
	if lo != nil {
		out = append(out, member{"minimum", integer(*lo)})
	}
	if hi != nil {
		out = append(out, member{"maximum", integer(*hi)})
	}
	return out
}

func listed(lo, hi int64) *node {
	out := array()
	for v := lo; ; v++ {
		out.items = append(out.items, integer(v))
		if v == hi {
			return out
		}
	}
}

// bounds returns the smallest and the largest integer within a schema's limits, or nil for no
// limit.
func bounds(n *node, path string) (lo, hi *int64, err error) {
	for _, limit := range []struct {
		name  string
		step  int64
		round func(float64) float64
		upper bool
	}{
		{"minimum", 0, math.Ceil, false},
		{"exclusiveMinimum", 1, math.Floor, false},
		{"maximum", 0, math.Floor, true},
		{"exclusiveMaximum", -1, math.Ceil, true},
	} {
		value := n.get(limit.name)
		if value == nil {
			continue
		}
		number, ok := value.scalar.(json.Number)
		if !ok { // in draft 4, this keyword is a boolean
			return nil, nil, &RefusalError{Path: join(path, limit.name), Construct: "a boolean as the value of the keyword " + limit.name}
		}
		const exact = 1 << 53
		v, ok := wholeNumber(number)
		if !ok || v > exact || v < -exact {
			f, err := strconv.ParseFloat(number.String(), 64)
			if err != nil || f > exact || f < -exact {
				return nil, nil, &RefusalError{Path: join(path, limit.name), Construct: "a limit of integers beyond 53 bits", SupportedBy: Guidance}
			}
			v = int64(limit.round(f))
		}
		v += limit.step
		if limit.upper && (hi == nil || v < *hi) {
			hi = &v
		}
		if !limit.upper && (lo == nil || v > *lo) {
			lo = &v
		}
	}
	return lo, hi, nil
}
