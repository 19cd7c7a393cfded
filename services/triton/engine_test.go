package triton_test

import (
	"cmp"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server/servertest"
	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
)

func TestSuiteOnFake(t *testing.T) {
	tritontest.RunSuite(t, func(tb testing.TB) tritontest.Subject {
		tb.Helper()
		fake := tritontest.NewFake(tb)
		return tritontest.Subject{Open: opener(fake.Address()), Server: fake}
	})
}

func TestSuiteOnTritonserver(t *testing.T) {
	server := tritontest.StartServer(t, tritonserver.Options{Args: []string{"--trace-config=triton,file=" + tritontest.TraceFile(t)}})
	tritontest.RunSuite(t, func(testing.TB) tritontest.Subject {
		return tritontest.Subject{Open: opener(server.GRPC()), Server: server}
	})
}

// TestTLS checks the connection to a tritonserver with TLS that serves only clients with a
// certificate of a known CA.
func TestTLS(t *testing.T) {
	authority, dir := servertest.NewAuthority(t), t.TempDir()
	file := func(name string, content []byte) string { return servertest.Write(t, dir, name, content) }
	own, known, unknown := authority.Issue(t, "triton"), authority.Issue(t, "trident"), servertest.NewAuthority(t).Issue(t, "trident")
	ca := file("ca", authority.PEM())
	server := tritontest.StartServer(t, tritonserver.Options{Args: []string{
		"--grpc-use-ssl=true", "--grpc-use-ssl-mutual=true", "--grpc-root-cert=" + ca,
		"--grpc-server-cert=" + file("cert", own.Certificate), "--grpc-server-key=" + file("key", own.Key),
	}})
	for _, test := range []struct {
		name     string
		ca       string
		show     servertest.Pair
		unserved bool
	}{
		{"right", ca, known, false},
		{"another authority's certificate", ca, unknown, true},
		{"no certificate", ca, servertest.Pair{}, true},
		{"the system's authorities", "", known, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := triton.Default()
			config.Endpoint, config.CAFile = "https://"+server.GRPC(), test.ca
			if test.show.Key != nil {
				config.CertFile, config.KeyFile = file("client", test.show.Certificate), file("client-key", test.show.Key)
			}
			engine, err := triton.New(config, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			if err := engine.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := engine.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			metadata, err := engine.ModelMetadata(t.Context(), &kserve.ModelMetadataRequest{Name: "echo"})
			if test.unserved && inference.AsError(err).Reason != inference.ReasonEngineGone || !test.unserved && (err != nil || metadata.GetName() != "echo") {
				t.Errorf("got %v, %v", metadata, err)
			}
		})
	}
}

// TestUnreachableFailsAtOnce checks that Engine.Ready fails at once if no server listens on the
// endpoint. It doesn't wait for ConnectTimeout.
func TestUnreachableFailsAtOnce(t *testing.T) {
	config := triton.Default()
	config.Endpoint, config.ConnectTimeout = "127.0.0.1:1", time.Hour
	engine, err := triton.New(config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := engine.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	for range 3 { // the first may run during the connection attempt of Start; a hang fails the test by its time limit
		if err := engine.Ready(t.Context()); inference.AsError(err).Reason != inference.ReasonEngineGone {
			t.Errorf("got %v", err)
		}
	}
}

func opener(endpoint string) func(testing.TB, tritontest.Limits) tritontest.Engine {
	return func(tb testing.TB, limits tritontest.Limits) tritontest.Engine {
		tb.Helper()
		return start(tb, endpoint, limits)
	}
}

func start(tb testing.TB, endpoint string, limits tritontest.Limits) *triton.Engine {
	tb.Helper()
	config := triton.Default()
	config.Endpoint = endpoint
	config.KeepAlive, config.FirstResponse, config.Inactivity = limits.KeepAlive, limits.FirstResponse, limits.Inactivity
	config.CallTimeout = cmp.Or(limits.Call, config.CallTimeout)
	engine, err := triton.New(config, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	if err := engine.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return engine
}
