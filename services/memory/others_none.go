//go:build !linux

package memory

// measureOthers returns nothing: Triton runs in this process on Linux only.
func (*Monitor) measureOthers() (int64, error) { return 0, nil }
