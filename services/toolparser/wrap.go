package toolparser

import "bytes"

// wrapper is a marker around text that isn't part of the text.
type wrapper struct {
	text   string
	until  string // suffix of the marker; "" if text is the whole marker
	inline bool   // the marker stands within text: adjacent white space belongs to the text
}

type wrappers []wrapper

// around returns wrappers for markers that stand before and after the text.
func around(markers ...string) wrappers {
	var w wrappers
	for _, m := range markers {
		w = append(w, wrapper{text: m})
	}
	return w
}

func (w wrappers) texts() []string {
	var texts []string
	for _, one := range w {
		texts = append(texts, one.text)
	}
	return texts
}

// drop removes the wrapper that stands next. It returns false if it needs more bytes.
func (r *reader) drop(w wrapper) bool {
	n := len(w.text)
	if w.until != "" {
		window := r.in[:min(len(r.in), maxHeader)]
		i := bytes.Index(window, []byte(w.until))
		switch {
		case i < 0 && len(window) < maxHeader && !r.final:
			return false
		case i < 0:
			r.text(n)
			return true
		}
		n = i + len(w.until)
	}
	r.in = r.in[n:]
	if !w.inline {
		r.lead, r.blank = leadDrop, r.blank[:0]
	}
	return true
}

// plain emits all text, without its wrappers.
type plain struct {
	reader
	drop    wrappers
	markers *markers
}

func newPlain(r *reader, drop wrappers) dialect {
	return &plain{reader: *r, drop: drop, markers: newMarkers(drop.texts()...)}
}

func (p *plain) step() bool {
	at, which := len(p.in), -1
	if len(p.drop) > 0 {
		at, which = p.markers.find(p.in, p.final, nil)
	}
	p.text(at)
	return which >= 0 && p.reader.drop(p.drop[which])
}
