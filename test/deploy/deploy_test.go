// Package deploy checks the files of deploy/ with the programs that read them: compose's own
// library, systemd, hadolint and promtool.
package deploy

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v3"
)

const root = "../.."

// tool returns the path of a tool that setup installs for tests, or of the system's.
func tool(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(root, ".venv-test", "bin", name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is not installed: run make setup-test", name)
	}
	return path
}

// optional returns the path of a tool that setup doesn't install. It skips the test if the tool is
// missing.
func optional(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// quiet runs a tool that prints nothing if the files are valid.
func quiet(t *testing.T, name string, args ...string) {
	t.Helper()
	if text, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil || len(bytes.TrimSpace(text)) > 0 {
		t.Errorf("%s %v: %v\n%s", filepath.Base(name), args, err, text)
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return paths
}

func TestContainerFiles(t *testing.T) {
	quiet(t, tool(t, "hadolint"), append([]string{"--no-color"}, glob(t, "deploy/container/Containerfile*")...)...)
}

func TestScripts(t *testing.T) {
	quiet(t, tool(t, "shellcheck"), slices.Concat(glob(t, "tools/*.sh"), glob(t, "deploy/packages/*.sh"), glob(t, ".ci/run"))...)
}

// TestUnit checks the unit with systemd, with an existing program instead of Trident. systemd only
// warns about unknown keys, so the test fails on any output.
func TestUnit(t *testing.T) {
	systemd := optional(t, "systemd-analyze")
	text, err := os.ReadFile(filepath.Join(root, "deploy/systemd/trident.service"))
	if err != nil {
		t.Fatal(err)
	}
	const program = "ExecStart=/usr/local/bin/trident\n"
	if !strings.Contains(string(text), program) {
		t.Fatalf("no %s", program)
	}
	path := filepath.Join(t.TempDir(), "trident.service")
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), program, "ExecStart=/bin/true\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	quiet(t, systemd, "verify", "--man=no", path)
	for _, setting := range []string{"KillMode=control-group", "LimitMEMLOCK=infinity", "LimitNOFILE=65536"} {
		if !strings.Contains(string(text), "\n"+setting+"\n") {
			t.Errorf("the file lacks %s", setting)
		}
	}
}

func project(t *testing.T, models string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions(glob(t, "deploy/compose/compose.yaml"), cli.WithEnv([]string{"MODELS=" + models}))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(t.Context())
}

// TestCompose reads the file as docker compose does, which refuses unknown keys, and checks the
// required settings.
func TestCompose(t *testing.T) {
	p, err := project(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	triton, trident := p.Services["triton"], p.Services["trident"]
	devices := triton.Deploy.Resources.Reservations.Devices
	if len(devices) != 1 || !slices.Contains(devices[0].Capabilities, "gpu") {
		t.Errorf("triton's devices: %v", devices)
	}
	if triton.ShmSize != 8<<30 || triton.Ulimits["memlock"].Single != -1 || triton.Ulimits["stack"].Single != 64<<20 {
		t.Errorf("triton has %d bytes of shared memory, and limits %v", triton.ShmSize, triton.Ulimits)
	}
	if grace := time.Duration(*trident.StopGracePeriod); grace < 40*time.Second {
		t.Errorf("the stop timeout of trident is %s", grace)
	}
	for name, service := range p.Services {
		if service.Restart != types.RestartPolicyUnlessStopped {
			t.Errorf("%s restarts %q", name, service.Restart)
		}
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s opens port %s to %q", name, port.Published, port.HostIP)
			}
		}
		if service.Build != nil && !exists(t, filepath.Join(service.Build.Context, service.Build.Dockerfile)) {
			t.Errorf("the service %s is built by %s, which doesn't exist", name, service.Build.Dockerfile)
		}
	}
	if _, err := project(t, ""); err == nil || !strings.Contains(err.Error(), "the folder of the model repository") {
		t.Errorf("without models: %v", err)
	}
}

// TestMounts checks that the files which the containers of the compose file mount exist in the
// repository.
func TestMounts(t *testing.T) {
	p, err := project(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, service := range p.Services {
		for _, volume := range service.Volumes {
			t.Run(name+filepath.Base(volume.Target), func(t *testing.T) {
				if volume.Type == types.VolumeTypeBind && !exists(t, filepath.Dir(volume.Source)) {
					t.Skipf("this source tree has no %s", filepath.Dir(volume.Source))
				}
				if volume.Type == types.VolumeTypeBind && !exists(t, volume.Source) {
					t.Errorf("%s doesn't exist", volume.Source)
				}
			})
		}
	}
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	return err == nil
}

// TestCollector checks that the OpenTelemetry collector's configuration defines exactly the parts
// that its pipelines name.
func TestCollector(t *testing.T) {
	type parts = map[string]any
	var config struct {
		Receivers, Processors, Exporters parts
		Service                          struct {
			Pipelines map[string]struct{ Receivers, Processors, Exporters []string }
		}
	}
	decode(t, "deploy/compose/collector.yaml", &config)
	traces, ok := config.Service.Pipelines["traces"]
	if !ok || len(config.Service.Pipelines) != 1 {
		t.Fatalf("pipelines %v", config.Service.Pipelines)
	}
	for _, row := range []struct {
		what  string
		has   parts
		names []string
	}{
		{"receivers", config.Receivers, traces.Receivers},
		{"processors", config.Processors, traces.Processors},
		{"exporters", config.Exporters, traces.Exporters},
	} {
		for _, name := range row.names {
			if _, ok := row.has[name]; !ok {
				t.Errorf("no %s in %s", name, row.what)
			}
		}
		if len(row.names) == 0 || len(row.names) != len(row.has) {
			t.Errorf("%s: %v in the pipeline, %v there", row.what, row.names, row.has)
		}
	}
}

// TestProvisioning checks the parts of Grafana's files that Trident's dashboard depends on.
func TestProvisioning(t *testing.T) {
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			IsDefault                    bool `yaml:"isDefault"`
		}
	}
	decode(t, "deploy/compose/grafana/datasources.yaml", &sources)
	if len(sources.Datasources) != 1 || sources.Datasources[0].Type != "prometheus" || sources.Datasources[0].URL != "http://prometheus:9090" {
		t.Errorf("%+v", sources)
	}
	var boards struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Type string
			Options    struct{ Path string }
		}
	}
	decode(t, "deploy/compose/grafana/dashboards.yaml", &boards)
	if len(boards.Providers) != 1 || boards.Providers[0].Options.Path != "/var/lib/grafana/dashboards" {
		t.Errorf("%+v", boards)
	}
}

// decode refuses keys that the type lacks.
func decode(t *testing.T, path string, to any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(to); err != nil {
		t.Errorf("%s: %v", path, err)
	}
}

// TestPrometheus checks the Prometheus configuration with promtool. The alert rules are in the same
// folder, as in the container.
func TestPrometheus(t *testing.T) {
	var config struct {
		Global        map[string]string
		RuleFiles     []string `yaml:"rule_files"`
		ScrapeConfigs []struct {
			JobName       string                       `yaml:"job_name"`
			StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	decode(t, "deploy/compose/prometheus.yaml", &config)
	p, err := project(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, scrape := range config.ScrapeConfigs {
		service, _, _ := strings.Cut(scrape.StaticConfigs[0].Targets[0], ":")
		if _, ok := p.Services[service]; !ok {
			t.Errorf("%s: no service %s", scrape.JobName, service)
		}
	}
	promtool := optional(t, "promtool")
	folder := t.TempDir()
	if !exists(t, filepath.Join(root, "deploy/prometheus")) {
		t.Skip("this source tree has no deploy/prometheus")
	}
	for _, path := range []string{"deploy/compose/prometheus.yaml", "deploy/prometheus/alerts.yml"} {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(path)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if text, err := exec.CommandContext(ctx, promtool, "check", "config", filepath.Join(folder, "prometheus.yaml")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
