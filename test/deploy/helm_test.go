package deploy

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

var update = flag.Bool("update", false, "write the parts of the chart that are derived from other files")

// chartFolder is the chart's folder, relative to the top of the source tree.
const chartFolder = "deploy/helm/trident"

// chart is the chart. Renders don't change it.
var chart = sync.OnceValues(func() (*v2.Chart, error) { return loader.LoadDir(filepath.Join(root, chartFolder)) })

// variants returns the names of the sets of values with which tests render the chart.
func variants(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, file := range glob(t, chartFolder+"/ci/*-values.yaml") {
		names = append(names, strings.TrimSuffix(filepath.Base(file), "-values.yaml"))
	}
	return names
}

// variant returns the values of a set.
func variant(t *testing.T, name string) map[string]any {
	t.Helper()
	values, err := loader.LoadValues(bytes.NewReader(read(t, path.Join(chartFolder, "ci", name+"-values.yaml"))))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// templates renders the chart as helm template does, and returns the documents by their template.
func templates(t *testing.T, values map[string]any) (map[string]string, error) {
	t.Helper()
	c, err := chart()
	if err != nil {
		t.Fatal(err)
	}
	kube, err := common.ParseKubeVersion("v1.37.0")
	if err != nil {
		t.Fatal(err)
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *kube
	options := common.ReleaseOptions{Name: "test", Namespace: "models", Revision: 1, IsInstall: true}
	top, err := commonutil.ToRenderValues(c, values, options, capabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, top)
}

// object is an object of Kubernetes.
type object = map[string]any

// objects parses the documents of YAML files, by the files' names.
func objects(t *testing.T, files map[string]string) []object {
	t.Helper()
	var all []object
	for _, file := range slices.Sorted(maps.Keys(files)) {
		for d := yaml.NewDecoder(strings.NewReader(files[file])); ; {
			var o object
			err := d.Decode(&o)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", file, err, files[file])
			}
			if o != nil {
				all = append(all, o)
			}
		}
	}
	return all
}

// rendered returns the objects that the chart renders with a set of values.
func rendered(t *testing.T, name string) []object {
	t.Helper()
	files, err := templates(t, variant(t, name))
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(files, func(file, _ string) bool { return !strings.HasSuffix(file, ".yaml") })
	return objects(t, files)
}

// find returns the only object of a kind.
func find(t *testing.T, all []object, kind string) object {
	t.Helper()
	found := slices.DeleteFunc(slices.Clone(all), func(o object) bool { return o["kind"] != kind })
	if len(found) != 1 {
		t.Fatalf("%d objects of the kind %s", len(found), kind)
	}
	return found[0]
}

// at returns a field below the given keys and indexes, or nil.
func at(from any, keys ...any) any {
	for _, key := range keys {
		switch key := key.(type) {
		case string:
			m, _ := from.(map[string]any)
			from = m[key]
		case int:
			l, _ := from.([]any)
			if key >= len(l) {
				return nil
			}
			from = l[key]
		}
	}
	return from
}

// TestChartLint runs helm lint with each set of values, which also checks the values' schema. Warnings are errors.
func TestChartLint(t *testing.T) {
	for _, name := range variants(t) {
		t.Run(name, func(t *testing.T) {
			result := lint.RunAll(filepath.Join(root, chartFolder), variant(t, name), "models")
			for _, message := range result.Messages {
				if !strings.Contains(message.Err.Error(), "icon is recommended") {
					t.Error(message)
				}
			}
			if len(result.Messages) == 0 {
				t.Error("nothing was checked: the chart has no icon, which is reported")
			}
		})
	}
}

// TestChartNeedsValues checks that the defaults alone don't render, and that all missing values are reported at once.
func TestChartNeedsValues(t *testing.T) {
	_, err := templates(t, nil)
	for _, text := range []string{"image.repository: is required", "modelRepository: needs one of"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("no %q in %v", text, err)
		}
	}
}

// TestChartSchema checks that the schema of the values contains the schema of Trident's settings, so that unknown settings
// don't render.
func TestChartSchema(t *testing.T) {
	const file = chartFolder + "/values.schema.json"
	var schema, settings map[string]any
	for name, to := range map[string]*map[string]any{file: &schema, "docs/reference/config.schema.json": &settings} {
		if err := json.Unmarshal(read(t, name), to); err != nil {
			t.Fatal(err)
		}
	}
	delete(settings, "$schema")
	schema["$defs"] = map[string]any{"settings": settings}
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(schema); err != nil {
		t.Fatal(err)
	}
	derived(t, file, want.Bytes())
	_, err := templates(t, map[string]any{"config": map[string]any{"openai-prt": 1}})
	if err == nil || !strings.Contains(err.Error(), "openai-prt") {
		t.Errorf("an unknown setting renders: %v", err)
	}
}

// derived compares a file with what it should contain, or writes it with -update.
func derived(t *testing.T, file string, want []byte) {
	t.Helper()
	if bytes.Equal(read(t, file), want) {
		return
	}
	if !*update {
		t.Errorf("%s is stale: run go test -run '^%s$' -update in test/deploy, and read the difference", file, t.Name())
		return
	}
	if err := os.WriteFile(filepath.Join(root, file), want, 0o600); err != nil {
		t.Fatal(err)
	}
}
