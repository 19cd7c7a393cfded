package kube

import (
	"maps"
	"net/http"
	"strings"
	"testing"
)

// template is the pod template of a workload.
type template struct {
	where string // path of the template in the workload
	pod   object // pod that a controller would create, without a name
}

// templates returns the pod templates of a workload. No controller runs here, so the test creates the pods.
func templates(o object) (list []template) {
	add := func(where string, metadata, spec any) {
		if spec, ok := spec.(object); ok {
			list = append(list, template{where, pod(metadata, spec)})
		}
	}
	paths := map[string][]string{
		"Deployment": {"spec.template"}, "StatefulSet": {"spec.template"}, "DaemonSet": {"spec.template"}, "Job": {"spec.template"}, "Pod": {""},
		"LeaderWorkerSet": {"spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"},
	}
	kind := text(o, "kind")
	for _, path := range paths[kind] {
		inner := at(o, strings.FieldsFunc(path, func(r rune) bool { return r == '.' })...)
		add(path, at(inner, "metadata"), at(inner, "spec"))
	}
	switch kind {
	case "ServingRuntime", "ClusterServingRuntime":
		add("spec", object{"labels": at(o, "spec", "labels"), "annotations": at(o, "spec", "annotations")}, only(at(o, "spec"), servingPodFields))
	case "InferenceService":
		if at(o, "spec", "predictor", "containers") != nil {
			add("spec.predictor", nil, only(at(o, "spec", "predictor"), servingPodFields))
		}
	case "LLMInferenceService":
		for _, path := range [][]string{{"spec", "template"}, {"spec", "worker"}, {"spec", "prefill", "template"}, {"spec", "prefill", "worker"}} {
			add(strings.Join(path, "."), nil, at(o, path...))
		}
	}
	return list
}

// servingPodFields are the fields that KServe copies from a runtime or a predictor into its pods.
var servingPodFields = []string{
	"affinity", "automountServiceAccountToken", "containers", "hostIPC", "imagePullSecrets", "initContainers", "nodeSelector", "securityContext",
	"serviceAccountName", "terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints", "volumes",
}

// only returns the named fields of an object.
func only(from any, names []string) object {
	kept := object{}
	fields, _ := from.(object)
	for _, name := range names {
		if value, ok := fields[name]; ok {
			kept[name] = value
		}
	}
	return kept
}

// pod returns the pod of a template.
func pod(metadata any, spec object) object {
	own := object{"generateName": "of-template-"}
	from, _ := metadata.(object)
	maps.Copy(own, only(from, []string{"labels", "annotations"}))
	return object{"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": spec}
}

// admits creates the pods of all templates of the objects in the namespace, and deletes the pods. It
// returns the number of templates.
func (c *cluster) admits(t *testing.T, objects []object, namespace string) (n int) {
	t.Helper()
	for _, o := range objects {
		for _, template := range templates(o) {
			n++
			reply := c.create(t, template.pod, namespace)
			if err := reply.refusal(); err != nil {
				t.Errorf("the pod of %s, %s: %v", title(o), template.where, err)
				continue
			}
			c.must(t, http.MethodDelete, c.path(t, reply.read(t), namespace)+"?gracePeriodSeconds=0", nil)
		}
	}
	return n
}
