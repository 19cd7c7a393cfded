package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// object is an object of the API, a part of one, or a reply.
type object = map[string]any

// kind describes a kind of objects, as the API lists it.
type kind struct {
	Name       string `json:"name"` // the plural in paths; subresources have a slash
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced"`
}

// answer is a reply of the API.
type answer struct {
	code     int
	text     string
	warnings []string // texts of the headers Warning
}

// refusal returns an error unless the request succeeded without warnings.
func (a answer) refusal() error {
	if a.code/100 != 2 {
		return fmt.Errorf("status %d: %s", a.code, a.message())
	}
	if len(a.warnings) > 0 {
		return fmt.Errorf("warnings: %s", strings.Join(a.warnings, "; "))
	}
	return nil
}

// message returns the message of a failure, or else the whole text.
func (a answer) message() string {
	var status struct {
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(a.text), &status) == nil && status.Message != "" {
		return status.Message
	}
	return a.text
}

// read returns the object in a reply.
func (a answer) read(t *testing.T) object {
	t.Helper()
	var o object
	if err := json.Unmarshal([]byte(a.text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// applied is the body of a patch by server-side apply.
type applied object

// call sends a request with a body of JSON, unless body is nil.
func (c *cluster) call(ctx context.Context, method, path string, body any) (answer, error) {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return answer{}, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, "https://"+c.address+path, bytes.NewReader(content))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if _, ok := body.(applied); ok {
		request.Header.Set("Content-Type", "application/apply-patch+yaml")
	}
	reply, err := c.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	return answer{reply.StatusCode, string(text), reply.Header.Values("Warning")}, err
}

// must sends a request that has to succeed, without warnings.
func (c *cluster) must(t *testing.T, method, path string, body any) object {
	t.Helper()
	reply, err := c.call(t.Context(), method, path, body)
	if err = errors.Join(err, reply.refusal()); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return reply.read(t)
}

// collection returns the path of the objects of o's kind, in the namespace if the kind has one.
func (c *cluster) collection(t *testing.T, o object, namespace string) string {
	t.Helper()
	version := text(o, "apiVersion")
	base := "/apis/" + version
	if !strings.Contains(version, "/") {
		base = "/api/" + version
	}
	kinds, known := c.kinds[version]
	if !known {
		var list struct {
			Resources []kind `json:"resources"`
		}
		reply, err := c.call(t.Context(), http.MethodGet, base, nil)
		if err := errors.Join(err, reply.refusal(), json.Unmarshal([]byte(reply.text), &list)); err != nil {
			t.Fatalf("the kinds of %s: %v", version, err)
		}
		kinds = slices.DeleteFunc(list.Resources, func(k kind) bool { return strings.Contains(k.Name, "/") })
		c.kinds[version] = kinds
	}
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.Kind == o["kind"] })
	if at < 0 {
		t.Fatalf("%s has no %v", version, o["kind"])
	}
	if kinds[at].Namespaced {
		base += "/namespaces/" + namespace
	}
	return base + "/" + kinds[at].Name
}

// path returns the path of an object that has a name.
func (c *cluster) path(t *testing.T, o object, namespace string) string {
	t.Helper()
	return c.collection(t, o, namespace) + "/" + text(o, "metadata", "name")
}

// create creates an object. The API refuses unknown fields and duplicate ones.
func (c *cluster) create(t *testing.T, o object, namespace string) answer {
	t.Helper()
	reply, err := c.call(t.Context(), http.MethodPost, c.collection(t, o, namespace)+"?fieldValidation=Strict", o)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// accepts creates an object, and fails the test if the API refuses it or warns.
func (c *cluster) accepts(t *testing.T, o object, namespace string) {
	t.Helper()
	if err := c.create(t, o, namespace).refusal(); err != nil {
		t.Errorf("%s: %v", title(o), err)
	}
}

// refuses tries to create an object, and fails the test unless the API refuses it for the reason.
func (c *cluster) refuses(t *testing.T, o object, namespace, reason string) {
	t.Helper()
	if reply := c.create(t, o, namespace); reply.code/100 == 2 || !strings.Contains(reply.message(), reason) {
		t.Errorf("%s: status %d, want a refusal with %q: %s", title(o), reply.code, reason, reply.message())
	}
}

// restricted creates a namespace that has only pods of the profile restricted, and the service account
// that a controller would create there. It does nothing if the namespace exists.
func (c *cluster) restricted(t *testing.T, name string) string {
	t.Helper()
	if c.serves(t.Context(), "/api/v1/namespaces/"+name) == nil {
		return name
	}
	labels := object{}
	for _, mode := range []string{"enforce", "warn", "audit"} {
		labels["pod-security.kubernetes.io/"+mode] = "restricted"
	}
	c.accepts(t, object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name, "labels": labels}}, "")
	c.accepts(t, object{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": object{"name": "default"}}, name)
	return name
}

// at returns the value at a path of keys, or nil.
func at(value any, keys ...string) any {
	for _, key := range keys {
		fields, _ := value.(object)
		value = fields[key]
	}
	return value
}

// text returns the string at a path of keys, or an empty one.
func text(value any, keys ...string) string {
	s, _ := at(value, keys...).(string)
	return s
}

// title names an object in messages.
func title(o object) string {
	return fmt.Sprintf("%v %s", o["kind"], text(o, "metadata", "name")+text(o, "metadata", "generateName"))
}

// documents reads the objects of a YAML file or of Helm's output. Empty documents are left out.
func documents(t *testing.T, content []byte) (list []object) {
	t.Helper()
	for decoder := yaml.NewDecoder(bytes.NewReader(content)); ; {
		var o object
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		if len(o) > 0 {
			list = append(list, o)
		}
	}
}

// documentsOf reads the objects of a YAML file.
func documentsOf(t *testing.T, path string) []object {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return documents(t, content)
}
