package auth

import "os"

// FileStates are what tells whether files have changed: one element a file, nil for a
// file that can't be read.
type FileStates []os.FileInfo

// StateOf returns the current states of files.
func StateOf(names ...string) FileStates {
	s := make(FileStates, len(names))
	for i, name := range names {
		if info, err := os.Stat(name); err == nil { // follows links, as mounted secrets are links
			s[i] = info
		}
	}
	return s
}

// Equal reports whether no file has changed between s and other.
func (s FileStates) Equal(other FileStates) bool {
	for i, a := range s {
		b := other[i]
		if a == nil || b == nil {
			if a != b {
				return false
			}
		} else if !os.SameFile(a, b) || a.Size() != b.Size() || !a.ModTime().Equal(b.ModTime()) {
			return false
		}
	}
	return true
}
