package tridentrpc_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	messages "github.com/trident-inference/trident/gen/go/kserve"
	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	trident "github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	frontend "github.com/trident-inference/trident/services/tridentrpc"
)

// TestSlowReader tests that a client that reads nothing blocks the model. The server
// cancels the request before it uses much memory.
func TestSlowReader(t *testing.T) {
	const piece = 64 << 10
	var sent atomic.Int64
	left := make(chan struct{})
	engine := inferencetest.New()
	engine.AddModel("chat", func(ctx context.Context, _ *messages.ModelInferRequest, send func(*inference.Response) bool) error {
		defer func() { left <- struct{}{} }()
		noise := make([]byte, piece/2) // random bytes hardly compress
		for _, err := rand.Read(noise); err == nil && send(inferencetest.Token(hex.EncodeToString(noise), "")); _, err = rand.Read(noise) {
			sent.Add(piece)
		}
		return ctx.Err()
	}, map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	core := inferencetest.Service(t, serving.Config{}, engine)
	cfg := trident.Default()
	cfg.Host, cfg.Port, cfg.WriteTimeout = "127.0.0.1", 0, 200*time.Millisecond
	routes, err := frontend.NewRoutes(frontend.New(core, "test"), cfg)
	if err != nil {
		t.Fatal(err)
	}
	listener := trident.NewListener(cfg)
	if err := listener.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	server, err := trident.New(trident.Common{
		Config: cfg, Core: core.Admission(), Abort: func(err error) { t.Error(err) }, Log: slog.New(slog.DiscardHandler),
	}, listener, routes)
	if err != nil {
		t.Fatal(err)
	}
	server.Serve()
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) {
			transport := &http.Transport{Protocols: new(http.Protocols)}
			transport.Protocols.SetUnencryptedHTTP2(name != "connect json")
			transport.Protocols.SetHTTP1(name == "connect json")
			defer transport.CloseIdleConnections()
			sent.Store(0)
			client := tridentv1connect.NewChatServiceClient(&http.Client{Transport: transport}, "http://"+listener.Addr().String(), opts...)
			stream, err := client.ChatStream(t.Context(), &tridentv1.ChatStreamRequest{Chat: request()})
			if err != nil || !stream.Receive() {
				t.Fatal(err, stream.Err())
			}
			<-left // the test times out if the model isn't stopped
			if n := sent.Load(); n > 64<<20 {
				t.Errorf("%d MiB were taken off the model", n>>20)
			}
			for stream.Receive() {
			}
			if stream.Err() == nil {
				t.Error("the cut stream looks like a whole one")
			}
			_ = stream.Close()
		})
	}
}
