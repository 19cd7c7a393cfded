package auth

import "os"

// FileStates are the states of files, to detect changes. They have one element per
// file, which is nil if the file can't be read.
type FileStates []os.FileInfo

// StateOf returns the current states of files.
func StateOf(names ...string) FileStates {
	s := make(FileStates, len(names))
	for i, name := range names {
		if info, err := os.Stat(name); err == nil { // follows links, since mounted secrets are links
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
