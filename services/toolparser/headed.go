package toolparser

import "strings"

// headedFormat describes how a dialect writes calls with a head before JSON
// arguments:
//
//	all call HEAD sep ARGUMENTS callEnd allEnd
type headedFormat struct {
	all, allEnd   string // markers around all calls; the model may omit them
	call, callEnd string
	sep           string
	fenced        bool // HEAD is a type; a line with the name and a fence follow sep
	head          func(head string) (name, id string)
}

// headedCalls reads the calls of a [headedFormat].
type headedCalls struct {
	*jsonCalls
	headed *headedFormat
	state  headedState
	name   string
	id     string
}

type headedState uint8

const (
	headedText  headedState = iota
	headedFirst             // the parser is after the marker all
	headedHead              // the parser is after a call's marker
	headedName              // the parser is after the separator; only if fenced
	headedFence             // the parser is before the fence; only if fenced
	headedArgs              // the parser is before the arguments
	headedValue             // the parser is in the arguments
	headedEnd               // the parser is after the arguments
)

const jsonFence = "```json"

func newHeadedCalls(r *reader, h *headedFormat) dialect {
	f := &format{open: []string{h.all, h.call, h.allEnd}, end: []string{h.callEnd}}
	return &headedCalls{jsonCalls: newJSONCalls(r, f), headed: h}
}

func (d *headedCalls) step() bool {
	switch d.state {
	case headedText:
		return d.search()
	case headedValue:
		return d.value()
	case headedHead:
		return d.head()
	case headedName:
		return d.read("\n", headedFence)
	default:
	}
	if !d.spaces() {
		return false
	}
	switch d.state {
	case headedFirst:
		return d.expect(d.headed.call, headedHead)
	case headedFence:
		return d.expect(jsonFence, headedArgs)
	case headedArgs:
		return d.args()
	default:
		return d.callEnd()
	}
}

func (d *headedCalls) search() bool {
	which, found := d.seek(d.markers)
	if !found {
		return false
	}
	switch {
	case which == 0:
		d.state = headedFirst
	case which == 1:
		d.state = headedHead
	case d.calls > 0:
		d.forget()
	default:
		d.reject()
	}
	return true
}

func (d *headedCalls) expect(literal string, then headedState) bool {
	switch d.match(literal) {
	case more:
		return false
	case yes:
		d.state = then
	case no:
		d.fail()
	}
	return true
}

func (d *headedCalls) fail() {
	d.reject()
	d.state = headedText
}

func (d *headedCalls) head() bool {
	if d.headed.fenced {
		return d.read(d.headed.sep, headedName)
	}
	return d.read(d.headed.sep, headedArgs)
}

func (d *headedCalls) read(end string, then headedState) bool {
	head, v := d.before(end)
	switch v {
	case more:
		return false
	case yes:
		d.name, d.id, d.state = strings.Trim(head, blanks), "", then
		if d.headed.head != nil {
			d.name, d.id = d.headed.head(d.name)
		}
	case no:
		d.fail()
	}
	return true
}

// args reads up to the arguments. A call may end without arguments.
func (d *headedCalls) args() bool {
	switch v := d.match(d.headed.callEnd); {
	case v == more:
		return false
	case v == yes && isName(d.name):
		d.openAs(d.name, d.id)
		d.close()
		d.state = headedText
		return true
	case v == yes:
		d.fail()
		return true
	}
	d.argumentsOf(d.name, d.id)
	d.state = headedText
	if d.inCall {
		d.state = headedValue
	}
	return true
}

func (d *headedCalls) value() bool {
	if !d.jsonCalls.step() {
		return false
	}
	if d.at == atText {
		d.state = headedEnd
	}
	return true
}

// callEnd reads the end of a call. Anything else there is text.
func (d *headedCalls) callEnd() bool {
	if d.headed.fenced && !d.comma {
		switch d.match("```") {
		case more:
			return false
		case yes:
			d.comma = true
			return true
		case no:
		}
	}
	switch d.match(d.headed.callEnd) {
	case more:
		return false
	case yes:
		d.forget()
	case no:
		d.reject()
	}
	d.comma, d.state = false, headedText
	return true
}
