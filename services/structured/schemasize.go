package structured

import "fmt"

// Sizes of the parts of a JSON Schema in xgrammar's automaton, as measured.
const (
	subschemaSize = 250
	// formatSize is the size of a string with a format. It is the size of the largest format, ipv6.
	formatSize = 35_000
	itemSize   = 40
	// optionalSize is the size that a property that isn't required adds for each such property before
	// it.
	optionalSize = 11
)

// grow adds to the size of the constraint.
func (w *schemaWalk) grow(size int64, path string) error {
	if *w.size = clamped(*w.size + size); *w.size <= maxSize {
		return nil
	}
	return w.need(Guidance, path, fmt.Sprintf("a schema whose size is above %d", maxSize))
}

// growOnce adds a part that xgrammar makes once, whose name is key.
func (w *schemaWalk) growOnce(size int64, key, path string) error {
	if w.sized[key] {
		return nil
	}
	w.sized[key] = true
	return w.grow(size, path)
}

// growByLength adds a string of limited length.
func (w *schemaWalk) growByLength(least, most *int64, path string) error {
	lo, hi := limitsOf(least, most)
	if lo == 0 && hi == unlimited {
		return nil
	}
	s := &sizer{}
	s.whole(repeatOf(classOf(setOf(`"\`), true), lo, hi, false), byteSet{})
	return w.growOnce(s.size, fmt.Sprintf("length %d %d", lo, hi), path)
}

// growByItems adds an array of a limited number of items, which share a rule.
func (w *schemaWalk) growByItems(least, most *int64, path string) error {
	lo, hi := limitsOf(least, most)
	if lo == 0 && hi == unlimited {
		return nil
	}
	return w.grow(itemSize*repeatOf(&expr{}, lo, hi, false).copies(), path)
}

// limitsOf are limits as those of a repetition.
func limitsOf(least, most *int64) (lo, hi int) {
	hi = unlimited
	if least != nil {
		lo = int(max(clamped(*least), 0))
	}
	if most != nil {
		hi = int(max(clamped(*most), 0))
	}
	return lo, hi
}

// growByValues adds the values of a schema that a reference leads to: xgrammar puts these
// values in the place of the reference.
func (w *schemaWalk) growByValues(target *node, path string) error {
	size, known := w.values[target]
	if !known {
		for _, keyword := range []string{"const", "enum"} {
			if value := target.get(keyword); value != nil {
				size += inlineSize * int64(len(value.appendJSON(nil)))
			}
		}
		w.values[target] = size
	}
	return w.grow(size, path)
}

// growByProperties adds the names of an object's properties.
func (w *schemaWalk) growByProperties(properties, required *node, path string) error {
	needed := map[string]bool{}
	if required != nil {
		for _, item := range required.items {
			name, _ := item.text()
			needed[name] = true
		}
	}
	size, optional := int64(0), int64(0)
	for _, m := range properties.members {
		size += int64(len(m.name))
		if !needed[m.name] {
			optional++
			size += optionalSize * optional
		}
	}
	return w.grow(size, path)
}
