package balance

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// scene applies events to a balancer, and to a simple account of what it should know.
type scene struct {
	t         testing.TB
	b         *Balancer
	now       time.Duration
	names     int
	endpoints []Endpoint
	ejected   map[Endpoint]bool
	open      []openRequest
	prompts   []string
}

type openRequest struct {
	assignment *Assignment
	first      bool // had its first token
	waiting    int
	tokens     int
}

func newScene(tb testing.TB, policy Policy) *scene {
	tb.Helper()
	b, err := New(Config{Policy: policy, IndexEntries: 64, Random: rand.NewPCG(3, 4)})
	if err != nil {
		tb.Fatal(err)
	}
	s := &scene{t: tb, b: b, ejected: map[Endpoint]bool{}}
	for i := range 6 {
		s.prompts = append(s.prompts, prompt(i%2, 2, i, 4))
	}
	return s
}

// apply applies an event that two bytes describe.
func (s *scene) apply(event, detail byte) {
	s.now += time.Duration(detail) * time.Millisecond
	pick := int(detail) / 4
	switch event % 10 {
	case 0:
		s.add(detail)
	case 1, 2, 3:
		s.choose(detail)
	case 4:
		if len(s.endpoints) > 0 {
			s.assign(s.endpoints[pick%len(s.endpoints)], detail)
		}
	case 5:
		if len(s.open) > 0 {
			o := &s.open[pick%len(s.open)]
			s.b.FirstToken(o.assignment)
			s.b.Progress(o.assignment, s.now)
			o.first = true
		}
	case 6:
		if len(s.open) > 0 {
			i := pick % len(s.open)
			s.b.Ended(s.open[i].assignment)
			s.b.Ended(s.open[i].assignment)
			s.open = append(s.open[:i], s.open[i+1:]...)
		}
	default:
		if len(s.endpoints) > 0 {
			s.change(event%10, pick%len(s.endpoints), detail)
		}
	}
	s.check()
}

func (s *scene) add(detail byte) {
	if len(s.endpoints) >= 12 {
		return
	}
	s.names++
	s.endpoints = append(s.endpoints, add(s.t, s.b, Spec{Name: fmt.Sprint(s.names), Weight: 1 + float64(detail%3), CacheTokens: int(detail) * 100}))
}

func (s *scene) request(detail byte) *Request {
	r := &Request{Model: "m", Prompt: s.prompts[int(detail)%len(s.prompts)], AnswerTokens: int(detail % 7)}
	if detail%5 == 0 && len(s.endpoints) > 0 {
		r.Tried = s.endpoints[:1]
	}
	return r
}

func (s *scene) choose(detail byte) {
	r := s.request(detail)
	var among *Set
	candidates := s.endpoints
	if detail%2 == 0 {
		candidates = s.endpoints[:len(s.endpoints)/2]
		among = NewSet(candidates...)
	}
	allowed := map[Endpoint]bool{}
	for _, e := range candidates {
		if !s.ejected[e] && (len(r.Tried) == 0 || e != r.Tried[0]) {
			allowed[e] = true
		}
	}
	a, ok := s.b.Choose(s.now, r, among)
	if ok != (len(allowed) > 0) || ok && !allowed[a.Endpoint] {
		s.t.Fatalf("Choose took %v (%t) of %v", a.Endpoint, ok, allowed)
	}
	if ok {
		s.opened(a, r)
	}
}

func (s *scene) assign(e Endpoint, detail byte) {
	r := s.request(detail)
	a := s.b.Assign(e, r)
	if a.Endpoint != e {
		s.t.Fatalf("Assign took %v, want %v", a.Endpoint, e)
	}
	s.opened(a, r)
}

func (s *scene) opened(a Assignment, r *Request) {
	if a.Cached < 0 || a.Cached > r.promptTokens() {
		s.t.Fatalf("%d tokens of %d are cached", a.Cached, r.promptTokens())
	}
	s.open = append(s.open, openRequest{assignment: &a, waiting: r.promptTokens() - a.Cached, tokens: r.tokens()})
}

// change changes an endpoint.
func (s *scene) change(event byte, i int, detail byte) {
	e := s.endpoints[i]
	switch {
	case event == 7:
		s.ejected[e] = detail%2 == 0
		s.b.SetEjected(e, s.ejected[e])
	case event == 8 && detail%3 == 0:
		s.b.Forget(e)
		if entries := s.b.index.entriesOf(e.slot); entries != 0 {
			s.t.Fatalf("%d entries remain after Forget", entries)
		}
	case event == 8:
		s.b.StartSlowly(e, s.now)
	case detail%4 == 0:
		s.b.Remove(e)
		s.endpoints = append(s.endpoints[:i:i], s.endpoints[i+1:]...)
		if entries := s.b.index.entriesOf(e.slot); entries != 0 {
			s.t.Fatalf("%d entries remain after the removal", entries)
		}
	default:
		if err := s.b.SetWeight(e, 1+float64(detail%9)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// entriesOf counts the entries of an endpoint in all buckets.
func (x *index) entriesOf(slot uint32) int {
	n := 0
	if x == nil {
		return 0
	}
	for i := range x.buckets {
		for _, e := range x.buckets[i] {
			if e.prefix != 0 && e.slot == slot {
				n++
			}
		}
	}
	return n
}

// check compares the balancer with the account.
func (s *scene) check() {
	want := map[Endpoint]workload{}
	for _, o := range s.open {
		load := want[o.assignment.Endpoint]
		load.Requests++
		load.Tokens += o.tokens
		if !o.first {
			load.Waiting += o.waiting
		}
		want[o.assignment.Endpoint] = load
	}
	entries := 0
	for _, e := range s.endpoints {
		load, share := s.b.Load(e, s.now)
		if load != want[e] {
			s.t.Fatalf("endpoint %v has the load %+v, want %+v", e, load, want[e])
		}
		if share < 0 || share > 1 || (share == 0) != s.ejected[e] {
			s.t.Fatalf("endpoint %v, ejected %t, has the share %v", e, s.ejected[e], share)
		}
		if s.b.index != nil {
			n := s.b.index.entriesOf(e.slot)
			if counted := s.b.index.caches[e.slot].entries; counted != n {
				s.t.Fatalf("endpoint %v has %d entries, and %d are counted", e, n, counted)
			}
			entries += n
		}
	}
	if used, capacity := s.b.Entries(); used != entries || used > capacity {
		s.t.Fatalf("%d entries of %d are counted, the endpoints have %d", used, capacity, entries)
	}
}

// end ends all requests, and checks that nothing of them remains.
func (s *scene) end() {
	for len(s.open) > 0 {
		s.apply(6, byte(4*len(s.open)))
	}
	for _, e := range s.endpoints {
		if load, _ := s.b.Load(e, s.now); load != (workload{}) {
			s.t.Fatalf("endpoint %v has the load %+v after the end of all requests", e, load)
		}
	}
}

// TestEventSequences applies random events.
func TestEventSequences(t *testing.T) {
	for _, policy := range Policies() {
		t.Run(string(policy), func(t *testing.T) {
			random := rand.New(rand.NewPCG(5, 6))
			for range 30 {
				s := newScene(t, policy)
				for range 400 {
					s.apply(byte(random.IntN(256)), byte(random.IntN(256)))
				}
				s.end()
			}
		})
	}
}

// FuzzEvents applies the events that bytes describe.
func FuzzEvents(f *testing.F) {
	f.Add([]byte{0, 0, 0, 9, 1, 1, 1, 2, 5, 0, 6, 0, 7, 0, 9, 4, 1, 1})
	f.Add([]byte{0, 10, 1, 1, 1, 1, 1, 7, 9, 0, 0, 1, 1, 1, 4, 1, 8, 3, 8, 2, 5, 1, 6, 1})
	f.Fuzz(func(t *testing.T, events []byte) {
		for _, policy := range Policies() {
			s := newScene(t, policy)
			for i := 0; i+1 < len(events) && i < 400; i += 2 {
				s.apply(events[i], events[i+1])
			}
			s.end()
		}
	})
}

// TestConcurrency calls all methods concurrently: requests end, and nothing remains of them.
func TestConcurrency(t *testing.T) {
	b, e := newBalancer(t, Config{IndexEntries: 1 << 14}, 10)
	done := make(chan bool)
	for worker := range 4 {
		go func() {
			defer func() { done <- true }()
			for i := range 300 {
				a, ok := b.Choose(0, &Request{Prompt: prompt(0, 2, i%20, 3)}, nil)
				if !ok {
					t.Error("no candidate")
				}
				b.FirstToken(&a)
				b.Progress(&a, time.Duration(i)*time.Second)
				b.SetEjected(e[worker], i%2 == 0)
				b.Forget(e[8])
				b.Ended(&a)
			}
		}()
	}
	for i := range 100 {
		extra, err := b.Add(Spec{Name: fmt.Sprint("extra ", i)})
		if err != nil {
			t.Error(err)
		}
		b.Remove(extra)
	}
	for range 4 {
		<-done
	}
	for _, endpoint := range e {
		if load, _ := b.Load(endpoint, 0); load != (workload{}) {
			t.Errorf("the load %+v remains", load)
		}
	}
}
