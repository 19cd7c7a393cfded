package admission

import (
	"cmp"
	"slices"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// client is what the admission knows of whom requests are from.
type client struct {
	scope

	queue []*Ticket // that wait, the first one's turn first
}

// next is the client's first request that there is a place for.
func (c *client) next() *Ticket {
	if !c.room() {
		return nil
	}
	for _, t := range c.queue {
		if t.model == nil || t.model.room() {
			return t
		}
	}
	return nil
}

func (c *client) add(t *Ticket) {
	at, _ := slices.BinarySearchFunc(c.queue, t.rank, func(other *Ticket, rank int64) int {
		return cmp.Or(cmp.Compare(other.rank, rank), -1) // behind its like
	})
	c.queue = slices.Insert(c.queue, at, t)
}

func (c *client) remove(t *Ticket) {
	at := slices.Index(c.queue, t)
	c.queue = slices.Delete(c.queue, at, at+1)
}

// A step of priority is worth this much time in the queue, and there are so many
// steps: who comes later by more than that is never served first, so that none waits
// for ever.
const (
	priorityStep  = time.Second
	prioritySteps = 60
)

// rankOf orders a client's requests: by when they came, as far as their priorities
// don't say else. The smaller priority is served first, as by Triton and vLLM.
func (a *Controller) rankOf(now time.Time, priority int64) int64 {
	steps := min(max(priority, -prioritySteps), prioritySteps)
	return int64(now.Sub(a.began) + time.Duration(steps)*priorityStep)
}

// enqueue has a request wait.
func (a *Controller) enqueue(t *Ticket) {
	if len(t.client.queue) == 0 {
		a.ring = append(a.ring, t.client)
	}
	t.client.add(t)
	t.each(func(s *scope) { s.waiting++ })
	t.Measure.Wait(1)
}

// withdraw ends the waiting of a request.
func (a *Controller) withdraw(t *Ticket) {
	t.client.remove(t)
	t.each(func(s *scope) { s.waiting-- })
	t.Measure.Wait(-1)
	if len(t.client.queue) == 0 {
		at := slices.Index(a.ring, t.client)
		a.ring = slices.Delete(a.ring, at, at+1)
	}
}

// grant gives the places that are free to those who wait, one to each client by turns.
func (a *Controller) grant() {
	for i := 0; i < len(a.ring) && a.server.room() && !a.closed; {
		c := a.ring[i]
		t := c.next()
		if t == nil {
			i++
			continue
		}
		a.withdraw(t)
		if len(c.queue) > 0 {
			a.ring = append(slices.Delete(a.ring, i, i+1), c)
		}
		a.seat(t)
		t.placed = true
		close(t.turn)
	}
}

// greedy is the client that has most requests in the queue, if it has more than this
// one will have: then one of them must make room in a queue that is full.
func (a *Controller) greedy(c *client) *client {
	if len(a.ring) == 0 {
		return nil
	}
	most := slices.MaxFunc(a.ring, func(x, y *client) int { return cmp.Compare(x.waiting, y.waiting) })
	if most.waiting <= c.waiting+1 {
		return nil
	}
	return most
}

// evict refuses the client's last request after all.
func (a *Controller) evict(c *client) {
	t := c.queue[len(c.queue)-1]
	t.refused = a.server.full()
	a.withdraw(t)
	close(t.turn)
}

// PriorityOf returns the priority of a request in the queue: the one that it asks for, or else
// the default level of the model.
func PriorityOf(config *kserve.ModelConfig, asked int64) int64 {
	if asked == 0 {
		return int64(min(config.GetDynamicBatching().GetDefaultPriorityLevel(), prioritySteps))
	}
	return asked
}
