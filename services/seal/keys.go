package seal

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/trident-inference/trident/services/configfield"
)

// FileField is the field of the configuration that names the file of keys.
const FileField configfield.Field = "openai.SealKeyFile"

// maxFile is the maximum size of a file of keys, in bytes.
const maxFile = 64 << 10

// New returns a random key.
func New() *Keys {
	var secret [keySize]byte
	_, _ = rand.Read(secret[:]) // it never fails
	k := &Keys{}
	k.ring.Store(&[]*key{newKey(secret)})
	return k
}

// Use replaces the random key by those of a file, if the name isn't empty. The file has one key per
// line, 32 bytes in base64. Empty lines and lines with the prefix # are ignored. Call it before the
// first text is sealed. Errors contain no key.
func (k *Keys) Use(file string) error {
	k.file = file
	apply, err := k.Prepare()
	if err == nil {
		apply()
	}
	return err
}

// Prepare reads the file of [Keys.Use] again. The new keys take effect when apply is called. Without
// a file, the random key stays. Errors contain no key.
func (k *Keys) Prepare() (apply func(), err error) {
	if k.file == "" {
		return func() {}, nil
	}
	ring, err := read(k.file)
	if err != nil {
		return nil, configfield.Textf("%s %s: %w", FileField, k.file, err)
	}
	return func() { k.ring.Store(&ring) }, nil
}

// Report logs the origin of the keys, and a warning if all users of the machine can read them. setting
// is the operators' name of the file's setting.
func (k *Keys) Report(log *slog.Logger, setting string) {
	if k.file == "" {
		log.Info("sealing reasoning with a random key: sealed reasoning in requests is ignored after a restart and by other replicas", "setting", setting)
		return
	}
	if info, err := os.Stat(k.file); err == nil && info.Mode().Perm()&0o004 != 0 {
		log.Warn("all users of this machine can read the file of seal keys: restrict its permissions", "file", k.file)
	}
	log.Info("loaded the seal keys", "keys", len(*k.ring.Load()))
}

func read(name string) ([]*key, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, errors.New("the file of seal keys can't be read: " + cause(err))
	}
	defer file.Close() //nolint:errcheck // nothing was written
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, errors.New("the file of seal keys can't be read: " + cause(err))
	case len(content) > maxFile:
		return nil, fmt.Errorf("the file of seal keys is larger than the maximum of %d bytes", maxFile)
	}
	return parse(content)
}

// cause returns the error without the path, which the message already has.
func cause(err error) string {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

func parse(content []byte) ([]*key, error) {
	var ring []*key
	number := 0
	for line := range bytes.Lines(content) {
		number++
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' {
			continue
		}
		secret, err := base64.StdEncoding.Strict().DecodeString(text)
		if err != nil || len(secret) != keySize {
			return nil, fmt.Errorf("line %d is not a seal key: a key is %d random bytes in base64, such as the output of: openssl rand -base64 %d", number, keySize, keySize)
		}
		ring = append(ring, newKey([keySize]byte(secret)))
	}
	if len(ring) == 0 {
		return nil, errors.New("the file of seal keys has no keys")
	}
	return ring, nil
}
