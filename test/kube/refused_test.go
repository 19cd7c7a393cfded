package kube

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// wrong is an object of the chart or of the examples with a mistake. The API must refuse it.
type wrong struct {
	name   string
	kind   string // kind of the object
	path   string // path of the field, with dots; numbers are indices of lists
	value  any    // new value of the field, nil to delete it
	reason string // part of the message
}

// wrongObjects lists mistakes in objects of each kind.
func wrongObjects() []wrong {
	return []wrong{
		{"an unknown field of a container", "Deployment", "spec.template.spec.containers.0.readinesProbe", object{}, `unknown field "spec.template.spec.containers[0].readinesProbe"`},
		{"a selector of other pods", "Deployment", "spec.selector.matchLabels", object{"app": "other"}, "`selector` does not match template `labels`"},
		{"a service without ports", "Service", "spec.ports", nil, "spec.ports: Required value"},
		{"an autoscaler without a target", "HorizontalPodAutoscaler", "spec.scaleTargetRef.name", "", "spec.scaleTargetRef.name: Required value"},
		{"an unknown field of a monitor", "ServiceMonitor", "spec.endpoint", []any{}, `unknown field "spec.endpoint"`},
		{"a route to a service without its port", "HTTPRoute", "spec.rules.0.backendRefs.0", object{"name": "trident"}, "Must have port for Service reference"},
		{"a pool without the picker's port", "InferencePool", "spec.endpointPickerRef.port", nil, "port is required when kind is 'Service' or unspecified"},
		{"a pool without ports of pods", "InferencePool", "spec.targetPorts", nil, "spec.targetPorts: Required value"},
		{"a pool with the field of alpha versions", "InferencePool", "spec.targetPortNumber", 9000, `unknown field "spec.targetPortNumber"`},
		{"a runtime without containers", "ServingRuntime", "spec.containers", nil, "spec.containers: Required value"},
		{"a runtime with an unknown field", "ServingRuntime", "spec.protocolVersion", []any{"v2"}, `unknown field "spec.protocolVersion"`},
		{"a model with an unknown field", "InferenceService", "spec.predictor.model.storageURI", "pvc://models/repository", `unknown field "spec.predictor.model.storageURI"`},
		{"a service of models without its model", "LLMInferenceService", "spec.model.uri", nil, "spec.model.uri: Required value"},
		{"a group without workers", "LeaderWorkerSet", "spec.leaderWorkerTemplate.workerTemplate", nil, "spec.leaderWorkerTemplate.workerTemplate: Required value"},
	}
}

// wrongPods lists mistakes in pods of the chart, by the field that is wrong. The profile restricted
// refuses each one.
func wrongPods() []wrong {
	const refused = `violates PodSecurity "restricted:latest": `
	container := "spec.containers.0.securityContext."
	return []wrong{
		{"all capabilities", "Pod", container + "capabilities", nil, refused + "unrestricted capabilities"},
		{"more privileges", "Pod", container + "allowPrivilegeEscalation", nil, refused + "allowPrivilegeEscalation != false"},
		{"a privileged container", "Pod", container + "privileged", true, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"},
		{"a folder of the node", "Pod", "spec.volumes.0", object{"name": "settings", "hostPath": object{"path": "/"}}, `uses restricted volume type "hostPath"`},
		{"the network of the node", "Pod", "spec.hostNetwork", true, "host namespaces"},
	}
}

// testRefused changes objects that the API accepts, and checks that it refuses the changed ones.
func testRefused(t *testing.T, c *cluster, h *helm) {
	t.Helper()
	namespace := c.restricted(t, "refused")
	known := map[string]object{}
	for _, s := range shapes() {
		for _, o := range documents(t, h.must(t, namespace, "template", release, chart, "--values="+s.file)) {
			if known[text(o, "kind")] == nil {
				known[text(o, "kind")] = o
			}
		}
	}
	for _, objects := range exampleFiles(t) {
		for _, o := range objects {
			if known[text(o, "kind")] == nil {
				known[text(o, "kind")] = o
			}
		}
	}
	for _, w := range wrongObjects() {
		t.Run(w.name, func(t *testing.T) {
			if o := known[w.kind]; outside(o) {
				needsCRDs(t)
			}
			c.refuses(t, w.change(t, known[w.kind]), namespace, w.reason)
		})
	}
	c.accepts(t, known["ServiceAccount"], namespace)
	pods := templates(known["Deployment"])
	for _, w := range wrongPods() {
		t.Run("a pod with "+w.name, func(t *testing.T) { c.refuses(t, w.change(t, pods[0].pod), namespace, w.reason) })
	}
	t.Run("an unknown field in the chart", func(t *testing.T) { testUnknownField(t, c, h) })
}

// testUnknownField checks that Helm lets the API refuse unknown fields: a chart with one isn't installed.
func testUnknownField(t *testing.T, c *cluster, h *helm) {
	t.Helper()
	namespace := c.restricted(t, "unknown-field")
	wrong := copyChart(t)
	edit(t, filepath.Join(wrong, "templates", "deployment.yaml"), "readinessProbe:", "readinesProbe:")
	_, notes, err := h.run(t, namespace, "install", release, wrong, "--values="+shapes()[0].file)
	if err == nil || !strings.Contains(notes, "readinesProbe") {
		t.Errorf("the chart was installed: %v\n%s", err, notes)
	}
	list := c.must(t, http.MethodGet, "/apis/apps/v1/namespaces/"+namespace+"/deployments", nil)
	if items, _ := at(list, "items").([]any); len(items) > 0 {
		t.Errorf("the namespace has %d deployments", len(items))
	}
}

// change returns a copy of the object with the mistake.
func (w wrong) change(t *testing.T, from object) object {
	t.Helper()
	if from == nil {
		t.Fatalf("the chart and the examples have no %s", w.kind)
	}
	content, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	var changed object
	if err := json.Unmarshal(content, &changed); err != nil {
		t.Fatal(err)
	}
	if name := text(changed, "metadata", "name"); name != "" {
		changed["metadata"].(object)["name"] = name + "-wrong"
	}
	delete(changed["metadata"].(object), "namespace")
	if !set(changed, strings.Split(w.path, "."), w.value) {
		t.Fatalf("the %s has no %s", w.kind, w.path)
	}
	return changed
}

// set sets the value at a path, or deletes it if the value is nil. It reports whether the object has the
// parents, and for a deletion the value.
func set(in any, path []string, value any) bool {
	key := path[0]
	switch parent := in.(type) {
	case object:
		_, has := parent[key]
		switch {
		case len(path) > 1:
			return has && set(parent[key], path[1:], value)
		case value == nil:
			delete(parent, key)
			return has
		default:
			parent[key] = value
			return true
		}
	case []any:
		i, err := strconv.Atoi(key)
		switch {
		case err != nil || i >= len(parent):
			return false
		case len(path) > 1:
			return set(parent[i], path[1:], value)
		default:
			parent[i] = value
			return true
		}
	}
	return false
}
