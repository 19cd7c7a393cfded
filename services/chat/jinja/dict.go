package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Dict is Python's dict, with keys in the order in which they were first set. The zero value isn't
// ready to use; call NewDict. Many goroutines may read a Dict concurrently while none writes.
type Dict struct {
	entries []entry
	index   map[any]int // position by hash key; used when the dict is too large for a linear search
	first   [fewEntries]entry
}

type entry struct {
	key, value any
	hash       any // equal for keys that Python considers equal
}

// smallDict is the maximum size at which a linear search is faster than a map.
const smallDict = 8

// fewEntries is the maximum size of most dicts, such as a message or a tool's parameter. Their
// entries are stored in the dict itself.
const fewEntries = 3

// NewDict returns an empty dict.
func NewDict() *Dict { return &Dict{} }

// Set sets the value of a key. An existing key keeps its position. Values may be nil, bool, int,
// int32, int64, uint32, float32, float64, *big.Int, string, []any, []string, *List and *Dict. A
// render with any other value fails.
func (d *Dict) Set(key string, v any) { d.putGo(key, v) }

// putGo makes Set small enough for inlining. A constant key then allocates nothing.
func (d *Dict) putGo(key, v any) { d.put(key, key, fromGo(v)) }

// Get returns the value of a key and whether the key exists.
func (d *Dict) Get(key string) (any, bool) {
	if i := d.find(key); i >= 0 {
		return d.entries[i].value, true
	}
	return nil, false
}

// Len returns the number of keys.
func (d *Dict) Len() int { return len(d.entries) }

// Keys returns the keys in order. It omits keys that aren't strings, which dicts created by
// templates may have.
func (d *Dict) Keys() []string {
	keys := make([]string, 0, len(d.entries))
	for i := range d.entries {
		if k, ok := text(d.entries[i].key); ok {
			keys = append(keys, k)
		}
	}
	return keys
}

func (d *Dict) put(key, hash, v any) {
	if i := d.findHash(hash); i >= 0 {
		d.entries[i].value = v
		return
	}
	if d.entries == nil {
		d.entries = d.first[:0]
	}
	d.entries = append(d.entries, entry{key, v, hash})
	switch n := len(d.entries); {
	case d.index != nil:
		d.index[hash] = n - 1
	case n > smallDict:
		d.index = make(map[any]int, 2*n)
		for i := range d.entries {
			d.index[d.entries[i].hash] = i
		}
	}
}

func (d *Dict) find(key string) int {
	if d.index == nil {
		for i := range d.entries {
			if s, ok := d.entries[i].hash.(string); ok && s == key {
				return i
			}
		}
		return -1
	}
	return d.findHash(key)
}

func (d *Dict) findHash(hash any) int {
	if d.index != nil {
		if i, ok := d.index[hash]; ok {
			return i
		}
		return -1
	}
	for i := range d.entries {
		if d.entries[i].hash == hash {
			return i
		}
	}
	return -1
}

// set is Set for any key that Python can hash.
func (d *Dict) set(key, v any) error {
	hash, err := hashKey(key)
	if err == nil {
		d.put(key, hash, v)
	}
	return err
}

// get is Get for any key. An unhashable key is an error, as in Python.
func (d *Dict) get(key any) (any, bool, error) {
	if s, ok := key.(string); ok {
		v, ok := d.Get(s)
		return v, ok, nil
	}
	hash, err := hashKey(key)
	if err != nil {
		return nil, false, err
	}
	if i := d.findHash(hash); i >= 0 {
		return d.entries[i].value, true, nil
	}
	return nil, false, nil
}

func (d *Dict) copy() *Dict {
	c := NewDict()
	for _, e := range d.entries {
		c.put(e.key, e.hash, e.value)
	}
	return c
}

// compositeKey is the hash key of tuples and big integers. Its type distinguishes it from strings.
type compositeKey string

// hashKey converts a value to a comparable one. 1, 1.0 and True have the same hash key.
func hashKey(v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return none, nil
	case string, int64:
		return v, nil
	case markup:
		return string(v), nil
	case bool:
		i, _ := toInt(v)
		return i, nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return int64(v), nil
		}
		return v, nil
	case *big.Int:
		return compositeKey("i" + v.String()), nil
	case *Tuple:
		return hashTuple(v, 0)
	case *List, *Dict:
		return nil, failf("unhashable type: '%s'", typeName(v))
	case *undefined:
		return compositeKey("u"), nil
	case *dictView, *rangeValue:
		return nil, failf("unhashable type: '%s'", typeName(v))
	}
	return v, nil // objects are hashed by identity
}

// maxTupleKey limits a tuple's hash key in bytes, and maxTupleNesting its depth. Tuples that
// contain each other twice grow exponentially.
const (
	maxTupleKey     = 1 << 16
	maxTupleNesting = 32
)

func hashTuple(t *Tuple, depth int) (any, error) {
	var b strings.Builder
	b.WriteByte('t')
	for _, item := range t.items {
		part, err := hashPart(item, depth)
		if err != nil {
			return nil, err
		}
		b.WriteString(strconv.Itoa(len(part)) + ":" + part)
		if b.Len() > maxTupleKey || depth > maxTupleNesting {
			return nil, &LimitError{"bytes in a tuple used as a key", maxTupleKey}
		}
	}
	return compositeKey(b.String()), nil
}

func hashPart(item any, depth int) (string, error) {
	var h any
	var err error
	if t, ok := item.(*Tuple); ok {
		h, err = hashTuple(t, depth+1)
	} else {
		h, err = hashKey(item)
	}
	switch h := h.(type) {
	case string:
		return "s" + h, err
	case int64:
		return "n" + strconv.FormatInt(h, 10), err
	case float64:
		return "f" + strconv.FormatFloat(h, 'g', -1, 64), err
	case compositeKey:
		return string(h), err
	case *sentinel:
		return "0", err
	}
	if err == nil {
		err = failf("unhashable element in tuple: '%s'", typeName(item))
	}
	return "", err
}
