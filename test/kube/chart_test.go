package kube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// release is the name of the chart's release in each namespace.
const release = "try"

// sameName is the value that sets the names of objects for all shapes, so that an upgrade changes objects.
const sameName = "--set=fullnameOverride=try-trident"

// shape is a set of values of the chart, a file in its folder ci.
type shape struct {
	name  string
	file  string // path of the values
	other string // path of the values that the release is upgraded to
	kinds []string
}

// shapes returns the shapes: both modes, each with as few values as it needs and with all parts of the
// chart. A release with few values is upgraded to all parts, and back.
func shapes() []shape {
	few := []string{"ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount"}
	full := []string{"ConfigMap", "Deployment", "HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceMonitor"}
	path := func(name string) string { return filepath.Join(chart, "ci", name+"-values.yaml") }
	return []shape{
		{"in-process", path("in-process"), path("full-in-process"), few},
		{"full-in-process", path("full-in-process"), path("in-process"), full},
		{"frontend", path("frontend"), path("full-frontend"), few},
		{"full-frontend", path("full-frontend"), path("frontend"), full},
	}
}

// prerequisites returns the objects of a cluster that values of the shapes name. Pods that name a missing
// one are refused.
func prerequisites() []object {
	return []object{
		{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": object{"name": "inference"}, "value": 1000},
		{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": object{"name": "nvidia"}, "handler": "nvidia"},
	}
}

// later are values of an upgrade that every shape allows.
func later() object {
	return object{
		"image": object{"tag": "later"}, "config": object{"log-level": "debug"},
		"podLabels": object{"example.com/team": "other"}, "podAnnotations": object{"example.com/note": "changed"},
		"service": object{"annotations": object{"example.com/note": "changed"}},
	}
}

// values writes values for Helm into a file, and returns its path.
func values(t *testing.T, v object) string {
	t.Helper()
	content, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// manifest returns the objects of the release, as Helm rendered them.
func (h *helm) manifest(t *testing.T, namespace string) []object {
	t.Helper()
	return documents(t, h.must(t, namespace, "get", "manifest", release))
}

// live returns the objects as the API has them.
func (c *cluster) live(t *testing.T, objects []object, namespace string) map[string]object {
	t.Helper()
	list := map[string]object{}
	for _, o := range objects {
		list[title(o)] = c.must(t, http.MethodGet, c.path(t, o, namespace), nil)
	}
	return list
}

// immutable lists the fields that the API never changes, or changes only by replacing the object.
var immutable = [][]string{
	{"metadata", "uid"},
	{"spec", "selector"},
	{"spec", "clusterIP"},
	{"spec", "serviceName"},
	{"spec", "volumeClaimTemplates"},
}

// unmoved checks that the objects are the same ones before and after an upgrade, with the same fields
// that can't change.
func unmoved(t *testing.T, before, after map[string]object) {
	t.Helper()
	for name, now := range after {
		was, ok := before[name]
		if !ok {
			continue // the upgrade added the object
		}
		for _, path := range immutable {
			if at(was, "kind") == "ServiceMonitor" && path[0] == "spec" {
				continue // it may select other services
			}
			if a, b := at(was, path...), at(now, path...); !reflect.DeepEqual(a, b) {
				t.Errorf("%s: %s was %v and is %v", name, strings.Join(path, "."), a, b)
			}
		}
	}
}

// generations returns the generation of each object that has one. The API raises it for each change
// of the specification.
func generations(live map[string]object) map[string]any {
	list := map[string]any{}
	for name, o := range live {
		if n := at(o, "metadata", "generation"); n != nil {
			list[name] = n
		}
	}
	return list
}

// testShape installs, upgrades and removes the chart in one shape.
func testShape(t *testing.T, c *cluster, h *helm, s shape) {
	t.Helper()
	namespace := c.restricted(t, s.name)
	c.accepts(t, object{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": object{"name": "shared"}}, namespace)
	h.must(t, namespace, "install", release, chart, sameName, "--values="+s.file)
	installed := h.manifest(t, namespace)
	checkKinds(t, installed, s.kinds)
	before := c.live(t, installed, namespace)
	if n := c.admits(t, installed, namespace); n == 0 {
		t.Error("the chart has no pod template")
	}
	t.Run("same values", func(t *testing.T) {
		scaled := c.scale(t, installed, namespace, 3)
		was := generations(c.live(t, installed, namespace))
		h.must(t, namespace, "upgrade", release, chart, sameName, "--values="+s.file)
		now := c.live(t, installed, namespace)
		if got := generations(now); !reflect.DeepEqual(got, was) {
			t.Errorf("an upgrade without changes changed generations from %v to %v", was, got)
		}
		for _, name := range scaled {
			if got := fmt.Sprint(at(now[name], "spec", "replicas")); got != "3" {
				t.Errorf("the upgrade set %s from the autoscaler's 3 replicas to %s", name, got)
			}
		}
	})
	last := before
	upgrade := func(t *testing.T, chart string, files ...string) {
		t.Helper()
		args := []string{"upgrade", release, chart, sameName}
		for _, file := range files {
			args = append(args, "--values="+file)
		}
		h.must(t, namespace, args...)
		upgraded := h.manifest(t, namespace)
		after := c.live(t, upgraded, namespace)
		unmoved(t, last, after)
		if reflect.DeepEqual(generations(last), generations(after)) {
			t.Error("the upgrade changed nothing")
		}
		c.admits(t, upgraded, namespace)
		last = after
	}
	t.Run("later version", func(t *testing.T) { upgrade(t, laterVersion(t), s.file, values(t, later())) })
	t.Run("other parts", func(t *testing.T) { upgrade(t, chart, s.other) })
	t.Run("rollback", func(t *testing.T) {
		h.must(t, namespace, "rollback", release, "1")
		after := c.live(t, installed, namespace)
		unmoved(t, last, after)
		for name := range before {
			if a, b := at(before[name], "data"), at(after[name], "data"); !reflect.DeepEqual(a, b) {
				t.Errorf("%s was %v and is %v", name, a, b)
			}
		}
	})
	t.Run("uninstall", func(t *testing.T) {
		h.must(t, namespace, "uninstall", release)
		for _, o := range installed {
			reply, err := c.call(t.Context(), http.MethodGet, c.path(t, o, namespace), nil)
			if err != nil || reply.code != http.StatusNotFound {
				t.Errorf("%s is left: status %d, %v", title(o), reply.code, err)
			}
		}
	})
}

// testPair installs servers with Triton in process and a frontend whose endpoint is the servers' headless
// service, and checks that the endpoint leads to the servers' pods.
func testPair(t *testing.T, c *cluster, h *helm) {
	t.Helper()
	namespace := c.restricted(t, "pair")
	h.must(t, namespace, "install", "models", chart, "--values="+shapes()[0].file, "--set=kserve.enabled=true")
	const name, port = "models-trident-pods", 8001
	h.must(t, namespace, "install", "front", chart, "--values="+shapes()[2].file, fmt.Sprintf("--set=tritonEndpoints={dns:///%s:%d}", name, port))
	settings := text(c.must(t, http.MethodGet, "/api/v1/namespaces/"+namespace+"/configmaps/front-trident", nil), "data", "trident.yaml")
	if endpoint := fmt.Sprintf("dns:///%s:%d", name, port); !strings.Contains(settings, endpoint) {
		t.Errorf("the frontend's settings have no %s:\n%s", endpoint, settings)
	}
	service := c.must(t, http.MethodGet, "/api/v1/namespaces/"+namespace+"/services/"+name, nil)
	if text(service, "spec", "clusterIP") != "None" {
		t.Errorf("the service isn't headless: clusterIP %v", at(service, "spec", "clusterIP"))
	}
	servers := c.must(t, http.MethodGet, "/apis/apps/v1/namespaces/"+namespace+"/deployments/models-trident", nil)
	front := c.must(t, http.MethodGet, "/apis/apps/v1/namespaces/"+namespace+"/deployments/front-trident", nil)
	selector := at(service, "spec", "selector")
	if !selects(selector, servers) || selects(selector, front) {
		t.Errorf("the service doesn't select the servers' pods, or selects the frontend's: %v", selector)
	}
	target := text(at(service, "spec", "ports").([]any)[0], "targetPort")
	if got := containerPort(servers, target); got != port {
		t.Errorf("the service's port leads to the containers' port %s, which is %v, want %d", target, got, port)
	}
	for _, release := range []string{"front", "models"} {
		c.admits(t, documents(t, h.must(t, namespace, "get", "manifest", release)), namespace)
	}
}

// testHandover turns the autoscaler of a release on. Without the README's command before it, the upgrade sets 1 replica,
// because Helm alone had the field.
func testHandover(t *testing.T, c *cluster, h *helm) {
	t.Helper()
	on := []string{"upgrade", "chat", chart, "--values=" + shapes()[0].file, "--set=autoscaling.enabled=true,autoscaling.minReplicas=2"}
	for name, want := range map[string]string{"with": "3", "without": "1"} {
		t.Run(name, func(t *testing.T) {
			namespace := c.restricted(t, "handover-"+name)
			path := "/apis/apps/v1/namespaces/" + namespace + "/deployments/chat-trident"
			h.must(t, namespace, "install", "chat", chart, "--values="+shapes()[0].file, "--set=replicas=3")
			if name == "with" {
				c.must(t, http.MethodPatch, path+"?fieldManager=autoscaling", applied(readmeObject(t, "kind: Deployment")))
			}
			h.must(t, namespace, on...)
			if got := fmt.Sprint(at(c.must(t, http.MethodGet, path, nil), "spec", "replicas")); got != want {
				t.Errorf("%s replicas, want %s", got, want)
			}
		})
	}
}

// readmeObject returns the object that a line of the chart's README has, in braces.
func readmeObject(t *testing.T, part string) object {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(chart, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "{") && strings.Contains(line, part) {
			return documents(t, []byte(line))[0]
		}
	}
	t.Fatalf("the README has no object with %s", part)
	return nil
}

// selects reports whether a service's selector matches the pods of a workload.
func selects(selector any, workload object) bool {
	labels := at(workload, "spec", "template", "metadata", "labels")
	for key, value := range selector.(object) {
		if at(labels, key) != value {
			return false
		}
	}
	return true
}

// containerPort returns the number of a named port of a workload's containers, or 0.
func containerPort(workload object, name string) int {
	for _, container := range at(workload, "spec", "template", "spec", "containers").([]any) {
		ports, _ := at(container, "ports").([]any)
		for _, port := range ports {
			if number, ok := at(port, "containerPort").(float64); ok && text(port, "name") == name {
				return int(number)
			}
		}
	}
	return 0
}

// checkKinds checks that the chart rendered objects of these kinds at least.
func checkKinds(t *testing.T, objects []object, want []string) {
	t.Helper()
	for _, kind := range want {
		if !slices.ContainsFunc(objects, func(o object) bool { return o["kind"] == kind }) {
			t.Errorf("the chart has no %s", kind)
		}
	}
}

// scale sets the replicas of the workloads that an autoscaler of the release controls, as it would do
// itself, and returns the workloads' titles.
func (c *cluster) scale(t *testing.T, objects []object, namespace string, replicas int) (names []string) {
	t.Helper()
	for _, o := range objects {
		if o["kind"] != "HorizontalPodAutoscaler" {
			continue
		}
		target, _ := at(o, "spec", "scaleTargetRef").(object)
		workload := object{"apiVersion": target["apiVersion"], "kind": target["kind"], "metadata": object{"name": target["name"]}}
		c.must(t, http.MethodPatch, c.path(t, workload, namespace)+"/scale?fieldManager=kube-controller-manager", object{"spec": object{"replicas": replicas}})
		names = append(names, title(workload))
	}
	return names
}

// copyChart copies the chart into a temporary folder, to change the copy.
func copyChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trident")
	if err := os.CopyFS(dir, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// edit replaces a part of a file of the copied chart, which must contain it.
func edit(t *testing.T, path, old, changed string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), old) {
		t.Fatalf("%s doesn't contain %q", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(content), old, changed, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// laterVersion returns a copy of the chart whose versions are those of a later release. Labels contain
// the versions, so selectors may not use these labels.
func laterVersion(t *testing.T) string {
	t.Helper()
	dir := copyChart(t)
	path := filepath.Join(dir, "Chart.yaml")
	var about object
	content, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(content, &about)
	}
	if err != nil {
		t.Fatal(err)
	}
	about["version"], about["appVersion"] = "99.0.0", "99.0.0"
	if content, err = json.Marshal(about); err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
