package burst

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// libraryName is the file name by which Triton finds the backend burst.
const libraryName = "libtriton_burst.so"

// sources is the folder of the backend's source in the source tree.
const sources = "test/backends/burst/src"

// flags are the compiler flags. Triton's functions stay undefined until it opens the library.
const flags = "-std=c++17 -O2 -g -shared -fPIC -pthread -fvisibility=hidden -Wall -Wextra -Werror"

// build returns the path of the backend's library. The name contains a hash of the source and the
// compiler, so that an old library is never used for new source.
func build(ctx context.Context) (string, error) {
	root, err := tritonserver.SourceRoot()
	if err != nil {
		return "", err
	}
	from := filepath.Join(root, filepath.FromSlash(sources))
	digest, err := digestOf(from)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, ".cache", "burst")
	library := filepath.Join(dir, digest+".so")
	if _, err := os.Stat(library); err == nil {
		return library, nil
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	return library, compile(ctx, from, library)
}

func digestOf(dir string) (string, error) {
	digest := sha256.New()
	_, _ = fmt.Fprintln(digest, compiler(), flags) // writing to a hash never fails
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return "", err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintln(digest, filepath.Base(name), len(text))
		digest.Write(text)
	}
	return hex.EncodeToString(digest.Sum(nil))[:16], nil
}

// compiler returns the compiler that CXX names, with its arguments, or g++.
func compiler() string {
	if named := os.Getenv("CXX"); named != "" {
		return named
	}
	return "g++"
}

// compile writes the library atomically, because other processes may look for it at the same time.
func compile(ctx context.Context, from, library string) error {
	made, err := os.CreateTemp(filepath.Dir(library), "making-")
	if err != nil {
		return err
	}
	defer os.Remove(made.Name()) //nolint:errcheck // it has been renamed by then
	if err := made.Close(); err != nil {
		return err
	}
	args := append(strings.Fields(compiler()+" "+flags), "-o", made.Name(), filepath.Join(from, "burst.cc"))
	text, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput() //nolint:gosec // the user's own compiler
	if err != nil {
		return fmt.Errorf("build the backend with %s (apt-get install g++, or set CXX): %w\n%s", compiler(), err, text)
	}
	return os.Rename(made.Name(), library)
}
