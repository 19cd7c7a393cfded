package seal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keyLine returns the line of a key whose bytes all are b.
func keyLine(b byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, keySize))
}

// write writes a file of keys.
func write(t *testing.T, name string, lines ...string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func mustSeal(t *testing.T, k *Keys, text, owner string) string {
	t.Helper()
	sealed, err := k.Seal(text, owner)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// use returns the keys of a file.
func use(t *testing.T, file string) *Keys {
	t.Helper()
	k := New()
	if err := k.Use(file); err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSeal(t *testing.T) {
	k := New()
	for _, text := range []string{"", "a", "We need ☃.\x00", strings.Repeat("long ", 100_000)} {
		sealed := mustSeal(t, k, text, "me")
		got, err := k.Open(sealed, "me")
		if err != nil || got != text {
			t.Errorf("%.20q: got %.20q, %v", text, got, err)
		}
		if len(text) > 5 && strings.Contains(sealed, text[:5]) {
			t.Errorf("%.20q is in %.80s", text, sealed)
		}
		if again := mustSeal(t, k, text, "me"); again == sealed {
			t.Errorf("%.20q is sealed twice to %.80s", text, sealed)
		}
	}
}

// TestOpenRefuses checks that no changed, foreign or another owner's text can be opened.
func TestOpenRefuses(t *testing.T) {
	k := New()
	sealed := mustSeal(t, k, "secret", "me")
	if _, err := k.Open(sealed, "you"); !errors.Is(err, ErrBroken) {
		t.Errorf("another owner: %v", err)
	}
	if _, err := New().Open(sealed, "me"); !errors.Is(err, ErrKey) {
		t.Errorf("another key: %v", err)
	}
	for _, foreign := range []string{"", "x", "tri", "gAAAAABx", "tri2." + sealed[5:]} {
		if _, err := k.Open(foreign, "me"); !errors.Is(err, ErrForeign) {
			t.Errorf("%q: %v", foreign, err)
		}
	}
	for n := len(prefix); n < len(sealed); n++ {
		if got, err := k.Open(sealed[:n], "me"); err == nil {
			t.Errorf("%d bytes: opened as %q", n, got)
		}
	}
	raw, err := base64.RawURLEncoding.DecodeString(sealed[len(prefix):])
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(raw) {
		raw[bit/8] ^= 1 << (bit % 8)
		if got, err := k.Open(prefix+base64.RawURLEncoding.EncodeToString(raw), "me"); err == nil {
			t.Errorf("bit %d: opened as %q", bit, got)
		}
		raw[bit/8] ^= 1 << (bit % 8)
	}
	if _, err := k.Open(sealed+"\n", "me"); !errors.Is(err, ErrBroken) {
		t.Errorf("with a line break: %v", err)
	}
}

// TestRotation checks that replicas which share a file open each other's texts, that a new first key
// seals while the old key still opens, and that a removed key doesn't open.
func TestRotation(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "keys"), "# a comment", "", keyLine(1))
	k, replica := use(t, file), use(t, file)
	old := mustSeal(t, k, "old", "")
	if got, err := replica.Open(old, ""); err != nil || got != "old" {
		t.Errorf("by a replica: %q, %v", got, err)
	}
	reload := func(lines ...string) {
		t.Helper()
		write(t, file, lines...)
		apply, err := k.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := k.Open(old, ""); err != nil || got != "old" {
			t.Errorf("before the keys take effect: %q, %v", got, err)
		}
		apply()
	}
	reload(keyLine(2), keyLine(1))
	if got, err := k.Open(old, ""); err != nil || got != "old" {
		t.Errorf("with the old key second: %q, %v", got, err)
	}
	if _, err := replica.Open(mustSeal(t, k, "new", ""), ""); !errors.Is(err, ErrKey) {
		t.Errorf("the new key doesn't seal: %v", err)
	}
	reload(keyLine(2))
	if _, err := k.Open(old, ""); !errors.Is(err, ErrKey) {
		t.Errorf("without the old key: %v", err)
	}
}

// TestKeyFileErrors checks that errors name the setting, the file and the line, and contain no key.
func TestKeyFileErrors(t *testing.T) {
	dir := t.TempDir()
	secret := keyLine(7)
	for name, tt := range map[string]struct{ content, want string }{
		"empty":        {"# nothing\n\n", "has no keys"},
		"short":        {keyLine(1) + "\n" + secret[:24], "line 2 is not a seal key"},
		"two keys":     {secret + " " + secret, "line 1 is not a seal key"},
		"not base64":   {"# k\n" + secret[:43] + "!", "line 2 is not a seal key"},
		"large":        {strings.Repeat("#", maxFile+1), "larger than the maximum of 65536 bytes"},
		"a wrong size": {secret[:43] + "Bw==", "line 1 is not a seal key"},
	} {
		file := write(t, filepath.Join(dir, "keys"), tt.content)
		err := New().Use(file)
		if err == nil || !strings.Contains(err.Error(), "openai.SealKeyFile "+file+": ") || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret[:20]) {
			t.Errorf("%s: %v", name, err)
		}
	}
	missing := filepath.Join(dir, "missing")
	if err := New().Use(missing); err == nil || strings.Count(err.Error(), missing) != 1 || !strings.Contains(err.Error(), "can't be read: no such file") {
		t.Errorf("missing: %v", err)
	}
}

// TestReport checks what the log has about keys: their origin, and never a key.
func TestReport(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	New().Report(log, "--keys")
	if got := out.String(); !strings.Contains(got, "level=INFO") || !strings.Contains(got, "random key") || !strings.Contains(got, "--keys") {
		t.Errorf("got %s", got)
	}
	out.Reset()
	file := write(t, filepath.Join(t.TempDir(), "keys"), keyLine(1), keyLine(2))
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	use(t, file).Report(log, "--keys")
	got := out.String()
	if !strings.Contains(got, "level=WARN") || !strings.Contains(got, "loaded the seal keys\" keys=2") || strings.Contains(got, keyLine(1)[:20]) {
		t.Errorf("got %s", got)
	}
}

// BenchmarkOpen measures the time and the memory to open one megabyte of reasoning.
func BenchmarkOpen(b *testing.B) {
	k := New()
	sealed, err := k.Seal(strings.Repeat("x", 1<<20), "")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.Open(sealed, ""); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzOpen checks that no input except a sealed text can be opened.
func FuzzOpen(f *testing.F) {
	k := New()
	sealed, err := k.Seal("text", "me")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed, "me")
	f.Add(sealed[:40], "me")
	f.Add(prefix, "")
	f.Fuzz(func(t *testing.T, in, owner string) {
		got, err := k.Open(in, owner)
		if err == nil && (in != sealed || owner != "me" || got != "text") {
			t.Errorf("opened %q of %q: %q", in, owner, got)
		}
	})
}
