package golden

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// header is the first line of a golden file.
type header struct {
	Versions []string `json:"versions"`
}

// line is an answer in a golden file.
type line struct {
	Name   string `json:"name,omitempty"`
	Key    string `json:"key"`
	Answer string `json:"answer,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// book is the content of a golden file.
type book struct {
	header header
	order  []string        // keys of the lines in the order of the file
	lines  map[string]line // lines of the file by key
}

func (b *book) add(l line) {
	if _, known := b.lines[l.Key]; !known {
		b.order = append(b.order, l.Key)
	}
	b.lines[l.Key] = l
}

// readBook reads a golden file.
func readBook(path string) (book, error) {
	b := book{lines: map[string]line{}}
	data, err := readFile(path)
	if err != nil {
		return b, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&b.header); err != nil {
		return b, fmt.Errorf("%s: %w", path, err)
	}
	for {
		var l line
		err := decoder.Decode(&l)
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, fmt.Errorf("%s: %w", path, err)
		}
		if l.Digest == "" {
			l.Digest = digestOf([]byte(l.Answer))
		}
		b.add(l)
	}
}

// readFile reads a file, which is compressed if its path ends in .gz.
func readFile(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(path, ".gz") {
		return data, err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return io.ReadAll(unpacked)
}

// write writes a golden file, with the oracle's answers or only with their digests.
func (b *book) write(path string, digests bool) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(b.header)
	for _, key := range b.order {
		l := b.lines[key]
		if digests {
			l.Answer = ""
		} else {
			l.Digest = ""
		}
		err = errors.Join(err, encoder.Encode(l))
	}
	if err != nil {
		return err
	}
	data := out.Bytes()
	if strings.HasSuffix(path, ".gz") {
		var packed bytes.Buffer
		packer, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
		_, err := packer.Write(data)
		if err := errors.Join(err, packer.Close()); err != nil {
			return err
		}
		data = packed.Bytes()
	}
	return os.WriteFile(path, data, 0o600)
}

// lacks describes which questions have no recorded answer, and how many answers have no question.
// It returns "" if there are none.
func (b *book) lacks(questions []Question, keys []string) string {
	asked := map[string]bool{}
	var missing []string
	for i, key := range keys {
		asked[key] = true
		if _, known := b.lines[key]; !known {
			missing = append(missing, questions[i].Name)
		}
	}
	unasked := 0
	for _, key := range b.order {
		if !asked[key] {
			unasked++
		}
	}
	if len(missing) == 0 && unasked == 0 {
		return ""
	}
	return fmt.Sprintf("%d questions are new or changed%s, and %d recorded answers belong to no question", len(missing), examples(missing), unasked)
}

// differs describes which answers to the same questions differ in a newer book.
func (b *book) differs(fresh book) string {
	var changed []string
	for _, key := range fresh.order {
		if b.lines[key].Digest != fresh.lines[key].Digest {
			changed = append(changed, fresh.lines[key].Name)
		}
	}
	if len(changed) == 0 {
		return ""
	}
	return fmt.Sprintf("the oracle answers %d questions differently%s", len(changed), examples(changed))
}

func examples(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(" (such as %q)", names[:min(3, len(names))])
}

// pinned returns an error unless requirements, the content of a file, pins the versions that gave
// the answers. A version there ends at the line's end, or before a marker or a hash.
func (b *book) pinned(file, requirements string) error {
	for _, version := range b.header.Versions {
		pins := func(end string) bool { return strings.Contains("\n"+requirements, "\n"+version+end) }
		if !pins("\n") && !pins(" ;") && !pins(" --hash") {
			return fmt.Errorf("the answers were recorded with %s, which isn't in %s", version, file)
		}
	}
	return nil
}
