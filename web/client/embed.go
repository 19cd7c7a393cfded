// Package client contains @trident/client, the browser client of the typed services, as npm
// installs it. The folder dist is built from src by make generate, so that Go needs no Node.
package client

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

//go:embed LICENSE README.md package.json dist
var files embed.FS

// packed is the modification time of all files in npm's packages. A constant time gives equal
// archives for equal files.
var packed = time.Date(1985, time.October, 26, 8, 15, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

// Pack returns the package as npm pack builds it: a compressed archive whose files are in a folder
// "package". Equal files give equal bytes. Pack doesn't call npm, because the bytes of npm's
// archive depend on the zlib of its Node; no test could compare them with the source.
func Pack() ([]byte, error) {
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(zipped)
	err = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return add(archive, path)
	})
	if err != nil {
		return nil, fmt.Errorf("pack the client: %w", err)
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		return nil, fmt.Errorf("pack the client: %w", err)
	}
	return out.Bytes(), nil
}

func add(archive *tar.Writer, path string) error {
	content, err := files.ReadFile(path)
	if err != nil {
		return err
	}
	header := &tar.Header{Name: "package/" + path, Mode: 0o644, Size: int64(len(content)), ModTime: packed}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = archive.Write(content)
	return err
}
