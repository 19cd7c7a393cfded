package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/fx"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/triton/fleet"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/logbuffer"
	"github.com/trident-inference/trident/test/pause"
)

const (
	taken   = `msg="settings reloaded"`
	refused = `msg="reload failed: the previous settings stay in effect"`
)

// reloaderOf starts a reloader for a file. It also returns its flags, which have the log level, and its log.
func reloaderOf(t *testing.T, path string, parts ...reload) (*reloader, *flags, *logbuffer.Buffer) {
	t.Helper()
	f := readLine(t, "--config="+path)
	f.hangups = make(chan os.Signal, 1)
	log := &logbuffer.Buffer{}
	r := newReloader(reloaderParts{Begun: f, Parts: append(parts, levelReload(&f.level)), Log: slog.New(slog.NewTextHandler(log, nil))})
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r, f, log
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReloadOnChange checks that the settings are reloaded when their file is written in place or
// replaced by a rename, and that an invalid file is refused and changes nothing.
func TestReloadOnChange(t *testing.T) {
	path := settingsOf(t, "log-level: info\n")
	r, f, log := reloaderOf(t, path)
	before := r.Reloads()
	if before.Taken != 0 || before.Refused != 0 || before.Stale || before.At.IsZero() {
		t.Errorf("before any change, the metrics are %+v", before)
	}

	write(t, path, "log-level: debug\n") // the file is overwritten, not replaced
	log.Await(t, taken, 1)
	if f.level.Level() != slog.LevelDebug {
		t.Errorf("the level is %s", f.level.Level())
	}
	write(t, path+"~", "log-level: warn\n") // renamed over the file, as editors do
	if err := os.Rename(path+"~", path); err != nil {
		t.Fatal(err)
	}
	log.Await(t, taken, 2)
	if f.level.Level() != slog.LevelWarn {
		t.Errorf("the level is %s", f.level.Level())
	}
	write(t, path, "log-levels: error\n")
	log.Await(t, refused, 1)
	if !strings.Contains(log.String(), path+":1: unknown key log-levels: did you mean log-level?") || f.level.Level() != slog.LevelWarn {
		t.Errorf("level %s, log\n%s", f.level.Level(), log)
	}
	write(t, path, "log-level: error\nopenai-port: 5\nstrict: true\n")
	log.Await(t, taken, 3)
	log.Await(t, `level=WARN msg="changed settings take effect at restart" settings="[openai-port strict]"`, 1)
	if f.level.Level() != slog.LevelError {
		t.Errorf("the level is %s", f.level.Level())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	log.Await(t, refused, 2)
	if got := r.Reloads(); got.Taken != 3 || got.Refused != 2 || !got.Stale || !got.At.After(before.At) || got.At.After(time.Now()) {
		t.Errorf("the metrics are %+v, but were %+v before", got, before)
	}
}

// TestReloadInKubernetes checks that the settings are reloaded when Kubernetes updates a mounted
// ConfigMap: the path is a symbolic link through the link ..data, which is replaced.
func TestReloadInKubernetes(t *testing.T) {
	mount := t.TempDir()
	publish := func(name, text string) {
		if err := os.Mkdir(filepath.Join(mount, name), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(mount, name, "trident.yaml"), text)
		if err := os.Symlink(name, filepath.Join(mount, "..data_tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(mount, "..data_tmp"), filepath.Join(mount, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	publish("..1", "log-level: info\n")
	path := filepath.Join(mount, "trident.yaml")
	if err := os.Symlink("..data/trident.yaml", path); err != nil {
		t.Fatal(err)
	}
	_, f, log := reloaderOf(t, path)
	publish("..2", "log-level: debug\n")
	log.Await(t, taken, 1)
	if err := os.RemoveAll(filepath.Join(mount, "..1")); err != nil {
		t.Fatal(err)
	}
	publish("..3", "log-level: error\n")
	log.Await(t, taken, 2)
	if f.level.Level() != slog.LevelError {
		t.Errorf("the level is %s", f.level.Level())
	}
}

// TestReloadOfALink checks that the settings are reloaded when --config is a symbolic link and the
// contents of the file that the link points to change. That file is in another folder than the link.
func TestReloadOfALink(t *testing.T) {
	target := settingsOf(t, "log-level: info\n")
	path := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	_, _, log := reloaderOf(t, path)
	write(t, target, "log-level: debug\n")
	log.Await(t, taken, 1)
}

// TestReloadInABusyFolder checks that a change of the settings file is noticed although other files
// in the same folder are constantly written and created.
func TestReloadInABusyFolder(t *testing.T) {
	for name, busy := range map[string]func(folder string) error{
		"a log": func(folder string) error { return os.WriteFile(filepath.Join(folder, "log"), []byte("x"), 0o600) },
		"new files": func(folder string) error {
			file, err := os.CreateTemp(folder, "")
			if err != nil {
				return err
			}
			return errors.Join(file.Close(), os.Remove(file.Name()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := settingsOf(t, "log-level: info\n")
			_, f, log := reloaderOf(t, path)
			ctx, stop := context.WithCancel(t.Context())
			var writers sync.WaitGroup
			defer writers.Wait()
			defer stop()
			writers.Go(func() {
				tick := time.NewTicker(settle / 10)
				defer tick.Stop()
				for ctx.Err() == nil {
					if err := busy(filepath.Dir(path)); err != nil {
						t.Error(err)
						return
					}
					<-tick.C
				}
			})
			write(t, path, "log-level: debug\n")
			log.Await(t, taken, 1)
			if f.level.Level() != slog.LevelDebug {
				t.Errorf("the level is %s", f.level.Level())
			}
		})
	}
}

// TestReloadOnSignal checks that a signal reloads unchanged settings too, and that no
// part applies anything if one part rejects the settings.
func TestReloadOnSignal(t *testing.T) {
	refuse := false
	_, f, log := reloaderOf(t, settingsOf(t, "log-level: info\n"), reload{prepare: func(*flags, config) (func(), error) {
		if refuse {
			return nil, errors.New("no keys in the file")
		}
		return func() {}, nil
	}})
	f.hangups <- syscall.SIGHUP
	log.Await(t, taken, 1)
	refuse = true
	write(t, f.file.path, "log-level: debug\n")
	log.Await(t, `error="trident: no keys in the file"`, 1)
	if f.level.Level() != slog.LevelInfo {
		t.Errorf("the level is %s", f.level.Level())
	}
}

// TestReloadUnderLoad changes models' settings while chats stream. Each chat continues
// with its original template. Later chats use the new template.
func TestReloadUnderLoad(t *testing.T) {
	const streams, pieces = 24, 20
	proceed := make(chan struct{})
	engine := inferencetest.New()
	engine.AddModel("m", func(ctx context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		for i := range pieces {
			if i == pieces/2 {
				select {
				case <-proceed:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			finish := ""
			if i == pieces-1 {
				finish = "stop"
			}
			if !send(inferencetest.Token(fmt.Sprintf("%d ", i), finish)) {
				return nil
			}
		}
		return nil
	}, nil)
	settings := func(template, alias string) string {
		return "host: 127.0.0.1\nopenai-port: 0\nshutdown-timeout: 5s\nmodels:\n  m:\n    chat-template: '" + template + "'\n    aliases: [" + alias + "]\n    context-length: 100\n"
	}
	path := settingsOf(t, settings("old {{ messages[0].content }}", "first"))
	url, log := runWith(t, path, engine)
	want := ""
	for i := range pieces {
		want += fmt.Sprintf("%d ", i)
	}
	var all sync.WaitGroup
	texts := make([]string, streams)
	for i := range streams {
		all.Go(func() { texts[i] = chatText(t, url, "first") })
	}
	awaitRequests(t, engine, streams)
	for i := range 5 {
		write(t, path, settings(fmt.Sprintf("new %d {{ messages[0].content }}", i), "second"))
		log.Await(t, taken, i+1)
	}
	write(t, path, "models: {m: {chat-template: '{% for %}'}}\n")
	log.Await(t, refused, 1)
	close(proceed)
	all.Wait()
	for i, text := range texts {
		if text != want {
			t.Errorf("stream %d: %q", i, text)
		}
	}
	if text := chatText(t, url, "second"); text != want {
		t.Errorf("after it all: %q", text)
	}
	if text := chatText(t, url, "first"); !strings.Contains(text, "model_not_found") {
		t.Errorf("by the old alias: %q", text)
	}
	for i, req := range engine.Requests() {
		prompt := "old hi"
		if i >= streams {
			prompt = "new 4 hi"
		}
		if got := inferencetest.Input(req, "text_input"); got != prompt {
			t.Errorf("request %d: %q", i, got)
		}
	}
}

// runWith starts the whole application with an engine in place of Triton.
func runWith(t *testing.T, path string, engine inference.Engine) (url string, log *logbuffer.Buffer) {
	t.Helper()
	f := readLine(t, "--config="+path, "--triton-endpoint=127.0.0.1:1", "--log-format=json")
	cfg, err := f.config()
	if err != nil {
		t.Fatal(err)
	}
	log = &logbuffer.Buffer{}
	address := &listening{Handler: slog.NewTextHandler(log, nil), address: make(chan string, 1)}
	app := fx.New(graph(f, cfg, slog.New(address), func(error) {}), fx.Decorate(func([]inference.Engine) []inference.Engine { return []inference.Engine{engine} }))
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := app.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return "http://" + <-address.address, log
}

// awaitRequests waits until the engine has received the given number of requests.
func awaitRequests(t *testing.T, engine *inferencetest.Engine, n int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(30 * time.Second); engine.Active() < n; {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%d of %d requests", engine.Active(), n)
		}
	}
}

// chatText streams a chat and returns its text, or the body of the error.
func chatText(t *testing.T, url, model string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	body := `{"model": "` + model + `", "stream": true, "messages": [{"role": "user", "content": "hi"}]}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return ""
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		return string(text)
	}
	text, ended := "", false
	for scanner := bufio.NewScanner(resp.Body); scanner.Scan(); {
		data, found := strings.CutPrefix(scanner.Text(), "data: ")
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if ended = ended || data == "[DONE]"; found && !ended && json.Unmarshal([]byte(data), &chunk) == nil && len(chunk.Choices) > 0 {
			text += chunk.Choices[0].Delta.Content
		}
	}
	if !ended {
		t.Errorf("the stream ended early: %q", text)
	}
	return text
}

// TestReloadOfLimits checks that changed limits take effect without a restart, and that an invalid
// file leaves the limits unchanged.
func TestReloadOfLimits(t *testing.T) {
	path := settingsOf(t, "max-in-flight: 5\n")
	service := inferencetest.Service(t, serving.Config{Bounds: admission.Bounds{Server: inference.Limits{InFlight: 5}}}, inferencetest.New())
	_, _, log := reloaderOf(t, path, limitReload(service))
	write(t, path, "max-in-flight: 7\nmax-in-flight-per-model: m=2\n")
	log.Await(t, taken, 1)
	if n := service.Admission().MaxInFlight(); n != 7 {
		t.Errorf("%d at once", n)
	}
	write(t, path, "max-in-flight: -1\n")
	log.Await(t, refused, 1)
	if n := service.Admission().MaxInFlight(); n != 7 {
		t.Errorf("%d at once", n)
	}
}

// TestReloadOfKeys checks that a reload of the settings also reads the keys file. If the keys file is
// invalid, no new setting is applied.
func TestReloadOfKeys(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys")
	write(t, keys, "first-key-of-some-length\n")
	gate, err := auth.New(auth.Config{APIKeysFile: keys}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	admitted := func(key string) bool {
		_, err := gate.Admit(t.Context(), auth.Unmatched(auth.Procedure), func(string) []string { return []string{"Bearer " + key} })
		return err == nil
	}
	_, f, log := reloaderOf(t, settingsOf(t, "log-level: info\n"), keyReload(gate))
	write(t, keys, "second-key-of-some-length\n")
	f.hangups <- syscall.SIGHUP
	log.Await(t, taken, 1)
	if admitted("first-key-of-some-length") || !admitted("second-key-of-some-length") {
		t.Error("the new key isn't in effect")
	}
	if err := os.Remove(keys); err != nil {
		t.Fatal(err)
	}
	write(t, f.file.path, "log-level: debug\n")
	log.Await(t, refused, 1)
	if !admitted("second-key-of-some-length") || !strings.Contains(log.String(), "--api-keys-file "+keys+": the API keys file can't be read") || f.level.Level() != slog.LevelInfo {
		t.Errorf("level %s, and the log has\n%s", f.level.Level(), log)
	}
}

// TestReloadOfSealKeys checks that a reload reads the file of seal keys again, and that an invalid file
// leaves the keys unchanged. The log has the number of keys and no key.
func TestReloadOfSealKeys(t *testing.T) {
	const first, second = "FIRSTKEYAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "SECONDKEYAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	keys := filepath.Join(t.TempDir(), "keys")
	write(t, keys, first+"\n")
	frontend, err := openai.New(openai.Config{SealKeyFile: keys}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var report logbuffer.Buffer
	_, f, log := reloaderOf(t, settingsOf(t, "seal-key-file: "+keys+"\n"), sealReload(frontend, slog.New(slog.NewTextHandler(&report, nil))))
	write(t, keys, second+"\n"+first+"\n")
	f.hangups <- syscall.SIGHUP
	log.Await(t, taken, 1)
	if !strings.Contains(report.String(), `msg="loaded the seal keys" keys=2`) {
		t.Errorf("the log has\n%s", &report)
	}
	write(t, keys, "SECONDKEY\n")
	f.hangups <- syscall.SIGHUP
	log.Await(t, refused, 1)
	if !strings.Contains(log.String(), "--seal-key-file "+keys+": line 1 is not a seal key") {
		t.Errorf("an invalid file: the log has\n%s", log)
	}
	if strings.Contains(report.String()+log.String(), "KEYAAA") || strings.Contains(log.String(), "SECONDKEY") {
		t.Errorf("a key is in\n%s%s", &report, log)
	}
}

// TestReloadOfRandomSealKey checks that a reload keeps a random seal key, and doesn't report it as if it
// were a new one.
func TestReloadOfRandomSealKey(t *testing.T) {
	frontend, err := openai.New(openai.Config{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var report logbuffer.Buffer
	_, f, log := reloaderOf(t, settingsOf(t, "log-level: info\n"), sealReload(frontend, slog.New(slog.NewTextHandler(&report, nil))))
	f.hangups <- syscall.SIGHUP
	log.Await(t, taken, 1)
	if report.String() != "" {
		t.Errorf("the log has\n%s", &report)
	}
}

// TestReloadOfEndpoints checks that a change of the addresses of several tritonservers takes effect
// at run time, and that a doubled one is refused.
func TestReloadOfEndpoints(t *testing.T) {
	fakes := tritontest.NewFakes(t, 3)
	list := fakes.Addresses()
	path := filepath.Join(t.TempDir(), "trident.yaml")
	endpoints := func(list ...string) string { return `triton-endpoint: ["` + strings.Join(list, `", "`) + "\"]\n" }
	write(t, path, endpoints(list[0], list[1]))
	f := readLine(t, "--config="+path, "--host=127.0.0.1", "--openai-port=0")
	cfg, err := f.config()
	if err != nil {
		t.Fatal(err)
	}
	var several *fleet.Engine
	log := &logbuffer.Buffer{}
	app := fx.New(graph(f, cfg, slog.New(slog.NewTextHandler(log, nil)), func(error) {}), fx.Populate(&several))
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := app.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	addresses := func() (all []string) {
		for _, one := range several.Endpoints().Endpoints {
			all = append(all, one.Address)
		}
		return all
	}
	for _, test := range []struct{ given, want []string }{
		{list[1:], list[1:]},
		{[]string{list[0], list[0]}, list[1:]},
		{list[:1], list[:1]},
	} {
		write(t, path, endpoints(test.given...))
		slices.Sort(test.want)
		if !pause.Until(10*time.Second, func() bool { return slices.Equal(addresses(), test.want) }) {
			t.Fatalf("after %q: %q, want %q\n%s", test.given, addresses(), test.want, log)
		}
		if len(test.given) == 2 && test.given[0] == test.given[1] && !pause.Until(10*time.Second, func() bool { return strings.Contains(log.String(), "are the same endpoint") }) {
			t.Errorf("the doubled endpoint isn't reported: %s", log)
		}
	}
	write(t, path, endpoints(list[0]+"=2.5", list[1]))
	if !pause.Until(10*time.Second, func() bool {
		i := slices.IndexFunc(several.Endpoints().Endpoints, func(one inference.Endpoint) bool { return one.Address == list[0] && one.Weight == 2.5 })
		return i >= 0 && len(addresses()) == 2
	}) {
		t.Errorf("after a change of a weight: %+v", several.Endpoints())
	}
}
