package auth

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
)

// maxKey is the maximum length of a key, in bytes.
const maxKey = 512

// hashPrefix is the prefix of a hashed key: a key of which only the digest is stored.
const hashPrefix = "sha256:"

// HashKey returns the hash that can replace a key in a key file.
func HashKey(key string) (string, error) {
	digest, err := digestOf(key)
	if err != nil {
		return "", err
	}
	return hashPrefix + hex.EncodeToString(digest[:]), nil
}

// keyCheckInterval is the minimum interval between checks of the key file for changes.
const keyCheckInterval = time.Second

// HiddenKey replaces keys in printed settings. HiddenKey itself isn't accepted as a key.
const HiddenKey = "***"

// keys are the accepted API keys. Only their digests are kept.
type keys struct {
	given   []Secret // keys set by a flag or an environment variable
	file    string   // path of the key file; empty if there is none
	log     *slog.Logger
	keyring atomic.Pointer[keyring]
	now     func() time.Time // the clock by which keys expire

	// began is the creation time of keys. Times since began use the monotonic clock, so that
	// setting the wall clock back delays no check.
	began time.Time
	next  atomic.Int64 // time of the next check of the key file, in nanoseconds since began

	reloading sync.Mutex
	section   KeySection
	seen      FileStates // state of the key file at the latest read
}

// KeySection has the clients and keys of the settings file. The zero value has none.
type KeySection struct {
	// File is the settings file, for a warning if other users can read it.
	File string

	entries []KeyEntry
	keyring *keyring // keyring of the entries; adding an entry to the keyring validates the entry
}

// Add appends an entry. Its errors contain no key.
func (s *KeySection) Add(entry KeyEntry) error {
	if s.keyring == nil {
		s.keyring = newKeyring()
	}
	if err := s.keyring.add(entry, nil); err != nil {
		return err
	}
	s.entries = append(s.entries, entry)
	return nil
}

// keyring finds credentials by the first 8 bytes of their digests. The time of this lookup
// reveals nothing about the other bytes.
type keyring struct {
	credentials map[uint64][]credential
	clients     map[string]*inference.Client
}

type credential struct {
	digest  [sha256.Size]byte
	client  *inference.Client
	expires time.Time // zero for never
}

func newKeyring() *keyring {
	return &keyring{credentials: map[uint64][]credential{}, clients: map[string]*inference.Client{}}
}

func newKeys(given []Secret, file string, section KeySection, log *slog.Logger) (*keys, error) {
	k := &keys{given: given, file: file, log: log, now: time.Now, began: time.Now()}
	k.keyring.Store(newKeyring())
	apply, err := k.prepare(section)
	if err != nil {
		return nil, err
	}
	apply()
	return k, nil
}

// required reports whether a request needs a key, which is so if there are any.
func (k *keys) required() bool { return len(k.keyring.Load().clients) > 0 }

// client returns the client whose key is in the header values of a request.
func (k *keys) client(values func(name string) []string) (*inference.Client, error) {
	k.reloadIfChanged()
	key := requestKey(values)
	if key == "" {
		return nil, errKey("an API key is needed: send it as Authorization: Bearer KEY")
	}
	if len(key) <= maxKey {
		var text [maxKey]byte
		digest := sha256.Sum256(text[:copy(text[:], key)])
		for _, c := range k.keyring.Load().credentials[prefixOf(digest)] {
			if subtle.ConstantTimeCompare(c.digest[:], digest[:]) != 1 {
				continue
			}
			if !c.expires.IsZero() && !k.now().Before(c.expires) {
				return nil, errKey("this API key has expired")
			}
			return c.client, nil
		}
	}
	return nil, errKey("Incorrect API key provided")
}

func errKey(message string) error {
	return &inference.Error{Code: inference.CodeUnauthenticated, Reason: inference.ReasonInvalidKey, Message: message}
}

// requestKey returns the key of a request, from OpenAI's header or from the headers that
// clients of Azure and of other APIs send. A header that occurs twice is ignored.
func requestKey(values func(name string) []string) string {
	if all := values("authorization"); len(all) == 1 {
		if scheme, key, _ := strings.Cut(all[0], " "); strings.EqualFold(scheme, "bearer") {
			return strings.TrimSpace(key)
		}
	}
	for _, name := range []string{"api-key", "x-api-key"} {
		if all := values(name); len(all) == 1 {
			return strings.TrimSpace(all[0])
		}
	}
	return ""
}

func prefixOf(digest [sha256.Size]byte) uint64 { return binary.LittleEndian.Uint64(digest[:]) }

// reloadIfChanged reads the key file again if it has changed, at most once a second. While one
// request reads the file, concurrent requests use the current keys.
func (k *keys) reloadIfChanged() {
	if k.file == "" {
		return
	}
	elapsed := time.Since(k.began)
	if int64(elapsed) < k.next.Load() || !k.reloading.TryLock() {
		return
	}
	defer k.reloading.Unlock()
	k.next.Store(int64(elapsed + keyCheckInterval))
	if StateOf(k.file).Equal(k.seen) {
		return
	}
	next, seen, err := k.read(k.section)
	k.seen = seen
	if err != nil {
		k.log.Error("the changed key file can't be used: the previous API keys stay in use", "error", err)
		return
	}
	k.take(next)
}

// prepare reads all keys, with the section's current entries, and returns the function
// that applies them.
func (k *keys) prepare(section KeySection) (apply func(), err error) {
	k.reloading.Lock()
	defer k.reloading.Unlock()
	next, seen, err := k.read(section)
	if err != nil {
		return nil, err
	}
	if len(next.clients) == 0 && k.required() {
		return nil, errors.New("keys: refusing to reload: no API keys remain, which would disable authentication: restart the server to do that")
	}
	return func() {
		k.reloading.Lock()
		defer k.reloading.Unlock()
		k.section, k.seen = section, seen // the next look reads a file that has changed since
		k.take(next)
	}, nil
}

// read builds a keyring of all keys. Clients whose entries haven't changed keep their
// identity.
func (k *keys) read(section KeySection) (next *keyring, seen FileStates, err error) {
	if k.file != "" {
		seen = StateOf(k.file) // the state is from before the read, so that the next look detects a concurrent change
	}
	next, old := newKeyring(), k.keyring.Load()
	for _, key := range k.given {
		if err := next.add(KeyEntry{Key: oneOrMore{string(key)}}, old); err != nil {
			return nil, seen, configfield.Errorf("auth.APIKeys", "%w", err)
		}
	}
	if k.file != "" {
		if err := next.read(k.file, old); err != nil {
			return nil, seen, configfield.Textf("%s %s: %w", configfield.Field("auth.APIKeysFile"), k.file, err)
		}
	}
	for i, entry := range section.entries {
		if err := next.add(entry, old); err != nil {
			where := "keys"
			if section.File != "" {
				where = section.File + ": keys"
			}
			return nil, seen, fmt.Errorf("%s: entry %d: %w", where, i+1, err)
		}
	}
	return next, seen, nil
}

// take makes next the current keyring. The caller holds looking.
func (k *keys) take(next *keyring) {
	for _, file := range []string{k.file, k.section.File} {
		if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o004 != 0 {
			k.log.Warn("all users of this machine can read the key file: restrict its permissions", "file", file)
		}
	}
	if before := k.keyring.Swap(next); len(next.clients) > 0 || len(before.clients) > 0 {
		k.log.Info("loaded the API keys", "clients", len(next.clients))
	}
}

// KeyEntry is the entry of a client in a key file.
type KeyEntry struct {
	// Name is the client's name in the log. If it is empty, it is derived from the hash
	// of the key.
	Name string `yaml:"name"`
	// Key has the client's key or keys, or their hashes.
	Key oneOrMore `yaml:"key"`
	// Models are the models that the client may use, by their request names. Nil allows
	// all models, an empty list allows none.
	Models []string `yaml:"models"`
	// Expires is the time at which the keys expire. The zero time means that the keys never expire.
	Expires time.Time `yaml:"expires"`
	Limits  KeyLimits `yaml:"limits"`
}

// KeyLimits are the limits of a client; 0 means no limit.
type KeyLimits struct {
	InFlight int     `yaml:"in_flight"`
	Queued   int     `yaml:"queued"`
	Rate     float64 `yaml:"rate"` // requests a second
	Burst    int     `yaml:"burst"`
	// TokensPerMinute are tokens of prompts and answers.
	TokensPerMinute int `yaml:"tokens_per_minute"`
}

// oneOrMore are the keys of a client. A client has two keys while one replaces the
// other.
type oneOrMore []string

// UnmarshalYAML implements [yaml.Unmarshaler].
func (o *oneOrMore) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*o = oneOrMore{node.Value}
		return nil
	}
	return node.Decode((*[]string)(o))
}

func (r *keyring) read(file string, old *keyring) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return errors.New("the API keys file can't be read: " + causeOf(err))
	}
	entries, err := entriesOf(content)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return errors.New("the API keys file has no keys")
	}
	for i, entry := range entries {
		if err := r.add(entry, old); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	return nil
}

// causeOf returns the error without the path, which the message already has.
func causeOf(err error) string {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// yamlLine matches the line number in YAML's errors. The other parts of an error of YAML may
// quote a key.
var yamlLine = regexp.MustCompile(`line \d+`)

// entriesOf parses a list in YAML, or one key per line. No key has the prefix of a YAML
// list.
func entriesOf(content []byte) ([]KeyEntry, error) {
	lines := keyLines(content)
	if len(lines) == 0 {
		return nil, nil
	}
	if first := lines[0]; !strings.HasPrefix(first, "-") && !strings.HasPrefix(first, "[") {
		entries := make([]KeyEntry, len(lines))
		for i, line := range lines {
			entries[i].Key = oneOrMore{line}
		}
		return entries, nil
	}
	var entries []KeyEntry
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&entries); err != nil {
		where := ""
		if lines := slices.Compact(yamlLine.FindAllString(err.Error(), -1)); lines != nil {
			where = ": see " + strings.Join(lines, ", ")
		}
		return nil, fmt.Errorf("the API keys file is not a YAML list of entries with the fields name, key, models, limits (in_flight, queued, rate, burst, tokens_per_minute) and expires (a date)%s", where)
	}
	return entries, nil
}

// keyLines returns the lines that are neither empty nor comments.
func keyLines(content []byte) []string {
	var lines []string
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" && line != "---" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// add validates and adds an entry. Its errors contain no key.
func (r *keyring) add(entry KeyEntry, old *keyring) error {
	if len(entry.Key) == 0 {
		return errors.New("the field key is missing")
	}
	digests := make([][sha256.Size]byte, len(entry.Key))
	for i, key := range entry.Key {
		var err error
		if digests[i], err = digestOf(key); err != nil {
			return err
		}
	}
	if entry.Name == "" {
		entry.Name = "key-" + hex.EncodeToString(digests[0][:4])
	}
	client, err := entry.client()
	if err != nil {
		return err
	}
	if r.clients[client.Name] != nil {
		return fmt.Errorf("two entries have the name %q: to give one client several keys, list them in one entry", client.Name)
	}
	if old != nil && reflect.DeepEqual(old.clients[client.Name], client) {
		client = old.clients[client.Name]
	}
	r.clients[client.Name] = client
	for _, digest := range digests {
		at := prefixOf(digest)
		for _, other := range r.credentials[at] {
			if other.digest == digest {
				return fmt.Errorf("the clients %s and %s have the same key: give each client its own key", client.Name, other.client.Name)
			}
		}
		r.credentials[at] = append(r.credentials[at], credential{digest, client, entry.Expires})
	}
	return nil
}

// maxTokensPerMinute is the highest limit of tokens: buckets count exactly up to it.
const maxTokensPerMinute = 1e12

// client returns the client of the entry. Nil Models allow all models, an empty list
// allows none.
func (e *KeyEntry) client() (*inference.Client, error) {
	if len(e.Name) > 100 || strings.ContainsFunc(e.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, errors.New("the client's name must be one line of at most 100 bytes")
	}
	l := e.Limits
	if l.InFlight < 0 || l.Queued < 0 || l.Burst < 0 || l.TokensPerMinute < 0 || !(l.Rate >= 0) || math.IsInf(l.Rate, 0) {
		return nil, errors.New("the client's limits must be finite numbers of 0 or more")
	}
	if l.TokensPerMinute > maxTokensPerMinute {
		return nil, fmt.Errorf("the client's limits must have at most %d tokens_per_minute", int(maxTokensPerMinute))
	}
	return &inference.Client{
		Name: e.Name, Models: e.Models,
		Limits: inference.Limits{InFlight: l.InFlight, Queued: l.Queued, Rate: l.Rate, Burst: l.Burst, TokensPerMinute: l.TokensPerMinute},
	}, nil
}

// digestOf returns the digest of a key, or the digest that a hashed key contains.
func digestOf(key string) (digest [sha256.Size]byte, err error) {
	if encoded, hashed := strings.CutPrefix(key, hashPrefix); hashed {
		if n, err := hex.Decode(digest[:], []byte(encoded[:min(len(encoded), 2*sha256.Size)])); err != nil || n != sha256.Size || len(encoded) != 2*sha256.Size {
			return digest, errors.New(hashPrefix + " must be followed by 64 hexadecimal digits")
		}
		return digest, nil
	}
	if key == HiddenKey {
		return digest, errors.New(HiddenKey + " is only the placeholder of a key in printed settings: write the key itself, or its hash")
	}
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return digest, fmt.Errorf("a key must have 1 to %d ASCII characters, without spaces", maxKey)
	}
	return sha256.Sum256([]byte(key)), nil
}
