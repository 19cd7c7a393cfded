package deploy

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// TestChartUnit runs the chart's own tests with helm-unittest.
func TestChartUnit(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools/helm/go.mod", "helm-unittest", "--strict", "--color=false", chartFolder)
	cmd.Dir = root
	text, err := cmd.CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^Tests: +[1-9][0-9]* passed, [0-9]+ total$`).Match(text) {
		t.Errorf("%v\n%s", err, text)
	}
}

// program is Trident, built once for all tests.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "trident")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "trident")
	cmd := exec.Command("go", "build", "-o", file, "./cmd/trident")
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, text)
	}
	return file, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if file, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(file)) // the folder is temporary anyway
	}
	if s, err := allSchemas(); err == nil {
		_ = os.RemoveAll(s.folder) // the folder is temporary anyway
	}
	os.Exit(code)
}

// pod starts programs as the container of a rendered Deployment, with the container's files in a folder of this machine.
type pod struct {
	program string
	env     []string
	dir     string
}

// newPod writes the settings and the Secrets of the rendered objects into a folder, and returns how the container is started.
func newPod(t *testing.T, all []object) pod {
	t.Helper()
	file, err := program()
	if err != nil {
		t.Fatal(err)
	}
	p := pod{program: file, dir: t.TempDir()}
	container := at(find(t, all, "Deployment"), "spec", "template", "spec", "containers", 0)
	for _, e := range at(container, "env").([]any) {
		name, _ := at(e, "name").(string)
		value, ok := at(e, "value").(string)
		if !ok {
			value = secretValue(t, name)
		}
		p.env = append(p.env, name+"="+p.moved(value))
	}
	settings, _ := at(find(t, all, "ConfigMap"), "data", "trident.yaml").(string)
	write(t, filepath.Join(p.dir, "etc", "trident", "settings", "trident.yaml"), p.moved(settings))
	for _, name := range regexp.MustCompile(`/etc/trident/[\w./-]+`).FindAllString(settings, -1) {
		write(t, filepath.Join(p.dir, name), secretFile(t, path.Base(name)))
	}
	return p
}

// moved replaces the folder of the settings by the test's.
func (p pod) moved(text string) string {
	return strings.ReplaceAll(text, "/etc/trident", p.dir+"/etc/trident")
}

// command returns a run of the container's program.
func (p pod) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.program, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, p.env...)
	cmd.Dir = p.dir
	return cmd
}

func secretValue(t *testing.T, variable string) string {
	t.Helper()
	switch variable {
	case "TRIDENT_RESPONSES_STORE", "TRIDENT_LIMITS_STORE":
		return "rediss://trident:secret@127.0.0.1:6379/0"
	case "TRIDENT_OPENAI_RESTRICTED_API":
		return "model-repository admin secret"
	default:
		return "secret"
	}
}

// secretFile returns the content of a Secret's file.
func secretFile(t *testing.T, name string) string {
	t.Helper()
	switch {
	case strings.HasSuffix(name, ".crt"):
		return certificate().crt
	case strings.HasSuffix(name, ".key"):
		return certificate().key
	case name == "seal-keys":
		return base64.StdEncoding.EncodeToString(make([]byte, 32)) + "\n"
	default:
		return "sk-0123456789abcdef0123456789abcdef\n"
	}
}

type keyPair struct{ crt, key string }

// certificate is a certificate of this machine that is its own CA.
var certificate = sync.OnceValue(func() keyPair {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	crt, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	return keyPair{string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: crt})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))}
})

// TestChartSettings checks that Trident accepts the settings and the variables of each set of values.
func TestChartSettings(t *testing.T) {
	for _, name := range variants(t) {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, rendered(t, name))
			text, err := p.command(t.Context(), "config", "check").CombinedOutput()
			if err != nil || !strings.HasSuffix(strings.TrimSpace(string(text)), "config OK") || strings.Contains(string(text), "unknown") {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
	t.Run("invalid", func(t *testing.T) {
		all := rendered(t, "frontend")
		find(t, all, "ConfigMap")["data"].(object)["trident.yaml"] = "openai-prt: 9000\n"
		if text, err := newPod(t, all).command(t.Context(), "config", "check").CombinedOutput(); err == nil {
			t.Errorf("an unknown setting is accepted: %s", text)
		}
	})
}

// TestChartRuns starts Trident as a frontend's pod does, and sends the probes of the Deployment and a scrape of the metrics.
// SIGTERM ends it within the grace period, and the drain delay keeps it live until then.
func TestChartRuns(t *testing.T) {
	ports := freePorts(t, 2)
	values := variant(t, "frontend")
	values["ports"] = object{"http": ports[0], "metrics": ports[1]}
	values["tritonEndpoints"] = []any{"127.0.0.1:1"}
	values["apiKeys"] = object{"secretName": "keys"}
	values["probes"] = object{"readiness": object{"periodSeconds": 1, "failureThreshold": 1, "timeoutSeconds": 1}}
	values["drainDelaySeconds"] = 2
	files, err := templates(t, values)
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(files, func(file, _ string) bool { return !strings.HasSuffix(file, ".yaml") })
	all := objects(t, files)
	p := newPod(t, all)
	cmd := p.command(t.Context())
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		_ = cmd.Process.Kill() // it has ended if the test passed
		if t.Failed() {
			t.Log(log.String())
		}
	}()

	container := at(find(t, all, "Deployment"), "spec", "template", "spec", "containers", 0)
	live, _ := at(container, "livenessProbe", "httpGet", "path").(string)
	ready, _ := at(container, "readinessProbe", "httpGet", "path").(string)
	eventually(t, func() bool { return status(t, ports[0], live) == http.StatusOK })
	if code := status(t, ports[0], ready); code != http.StatusServiceUnavailable {
		t.Errorf("without a server, the readiness probe gets status %d", code)
	}
	if code := status(t, ports[1], "/metrics"); code != http.StatusOK {
		t.Errorf("a scrape without a key gets status %d", code)
	}
	if code := status(t, ports[0], "/v1/models"); code != http.StatusUnauthorized {
		t.Errorf("a request without a key gets status %d", code)
	}
	for probe, want := range map[string]int{"live": 0, "ready": 1, "startup": 1} {
		probe := p.command(t.Context(), "health", probe)
		if text, err := probe.CombinedOutput(); probe.ProcessState.ExitCode() != want {
			t.Errorf("%v: %v\n%s", probe.Args, err, text)
		}
	}

	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // half of the drain delay
	if code := status(t, ports[0], live); code != http.StatusOK {
		t.Errorf("within the drain delay, the liveness probe gets status %d", code)
	}
	grace, _ := at(find(t, all, "Deployment"), "spec", "template", "spec", "terminationGracePeriodSeconds").(int)
	select {
	case err := <-ended:
		if err != nil || time.Since(began) < 2*time.Second {
			t.Errorf("it ended after %s: %v", time.Since(began), err)
		}
	case <-time.After(time.Duration(grace) * time.Second):
		t.Errorf("it still runs after %d s", grace)
	}
}

func freePorts(t *testing.T, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}

// status returns the status of a GET, or 0 without a response.
func status(t *testing.T, port int, path string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", port, path), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close() // only the status is read
	return resp.StatusCode
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the condition isn't met after 20 s")
		}
	}
}

// TestChartImages compares the chart with the container files that its images are built from: program, user, ports and
// variables.
func TestChartImages(t *testing.T) {
	for file, name := range map[string]string{"Containerfile": "in-process", "Containerfile.remote": "frontend"} {
		t.Run(name, func(t *testing.T) {
			values := variant(t, name)
			values["probes"] = object{"exec": true}
			values["kserve"] = object{"enabled": true}
			files, err := templates(t, values)
			if err != nil {
				t.Fatal(err)
			}
			maps.DeleteFunc(files, func(file, _ string) bool { return !strings.HasSuffix(file, ".yaml") })
			spec := at(find(t, objects(t, files), "Deployment"), "spec", "template", "spec")
			container := at(spec, "containers", 0)
			text := string(read(t, "deploy/container/"+file))
			_, last, _ := cutLast(text, "\nFROM ")

			entry := regexp.MustCompile(`(?m)^ENTRYPOINT \["([^"]+)"\]$`).FindStringSubmatch(last)
			if program := at(container, "livenessProbe", "exec", "command", 0); entry == nil || program != entry[1] {
				t.Errorf("probes run %v, the image %v", program, entry)
			}
			if at(container, "command") != nil || at(container, "args") != nil {
				t.Error("the container doesn't run the image's own program")
			}
			user := regexp.MustCompile(`(?m)^USER (\d+):(\d+)$`).FindStringSubmatch(last)
			context := at(spec, "securityContext")
			if user == nil || strconv.Itoa(at(context, "runAsUser").(int)) != user[1] || strconv.Itoa(at(context, "runAsGroup").(int)) != user[2] {
				t.Errorf("the pod has the context %v, the image the user %v", context, user)
			}
			exposed := strings.Fields(regexp.MustCompile(`(?m)^EXPOSE (.*)$`).FindStringSubmatch(last)[1])
			var ports []string
			for _, port := range at(container, "ports").([]any) {
				if at(port, "name") != "metrics" {
					ports = append(ports, strconv.Itoa(at(port, "containerPort").(int)))
				}
			}
			if !slices.Equal(ports, exposed) {
				t.Errorf("the pod has the ports %v, the image %v", ports, exposed)
			}
			var set []string
			for _, e := range at(container, "env").([]any) {
				set = append(set, at(e, "name").(string))
			}
			for _, e := range regexp.MustCompile(`(?m)^ENV (TRIDENT_\w+)=`).FindAllStringSubmatch(last, -1) {
				if !slices.Contains(set, e[1]) {
					t.Errorf("the image's variable %s overrides the settings file", e[1])
				}
			}
		})
	}
}

func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}

// TestChartGrace compares the chart's sum of the times of a stop with the program's.
func TestChartGrace(t *testing.T) {
	for file, text := range map[string]string{
		"cmd/trident/stop.go":             "const stopSlack = 10 * time.Second",
		"services/triton/local/config.go": "const killTime = 3 * time.Second",
	} {
		if !strings.Contains(string(read(t, file)), text) {
			t.Errorf("%s has no %q: change trident.stopSeconds of the chart with it", file, text)
		}
	}
	if text := "StopLimit() time.Duration { return 3*c.ExitTimeout + 3*killTime }"; !strings.Contains(string(read(t, "services/triton/local/config.go")), text) {
		t.Errorf("services/triton/local/config.go has no %q: change trident.stopSeconds of the chart with it", text)
	}
	for name, want := range map[string]int{"in-process": 15 + 30 + 10 + 3*5 + 3*3, "frontend": 15 + 30 + 10} {
		if got := at(find(t, rendered(t, name), "Deployment"), "spec", "template", "spec", "terminationGracePeriodSeconds"); got != want {
			t.Errorf("%s: %v s, not %d", name, got, want)
		}
	}
}

// helper returns the text of a template of _helpers.tpl.
func helper(t *testing.T, name string) string {
	t.Helper()
	text := string(read(t, chartFolder+"/templates/_helpers.tpl"))
	found := regexp.MustCompile(`(?s)\{\{- define "` + regexp.QuoteMeta(name) + `" -\}\}\n(.*?)\n\{\{- end -\}\}`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no template %s", name)
	}
	return found[1]
}

// TestChartReloaded checks that exactly the settings that take effect without a restart don't restart the pods.
func TestChartReloaded(t *testing.T) {
	var got []string
	if err := yaml.Unmarshal([]byte(helper(t, "trident.reloaded")), &got); err != nil {
		t.Fatal(err)
	}
	want := []string{"models"} // its section; keys aren't in a ConfigMap
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)`.*\\| ⟳ \\|").FindAllStringSubmatch(string(read(t, "docs/reference/configuration.md")), -1) {
		want = append(want, row[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("the chart has %v, docs/reference/configuration.md %v", got, want)
	}
}

// TestChartOwned checks that each setting that the chart refuses exists.
func TestChartOwned(t *testing.T) {
	var settings struct{ Properties map[string]any }
	if err := json.Unmarshal(read(t, "docs/reference/config.schema.json"), &settings); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"trident.owned", "trident.secret"} {
		var keys map[string]string
		if err := yaml.Unmarshal([]byte(helper(t, name)), &keys); err != nil || len(keys) == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		for key := range keys {
			if _, ok := settings.Properties[key]; !ok {
				t.Errorf("%s has %s, which is no setting", name, key)
			}
		}
	}
}

// valueRow is a row of the chart's table of values.
type valueRow struct{ path, fallback, text string }

// valueRows returns the values of values.yaml that have a comment with two dashes. Others must be below one of these.
func valueRows(t *testing.T, node *yaml.Node, prefix string) []valueRow {
	t.Helper()
	var rows []valueRow
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		name := prefix + key.Value
		_, text, ok := cutLast("\n"+key.HeadComment, "\n# -- ")
		switch {
		case ok:
			var fallback any
			if err := value.Decode(&fallback); err != nil {
				t.Fatal(err)
			}
			compact, err := json.Marshal(fallback)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, valueRow{name, string(compact), strings.ReplaceAll(text, "\n# ", " ")})
		case value.Kind == yaml.MappingNode && len(value.Content) > 0:
			rows = append(rows, valueRows(t, value, name+".")...)
		default:
			t.Errorf("values.yaml: %s has no comment", name)
		}
	}
	return rows
}

// TestChartReadme checks that the table in the chart's README is that of values.yaml, and that the templates use each value.
func TestChartReadme(t *testing.T) {
	var values yaml.Node
	if err := yaml.Unmarshal(read(t, chartFolder+"/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	var used strings.Builder
	for _, file := range glob(t, chartFolder+"/templates/*") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		used.Write(text)
	}
	table := "| value | default | description |\n|---|---|---|\n"
	for _, row := range valueRows(t, values.Content[0], "") {
		table += fmt.Sprintf("| `%s` | `%s` | %s |\n", row.path, row.fallback, row.text)
		_, last, ok := cutLast(row.path, ".")
		if !ok {
			last = row.path
		}
		if !regexp.MustCompile(`(\.|")` + regexp.QuoteMeta(last) + `\b`).MatchString(used.String()) {
			t.Errorf("no template uses %s", row.path)
		}
	}
	const file, from, to = chartFolder + "/README.md", "<!-- values -->\n", "<!-- end -->"
	text := string(read(t, file))
	before, rest, ok := strings.Cut(text, from)
	_, after, ends := strings.Cut(rest, to)
	if !ok || !ends {
		t.Fatalf("%s has no table of values", file)
	}
	derived(t, file, []byte(before+from+table+to+after))
}

// TestChartSchemaComplete checks that the schema has no value that values.yaml lacks.
func TestChartSchemaComplete(t *testing.T) {
	var schema, values map[string]any
	if err := json.Unmarshal(read(t, chartFolder+"/values.schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(read(t, chartFolder+"/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	compareKeys(t, schema, values, "")
}

func compareKeys(t *testing.T, schema, values map[string]any, prefix string) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	for name, inner := range properties {
		value, ok := values[name]
		if !ok && name != "global" {
			t.Errorf("values.yaml lacks %s%s of the schema", prefix, name)
		}
		if nested, ok := value.(map[string]any); ok && len(nested) > 0 {
			compareKeys(t, inner.(map[string]any), nested, prefix+name+".")
		}
	}
}
