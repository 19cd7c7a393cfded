package catalog

import "sync/atomic"

// CountLookups returns a counter of lookups of models by name from now on. It must be called before
// the first request.
func (c *Catalog) CountLookups() *atomic.Int64 {
	count := &atomic.Int64{}
	c.onLookup = func() { count.Add(1) }
	return count
}
