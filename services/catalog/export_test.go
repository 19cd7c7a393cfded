package catalog

import "sync/atomic"

// CountLookups returns the count of lookups of models by name from now on. It must be called
// before there are requests.
func (c *Catalog) CountLookups() *atomic.Int64 {
	count := &atomic.Int64{}
	c.looked = func() { count.Add(1) }
	return count
}
