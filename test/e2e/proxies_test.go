package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/trident-inference/trident/services/server/servertest"
	"github.com/trident-inference/trident/test/tier"
)

// proxyHost is the host name of the proxies in docs/guides/proxies.md.
const proxyHost = "models.example.com"

// proxyPage is a proxy of docs/guides/proxies.md.
type proxyPage struct {
	name  string // of the program
	block string // language of its block on the page
	file  string // name of its configuration file
	// prepare changes the block to a complete file for a user without rights, with files in a folder.
	prepare func(config, port string) string
	check   []string // arguments that check the file
	run     []string // arguments that run the program in the foreground
}

// proxyPages are the proxies of the page that Debian has packages of. FILE and DIR in arguments are
// the configuration file and its folder.
func proxyPages() []proxyPage {
	return []proxyPage{
		{
			name: "nginx", block: "nginx", file: "nginx.conf",
			prepare: func(config, port string) string {
				config = strings.Replace(config, "listen 443 ", "listen 127.0.0.1:"+port+" ", 1)
				paths := ""
				for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
					paths += fmt.Sprintf("%s_temp_path temp-%s;\n", kind, kind)
				}
				return "pid nginx.pid;\nevents {}\nhttp {\naccess_log off;\n" + paths + config + "}\n"
			},
			check: []string{"-p", "DIR", "-e", "stderr", "-c", "FILE", "-t"},
			run:   []string{"-p", "DIR", "-e", "stderr", "-c", "FILE", "-g", "daemon off; master_process off;"},
		},
		{
			name: "caddy", block: "caddyfile", file: "Caddyfile",
			prepare: func(config, port string) string {
				config = strings.Replace(config, proxyHost+" {", proxyHost+":"+port+" {\n\tbind 127.0.0.1", 1)
				return "{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}\n" + config
			},
			check: []string{"validate", "--config", "FILE", "--adapter", "caddyfile"},
			run:   []string{"run", "--config", "FILE", "--adapter", "caddyfile"},
		},
		{
			name: "haproxy", block: "haproxy", file: "haproxy.cfg",
			prepare: func(config, port string) string {
				return strings.Replace(config, "bind :443 ", "bind 127.0.0.1:"+port+" ", 1)
			},
			check: []string{"-c", "-f", "FILE"},
			run:   []string{"-db", "-f", "FILE"},
		},
	}
}

// config returns the proxy's block of the page.
func (p *proxyPage) config(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root(t), "docs", "guides", "proxies.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)\n```"+p.block+" check\n(.*?\n)```\n").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 1 {
		t.Fatalf("the page has %d blocks of %s, want 1", len(blocks), p.block)
	}
	return blocks[0][1]
}

// write writes the configuration with the address of a trident, a port and the files of a
// certificate. It returns the file and the arguments' replacements.
func (p *proxyPage) write(t *testing.T, address, port string, files *certified) *strings.Replacer {
	t.Helper()
	cert, key := files.write(t, proxyHost)
	both := filepath.Join(files.dir, "both.pem")
	var joined []byte
	for _, file := range []string{cert, key} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		joined = append(joined, text...)
	}
	if err := os.WriteFile(both, joined, 0o600); err != nil {
		t.Fatal(err)
	}
	config := p.config(t)
	for _, pair := range [][2]string{{"127.0.0.1:9000", address}, {"/etc/ssl/models-both.pem", both}, {"/etc/ssl/models-key.pem", key}, {"/etc/ssl/models.pem", cert}} {
		config = strings.ReplaceAll(config, pair[0], pair[1])
	}
	prepared := p.prepare(config, port)
	if !strings.Contains(prepared, address) || !strings.Contains(prepared, ":"+port) || strings.Contains(prepared, "/etc/") {
		t.Fatalf("addresses or files of the page are left:\n%s", prepared)
	}
	dir := t.TempDir()
	file := servertest.Write(t, dir, p.file, []byte(prepared))
	return strings.NewReplacer("DIR", dir, "FILE", file)
}

func (p *proxyPage) command(t *testing.T, arguments []string, replace *strings.Replacer) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath(p.name)
	if err != nil {
		t.Skip(p.name + " isn't installed: make setup-test as root on Debian installs it")
	}
	var replaced []string
	for _, argument := range arguments {
		replaced = append(replaced, replace.Replace(argument))
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, replaced...)
	home := replace.Replace("DIR")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME="+home, "XDG_CONFIG_HOME="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second
	return cmd
}

// TestProxyConfigurations checks that the proxies accept the configurations of docs/guides/proxies.md.
func TestProxyConfigurations(t *testing.T) {
	for _, p := range proxyPages() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			replace := p.write(t, "127.0.0.1:"+freePort(t), freePort(t), certify(t))
			if output, err := p.command(t, p.check, replace).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, output)
			}
		})
	}
}

// TestProxies runs the proxies of docs/guides/proxies.md in front of a trident, with the page's
// configurations, and checks what the page says about them.
func TestProxies(t *testing.T) {
	tier.OnlySlow(t)
	models := ownEngine(t, scripted(t, "chat"))
	s := models.start(t, "--allowed-host="+proxyHost)
	if err := s.awaitReadyBy(client); err != nil {
		t.Fatal(err)
	}
	for _, p := range proxyPages() {
		t.Run(p.name, func(t *testing.T) {
			proxied := p.start(t, s)
			for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
				t.Run(protocol, func(t *testing.T) {
					proxied.checkStreams(t, protocol)
					proxied.checkWaiting(t, protocol)
				})
			}
			t.Run("gRPC", proxied.checkGRPC)
			t.Run("others", proxied.checkOthers)
		})
	}
}

// proxied is a running proxy in front of a trident.
type proxied struct {
	behind *trident
	front  *trident // has the proxy's URL alone
	files  *certified
	port   string
}

// start runs the proxy in front of a trident, and waits until it passes requests on.
func (p *proxyPage) start(t *testing.T, s *trident) *proxied {
	t.Helper()
	r := &proxied{behind: s, files: certify(t), port: freePort(t), front: &trident{url: "https://" + proxyHost}}
	cmd := p.command(t, p.run, p.write(t, strings.TrimPrefix(s.url, "http://"), r.port, r.files))
	output := newLogLines()
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	by := r.client(t, "HTTP/1.1")
	if !poll(startLimit, func() bool {
		answer, err := by.Get(r.front.url + "/health/ready")
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	}) {
		t.Fatalf("%s passes no requests on:\n%s", p.name, output)
	}
	return r
}

// tls returns the TLS settings of a client of the proxy.
func (r *proxied) tls(t *testing.T) *tls.Config {
	t.Helper()
	config := r.files.Client(t)
	config.ServerName = proxyHost
	return config
}

// dial connects to the proxy, whatever the address is.
func (r *proxied) dial(ctx context.Context, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", "127.0.0.1:"+r.port)
}

// client returns an HTTP client of the proxy that speaks one protocol.
func (r *proxied) client(t *testing.T, protocol string) *http.Client {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig: r.tls(t), Protocols: new(http.Protocols),
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return r.dial(ctx, address) },
	}
	transport.Protocols.SetHTTP1(protocol == "HTTP/1.1")
	transport.Protocols.SetHTTP2(protocol == "HTTP/2.0")
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: kserveLimit}
}

// disconnectLimit is the time within which a request ends after its client has disconnected from
// the proxy. The model would need half a minute.
const disconnectLimit = 5 * time.Second

// checkStreams checks that the events of a stream arrive while the model generates, and that a
// client that disconnects ends its request.
func (r *proxied) checkStreams(t *testing.T, protocol string) {
	t.Helper()
	ctx, disconnect := context.WithCancel(t.Context())
	defer disconnect()
	request := r.front.request(t, http.MethodPost, "/v1/chat/completions", longStory("stream", true)).WithContext(ctx)
	events := r.front.open(t, r.client(t, protocol), request)
	if got := events.response.Proto; got != protocol {
		t.Errorf("the response is %s", got)
	}
	content := 0
	for c := range events.chunks(t) {
		if c.content() != "" {
			content++
		}
		if content == 2 {
			break
		}
	}
	if n := inFlight(t, r.behind); n != 1 {
		t.Errorf("%d requests are in flight, want 1: the proxy buffers the events", n)
	}
	disconnect()
	r.checkEnds(t)
}

// checkWaiting checks that a client that disconnects before its response begins ends its request.
func (r *proxied) checkWaiting(t *testing.T, protocol string) {
	t.Helper()
	ctx, disconnect := context.WithCancel(t.Context())
	defer disconnect()
	request := r.front.request(t, http.MethodPost, "/v1/chat/completions", longStory()).WithContext(ctx)
	by, ended := r.client(t, protocol), make(chan struct{})
	go func() {
		defer close(ended)
		if response, err := by.Do(request); err == nil {
			response.Body.Close()
		}
	}()
	if !poll(startLimit, func() bool { return inFlight(t, r.behind) == 1 }) {
		t.Error("the request doesn't arrive")
	}
	disconnect()
	<-ended
	r.checkEnds(t)
}

// checkEnds checks that the request of a client that has disconnected ends.
func (r *proxied) checkEnds(t *testing.T) {
	t.Helper()
	left := time.Now()
	if !poll(startLimit, func() bool { return inFlight(t, r.behind) == 0 }) || time.Since(left) > disconnectLimit {
		t.Errorf("the request ended %s after its client had disconnected", time.Since(left))
	}
}

// checkGRPC checks a call by gRPC, which needs trailers and HTTP/2 as far as trident.
func (r *proxied) checkGRPC(t *testing.T) {
	conn, err := grpc.NewClient("passthrough:///"+proxyHost, grpc.WithTransportCredentials(credentials.NewTLS(r.tls(t))), grpc.WithContextDialer(r.dial))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	health := grpc_health_v1.NewHealthClient(conn)
	if answer, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil || answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("%v, %v", answer, err)
	}
	if _, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "none"}); err == nil || !strings.Contains(err.Error(), "NotFound") {
		t.Errorf("an unknown service: %v", err)
	}
}

// checkOthers checks a call by Connect, a large body, and that an error of trident passes unchanged.
func (r *proxied) checkOthers(t *testing.T) {
	by := r.client(t, "HTTP/2.0")
	list := exchange(t, by, r.front.request(t, http.MethodPost, "/trident.v1.ModelService/List", object{})).want(t, http.StatusOK)
	if !strings.Contains(string(list.body), `"chat"`) {
		t.Errorf("models by Connect: %s", list.body)
	}
	for path, body := range map[string]object{
		"/v1/nothing":          {},
		"/v1/chat/completions": ask("hello", "user", strings.Repeat("x", 2<<20), "n", -1),
	} {
		answer := exchange(t, by, r.front.request(t, http.MethodPost, path, body))
		if id := answer.header.Get("X-Request-Id"); id == "" || answer.status < 400 || !strings.HasPrefix(string(answer.body), `{"error":{"message":`) {
			t.Errorf("%s: status %d, request id %q: %.200s", path, answer.status, id, answer.body)
		}
	}
}
