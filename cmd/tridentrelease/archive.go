package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is a file to put into a release archive: its path on disk and its path in the archive.
type file struct {
	from, to string
	mode     int64
}

// archive writes a tar.gz whose bytes depend only on the files and the time.
func archive(path string, files []file, at time.Time) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	zipped, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	tape := tar.NewWriter(zipped)
	sorted := slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.to, b.to) })
	for _, f := range sorted {
		if err := add(tape, f, at); err != nil {
			return fmt.Errorf("%s: %w", f.from, err)
		}
	}
	return errors.Join(tape.Close(), zipped.Close())
}

func add(tape *tar.Writer, f file, at time.Time) error {
	link, err := os.Readlink(f.from)
	if err == nil {
		return tape.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: f.to, Linkname: link, Mode: 0o777, ModTime: at, Format: tar.FormatUSTAR})
	}
	in, err := os.Open(f.from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it was read
	info, err := in.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: f.to, Size: info.Size(), Mode: f.mode, ModTime: at, Format: tar.FormatUSTAR}
	if err := tape.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(tape, in)
	return err
}

// checksums is the name of the file with the checksums of the others.
const checksums = "SHA256SUMS"

// ofRelease reports whether an entry of a folder is a file of a release, of any version, or the signature of one.
// `make docs` and others may keep their own files and folders in the same folder.
func ofRelease(entry os.DirEntry) bool {
	return entry.Type().IsRegular() && slices.ContainsFunc([]string{"trident_", "trident-", "provenance.", checksums}, func(prefix string) bool {
		return strings.HasPrefix(entry.Name(), prefix)
	})
}

// removeRelease removes the files of a previous release from a folder, and leaves everything else.
func removeRelease(folder string) error {
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		if ofRelease(entry) {
			err = errors.Join(err, os.Remove(filepath.Join(folder, entry.Name())))
		}
	}
	return err
}

// sums writes the checksums of all files of the release in a folder, in the format of sha256sum -c.
func sums(folder string) (err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, entry := range entries {
		if !ofRelease(entry) || strings.HasPrefix(entry.Name(), checksums) {
			continue
		}
		all, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(all), entry.Name())
	}
	return os.WriteFile(filepath.Join(folder, checksums), []byte(lines.String()), 0o644) //nolint:gosec // published
}
