package kube

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// examples is the folder of the examples for Kubernetes.
var examples = filepath.Join(root, "deploy", "kubernetes")

// exampleKinds lists the kinds that the examples must contain.
var exampleKinds = []string{"HTTPRoute", "InferencePool", "InferenceService", "LLMInferenceService", "LeaderWorkerSet", "ServingRuntime"}

// outside reports whether the object's definition comes from the folder of crdsVariable.
func outside(o object) bool {
	group, _, _ := strings.Cut(text(o, "apiVersion"), "/")
	return slices.Contains(fromOutside, group)
}

// exampleFiles returns the objects of the examples, by file.
func exampleFiles(t *testing.T) map[string][]object {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(examples, "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no examples in %s: %v", examples, err)
	}
	list := map[string][]object{}
	for _, path := range paths {
		list[filepath.Base(path)] = documentsOf(t, path)
	}
	return list
}

// testExamples creates the objects of each file, and the pods of their templates.
func testExamples(t *testing.T, c *cluster) {
	t.Helper()
	found := map[string]bool{}
	for name, objects := range exampleFiles(t) {
		t.Run(name, func(t *testing.T) {
			if slices.ContainsFunc(objects, outside) {
				needsCRDs(t)
			}
			namespace := c.restricted(t, cmp.Or(namespaceOf(t, objects), "example-"+strings.TrimSuffix(name, ".yaml")))
			for _, o := range objects {
				c.accepts(t, o, namespace)
			}
			c.admits(t, objects, namespace)
		})
		for _, o := range objects {
			found[text(o, "kind")] = true
		}
	}
	for _, kind := range exampleKinds {
		if !found[kind] {
			t.Errorf("no example has a %s", kind)
		}
	}
}

// namespaceOf returns the namespace of a file's objects, or an empty string if they have none. Objects
// without one get that of the user's settings, so either all objects have the same one, or none has any.
func namespaceOf(t *testing.T, objects []object) string {
	t.Helper()
	first := text(objects[0], "metadata", "namespace")
	for _, o := range objects {
		if own := text(o, "metadata", "namespace"); own != first {
			t.Errorf("%s has the namespace %q, but %s has %q", title(o), own, title(objects[0]), first)
		}
	}
	return first
}
