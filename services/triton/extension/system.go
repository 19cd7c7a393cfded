package extension

import (
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/trident-inference/trident/services/inference"
)

// folder is the folder in which Linux shows POSIX shared memory objects.
const folder = "/dev/shm/"

// system is a mapped part of a shared memory object. The file stays open for
// checks of its size.
type system struct {
	file    int
	address unsafe.Pointer
	length  uintptr
}

// openSystem maps a part of the object that a key names.
func openSystem(name, key string, offset, size uint64) (s system, err error) {
	if s.file, err = openKey(key); err != nil {
		return s, failed(inference.CodeInternal, "Unable to open shared memory region: '%s'", key)
	}
	if offset+size < offset || !s.holds(offset+size) {
		_ = unix.Close(s.file)
		return s, invalid("failed to register shared memory region '%s': invalid args", name)
	}
	// The file is at least offset+size bytes long, so both values fit the
	// narrower types.
	s.length = uintptr(size)
	s.address, err = unix.MmapPtr(s.file, int64(offset), nil, s.length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = unix.Close(s.file)
		return s, invalid("failed to register shared memory region '%s': unable to process address space%s", name, systemErrorText(err))
	}
	return s, nil
}

// openKey opens a key as shm_open(3) does with O_RDWR. The key names a file in
// the folder.
func openKey(key string) (int, error) {
	name := strings.TrimLeft(key, "/")
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
		return -1, unix.EINVAL
	}
	return unix.Open(folder+name, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// holds reports whether the file has at least this number of bytes.
func (s system) holds(bytes uint64) bool {
	var stat unix.Stat_t
	return unix.Fstat(s.file, &stat) == nil && stat.Size >= 0 && bytes <= uint64(stat.Size)
}

func (s system) close() error {
	err := unix.MunmapPtr(s.address, s.length)
	if closed := unix.Close(s.file); err == nil {
		err = closed
	}
	if err != nil {
		return failed(inference.CodeInternal, "unable to munmap shared memory region, errno: %s", systemErrorText(err))
	}
	return nil
}

// systemErrorText formats a system error as the C library does.
func systemErrorText(err error) string {
	text := err.Error()
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
