package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/trident-inference/trident/services/configfield"
)

// size is a number of bytes of a flag, which may have a unit.
type size int64

// MarshalText returns the size with a unit.
func (s size) MarshalText() ([]byte, error) { return []byte(configfield.SizeText(int64(s))), nil }

// UnmarshalText reads a number of bytes with an optional unit.
func (s *size) UnmarshalText(text []byte) error {
	n, err := configfield.ParseSize(string(text))
	*s = size(n)
	return err
}

// byteSize is a positive size, or 0 if unset.
type byteSize int64

// MarshalText returns the size with a unit, or an empty text if unset.
func (s byteSize) MarshalText() ([]byte, error) {
	if s == 0 {
		return nil, nil
	}
	return size(s).MarshalText()
}

// UnmarshalText reads a number of bytes with an optional unit.
func (s *byteSize) UnmarshalText(text []byte) error {
	n, err := configfield.ParseSize(string(text))
	if err == nil && n == 0 {
		err = fmt.Errorf("%q isn't a size: write a number of bytes, or a number with a unit such as 2GiB", text)
	}
	*s = byteSize(n)
	return err
}

// seconds is a time of a flag of tritonserver, which is a number of seconds there. It may have a unit.
type seconds time.Duration

// MarshalText returns the time with a unit.
func (s seconds) MarshalText() ([]byte, error) { return []byte(durationText(time.Duration(s))), nil } //nolint:unparam // the interface requires an error

// UnmarshalText reads a number of seconds, or a time with a unit.
func (s *seconds) UnmarshalText(text []byte) error {
	d, err := parseTime(string(text), time.Second)
	*s = seconds(d)
	return err
}

// milliseconds is a time of a flag of tritonserver, which is a number of milliseconds there. It may
// have a unit.
type milliseconds time.Duration

// MarshalText returns the time with a unit.
func (m milliseconds) MarshalText() ([]byte, error) { //nolint:unparam // the interface requires an error
	return []byte(durationText(time.Duration(m))), nil
}

// UnmarshalText reads a number of milliseconds, or a time with a unit.
func (m *milliseconds) UnmarshalText(text []byte) error {
	d, err := parseTime(string(text), time.Millisecond)
	if err == nil && d%time.Millisecond != 0 {
		err = fmt.Errorf("must be whole milliseconds, not %s", text)
	}
	*m = milliseconds(d)
	return err
}

// number returns the number of milliseconds.
func (m milliseconds) number() int { return int(time.Duration(m) / time.Millisecond) }

// parseTime reads a time. A number without a unit has the given one.
func parseTime(text string, unit time.Duration) (time.Duration, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n > math.MaxInt64/int64(unit) || n < math.MinInt64/int64(unit) {
			return 0, fmt.Errorf("%s is too large", text)
		}
		return time.Duration(n) * unit, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("must be a time such as " + durationText(5*unit) + ", or a number of " + map[time.Duration]string{time.Second: "seconds", time.Millisecond: "milliseconds"}[unit] + ", not " + strconv.Quote(text))
	}
	return d, nil
}

// durationText returns a time without parts that are zero: 30m, not 30m0s.
func durationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
