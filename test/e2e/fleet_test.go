package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/fleet"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/tier"
)

// suiteModels returns Triton's options for the models of the suite of engines.
func suiteModels(t *testing.T) tritonserver.Options {
	t.Helper()
	return tritonserver.Options{Repositories: []string{tritontest.Repository(t)}, Args: []string{"--trace-config=triton,file=" + tritontest.TraceFile(t)}}
}

// TestFrontend checks a Trident in front of two others: both get requests, and all requests succeed
// after one of them has ended.
func TestFrontend(t *testing.T) {
	t.Parallel()
	needsServer(t)
	models := ownEngine(t, suiteModels(t))
	var pods []*kserveTrident
	for range 2 {
		pods = append(pods, models.launchKServe(t))
	}
	s := start(t, "--triton-endpoint="+pods[0].native+","+pods[1].native, "--balance=round-robin")
	if err := s.awaitReadyBy(client); err != nil {
		t.Fatal(err)
	}
	infer := func() answer {
		return s.post(t, "/v2/models/echo/infer", object{"inputs": []object{{"name": "TEXT", "datatype": "BYTES", "shape": []int{1}, "data": []string{"hello"}}}})
	}
	sent := 0.0
	served := func(pod *kserveTrident) float64 {
		page := string(s.get(t, "/metrics").want(t, http.StatusOK).body)
		_, value, _ := strings.Cut(page, `trident_endpoint_requests_total{endpoint="`+pod.native+`"} `)
		value, _, _ = strings.Cut(value, "\n")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for both := false; !both && sent < 100; both = served(pods[0]) > 1 && served(pods[1]) > 1 {
		if a := infer(); a.status != http.StatusOK || !strings.Contains(string(a.body), `"hello"`) {
			t.Fatalf("%d %s", a.status, a.body)
		}
		sent++
	}
	if first, second := served(pods[0]), served(pods[1]); first < 2 || second < 2 || first+second != sent {
		t.Errorf("the pods have served %v and %v of %v requests", first, second, sent)
	}
	checkDrain(t, s, pods, served, func() { infer().want(t, http.StatusOK) })
	if err := pods[0].stop(); err != nil {
		t.Error(err)
	}
	for range 20 {
		infer().want(t, http.StatusOK)
	}
	if !poll(startLimit, func() bool {
		return strings.Contains(string(s.get(t, "/metrics").body), `trident_endpoint_state{endpoint="`+pods[0].native+`",state="out"} 1`)
	}) {
		t.Error("the pod that has ended isn't out")
	}
	s.get(t, "/health/ready").want(t, http.StatusOK)
}

// checkDrain drains a pod by the program's command: requests go to the other one until the pod is
// resumed. The last one isn't drained.
func checkDrain(t *testing.T, s *trident, pods []*kserveTrident, served func(*kserveTrident) float64, infer func()) {
	t.Helper()
	endpoint := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), tridentBinary(t), slices.Concat([]string{"endpoint"}, args, []string{"--address=" + s.url})...).CombinedOutput()
		return strings.Join(strings.Fields(string(out)), " "), err
	}
	if out, err := endpoint("drain", "--wait=10s", pods[0].native); err != nil || !strings.Contains(out, pods[0].native+" drained 1 0 ") {
		t.Errorf("drain: %v, %s", err, out)
	}
	if out, err := endpoint("drain", pods[1].native); err == nil || !strings.Contains(out, "isn't drained, because no other inference server is in") {
		t.Errorf("drain of the last pod: %v, %s", err, out)
	}
	first, second := served(pods[0]), served(pods[1])
	for range 10 {
		infer()
	}
	if first, second = served(pods[0])-first, served(pods[1])-second; first != 0 || second != 10 {
		t.Errorf("the drained pod served %v requests, the other one %v of 10", first, second)
	}
	if out, err := endpoint("resume", pods[0].native); err != nil || !strings.Contains(out, pods[0].native+" starting 1 0 ") {
		t.Errorf("resume: %v, %s", err, out)
	}
}

// TestChatsOverServers checks chats over two tritonservers: both get some, and none fails after one
// server was killed.
func TestChatsOverServers(t *testing.T) {
	t.Parallel()
	needsServer(t)
	var servers []engine
	var list []string
	for range 2 {
		e := ownEngine(t, scripted(t, "chat"))
		servers, list = append(servers, e), append(list, e.server.GRPC())
	}
	s := start(t, append(slices.Clone(servers[0].files), "--triton-endpoint="+strings.Join(list, ","))...)
	if err := s.awaitReadyBy(client); err != nil {
		t.Fatal(err)
	}
	chats := func(n int) {
		var waiting []<-chan answer
		for i := range n {
			waiting = append(waiting, s.postAsync(t, "/v1/chat/completions", ask(fmt.Sprint("Say the number ", i), "max_tokens", 16)))
		}
		for _, w := range waiting {
			if a := <-w; a.status != http.StatusOK {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
	}
	chats(24)
	page := string(s.get(t, "/metrics").body)
	for _, address := range list {
		if line := `trident_endpoint_requests_total{endpoint="` + address + `"} 0`; strings.Contains(page, line+"\n") || !strings.Contains(page, strings.TrimSuffix(line, "0")) {
			t.Errorf("the server %s got no chat", address)
		}
	}
	servers[1].server.Kill()
	chats(24)
	if body := string(s.get(t, "/v1/models").want(t, http.StatusOK).body); !strings.Contains(body, `"chat"`) {
		t.Errorf("the models are %s", body)
	}
}

// TestNameWithoutAddresses checks that a Trident whose servers' name has no addresses is live and not
// ready, and shows the reason.
func TestNameWithoutAddresses(t *testing.T) {
	t.Parallel()
	s := start(t, "--triton-endpoint=dns:///nowhere.invalid.:8001")
	s.get(t, "/health/live").want(t, http.StatusOK)
	a := s.get(t, "/health/ready").want(t, http.StatusServiceUnavailable)
	if text := string(a.body); !strings.Contains(text, "the DNS name of --triton-endpoint has no addresses") && !strings.Contains(text, "the DNS name of --triton-endpoint can't be looked up") { // without a DNS server
		t.Errorf("the reason is %s", a.body)
	}
	if _, ok := s.log.await(startLimit, s.exited, func(l logLine) bool {
		return l["msg"] == "the addresses of an endpoint can't be looked up" && l["endpoint"] == "dns:///nowhere.invalid.:8001"
	}); !ok {
		t.Errorf("the log lacks the lookup:\n%s", s.log)
	}
}

// TestFleetOverTridents runs the suite of all engines over two Tridents that speak KServe, in front of
// one tritonserver.
func TestFleetOverTridents(t *testing.T) {
	needsServer(t)
	tier.OnlySlow(t)
	models := ownEngine(t, suiteModels(t))
	c := fleet.Config{Connection: triton.Default()}
	for range 2 {
		s, err := models.start(t, kservePorts()...).kserve(client)
		if err != nil {
			t.Fatal(err)
		}
		c.Endpoints = append(c.Endpoints, s.native)
	}
	tritontest.RunSuite(t, func(testing.TB) tritontest.Subject {
		return tritontest.Subject{Paths: len(c.Endpoints), Open: func(tb testing.TB, limits tritontest.Limits) tritontest.Engine {
			tb.Helper()
			c.Connection.KeepAlive, c.Connection.FirstResponse, c.Connection.Inactivity = limits.KeepAlive, limits.FirstResponse, limits.Inactivity
			e, err := fleet.New(c, slog.New(slog.DiscardHandler))
			if err != nil {
				tb.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
			defer cancel()
			if err := e.Start(ctx); err != nil {
				tb.Fatal(err)
			}
			return e
		}}
	})
}
