package admission

import (
	"cmp"
	"slices"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// client is the admission state of one client.
type client struct {
	scope

	queue []*Ticket // waiting requests in the order of service
}

// next returns the client's first queued request that can get a slot, or nil.
func (c *client) next() *Ticket {
	if !c.hasCapacity() {
		return nil
	}
	for _, t := range c.queue {
		if t.model == nil || t.model.hasCapacity() {
			return t
		}
	}
	return nil
}

func (c *client) add(t *Ticket) {
	at, _ := slices.BinarySearchFunc(c.queue, t.rank, func(other *Ticket, rank int64) int {
		return cmp.Or(cmp.Compare(other.rank, rank), -1) // requests of equal rank keep their order
	})
	c.queue = slices.Insert(c.queue, at, t)
}

func (c *client) remove(t *Ticket) {
	at := slices.Index(c.queue, t)
	c.queue = slices.Delete(c.queue, at, at+1)
}

// priorityStep is the queueing time that one step of priority is worth. Priorities are capped at
// ±prioritySteps to prevent starvation: a request that arrives more than 2*prioritySteps*priorityStep
// (two minutes) later is never served first.
const (
	priorityStep  = time.Second
	prioritySteps = 60
)

// rankOf returns the rank of a request among its client's requests: its arrival time, shifted by
// its priority. A smaller priority is served first, as in Triton and vLLM.
func (a *Controller) rankOf(now time.Time, priority int64) int64 {
	steps := min(max(priority, -prioritySteps), prioritySteps)
	return int64(now.Sub(a.began) + time.Duration(steps)*priorityStep)
}

// enqueue adds a request to the queue.
func (a *Controller) enqueue(t *Ticket) {
	if len(t.client.queue) == 0 {
		a.roundRobin = append(a.roundRobin, t.client)
	}
	t.client.add(t)
	t.each(func(s *scope) { s.waiting++ })
	t.Measure.Wait(1)
}

// withdraw removes a request from the queue.
func (a *Controller) withdraw(t *Ticket) {
	t.client.remove(t)
	t.each(func(s *scope) { s.waiting-- })
	t.Measure.Wait(-1)
	if len(t.client.queue) == 0 {
		at := slices.Index(a.roundRobin, t.client)
		a.roundRobin = slices.Delete(a.roundRobin, at, at+1)
	}
}

// grant assigns free slots to queued requests, one for each client in turn (round robin).
func (a *Controller) grant() {
	for i := 0; i < len(a.roundRobin) && a.server.hasCapacity() && !a.closed; {
		c := a.roundRobin[i]
		t := c.next()
		if t == nil {
			i++
			continue
		}
		a.withdraw(t)
		if len(c.queue) > 0 {
			a.roundRobin = append(slices.Delete(a.roundRobin, i, i+1), c)
		}
		a.countSlot(t)
		t.placed = true
		close(t.turn)
	}
}

// longestQueue returns the client with the most queued requests, if it has more than c will have. In a
// full queue, one of its requests must make room for c. Otherwise longestQueue returns nil.
func (a *Controller) longestQueue(c *client) *client {
	if len(a.roundRobin) == 0 {
		return nil
	}
	most := slices.MaxFunc(a.roundRobin, func(x, y *client) int { return cmp.Compare(x.waiting, y.waiting) })
	if most.waiting <= c.waiting+1 {
		return nil
	}
	return most
}

// evict refuses the client's last queued request.
func (a *Controller) evict(c *client) {
	t := c.queue[len(c.queue)-1]
	t.refused = a.server.full()
	a.withdraw(t)
	close(t.turn)
}

// PriorityOf returns the priority of a request in the queue: the requested one, or else the model's
// default level.
func PriorityOf(config *kserve.ModelConfig, asked int64) int64 {
	if asked == 0 {
		return int64(min(config.GetDynamicBatching().GetDefaultPriorityLevel(), prioritySteps))
	}
	return asked
}
