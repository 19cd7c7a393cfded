package grpcconn

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// pollInterval and longInterval are times between two polls of a connection, and the time by
	// which polling delays a message at most. The long one is for streams with a message every
	// fastStream or less, of which a poll then finds several.
	pollInterval = 1 * time.Millisecond
	longInterval = 2 * time.Millisecond
	fastStream   = 2 * time.Millisecond
	// A connection with manyCalls calls or more is polled from the time on that watchedReads reads take
	// less than busyTime and return smallRead bytes or fewer each on average. With fewer calls, the wait
	// for the first message of a new one would be most of its time.
	manyCalls    = 8
	watchedReads = 32
	busyTime     = 4 * time.Millisecond
	smallRead    = 4 << 10
	// quietBytes is the average number of bytes per interval below which a connection is no longer
	// polled: about two messages of a token each.
	quietBytes = 300
	// pollLowWater is the number of bytes that may arrive at a polled connection before the kernel wakes
	// anything. It is below half of the least receive buffer, which it would otherwise enlarge.
	pollLowWater = 32 << 10
)

// Polled is a connection whose reader polls it at intervals while small
// messages arrive in quick succession. Otherwise each of them wakes a thread, which costs more
// than the message itself: the sender, which wakes it, pays too. Network drivers do the same (NAPI).
// While few messages arrive, a read returns with the first one.
//
// One goroutine calls Read and Found. The other methods may be called concurrently.
type Polled struct {
	net.Conn
	raw   syscall.RawConn
	timer *os.File // has eight bytes to read after each interval; runtime timers are only precise to a millisecond

	// The reader's own state.
	polling  bool
	interval time.Duration
	full     bool    // the last read filled its buffer
	mean     int     // bytes in an interval, a moving average
	each     float64 // messages of a stream in a second, a moving average
	calls    int     // calls in progress
	reads    int     // reads since the time since, while the connection isn't polled
	bytes    int     // what they returned
	since    time.Time
}

// Poll returns a connection that reads from conn, and that polls it while many small messages
// arrive. It returns nil if conn isn't a TCP connection or can't be polled.
func Poll(conn net.Conn) *Polled {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	return &Polled{Conn: conn, raw: raw, timer: os.NewFile(uintptr(timer), "timerfd")}
}

// Read implements [net.Conn].
func (p *Polled) Read(b []byte) (int, error) {
	for p.polling {
		n, err := p.poll(b)
		if n > 0 || err != nil {
			return n, err
		}
	}
	n, err := p.Conn.Read(b)
	p.watch(n)
	return n, err
}

// Close implements [net.Conn].
func (p *Polled) Close() error {
	return errors.Join(p.timer.Close(), p.Conn.Close())
}

// watch decides after a read of n bytes whether the next ones are polled.
func (p *Polled) watch(n int) {
	if p.reads == 0 {
		p.since = time.Now()
	}
	p.reads++
	p.bytes += n
	if p.reads < watchedReads {
		return
	}
	small := p.bytes <= watchedReads*smallRead
	p.reads, p.bytes = 0, 0
	if small && p.calls >= manyCalls && time.Since(p.since) < busyTime {
		p.polling, p.full, p.mean, p.each = true, false, smallRead, 0
		p.setLowWater(pollLowWater)
		p.every(pollInterval)
	}
}

// poll waits for the end of the interval and reads what has arrived, which may be nothing.
func (p *Polled) poll(b []byte) (int, error) {
	if !p.full {
		var intervals [8]byte
		if _, err := p.timer.Read(intervals[:]); err != nil {
			return 0, err
		}
	}
	n, err := p.readNow(b)
	if p.full = n == len(b); !p.full {
		p.mean += (n - p.mean) / 8 //nolint:mnd // the weight of the newest interval
	}
	if p.mean < quietBytes {
		p.stop()
	}
	return n, err
}

// stop ends the polling.
func (p *Polled) stop() {
	p.polling = false
	p.every(0)
	p.setLowWater(1)
}

// readNow reads what has arrived, without waiting.
func (p *Polled) readNow(b []byte) (int, error) {
	var n int
	var err error
	if ended := p.raw.Read(func(fd uintptr) bool {
		n, err = unix.Read(int(fd), b)
		return true
	}); ended != nil {
		return 0, ended
	}
	switch {
	case err == unix.EAGAIN, err == unix.EINTR:
		return 0, nil
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Found takes the number of messages that the last poll found, and of the calls in progress. The
// interval follows from them, and a connection with few calls is no longer polled.
func (p *Polled) Found(messages, calls int) {
	p.calls = calls
	if !p.polling {
		return
	}
	if calls < manyCalls {
		p.stop()
		return
	}
	each := float64(messages) / float64(calls) / p.interval.Seconds()
	p.each += (each - p.each) / 8 //nolint:mnd // the weight of the newest interval
	switch fast := 1 / fastStream.Seconds(); {
	case p.interval == pollInterval && p.each > fast:
		p.every(longInterval)
	case p.interval == longInterval && p.each < fast/2: //nolint:mnd // not back at once
		p.every(pollInterval)
	}
}

// every sets the interval. Zero ends it.
func (p *Polled) every(interval time.Duration) {
	p.interval = interval
	timer, err := p.timer.SyscallConn()
	if err != nil {
		return // closed
	}
	t := unix.NsecToTimespec(int64(interval))
	_ = timer.Control(func(fd uintptr) {
		_ = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Interval: t, Value: t}, nil)
	})
}

// setLowWater sets the number of bytes from which on the kernel reports that the connection is readable
// (SO_RCVLOWAT). If it fails, the reader is woken more often.
func (p *Polled) setLowWater(least int) {
	_ = p.raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, least)
	})
}
