package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSeenOn checks what is read of each server from a page of metrics.
func TestSeenOn(t *testing.T) {
	const page = `# HELP trident_endpoint_state 1 for the state
trident_endpoint_state{endpoint="127.0.1.1:9",state="in"} 0
trident_endpoint_state{endpoint="127.0.1.1:9",state="out"} 1
trident_endpoint_state{endpoint="127.0.1.2:9",state="starting"} 1
trident_endpoint_requests_total{endpoint="127.0.1.1:9"} 1.5e+03
trident_endpoint_failures_total{endpoint="127.0.1.1:9"} 3
trident_endpoint_repeats_total{endpoint="127.0.1.2:9"} 4
trident_endpoint_outs_total{endpoint="127.0.1.1:9"} 2
trident_endpoint_repeats_refused_total 5
trident_requests_total{endpoint="chat"} 6
`
	all, err := seenOn(page)
	if err != nil {
		t.Fatal(err)
	}
	first, second := seen{state: "out", requests: 1500, failures: 3, out: 2}, seen{state: "starting", repeats: 4}
	if len(all) != 2 || all["127.0.1.1:9"] != first || all["127.0.1.2:9"] != second || first.serves() || !second.serves() {
		t.Errorf("got %+v", all)
	}
	if _, err := seenOn(`trident_endpoint_outs_total{endpoint="a"} much`); err == nil {
		t.Error("a metric without a value was read")
	}
}

// TestLost checks which failed requests are generations without a response that another server could
// have served, and how they are counted for a fault.
func TestLost(t *testing.T) {
	from := time.Now().Add(-time.Hour)
	all := map[string]kind{}
	for _, k := range manyKinds() {
		all[k.name] = k
	}
	s := &manySoak{down: []*window{{fault: allDown, from: from.Add(10 * time.Second), to: from.Add(20 * time.Second)}}}
	fail := func(name, kind string, start time.Duration, began bool) {
		r := sample{kind: all[kind], name: name, from: from.Add(start), to: from.Add(start + time.Second), ending: &ending{how: refused, err: errors.New("gone")}}
		if began {
			r.first = r.from.Add(time.Millisecond)
		}
		s.note(r)
	}
	fail("lost", kindChat, 0, false)
	fail("begun", kindChat, 0, true)
	fail("of tensors", kindKServe, 0, false)
	fail("while all are down", kindTyped, 15*time.Second, false)
	s.note(sample{kind: all[kindChat], name: "answered", from: from, to: from, ending: &ending{how: answered}})
	s.note(sample{kind: all[kindChat], name: "late", from: from, first: from.Add(3 * time.Second), to: from.Add(5 * time.Second), ending: &ending{how: answered}})
	list := s.lost()
	if len(list) != 1 || !strings.Contains(list[0], kindChat+" lost failed without a response") {
		t.Errorf("lost: %q", list)
	}
	row := &manyRow{}
	s.judge(row, &window{from: from, to: from.Add(5 * time.Second)})
	if row.unbegun != 1 || row.begun != 1 || row.tensors != 1 || row.toError != time.Second {
		t.Errorf("counted %+v", row)
	}
	if took := s.slowestBetween(from.Add(-time.Second), from.Add(time.Second)); took != 3*time.Second {
		t.Errorf("the slowest first token took %s", took)
	}
}

// TestFaultsOfMany checks that a fault that lets no request fail names no bound, and that the others
// have one.
func TestFaultsOfMany(t *testing.T) {
	for _, f := range manyFaults() {
		if f.apply == nil || f.repair == nil || f.out && (f.bound == 0 || f.hold <= outLimit) || f.gone && f.hold <= nameLimit {
			t.Errorf("%s: %+v", f.name, f)
		}
	}
	if shares := shareOf(manyKinds()); shares != 100 {
		t.Errorf("the kinds of requests have %d of 100 streams", shares)
	}
}

func shareOf(kinds []kind) (all int) {
	for _, k := range kinds {
		all += k.share
	}
	return all
}

// TestAltered checks the change of a configuration of the burst model and its repair.
func TestAltered(t *testing.T) {
	template, err := os.ReadFile(filepath.Join("..", "backends", "burst", "config.pbtxt.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	before := string(template)
	with := altered(before, true)
	if strings.Count(with, `name: "sampling"`) != 1 || strings.Contains(with, "sampling_parameters") || altered(with, true) != with {
		t.Errorf("the configuration with the other input is\n%s", with)
	}
	if after := altered(with, false); after != before {
		t.Errorf("the configuration after the repair is\n%s", after)
	}
}
