package fleet

import "time"

// windowSeconds is the time in which answers, requests and repeats are counted.
const windowSeconds = 10

// window has two counts of each of the last seconds: of answers without and with failures, or of
// requests and repeats. The caller must serialize its methods.
type window [windowSeconds]struct {
	at     int64 // Unix time; the counts of another second are void
	counts [2]int
}

// add adds one to a count.
func (w *window) add(count int, now time.Time) {
	s := &w[now.Unix()%windowSeconds]
	if s.at != now.Unix() {
		s.at, s.counts = now.Unix(), [2]int{}
	}
	s.counts[count]++
}

// sum returns both counts of the last seconds.
func (w *window) sum(now time.Time) (first, second int) {
	for i := range w {
		if now.Unix()-w[i].at < windowSeconds {
			first, second = first+w[i].counts[0], second+w[i].counts[1]
		}
	}
	return first, second
}
