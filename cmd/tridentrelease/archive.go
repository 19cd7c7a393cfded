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

// sums writes SHA256SUMS of a folder's archives, in the format of sha256sum -c.
func sums(folder string) (err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.tar.gz"))
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	for _, path := range paths {
		all, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%x  %s\n", sha256.Sum256(all), filepath.Base(path)); err != nil {
			return err
		}
	}
	return nil
}
