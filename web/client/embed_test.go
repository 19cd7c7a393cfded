package client_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/trident-inference/trident/web/client"
)

// TestPack checks that the package contains each file unchanged, and that a second call returns
// equal bytes.
func TestPack(t *testing.T) {
	pack, err := client.Pack()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := client.Pack(); err != nil || !bytes.Equal(pack, again) {
		t.Errorf("the second call returned other bytes, or an error: %v", err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(pack))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	archive := tar.NewReader(plain)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		name := header.Name[len("package/"):]
		if want, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from the file of the source tree, or can't be read: %v", header.Name, err)
		}
		seen[header.Name] = true
	}
	for _, name := range []string{"package.json", "LICENSE", "README.md", "dist/index.js", "dist/index.d.ts", "dist/gen/trident/v1/chat_pb.js"} {
		if !seen["package/"+name] {
			t.Errorf("the package lacks the file %s", name)
		}
	}
}
