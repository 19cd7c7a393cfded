// Package pause waits in tests and in measuring programs: for a time, or for a condition that
// another goroutine or process makes true. The caller decides what an unmet condition means.
package pause

import (
	"context"
	"time"
)

// every is the time between two checks of a condition.
const every = 5 * time.Millisecond

// For waits for a duration. It returns ctx's error if ctx ends first, or has ended before.
func For(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Until waits for a condition, and reports whether it was met within the limit. It checks the
// condition at once, every 5 ms, and once more after the limit.
func Until(limit time.Duration, met func() bool) bool {
	late := time.NewTimer(limit)
	defer late.Stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !met() {
		select {
		case <-tick.C:
		case <-late.C:
			return met()
		}
	}
	return true
}
