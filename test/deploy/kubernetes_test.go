package deploy

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/yannh/kubeconform/pkg/resource"
	"github.com/yannh/kubeconform/pkg/validator"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// versions are the versions of Kubernetes whose schemas the chart and the examples are checked with.
var versions = []string{"1.35.0", "1.36.0", "1.37.0"}

// crdsVariable names the folder with the definitions of resources that no Go module has: KServe's, InferencePool's and
// LeaderWorkerSet's. A relative path is one of the top of the source tree.
const crdsVariable = "TRIDENT_TEST_CRDS"

// schemas is the folder with the schemas that kubeconform reads, and a validator for each version, which keeps the schemas
// that it has read.
type schemas struct {
	folder     string
	validators map[string]validator.Validator
	defined    bool // the definitions of other projects are in the folder
}

var allSchemas = sync.OnceValues(func() (*schemas, error) {
	folder, err := os.MkdirTemp("", "schemas")
	if err != nil {
		return nil, err
	}
	s := &schemas{folder: folder, validators: map[string]validator.Validator{}}
	for _, version := range versions {
		s.validators[version], err = validator.New([]string{
			folder + "/{{ .NormalizedKubernetesVersion }}/{{ .ResourceKind }}{{ .KindSuffix }}.json",
			folder + "/{{ .ResourceKind }}-{{ .Group }}-{{ .ResourceAPIVersion }}.json",
		}, validator.Opts{KubernetesVersion: version, Strict: true})
		if err != nil {
			return nil, err
		}
	}
	return s, nil
})

// need writes the schema of a kind into the folder, in kubeconform's layout. A kind of another project needs the definitions.
func (s *schemas) need(t *testing.T, o object) {
	t.Helper()
	group, version, ok := strings.Cut(o["apiVersion"].(string), "/")
	file := strings.ToLower(o["kind"].(string)) + "-" + strings.Split(group, ".")[0]
	if ok {
		file += "-" + version
	}
	for _, version := range versions {
		from := glob(t, ".venv-test/lib/python3*/site-packages/kubernetes_validate/kubernetes-json-schema/v"+version+"-local-strict")[0]
		to := filepath.Join(s.folder, "v"+version)
		for _, name := range []string{"_definitions.json", file + ".json"} {
			if exists(t, filepath.Join(from, name)) && !exists(t, filepath.Join(to, name)) {
				copySchema(t, filepath.Join(from, name), filepath.Join(to, name))
			}
		}
	}
	if s.defined || exists(t, filepath.Join(s.folder, "v"+versions[0], file+".json")) {
		return
	}
	s.defined = true
	for _, file := range definitions(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		writeDefinitions(t, s.folder, text)
	}
}

// copySchema copies a schema of kubernetes-validate. Its references are URLs; here they are names of files.
func copySchema(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`"\$id": "[^"]*"`).ReplaceAll(text, []byte(`"$comment": ""`))
	text = bytes.ReplaceAll(text, []byte(`"/api/_definitions.json#`), []byte(`"_definitions.json#`))
	write(t, to, string(text))
}

// definitions returns the files with CustomResourceDefinitions: those of Go modules, and those of the folder that the
// variable names.
func definitions(t *testing.T) []string {
	t.Helper()
	var files []string
	for module, pattern := range map[string]string{
		"sigs.k8s.io/gateway-api":                            "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
		"github.com/prometheus-operator/prometheus-operator": "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
	} {
		cmd := exec.CommandContext(t.Context(), "go", "-C", "tools/kube/crds", "mod", "download", "-json", module)
		cmd.Dir = root
		text, err := cmd.Output()
		var found struct{ Dir string }
		if err != nil || json.Unmarshal(text, &found) != nil {
			t.Fatalf("%s: %v\n%s", module, err, text)
		}
		files = append(files, filepath.Join(found.Dir, pattern))
	}
	if folder := os.Getenv(crdsVariable); folder != "" {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(root, folder)
		}
		more, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil || len(more) == 0 {
			t.Fatalf("%s has no definitions: %v", folder, err)
		}
		files = append(files, more...)
	}
	return files
}

// writeDefinitions writes the schema of each version of a definition, in which unknown fields are errors.
func writeDefinitions(t *testing.T, folder string, text []byte) {
	t.Helper()
	var definition struct {
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema map[string]any `yaml:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &definition); err != nil {
		t.Fatal(err)
	}
	for _, version := range definition.Spec.Versions {
		closed(version.Schema.OpenAPIV3Schema)
		schema, err := json.Marshal(version.Schema.OpenAPIV3Schema)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.ToLower(definition.Spec.Names.Kind) + "-" + definition.Spec.Group + "-" + version.Name + ".json"
		if err := os.WriteFile(filepath.Join(folder, name), schema, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// closed makes a schema refuse unknown fields, as a server does with strict validation.
func closed(schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	for _, p := range properties {
		closed(p.(map[string]any))
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := schema[key].(map[string]any); ok {
			closed(inner)
		}
	}
	if schema["x-kubernetes-int-or-string"] == true {
		delete(schema, "type")
	}
	if schema["x-kubernetes-preserve-unknown-fields"] != true && len(properties) > 0 && schema["additionalProperties"] == nil {
		schema["additionalProperties"] = false
	}
}

// conform checks objects with kubeconform for each version of Kubernetes. It returns the problems.
func conform(t *testing.T, all []object) []string {
	t.Helper()
	s, err := allSchemas()
	if err != nil {
		t.Fatal(err)
	}
	var problems []string
	for _, o := range all {
		s.need(t, o)
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range versions {
			if result := s.validators[version].ValidateResource(resource.Resource{Bytes: text}); result.Status != validator.Valid {
				problems = append(problems, version+": "+o["kind"].(string)+": "+result.Err.Error())
			}
		}
	}
	return problems
}

// TestChartObjects checks the objects of each set of values with kubeconform.
func TestChartObjects(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range variants(t) {
		all := rendered(t, name)
		for _, o := range all {
			seen[o["kind"].(string)] = true
		}
		t.Run(name, func(t *testing.T) {
			for _, problem := range conform(t, all) {
				t.Error(problem)
			}
		})
	}
	want := []string{"ConfigMap", "Deployment", "HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount", "ServiceMonitor"}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
		t.Errorf("the sets of values render %v", got)
	}
	t.Run("invalid", func(t *testing.T) {
		all := rendered(t, "full-in-process")
		find(t, all, "Deployment")["spec"].(object)["replica"] = 1
		find(t, all, "ServiceMonitor")["spec"].(object)["endpoint"] = []any{}
		find(t, all, "HorizontalPodAutoscaler")["spec"].(object)["maxReplicas"] = "many"
		problems := strings.Join(conform(t, all), "\n")
		for _, text := range []string{"1.35.0: Deployment: ", "1.37.0: Deployment: ", "'replica' not allowed", "'endpoint' not allowed", "maxReplicas"} {
			if !strings.Contains(problems, text) {
				t.Errorf("no %q in\n%s", text, problems)
			}
		}
	})
}

// podTemplate is a pod that an object creates.
type podTemplate struct {
	name string
	spec corev1.PodSpec
}

// podTemplates returns the pods of an object, also of those that have them in fields of their own.
func podTemplates(t *testing.T, o object) []podTemplate {
	t.Helper()
	var found []podTemplate
	for _, keys := range [][]any{
		{"spec", "template", "spec"},                               // Deployment
		{"spec", "template"},                                       // LLMInferenceService
		{"spec", "leaderWorkerTemplate", "leaderTemplate", "spec"}, // LeaderWorkerSet
		{"spec", "leaderWorkerTemplate", "workerTemplate", "spec"},
		{"spec"}, // ServingRuntime
	} {
		spec, ok := at(o, keys...).(object)
		if !ok || spec["containers"] == nil {
			continue
		}
		text, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		p := podTemplate{name: o["kind"].(string)}
		if err := json.Unmarshal(text, &p.spec); err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		found = append(found, p)
	}
	return found
}

// restricted returns what the Pod Security Standard restricted refuses of a pod.
func restricted(t *testing.T, p podTemplate) string {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	result := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &metav1.ObjectMeta{}, &p.spec))
	if result.Allowed {
		return ""
	}
	return result.ForbiddenDetail()
}

// TestRestrictedPods checks the pods of the chart and of the examples by the Pod Security Standard restricted.
func TestRestrictedPods(t *testing.T) {
	var pods []podTemplate
	for _, name := range variants(t) {
		for _, o := range rendered(t, name) {
			pods = append(pods, podTemplates(t, o)...)
		}
	}
	if len(pods) != len(variants(t)) {
		t.Errorf("%d pods of %d sets of values", len(pods), len(variants(t)))
	}
	for _, file := range glob(t, "deploy/kubernetes/*.yaml") {
		for _, o := range example(t, file) {
			pods = append(pods, podTemplates(t, o)...)
		}
	}
	if got := len(pods) - len(variants(t)); got != 5 {
		t.Errorf("%d pods in the examples", got)
	}
	for _, p := range pods {
		if problem := restricted(t, p); problem != "" {
			t.Errorf("%s: %s", p.name, problem)
		}
	}
	bad := pods[0]
	bad.spec.HostNetwork = true
	if restricted(t, bad) == "" {
		t.Error("a pod in the node's network is allowed")
	}
}

// example returns the objects of a file.
func example(t *testing.T, file string) []object {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, map[string]string{file: string(text)})
}

// TestExamples checks the examples of deploy/kubernetes with kubeconform.
func TestExamples(t *testing.T) {
	outside := []string{"serving.kserve.io", "inference.networking.k8s.io", "leaderworkerset.x-k8s.io"}
	seen := map[string]bool{}
	for _, file := range glob(t, "deploy/kubernetes/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var known, others []object
			for _, o := range example(t, file) {
				seen[o["kind"].(string)] = true
				if group, _, _ := strings.Cut(o["apiVersion"].(string), "/"); slices.Contains(outside, group) {
					others = append(others, o)
				} else {
					known = append(known, o)
				}
			}
			for _, problem := range conform(t, known) {
				t.Error(problem)
			}
			for _, o := range others {
				t.Run(o["kind"].(string), func(t *testing.T) {
					if os.Getenv(crdsVariable) == "" {
						t.Skipf("%s names no folder with the definition of %s", crdsVariable, o["apiVersion"])
					}
					for _, problem := range conform(t, []object{o}) {
						t.Error(problem)
					}
					o["spec"].(object)["unknown"] = 1
					if problems := conform(t, []object{o}); len(problems) != len(versions) || !strings.Contains(problems[0], "'unknown' not allowed") {
						t.Errorf("an unknown field is accepted: %v", problems)
					}
				})
			}
		})
	}
	for _, kind := range []string{"HTTPRoute", "InferencePool", "InferenceService", "LLMInferenceService", "LeaderWorkerSet", "ServingRuntime"} {
		if !seen[kind] {
			t.Errorf("no example has the kind %s", kind)
		}
	}
}

// TestExampleArguments checks that Trident accepts the arguments of each container of the examples that runs it.
func TestExampleArguments(t *testing.T) {
	file, err := program()
	if err != nil {
		t.Fatal(err)
	}
	var found int
	for _, source := range glob(t, "deploy/kubernetes/*.yaml") {
		for _, o := range example(t, source) {
			for _, p := range podTemplates(t, o) {
				for _, c := range p.spec.Containers {
					if !strings.Contains(c.Image, "/trident:") || len(c.Args) == 0 {
						continue
					}
					found++
					args := slices.DeleteFunc(slices.Clone(c.Args), func(arg string) bool { return strings.HasPrefix(arg, "--config=") })
					cmd := exec.CommandContext(t.Context(), file, append([]string{"config", "print", "--given"}, args...)...)
					cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
					text, err := cmd.CombinedOutput()
					if err != nil || strings.Count(string(text), "# flag") != len(args) {
						t.Errorf("%s: %v %v\n%s", p.name, args, err, text)
					}
				}
			}
		}
	}
	if found != 3 {
		t.Errorf("%d containers run Trident", found)
	}
}

// TestExampleGrace checks that the pods of the examples that run Trident have the time of its stop.
func TestExampleGrace(t *testing.T) {
	for _, source := range glob(t, "deploy/kubernetes/*.yaml") {
		for _, o := range example(t, source) {
			for _, p := range podTemplates(t, o) {
				for _, c := range p.spec.Containers {
					if !slices.Contains(c.Args, "--shutdown-timeout=30s") {
						continue
					}
					grace := p.spec.TerminationGracePeriodSeconds
					if o["kind"] == "ServingRuntime" { // KServe has it in the InferenceService
						seconds, _ := at(find(t, example(t, source), "InferenceService"), "spec", "predictor", "terminationGracePeriodSeconds").(int)
						grace = new(int64(seconds))
					}
					if grace == nil || *grace < 15+30+10+24 || !slices.Contains(c.Args, "--drain-delay=15s") {
						t.Errorf("%s has the grace period %v and the arguments %v", p.name, grace, c.Args)
					}
				}
			}
		}
	}
}

// TestExampleWorkers checks that the workers of a group run until its leader has stopped.
func TestExampleWorkers(t *testing.T) {
	group := find(t, example(t, glob(t, "deploy/kubernetes/leaderworkerset.yaml")[0]), "LeaderWorkerSet")
	worker := at(group, "spec", "leaderWorkerTemplate", "workerTemplate", "spec")
	grace, _ := at(worker, "terminationGracePeriodSeconds").(int)
	wait, _ := at(worker, "containers", 0, "lifecycle", "preStop", "sleep", "seconds").(int)
	if stop := 15 + 30 + 10 + 24; wait < stop || wait >= grace {
		t.Errorf("a worker runs for %d of %d s, and the leader's stop takes up to %d s", wait, grace, stop)
	}
}

// TestExampleReferences checks the names that objects of the examples have in common with each other, with the picker's
// configuration and with the chart.
func TestExampleReferences(t *testing.T) {
	all := example(t, glob(t, "deploy/kubernetes/inferencepool.yaml")[0])
	pool := find(t, all, "InferencePool")
	if at(find(t, all, "HTTPRoute"), "spec", "rules", 0, "backendRefs", 0, "name") != at(pool, "metadata", "name") {
		t.Error("the route names another pool")
	}
	service := find(t, all, "Service")
	if at(pool, "spec", "endpointPickerRef", "name") != at(service, "metadata", "name") ||
		at(pool, "spec", "endpointPickerRef", "port", "number") != at(service, "spec", "ports", 0, "port") {
		t.Error("the pool names another picker")
	}
	deployment := find(t, rendered(t, "in-process"), "Deployment")
	labels, _ := at(deployment, "spec", "template", "metadata", "labels").(object)
	for name := range at(pool, "spec", "selector", "matchLabels").(object) {
		if labels[name] == nil {
			t.Errorf("pods of the chart have no label %s", name)
		}
	}
	if at(pool, "spec", "targetPorts", 0, "number") != at(deployment, "spec", "template", "spec", "containers", 0, "ports", 0, "containerPort") {
		t.Error("the pool has another port than the chart")
	}
	var adapter struct {
		Rules struct {
			Custom []struct {
				SeriesQuery string `yaml:"seriesQuery"`
			}
		}
	}
	if err := yaml.Unmarshal(read(t, "deploy/prometheus/adapter.yaml"), &adapter); err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(`__name__=~"([^"]+)"`).FindStringSubmatch(adapter.Rules.Custom[0].SeriesQuery)
	names := regexp.MustCompile("^(" + pattern[1] + ")$")
	families := string(read(t, "docs/reference/metrics.md"))
	for _, metric := range at(find(t, rendered(t, "full-in-process"), "HorizontalPodAutoscaler"), "spec", "metrics").([]any) {
		name, _ := at(metric, "pods", "metric", "name").(string)
		if !names.MatchString(name) || !strings.Contains(families, "| `"+name+"` |") {
			t.Errorf("the autoscaler uses %q", name)
		}
	}
}
