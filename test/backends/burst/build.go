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

// libraryName is how Triton looks for a backend burst.
const libraryName = "libtriton_burst.so"

// sources is where the backend's source lies in the source tree.
const sources = "test/backends/burst/src"

// flags of the compiler. Triton's functions stay undefined until it opens the
// library.
const flags = "-std=c++17 -O2 -g -shared -fPIC -pthread -fvisibility=hidden -Wall -Wextra -Werror"

// build gives the path of the backend's library. It is named by what it is made
// of, so that an old one is never taken for a new one.
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
	_, _ = fmt.Fprintln(digest, compiler(), flags) // a hash takes all
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

// compiler is the one that CXX names, with its arguments, or g++.
func compiler() string {
	if named := os.Getenv("CXX"); named != "" {
		return named
	}
	return "g++"
}

// compile leaves the library whole or not at all, as others may look for it
// meanwhile.
func compile(ctx context.Context, from, library string) error {
	made, err := os.CreateTemp(filepath.Dir(library), "making-")
	if err != nil {
		return err
	}
	defer os.Remove(made.Name()) //nolint:errcheck // it has its name by then
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
