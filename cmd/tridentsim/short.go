package main

import "math/rand/v2"

// short returns the workload that TestRealServers also sends to four real servers: 1,200 requests
// in 60 seconds at random times. Each prompt has one of 200 prefixes of 4,096 tokens, which are
// used unevenly, and up to four blocks of its own. The caches are too small for all of them.
// Prompts are whole blocks, and answers are short, because the real servers and their clients
// share a machine.
func short(seed uint64) workload {
	const (
		requests, rate       = 1200, 20 // requests/s
		prefixes, prefix     = 200, 8   // blocks
		mostOwn              = 4        // blocks
		leastAnswer, answers = 20, 60   // tokens
	)
	return workload{name: "short", endpoints: 4, stages: func() []stage {
		random := rand.New(rand.NewPCG(seed, 5)) //nolint:gosec // G404: a simulation
		s := stage{name: "all"}
		now := 0.0
		for i := range requests {
			now += random.ExpFloat64() / rate
			u := random.Float64()
			group := int(prefixes * u * u)
			sizes := [3]int{prefix * blockTokens, (1 + random.IntN(mostOwn)) * blockTokens, leastAnswer + random.IntN(answers)}
			s.requests = append(s.requests, sharedPrefix(seconds(now), group, prefixes+i, sizes))
		}
		return []stage{s}
	}}
}
