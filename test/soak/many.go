package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/backends/burst"
	"github.com/trident-inference/trident/test/dnsserver"
	"github.com/trident-inference/trident/test/pause"
)

// many is one Trident in front of several tritonservers, which are the addresses of a DNS name. Each
// server has its own models and its own network.
type many struct {
	binary  string // path of the program trident
	folder  string // folder of the models and the logs
	names   *dnsserver.Server
	servers []*server
	trident *trident
	target  atomic.Pointer[clients]
}

// server is one of the servers, with the network between it and Trident.
type server struct {
	number  int // from 1
	host    netip.Addr
	triton  *tritonserver.Server
	log     *os.File
	network *proxy
	models  string // folder of its models
}

const (
	serverCount = 4
	// paired is a model that only the first pairCount servers have. All have the model steady.
	paired    = "paired"
	pairCount = 2
)

// Pace and length of the responses of both models. The load of 200 streams is 2,000 tokens a second,
// which two cores serve without a queue.
const (
	manyPace   = 100 * time.Millisecond
	manyTokens = 20
	manyLength = manyTokens * manyPace
)

func (s *server) String() string { return "server " + strconv.Itoa(s.number) }

// has reports whether the server has a model.
func (s *server) has(model string) bool { return model == steady || s.number <= pairCount }

func launchMany(ctx context.Context, binary string) (*many, error) {
	folder, err := filepath.Abs(filepath.Join(".cache", "soak-fleet"))
	if err != nil {
		return nil, err
	}
	m := &many{binary: binary, folder: folder}
	if err := m.start(ctx); err != nil {
		return nil, errors.Join(err, m.stop()) //nolint:contextcheck // the context may have ended
	}
	return m, nil
}

func (m *many) start(ctx context.Context) error {
	if err := os.RemoveAll(m.folder); err != nil {
		return err
	}
	port, err := tritonserver.FreePort(ctx)
	if err != nil {
		return err
	}
	if m.names, err = dnsserver.New(ctx); err != nil {
		return err
	}
	for i := range serverCount {
		s := &server{number: i + 1, host: netip.AddrFrom4([4]byte{127, 0, 1, byte(i + 1)}), models: filepath.Join(m.folder, fmt.Sprintf("models-%d", i+1))}
		m.servers = append(m.servers, s)
		if err := s.start(ctx, m.folder, port); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	m.names.Set(m.hosts(nil)...)
	engine := "--triton-endpoint=dns://" + m.names.Address() + "/" + dnsserver.Name + ":" + strconv.Itoa(port)
	if m.trident, err = startTrident(ctx, m.binary, m.folder, []string{engine}); err != nil {
		return err
	}
	c, err := newClients(m.trident.url, m.trident.native)
	if err != nil {
		return err
	}
	m.target.Store(c)
	return nil
}

// hosts returns the addresses of all servers, except one that may be nil.
func (m *many) hosts(without *server) (list []netip.Addr) {
	for _, s := range m.servers {
		if s != without {
			list = append(list, s.host)
		}
	}
	return list
}

func (s *server) start(ctx context.Context, folder string, port int) error {
	for _, model := range []string{steady, paired} {
		if !s.has(model) {
			continue
		}
		if err := burst.Repository(ctx, s.models, burst.Model{Name: model, Counts: true, Pace: manyPace}); err != nil {
			return err
		}
	}
	var err error
	if s.log, err = os.Create(filepath.Join(folder, fmt.Sprintf("tritonserver-%d.log", s.number))); err != nil {
		return err
	}
	// The control mode is explicit, because faults unload models and load them again.
	s.triton, err = tritonserver.Launch(ctx, tritonserver.Options{
		Repositories: []string{s.models}, Log: s.log, Args: []string{"--model-control-mode=explicit", "--load-model=*"},
	})
	if err != nil {
		return err
	}
	s.network, err = newProxy(ctx, net.JoinHostPort(s.host.String(), strconv.Itoa(port)), s.triton.GRPC())
	return err
}

// address returns the address by which Trident knows the server.
func (s *server) address() string { return s.network.address() }

// crashed reports whether the server's process has ended.
func (s *server) crashed() bool {
	select {
	case <-s.triton.Exited():
		return true
	default:
		return false
	}
}

// kill ends the server. Connections to it are refused.
func (s *server) kill() error {
	err := s.network.shut()
	s.triton.Kill()
	return err
}

// revive starts the server after kill.
func (s *server) revive(ctx context.Context) error {
	if err := s.triton.Restart(ctx); err != nil {
		return err
	}
	return s.network.open(ctx)
}

// control calls the server directly.
func (s *server) control(ctx context.Context, do func(context.Context, kserve.GRPCInferenceServiceClient) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	c, err := newClients("", s.triton.GRPC())
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, c.infer), c.close())
}

func (s *server) load(ctx context.Context, model string) error {
	return s.control(ctx, func(ctx context.Context, c kserve.GRPCInferenceServiceClient) error {
		_, err := c.RepositoryModelLoad(ctx, &kserve.RepositoryModelLoadRequest{ModelName: model})
		return err
	})
}

func (s *server) unload(ctx context.Context, model string) error {
	return s.control(ctx, func(ctx context.Context, c kserve.GRPCInferenceServiceClient) error {
		_, err := c.RepositoryModelUnload(ctx, &kserve.RepositoryModelUnloadRequest{ModelName: model})
		return err
	})
}

// served returns the number of requests of a model that the server has completed. The number starts
// again when the model is loaded.
func (s *server) served(ctx context.Context, model string) (n uint64, err error) {
	err = s.control(ctx, func(ctx context.Context, c kserve.GRPCInferenceServiceClient) error {
		answer, err := c.ModelStatistics(ctx, &kserve.ModelStatisticsRequest{Name: model})
		for _, one := range answer.GetModelStats() {
			n += one.GetInferenceCount()
		}
		return err
	})
	return n, err
}

// An input of a model's configuration, which requests have, and its name after alter.
const (
	usualInput = `"sampling_parameters"`
	otherInput = `"sampling"`
)

// altered returns a configuration with the other name of the input, or with the usual one.
func altered(config string, other bool) string {
	from, to := otherInput, usualInput
	if other {
		from, to = to, from
	}
	return strings.Replace(config, "name: "+from, "name: "+to, 1)
}

// alter renames an input of a model, or names it as usual again, and loads the model again. A model with
// the other name refuses the requests for the usual one.
func (s *server) alter(ctx context.Context, model string, other bool) error {
	path := filepath.Join(s.models, model, "config.pbtxt")
	config, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return err
	}
	text := altered(string(config), other)
	if text == string(config) {
		return fmt.Errorf("the configuration of %s stays as it is", model)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil { //nolint:gosec // the folder is the test's own
		return err
	}
	return s.load(ctx, model)
}

// stop ends everything that was started.
func (m *many) stop() error {
	var err error
	if m.trident != nil {
		m.trident.kill()
	}
	if c := m.target.Load(); c != nil {
		err = c.close()
	}
	for _, s := range m.servers {
		if s.network != nil {
			err = errors.Join(err, s.network.close())
		}
		if s.triton != nil {
			err = errors.Join(err, s.triton.Close())
		}
		if s.log != nil {
			err = errors.Join(err, s.log.Close())
		}
	}
	if m.names != nil {
		err = errors.Join(err, m.names.Close())
	}
	return err
}

// seen has the metrics of a server, as Trident reports them.
type seen struct {
	state                            string // in, starting, not_ready or out; empty if Trident doesn't know the server
	requests, failures, repeats, out float64
}

// serves reports whether the server gets requests.
func (s *seen) serves() bool { return s.state == "in" || s.state == "starting" }

// endpoints returns what Trident's metrics show of each server, by its address.
func (m *many) endpoints(ctx context.Context) (map[string]seen, error) {
	page, err := get(ctx, m.trident.url+"/metrics")
	if err != nil {
		return nil, err
	}
	return seenOn(page)
}

// seenOn reads the servers from a page of metrics.
func seenOn(page string) (map[string]seen, error) {
	all := map[string]seen{}
	for line := range strings.Lines(page) {
		name, rest, found := strings.Cut(strings.TrimSpace(line), `{endpoint="`)
		if !found || !strings.HasPrefix(name, "trident_endpoint_") {
			continue
		}
		address, rest, _ := strings.Cut(rest, `"`)
		labels, text, _ := strings.Cut(rest, "} ")
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("a metric has no value: %q", line)
		}
		one := all[address]
		one.take(name, labels, value)
		all[address] = one
	}
	return all, nil
}

func (s *seen) take(name, labels string, value float64) {
	switch name {
	case "trident_endpoint_state":
		if value == 1 {
			s.state = strings.TrimSuffix(strings.TrimPrefix(labels, `,state="`), `"`)
		}
	case "trident_endpoint_requests_total":
		s.requests = value
	case "trident_endpoint_failures_total":
		s.failures = value
	case "trident_endpoint_repeats_total":
		s.repeats = value
	case "trident_endpoint_outs_total":
		s.out = value
	}
}

// lookPause is the time between two looks at the metrics.
const lookPause = 50 * time.Millisecond

// until waits for a condition on what the metrics show of a server. It returns the time that it
// waited, and false if the limit has passed.
func (m *many) until(ctx context.Context, s *server, limit time.Duration, met func(*seen) bool) (time.Duration, bool, error) {
	for began := time.Now(); ; {
		all, err := m.endpoints(ctx)
		if err != nil {
			return 0, false, err
		}
		took := time.Since(began)
		now := all[s.address()]
		if met(&now) || took > limit {
			return took, took <= limit, nil
		}
		if err := pause.For(ctx, lookPause); err != nil {
			return 0, false, err
		}
	}
}
