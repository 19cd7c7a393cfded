package responses

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/state"
	"github.com/trident-inference/trident/services/wirecode"
)

// sharedStore holds responses in a store that several Tridents share. Each item is stored once for
// all responses of its owner that have it, under a hash of its contents. A response has the keys of its
// items. All are stored for the same time, which begins again for the items of a response that is
// continued.
//
// The keys of an owner's records have a common part in braces, so that a cluster keeps them on one
// node, where they are written together.
type sharedStore struct {
	records *state.Store
	ttl     time.Duration
}

// version is that of the records. A Trident ignores records of a later version.
const version = 1

// sharedResponse is the record of a response.
type sharedResponse struct {
	Version int      `json:"v"`
	Replica string   `json:"replica"` // the Trident that runs it, while it is in progress
	Running bool     `json:"running,omitempty"`
	Failed  bool     `json:"failed,omitempty"`
	Body    []byte   `json:"body"`
	Input   []string `json:"input,omitempty"` // keys of items
	Output  []string `json:"output,omitempty"`
}

// sharedItem is the record of an item.
type sharedItem struct {
	Version   int                              `json:"v"`
	Kind      string                           `json:"kind"`
	ID        string                           `json:"id"`
	Status    string                           `json:"status,omitempty"`
	Role      string                           `json:"role,omitempty"`
	Text      string                           `json:"text,omitempty"`
	Parts     []sharedPart                     `json:"parts,omitempty"`
	Summary   []string                         `json:"summary"`
	Sealed    string                           `json:"sealed,omitempty"`
	Opened    string                           `json:"opened,omitempty"`
	CallID    string                           `json:"call_id,omitempty"`
	Name      string                           `json:"name,omitempty"`
	Namespace string                           `json:"namespace,omitempty"`
	Tools     []json.RawMessage                `json:"tools,omitempty"`
	Raw       json.RawMessage                  `json:"raw,omitempty"`
	Left      bool                             `json:"left,omitempty"`
	Logprobs  []api.ChatCompletionTokenLogprob `json:"logprobs,omitempty"`
}

// sharedPart is the record of a part of an item.
type sharedPart struct {
	Kind  inference.PartKind `json:"kind"`
	Text  string             `json:"text,omitempty"`
	URL   string             `json:"url,omitempty"`
	Param string             `json:"param,omitempty"`
}

func (it *item) shared() sharedItem {
	var parts []sharedPart
	for _, p := range it.parts {
		parts = append(parts, sharedPart(p))
	}
	return sharedItem{
		version, it.kind, it.id, it.status, it.role, it.text, parts, it.summary, it.sealed, it.opened,
		it.callID, it.name, it.namespace, it.tools, it.raw, it.left, it.logprobs,
	}
}

func (s *sharedItem) item() *item {
	var parts []inference.Part
	for _, p := range s.Parts {
		parts = append(parts, inference.Part(p))
	}
	return &item{
		kind: s.Kind, id: s.ID, status: s.Status, role: s.Role, text: s.Text, parts: parts, summary: s.Summary,
		sealed: s.Sealed, opened: s.Opened, callID: s.CallID, name: s.Name, namespace: s.Namespace, tools: s.Tools,
		raw: s.Raw, left: s.Left, logprobs: s.Logprobs,
	}
}

// keyspace is the beginning of the keys of an owner's records.
type keyspace string

// keysOf returns the keyspace of an owner, without revealing the owner's name.
func keysOf(owner string) keyspace {
	sum := sha256.Sum256([]byte(owner))
	return keyspace("{" + hex.EncodeToString(sum[:12]) + "}:")
}

func (k keyspace) response(id string) string { return string(k) + "response:" + id }
func (k keyspace) id(id string) string       { return string(k) + "id:" + id }

// item returns the key of an item by its encoded contents.
func (k keyspace) item(encoded []byte) string {
	sum := sha256.Sum256(encoded)
	return string(k) + "item:" + hex.EncodeToString(sum[:])
}

// on implements store.
func (*sharedStore) on() bool { return true }

// begin implements store.
func (s *sharedStore) begin(ctx context.Context, owner, id string, body []byte) error {
	record, err := json.Marshal(sharedResponse{Version: version, Replica: s.records.Replica(), Running: true, Body: body})
	if err != nil {
		return err
	}
	// The record of the end, which may be written first, stays.
	return s.records.Put(ctx, []state.Record{{Key: keysOf(owner).response(id), Value: record, New: true}}, nil, s.ttl)
}

// put implements store.
func (s *sharedStore) put(ctx context.Context, r *storedResponse) error {
	w := itemWriter{keys: keysOf(r.owner), written: map[string]bool{}}
	record, err := json.Marshal(sharedResponse{
		Version: version, Replica: s.records.Replica(), Body: r.body, Failed: r.failed, Input: w.add(r.input), Output: w.add(r.output),
	})
	if err := errors.Join(w.err, err); err != nil {
		return err
	}
	w.records = append(w.records, state.Record{Key: w.keys.response(r.id), Value: record})
	return s.records.Put(ctx, w.records, w.kept, s.ttl)
}

// itemWriter collects what stores the items of a response.
type itemWriter struct {
	keys    keyspace
	records []state.Record
	kept    []string // keys of records that are stored already, and stay for longer
	written map[string]bool
	err     error
}

// add returns the keys of items.
func (w *itemWriter) add(items []*item) (keys []string) {
	for _, it := range items {
		if strings.HasPrefix(it.key, string(w.keys)) {
			w.kept = append(w.kept, it.key, w.keys.id(it.id))
			keys = append(keys, it.key)
			continue
		}
		encoded, err := json.Marshal(it.shared())
		w.err = errors.Join(w.err, err)
		key := w.keys.item(encoded)
		if keys = append(keys, key); w.written[key] {
			continue
		}
		w.written[key] = true
		w.records = append(w.records, state.Record{Key: key, Value: encoded}, state.Record{Key: w.keys.id(it.id), Value: []byte(key)})
	}
	return keys
}

// get implements store.
func (s *sharedStore) get(ctx context.Context, owner, id string) (*storedResponse, error) {
	found, err := s.records.Get(ctx, keysOf(owner).response(id))
	if err != nil || found[0] == nil {
		return nil, err
	}
	var record sharedResponse
	if err := json.Unmarshal(found[0], &record); err != nil {
		return nil, fmt.Errorf("read a stored response: %w", err)
	}
	if record.Version > version {
		return nil, nil //nolint:nilnil // as if it weren't stored
	}
	r := &storedResponse{id: id, owner: owner, body: record.Body, running: record.Running, failed: record.Failed}
	if record.Running {
		return r, s.judge(ctx, r, record.Replica)
	}
	items, err := s.items(ctx, append(slices.Clip(record.Input), record.Output...))
	if err != nil || items == nil {
		return nil, err
	}
	r.input, r.output = items[:len(record.Input)], items[len(record.Input):]
	return r, nil
}

// judge marks a response as failed if the Trident that ran it has died.
func (s *sharedStore) judge(ctx context.Context, r *storedResponse, replica string) error {
	alive, err := s.records.Alive(ctx, replica)
	if err != nil || alive {
		return err
	}
	r.running, r.failed = false, true
	r.body, err = failedBody(r.body)
	return err
}

// failedBody returns the response as one that failed because its server died.
func failedBody(body []byte) ([]byte, error) {
	var response api.Response
	if err := json.Unmarshal(body, &response); err != nil {
		return nil, fmt.Errorf("read a stored response: %w", err)
	}
	response.Status = statusFailed
	response.Error = &api.ResponseError{Code: wirecode.TypeServer, Message: "the server that ran this response stopped before its end"}
	return encoded(&response), nil
}

// items returns the items with the keys, or nil if one isn't stored any more.
func (s *sharedStore) items(ctx context.Context, keys []string) ([]*item, error) {
	found, err := s.records.Get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	items := make([]*item, 0, len(keys))
	for i, key := range keys {
		encoded := found[i]
		if encoded == nil {
			return nil, nil
		}
		var record sharedItem
		if err := json.Unmarshal(encoded, &record); err != nil {
			return nil, fmt.Errorf("read a stored item: %w", err)
		}
		it := record.item()
		it.key = key
		items = append(items, it)
	}
	return items, nil
}

// item implements store.
func (s *sharedStore) item(ctx context.Context, owner, id string) (*item, error) {
	key, err := s.records.Get(ctx, keysOf(owner).id(id))
	if err != nil || key[0] == nil {
		return nil, err
	}
	items, err := s.items(ctx, []string{string(key[0])})
	if err != nil || items == nil {
		return nil, err
	}
	return items[0], nil
}

// remove implements store. The items stay until they expire, as other responses may have them.
func (s *sharedStore) remove(ctx context.Context, owner, id string) (bool, error) {
	return s.records.Delete(ctx, keysOf(owner).response(id))
}
