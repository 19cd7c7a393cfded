package main

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/contracts"
	"github.com/trident-inference/trident/services/inference"
)

type noTemplate struct{}

func (noTemplate) Render(context.Context, *inference.Request) (string, error) { return "", nil }

func TestTables(t *testing.T) {
	tests := []struct {
		name  string
		cards []*catalog.Card
		want  string
	}{
		{"none", nil, `
no models
`},
		{"none is loaded", []*catalog.Card{{Target: inference.Target{Name: "a"}}, {Target: inference.Target{Name: "b"}}}, `
models of the repository that are not loaded: 2
`},
		{"all kinds", []*catalog.Card{
			{
				Target: inference.Target{Name: "chat"}, Version: "3", State: inference.ModelReady, Backend: contracts.VLLM{}, Template: noTemplate{}, ToolParser: "hermes", ReasoningParser: "qwen3", ContextLength: 2048,
				Settings: []inference.Setting{{Name: "chat_template", Origin: "config.pbtxt: trident.chat_template"}},
			},
			{Target: inference.Target{Name: "embedding-of-texts"}, Version: "1", State: inference.ModelReady, Backend: contracts.VLLM{}},
			{Target: inference.Target{Name: "plain"}, Version: "1", State: inference.ModelReady},
			{Target: inference.Target{Name: "slow"}, Version: "1", State: inference.ModelLoading},
			{Target: inference.Target{Name: "broken"}, State: inference.ModelUnavailable, Reason: "Internal: no\tGPU\nTraceback"},
			{Target: inference.Target{Name: "idle"}},
		}, `
MODEL               VERSION  STATUS                         KIND          TEMPLATE                             PARSERS        TOKENIZER     CONTEXT
chat                3        READY                          vllm          config.pbtxt: trident.chat_template  hermes, qwen3  the engine's  2048
embedding-of-texts  1        READY                          vllm          none                                 -              the engine's  unknown
plain               1        READY                          tensors only  none                                 -              the engine's  unknown
slow                1        LOADING                        -             -                                    -              -             -
broken              -        UNAVAILABLE: Internal: no GPU  -             -                                    -              -             -
models of the repository that are not loaded: 1
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := modelTable(tt.cards); got != tt.want+"\n" {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	long := modelTable([]*catalog.Card{{Target: inference.Target{Name: "broken"}, State: inference.ModelUnavailable, Reason: strings.Repeat("ä", 500)}})
	if !strings.Contains(long, "ä…") || len(long) > 400 {
		t.Errorf("a long reason: %s", long)
	}
	want := `playground               http://localhost:9000/
OpenAI API               http://localhost:9000/v1
Connect, gRPC, gRPC-Web  http://localhost:9000
health                   http://localhost:9000/health/ready
KServe v2 by REST        http://localhost:8000/v2
KServe v2 by gRPC        127.0.0.1:8001

`
	if got := addressTable("http://localhost:9000", nativePorts(true), true); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	secure := addressTable("https://localhost:9000", nativePorts(true), false)
	if strings.Contains(secure, "playground") || !strings.Contains(secure, "https://localhost:9000/v1\n") || !strings.Contains(secure, "KServe v2 by gRPC with TLS  127.0.0.1:8001\n") {
		t.Errorf("got\n%s", secure)
	}
	if got := addressTable("http://localhost:9000", nativePorts(false), true); !strings.HasSuffix(got, "KServe v2 by REST        http://localhost:9000/v2\n\n") {
		t.Errorf("got\n%s", got)
	}
}

// nativePorts stands in for the KServe ports, which are open if the value is true.
type nativePorts bool

func (p nativePorts) Addr() net.Addr {
	if !p {
		return nil
	}
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:8001"))
}

func (p nativePorts) URL() string {
	if !p {
		return ""
	}
	return "http://localhost:8000"
}
