package balance

// A Set is a set of endpoints, such as those that serve a version of a model. It doesn't
// change once it is made. It may contain endpoints that were removed or are ejected: these
// aren't candidates. A Set belongs to one Balancer, and a caller keeps the Sets that it
// needs often: round robin has its state in them.
type Set struct {
	generations []uint32  // by slot: the generation of the endpoint, 0 for none
	credits     []float64 // by slot: for round robin, guarded by Balancer.mu
}

// NewSet returns a set of endpoints.
func NewSet(endpoints ...Endpoint) *Set {
	s := &Set{}
	for _, e := range endpoints {
		s.include(e)
	}
	return s
}

func (s *Set) include(e Endpoint) {
	if e.generation == 0 {
		return
	}
	for int(e.slot) >= len(s.generations) {
		s.generations = append(s.generations, 0)
		s.credits = append(s.credits, 0)
	}
	s.generations[e.slot], s.credits[e.slot] = e.generation, 0
}

func (s *Set) exclude(e Endpoint) {
	if int(e.slot) < len(s.generations) && s.generations[e.slot] == e.generation {
		s.generations[e.slot] = 0
	}
}
