package structured

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Maximum lengths for outlines, which builds an automaton of the whole schema.
const (
	outlinesLength = 64
	outlinesItems  = 8
)

// formatBackends are the backends that enforce the syntax of a format. No backend checks the days of
// months.
var formatBackends = map[string]Backends{ //nolint:gochecknoglobals // a constant table
	"date": XGrammar | Guidance | Outlines, "uuid": XGrammar | Guidance | Outlines,
	"time": XGrammar | Guidance, "date-time": XGrammar | Guidance, "duration": XGrammar | Guidance, "email": XGrammar | Guidance, "ipv6": XGrammar | Guidance,
	"hostname": Guidance, "ipv4": Guidance, // xgrammar accepts leading zeros in IPv4 addresses and long labels in hostnames
	"uri": XGrammar, "uri-reference": XGrammar,
}

// typed checks a schema by its type. A schema without a type gets the type of its keywords. A
// schema with several types becomes an anyOf.
func (w *schemaWalk) typed(n *node, path string) (*node, error) {
	names := []string{}
	if given := n.get("type"); given != nil {
		names = typeNames(given)
	} else {
		for _, m := range n.members {
			if t := typeOf(m.name); t != "" && !w.hasNoEffect(&m) && !slices.Contains(names, t) {
				names = append(names, t)
			}
		}
		if len(names) > 1 {
			return nil, w.refuse(Guidance, path, "a schema without type that has keywords of several types")
		}
	}
	if len(names) == 0 {
		return object(), w.need(XGrammar|Guidance, path, "a schema that allows any value")
	}
	if len(names) == 1 {
		return w.ofType(n, names[0], path)
	}
	list := array()
	for _, name := range names {
		if name == "integer" && slices.Contains(names, "number") { // integers are numbers
			continue
		}
		one, err := w.ofType(n, name, path)
		if err != nil {
			return nil, err
		}
		list.items = append(list.items, one)
	}
	return object(member{"anyOf", list}), nil
}

// ofType checks the keywords of one type. Keywords of other types don't apply to its values.
func (w *schemaWalk) ofType(n *node, name, path string) (*node, error) {
	out := object(member{"type", str(name)})
	var more []member
	var err error
	switch name {
	case "object":
		more, err = w.objectKeywords(n, path)
	case "array":
		more, err = w.arrayKeywords(n, path)
	case "string":
		more, err = w.stringKeywords(n, path)
	case "integer":
		return w.integer(n, path)
	case "number":
		err = w.number(n, path)
	}
	out.members = append(out.members, more...)
	return out, err
}

func (w *schemaWalk) objectKeywords(n *node, path string) (out []member, _ error) {
	properties, required := n.get("properties"), n.get("required")
	additional := n.get("additionalProperties")
	named := properties != nil && len(properties.members) > 0
	if additional.isBool(true) {
		additional = nil // true is the default
	}
	properties, err := w.completed(properties, required, additional, path)
	if err != nil {
		return nil, err
	}
	if properties != nil {
		for _, m := range properties.members {
			if err := w.name(m.name, join(path, "properties")); err != nil {
				return nil, err
			}
		}
		if err := w.growByProperties(properties, required, join(path, "properties")); err != nil {
			return nil, err
		}
		judged, err := w.members(properties, join(path, "properties"))
		if err != nil {
			return nil, err
		}
		out = append(out, member{"properties", judged})
	}
	if required != nil && len(required.items) > 0 {
		out = append(out, member{"required", required})
	}
	switch {
	case additional == nil && properties == nil:
		return out, w.need(XGrammar|Guidance, path, "an object with any properties")
	case additional == nil:
	case additional.isBool(false):
		if properties == nil {
			err = w.need(XGrammar|Guidance, path, "an object without properties")
		}
		out = append(out, member{"additionalProperties", additional})
	case named:
		return nil, w.refuse(Guidance, join(path, "additionalProperties"), "a schema of additionalProperties beside properties")
	default:
		var judged *node
		if judged, err = w.schema(additional, join(path, "additionalProperties")); err == nil && properties == nil {
			out = append(out, member{"additionalProperties", judged})
		}
	}
	return out, err
}

// completed adds the required properties that have no schema, because xgrammar doesn't require them
// otherwise.
func (w *schemaWalk) completed(properties, required, additional *node, path string) (*node, error) {
	if required == nil {
		return properties, nil
	}
	var missing []member
	added := map[string]bool{}
	for _, item := range required.items {
		name, _ := item.text()
		if properties != nil && properties.get(name) != nil || added[name] {
			continue
		}
		if additional.isBool(false) {
			return nil, wrongf(join(path, "required"), "the property %q is required, but additionalProperties is false", name)
		}
		schema := additional
		if schema == nil {
			schema = object()
		}
		added[name] = true
		missing = append(missing, member{name, schema})
	}
	if properties != nil {
		missing = append(slices.Clip(properties.members), missing...)
	}
	return object(missing...), nil
}

// name checks the name of a property, which xgrammar doesn't escape.
func (w *schemaWalk) name(name, path string) error {
	if strings.ContainsFunc(name, func(r rune) bool { return r == '"' || r == '\\' || r < ' ' }) {
		return w.need(Guidance, path, "a property whose name has a quote, a backslash or a control character")
	}
	if !isASCII(name) {
		return w.need(XGrammar|Guidance, path, "a property whose name has a character beyond ASCII")
	}
	return nil
}

func (w *schemaWalk) arrayKeywords(n *node, path string) (out []member, _ error) {
	items, prefix := n.get("items"), n.get("prefixItems")
	if items != nil && items.kind == kindArray {
		return nil, w.refuse(Guidance, join(path, "items"), "a list of schemas in items")
	}
	least, most, err := w.limits(n, path, "minItems", "maxItems", outlinesItems)
	if err != nil {
		return nil, err
	}
	if prefix != nil && prefix.kind == kindArray {
		judged, err := w.items(prefix, join(path, "prefixItems"))
		if err != nil {
			return nil, err
		}
		out = append(out, member{"prefixItems", judged})
	}
	switch {
	case items.isBool(false):
		out = append(out, member{"items", items})
		if prefix == nil {
			err = w.need(XGrammar|Guidance, join(path, "items"), "the schema false")
		}
	case items != nil:
		judged, err := w.schema(items, join(path, "items"))
		if err != nil {
			return nil, err
		}
		out = append(out, member{"items", judged})
	case prefix == nil:
		err = w.need(XGrammar|Guidance, path, "an array of anything")
		if least != nil || most != nil { // xgrammar doesn't accept the limits without items
			out = append(out, member{"items", object()})
		}
	}
	if err == nil {
		err = w.growByItems(least, most, path)
	}
	return appendLimits(out, "minItems", least, "maxItems", most), err
}

func appendLimits(out []member, least string, lo *int64, most string, hi *int64) []member {
	if lo != nil && *lo > 0 {
		out = append(out, member{least, integer(*lo)})
	}
	if hi != nil {
		out = append(out, member{most, integer(*hi)})
	}
	return out
}

func integer(n int64) *node { return &node{scalar: json.Number(strconv.FormatInt(n, 10))} }

// limits parses the limits of a length.
func (w *schemaWalk) limits(n *node, path, least, most string, outlines int64) (lo, hi *int64, err error) {
	for _, limit := range []struct {
		name string
		into **int64
	}{{least, &lo}, {most, &hi}} {
		value := n.get(limit.name)
		if value == nil {
			continue
		}
		number, ok := value.scalar.(json.Number)
		v, whole := wholeNumber(number)
		if !ok || !whole {
			return nil, nil, wrongf(join(path, limit.name), "the limit %s is not a 64-bit integer", limit.name)
		}
		if v > outlines {
			if err := w.need(XGrammar|Guidance, join(path, limit.name), fmt.Sprintf("a %s above %d", limit.name, outlines)); err != nil {
				return nil, nil, err
			}
		}
		*limit.into = &v
	}
	if lo != nil && hi != nil && *lo > *hi {
		return nil, nil, wrongf(path, "%s is above %s", least, most)
	}
	return lo, hi, nil
}

// wholeNumber parses an integer, which may be written as 3.0 or 1e2.
func wholeNumber(n json.Number) (int64, bool) {
	if v, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return v, true
	}
	f, err := n.Float64()
	const exact = 1 << 53
	if err != nil || f != float64(int64(f)) || f > exact || f < -exact {
		return 0, false
	}
	return int64(f), true
}

func (w *schemaWalk) stringKeywords(n *node, path string) (out []member, _ error) {
	least, most, err := w.limits(n, path, "minLength", "maxLength", outlinesLength)
	if err != nil {
		return nil, err
	}
	pattern, format := n.get("pattern"), n.get("format")
	if text, ok := pattern.text(); ok && text == "" {
		pattern = nil // an empty pattern matches all texts
	}
	limited := least != nil && *least > 0 || most != nil
	switch {
	case pattern != nil && format != nil:
		return nil, w.refuse(Guidance, join(path, "format"), "the keyword format beside pattern")
	case pattern != nil && limited:
		return nil, w.refuse(Guidance, join(path, "pattern"), "the keyword pattern beside minLength or maxLength")
	case format != nil && limited:
		return nil, w.refuse(Guidance, join(path, "format"), "the keyword format beside minLength or maxLength")
	case pattern != nil:
		text, _ := pattern.text()
		judged, size, err := w.backends.pattern(text, join(path, "pattern"))
		if err != nil {
			return nil, err
		}
		if err := size.refusal(w.backends, join(path, "pattern"), "a pattern"); err != nil {
			return nil, err
		}
		if err := w.growOnce(size.size, judged, join(path, "pattern")); err != nil {
			return nil, err
		}
		return []member{{"pattern", str(judged)}}, nil
	case format != nil:
		text, _ := format.text()
		if err := w.format(text, join(path, "format")); err != nil {
			return nil, err
		}
		return []member{{"format", format}}, nil
	}
	return w.length(least, most), w.growByLength(least, most, path)
}

// length writes the limits of a string's length. With the keywords minLength and maxLength, xgrammar
// allows control characters in the string. Therefore the limits become a pattern where the backends
// allow that.
func (w *schemaWalk) length(least, most *int64) []member {
	lo, hi := limitsOf(least, most)
	if w.backends&Outlines != 0 || lo > maxRepeat || hi > maxRepeat || lo == 0 && hi == unlimited {
		return appendLimits(nil, "minLength", least, "maxLength", most)
	}
	limits := fmt.Sprintf("{%d,%d}", lo, hi)
	if hi == unlimited {
		limits = fmt.Sprintf("{%d,}", lo)
	}
	return []member{{"pattern", str(`^(?:[^"\\\x00-\x1f]` + limits + ")$")}}
}

func (w *schemaWalk) format(format, path string) error {
	if err := w.need(formatBackends[format], path, "the format "+strconv.Quote(format)); err != nil {
		return err
	}
	return w.growOnce(formatSize, "format "+format, path)
}

// number refuses limits of numbers, because xgrammar converts them incorrectly.
func (w *schemaWalk) number(n *node, path string) error {
	for _, keyword := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		if n.get(keyword) != nil {
			return w.need(Guidance, join(path, keyword), fmt.Sprintf("the keyword %s of type number", keyword))
		}
	}
	return nil
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > 0x7e })
}
