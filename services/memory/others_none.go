//go:build !linux

package memory

// measureOthers returns 0, because in-process Triton exists on Linux only.
func (*Monitor) measureOthers() (int64, error) { return 0, nil }
