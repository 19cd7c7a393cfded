package responses

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/state"
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

// scope returns the beginning of the keys of an owner's records. It doesn't reveal the owner's name.
func scope(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return "{" + hex.EncodeToString(sum[:12]) + "}:"
}

func responseKey(owner, id string) string { return scope(owner) + "response:" + id }
func idKey(owner, id string) string       { return scope(owner) + "id:" + id }

// on implements store.
func (*sharedStore) on() bool { return true }

// begin implements store.
func (s *sharedStore) begin(ctx context.Context, owner, id string, body []byte) error {
	record, err := json.Marshal(sharedResponse{Version: version, Replica: s.records.Replica(), Running: true, Body: body})
	if err != nil {
		return err
	}
	// The record of the end, which may be written first, stays.
	return s.records.Put(ctx, []state.Record{{Key: responseKey(owner, id), Value: record, New: true}}, nil, s.ttl)
}

// put implements store.
func (s *sharedStore) put(ctx context.Context, r *storedResponse) error {
	response := sharedResponse{Version: version, Replica: s.records.Replica(), Body: r.body, Failed: r.failed}
	var records []state.Record
	var kept []string
	seen := map[string]bool{}
	add := func(keys *[]string, items []*item) error {
		for _, it := range items {
			if it.key == "" || it.keyOwner != r.owner {
				encoded, err := json.Marshal(it.shared())
				if err != nil {
					return err
				}
				sum := sha256.Sum256(encoded)
				key := scope(r.owner) + "item:" + hex.EncodeToString(sum[:])
				if !seen[key] {
					records = append(records, state.Record{Key: key, Value: encoded}, state.Record{Key: idKey(r.owner, it.id), Value: []byte(key)})
				}
				seen[key] = true
				*keys = append(*keys, key)
				continue
			}
			kept = append(kept, it.key, idKey(r.owner, it.id))
			*keys = append(*keys, it.key)
		}
		return nil
	}
	if err := add(&response.Input, r.input); err != nil {
		return err
	}
	if err := add(&response.Output, r.output); err != nil {
		return err
	}
	record, err := json.Marshal(response)
	if err != nil {
		return err
	}
	records = append(records, state.Record{Key: responseKey(r.owner, r.id), Value: record})
	return s.records.Put(ctx, records, kept, s.ttl)
}

// get implements store.
func (s *sharedStore) get(ctx context.Context, owner, id string) (*storedResponse, error) {
	found, err := s.records.Get(ctx, responseKey(owner, id))
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
	items, err := s.items(ctx, owner, append(slices.Clip(record.Input), record.Output...))
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
	response.Error = &api.ResponseError{Code: "server_error", Message: "the server that ran this response stopped before its end"}
	return encoded(&response), nil
}

// items returns the items with the keys, or nil if one isn't stored any more.
func (s *sharedStore) items(ctx context.Context, owner string, keys []string) ([]*item, error) {
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
		it.key, it.keyOwner = key, owner
		items = append(items, it)
	}
	return items, nil
}

// item implements store.
func (s *sharedStore) item(ctx context.Context, owner, id string) (*item, error) {
	key, err := s.records.Get(ctx, idKey(owner, id))
	if err != nil || key[0] == nil {
		return nil, err
	}
	items, err := s.items(ctx, owner, []string{string(key[0])})
	if err != nil || items == nil {
		return nil, err
	}
	return items[0], nil
}

// remove implements store. The items stay until they expire, as other responses may have them.
func (s *sharedStore) remove(ctx context.Context, owner, id string) (bool, error) {
	return s.records.Delete(ctx, responseKey(owner, id))
}
