package dialect

import "strings"

// DeepSeek's markers.
const (
	deepseekCalls    = "<｜tool▁calls▁begin｜>"
	deepseekCallsEnd = "<｜tool▁calls▁end｜>"
	deepseekCall     = "<｜tool▁call▁begin｜>"
	deepseekCallEnd  = "<｜tool▁call▁end｜>"
	deepseekSep      = "<｜tool▁sep｜>"
	deepseekFence    = "```json"
)

// deepseek reads DeepSeek's calls, each between its own markers and all of them
// between two more. V3 and R1 write type, separator, name and the arguments in a
// fence; V3.1 writes name, separator and the bare arguments.
type deepseek struct {
	*jsonCalls
	fenced bool
	state  deepseekState
	name   string
}

type deepseekState uint8

const (
	deepseekText  deepseekState = iota
	deepseekFirst               // after the marker of all calls
	deepseekType                // after a call's marker
	deepseekName                // V3: after the separator
	deepseekOpen                // V3: before the fence
	deepseekArgs                // before the arguments
	deepseekValue               // in them
	deepseekEnd                 // after them
)

func newDeepseekV3(r *reader) dialect  { return newDeepseek(r, true) }
func newDeepseekV31(r *reader) dialect { return newDeepseek(r, false) }

func newDeepseek(r *reader, fenced bool) dialect {
	f := &format{open: []string{deepseekCalls, deepseekCall, deepseekCallsEnd}, end: deepseekCallEnd}
	return &deepseek{jsonCalls: newJSONCalls(r, f), fenced: fenced}
}

func teachesDeepseekV3(template string) bool {
	return containsAll(template, deepseekCall, deepseekFence)
}

func teachesDeepseekV31(template string) bool {
	return containsAll(template, deepseekCall, deepseekSep)
}

func (d *deepseek) step() bool {
	switch d.state {
	case deepseekText:
		return d.search()
	case deepseekValue:
		return d.value()
	case deepseekType:
		return d.head()
	case deepseekName:
		return d.read("\n", deepseekOpen)
	default:
	}
	if !d.spaces() {
		return false
	}
	switch d.state {
	case deepseekFirst:
		return d.expect(deepseekCall, deepseekType)
	case deepseekOpen:
		return d.expect(deepseekFence, deepseekArgs)
	case deepseekArgs:
		d.argumentsOf(d.name)
		d.state = deepseekText
		if d.inCall {
			d.state = deepseekValue
		}
		return true
	default:
		return d.callEnd()
	}
}

func (d *deepseek) search() bool {
	which, found := d.seek(d.markers)
	if !found {
		return false
	}
	switch {
	case which == 0:
		d.state = deepseekFirst
	case which == 1:
		d.state = deepseekType
	case d.calls > 0:
		d.forget()
	default:
		d.reject()
	}
	return true
}

func (d *deepseek) expect(literal string, then deepseekState) bool {
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

func (d *deepseek) fail() {
	d.reject()
	d.state = deepseekText
}

func (d *deepseek) head() bool {
	if d.fenced {
		return d.read(deepseekSep, deepseekName)
	}
	return d.read(deepseekSep, deepseekArgs)
}

func (d *deepseek) read(end string, then deepseekState) bool {
	name, v := d.before(end)
	switch v {
	case more:
		return false
	case yes:
		d.name, d.state = strings.Trim(name, blanks), then
	case no:
		d.fail()
	}
	return true
}

func (d *deepseek) value() bool {
	if !d.jsonCalls.step() {
		return false
	}
	if d.at == atText {
		d.state = deepseekEnd
	}
	return true
}

// callEnd reads what closes a call. What else stands there is text.
func (d *deepseek) callEnd() bool {
	if d.fenced && !d.comma {
		switch d.match("```") {
		case more:
			return false
		case yes:
			d.comma = true
			return true
		case no:
		}
	}
	switch d.match(deepseekCallEnd) {
	case more:
		return false
	case yes:
		d.forget()
	case no:
		d.reject()
	}
	d.comma, d.state = false, deepseekText
	return true
}
