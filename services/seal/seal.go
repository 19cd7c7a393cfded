// Package seal encrypts texts that clients keep for the server and send back later. A sealed text
// can only be opened with the key that sealed it, for the same owner, and not if it was changed. The
// package has the form of sealed texts and the keys. Which texts are sealed, and what happens to those
// that can't be opened, belongs to the frontends.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"sync/atomic"
)

// A sealed text is the prefix, which has the version of the form, and unpadded URL-safe base64 of:
//
//	key id (4 bytes) | salt (16) | nonce (12) | ciphertext | tag (16)
//
// Each text has its own AES-256-GCM key, derived by HKDF-SHA-256 from the secret of the key id and the
// salt. Replicas thus share a secret without a limit on the number of random nonces. The owner is
// authenticated as additional data.
const (
	prefix    = "tri1."
	idSize    = 4
	saltSize  = 16
	nonceSize = 12
	tagSize   = 16
	keySize   = 32
	overhead  = idSize + saltSize + nonceSize + tagSize
)

// Errors of [Keys.Open]. The texts follow the name of a field.
var (
	// ErrForeign is returned for a text that isn't a sealed text of this program's form.
	ErrForeign = errors.New("was not sealed by this server")
	// ErrKey is returned for a text that was sealed with another key.
	ErrKey = errors.New("was sealed with a key that this server does not have")
	// ErrBroken is returned for a text that was changed, or that belongs to another owner.
	ErrBroken = errors.New("was changed, or was sealed for another client")
)

// key is a secret with its id.
type key struct {
	id     [idSize]byte
	secret [keySize]byte
}

// newKey returns the key of a secret. The id reveals nothing about the secret.
func newKey(secret [keySize]byte) *key {
	k := &key{secret: secret}
	digest := sha256.Sum256(append([]byte("trident seal key id\x00"), secret[:]...))
	copy(k.id[:], digest[:])
	return k
}

// aead returns the cipher of the text with this salt.
func (k *key) aead(salt []byte) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, k.secret[:], salt, "trident seal 1", keySize)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Keys are the keys that seal and open texts. The methods may be called concurrently.
type Keys struct {
	file string
	ring atomic.Pointer[[]*key] // the first key seals, all open; never empty
}

// Seal returns the sealed text. Only the owner's texts can be opened for the owner. The error is nil
// unless the process's cryptography is broken.
func (k *Keys) Seal(text, owner string) (string, error) {
	sealing := (*k.ring.Load())[0]
	out := make([]byte, idSize+saltSize+nonceSize, overhead+len(text))
	copy(out, sealing.id[:])
	_, _ = rand.Read(out[idSize:]) // it never fails
	aead, err := sealing.aead(out[idSize : idSize+saltSize])
	if err != nil {
		return "", err
	}
	out = aead.Seal(out, out[idSize+saltSize:], []byte(text), additional(owner))
	return prefix + base64.RawURLEncoding.EncodeToString(out), nil
}

// Open returns the text of a sealed text. The error is [ErrForeign], [ErrKey] or [ErrBroken].
func (k *Keys) Open(sealed, owner string) (string, error) {
	if len(sealed) < len(prefix) || sealed[:len(prefix)] != prefix {
		return "", ErrForeign
	}
	in, err := base64.RawURLEncoding.Strict().DecodeString(sealed[len(prefix):])
	if err != nil || len(in) < overhead || strings.ContainsAny(sealed, "\r\n") { // which the decoder skips
		return "", ErrBroken
	}
	result := ErrKey
	for _, key := range *k.ring.Load() {
		if [idSize]byte(in) != key.id {
			continue
		}
		aead, err := key.aead(in[idSize : idSize+saltSize])
		if err != nil {
			return "", ErrBroken
		}
		text, err := aead.Open(nil, in[idSize+saltSize:overhead-tagSize], in[overhead-tagSize:], additional(owner))
		if err == nil {
			return string(text), nil
		}
		result = ErrBroken
	}
	return "", result
}

// additional returns the data that are authenticated with a text of the owner.
func additional(owner string) []byte { return append([]byte(prefix), owner...) }
