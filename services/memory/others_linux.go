package memory

import (
	"fmt"
	"os"

	"github.com/prometheus/procfs"
)

// measureOthers returns the memory of this process outside of Go, plus that of all its child
// processes, in bytes. Pages of files aren't counted, because the system drops them when memory is
// short. Shared memory is counted for each process that shares it.
func (m *Monitor) measureOthers() (int64, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, fmt.Errorf("open /proc: %w", err)
	}
	all, err := fs.AllProcs()
	if err != nil {
		return 0, fmt.Errorf("list the processes in /proc: %w", err)
	}
	children := map[int][]procfs.Proc{}
	for _, p := range all {
		if stat, err := p.Stat(); err == nil { // skip processes that have ended
			children[stat.PPID] = append(children[stat.PPID], p)
		}
	}
	self, err := fs.Self()
	if err != nil {
		return 0, fmt.Errorf("find this process in /proc: %w", err)
	}
	own, err := anonymous(self)
	if err != nil {
		return 0, err
	}
	bytes := max(0, own-m.sample().resident)
	for line := children[os.Getpid()]; len(line) > 0; line = line[1:] {
		if held, err := anonymous(line[0]); err == nil {
			bytes += held
		}
		line = append(line, children[line[0].PID]...)
	}
	return bytes, nil
}

// anonymous returns a process's resident memory without file pages, in bytes.
func anonymous(p procfs.Proc) (int64, error) {
	status, err := p.NewStatus()
	if err != nil {
		return 0, fmt.Errorf("read the status of process %d: %w", p.PID, err)
	}
	return int64(status.RssAnon + status.RssShmem), nil
}
