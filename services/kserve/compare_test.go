package kserve_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/kservetest"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/tier"
)

// TestLikeTritonserver sends the same calls to a tritonserver's own gRPC port and to Trident and
// compares the messages. Trident's engine is that tritonserver, also over each protocol of the shared
// port. Under TRIDENT_TEST_LOCAL=1 the engine is in-process Triton. The table has the differences with
// their reasons, as docs/reference/kserve.md does. The shared port loads and unloads only in the slow tier.
func TestLikeTritonserver(t *testing.T) {
	kservetest.RunBesideOthers(t)
	repositories := []string{tritontest.Repository(t), tritontest.ExtensionRepository(t), tritontest.KServeRepository(t)}
	triton := tritontest.StartServer(t, tritonserver.Options{Repositories: repositories, Args: []string{"--model-control-mode=explicit", "--load-model=*"}})
	asked := slices.Concat(
		describing(), inferring(), datatypes(), contents(), invalidTrials(), parametrised(), streams(), sequences(), shared(t), controlling(), settings(),
	)
	o := &oracle{triton: triton, conn: dial(t, triton.GRPC(), metadataRecorder{}.options()...), known: map[string]outcome{}}
	t.Run("remote", func(t *testing.T) {
		compare(t, asked, o, dial(t, serveNative(t, kservetest.Open(), tritontest.Connect(t, triton)), metadataRecorder{}.options()...))
	})
	t.Run("shared port", func(t *testing.T) {
		again := slices.Clone(asked)
		for i := range again {
			again[i].slow = again[i].loads
		}
		for name, got := range protocols(t, kservetest.ServeShared(t, kservetest.Open(), tritontest.Connect(t, triton))) {
			t.Run(name, func(t *testing.T) { compare(t, again, o, got) })
		}
	})
	t.Run("local", func(t *testing.T) {
		if os.Getenv("TRIDENT_TEST_LOCAL") == "" {
			t.Skip("starts in-process Triton: make test-local")
		}
		compare(t, asked, o, dial(t, serveNative(t, kservetest.Open(), kservetest.LocalEngine(t, repositories)), metadataRecorder{}.options()...))
	})
}

// serveNative serves engines over gRPC until the test ends, and returns the address.
func serveNative(tb testing.TB, config kserve.Config, engines ...inference.Engine) string {
	tb.Helper()
	return serveNativeBy(tb, nil, config, engines...)
}

// serveNativeBy is serveNative with TLS, unless there are no certificates.
func serveNativeBy(tb testing.TB, certificates *server.Certificates, config kserve.Config, engines ...inference.Engine) string {
	tb.Helper()
	service, _ := kservetest.NewService(tb, config, engines...)
	return serveNativeService(tb, certificates, nil, config, service)
}

func serveNativeService(tb testing.TB, certificates *server.Certificates, gate *auth.Gate, config kserve.Config, service *kserve.Service) string {
	tb.Helper()
	listener := kserve.NewListener(config, nil)
	if err := listener.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	s, err := kserve.NewServer(service, listener, server.Common{Config: server.Default(), Certificates: certificates, Gate: gate, Abort: func(err error) { tb.Error(err) }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return listener.Addr().String()
}

func dial(tb testing.TB, address string, options ...grpc.DialOption) *grpc.ClientConn {
	tb.Helper()
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30)))
	conn, err := grpc.NewClient(address, options...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := conn.Close(); err != nil {
			tb.Error(err)
		}
	})
	return conn
}

// outcome is a client's view of a call.
type outcome struct {
	messages []proto.Message
	code     codes.Code
	text     string
	// apart and together are the metadata of the calls over gRPC. Other protocols have none, and the
	// shared port has only together.
	apart, together []string
}

func (o outcome) String() string {
	var b strings.Builder
	for _, m := range o.messages {
		b.WriteString("\n  ")
		b.WriteString(prototext.MarshalOptions{}.Format(m))
	}
	return b.String() + "\n  " + o.code.String() + " " + o.text + "\n  " + strings.Join(slices.Concat(o.apart, o.together), "\n  ")
}

func (o outcome) equal(p outcome) bool {
	for _, metadata := range [][2][]string{{o.apart, p.apart}, {o.together, p.together}} {
		if len(metadata[0]) > 0 && !slices.Equal(metadata[0], metadata[1]) {
			return false
		}
	}
	return o.code == p.code && o.text == p.text && slices.EqualFunc(o.messages, p.messages, proto.Equal)
}

func result(m proto.Message, err error) outcome {
	if err != nil {
		answer := status.Convert(err)
		return outcome{code: answer.Code(), text: answer.Message()}
	}
	return outcome{messages: []proto.Message{m}}
}

// trial is a call, or several calls, to compare.
type trial struct {
	name string
	ask  func(context.Context, api.GRPCInferenceServiceClient) outcome
	// differs is the reason for which Trident's response differs from tritonserver's.
	differs string
	loads   bool // loads or unloads a model, which takes seconds
	slow    bool // runs in the slow tier only
}

func compare(t *testing.T, trials []trial, want *oracle, got grpc.ClientConnInterface) {
	t.Helper()
	names := map[string]bool{}
	for _, x := range trials {
		if names[x.name] {
			t.Errorf("two trials are called %q", x.name)
		}
		names[x.name] = true
		t.Run(x.name, func(t *testing.T) {
			if x.slow {
				tier.OnlySlow(t)
			}
			expected, answered := want.ask(t, x), x.askOver(t, got)
			for range 2 { // a third crash has another cause
				if !want.crashed(expected, answered) {
					break
				}
				want.restart(t, got)
				expected, answered = want.ask(t, x), x.askOver(t, got)
			}
			switch alike := answered.equal(expected); {
			case !alike && x.differs == "":
				t.Errorf("got %s\nwant %s", answered, expected)
			case alike && x.differs != "":
				t.Errorf("no longer differs (%s): %s", x.differs, answered)
			}
			want.known[x.name] = expected
		})
	}
	t.Logf("%d trials", len(names))
}

func (x trial) askOver(t *testing.T, conn grpc.ClientConnInterface) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), kservetest.TrialTime)
	defer cancel()
	ctx, calls := withRecordedMetadata(ctx)
	o := x.ask(ctx, api.NewGRPCInferenceServiceClient(conn))
	o.apart, o.together = calls.all()
	return o
}

// oracle is a tritonserver's own gRPC port, to which each trial is sent once.
type oracle struct {
	triton *tritonserver.Server
	conn   *grpc.ClientConn
	known  map[string]outcome // tritonserver's outcomes by the names of the trials
}

func (o *oracle) ask(t *testing.T, x trial) outcome {
	t.Helper()
	if answer, ok := o.known[x.name]; ok {
		return answer
	}
	return x.askOver(t, o.conn)
}

// crashed reports whether tritonserver crashed during a trial. tritonserver 2.51 occasionally aborts
// when a stream has several requests for a decoupled model, even without any other load.
func (o *oracle) crashed(answers ...outcome) bool {
	select {
	case <-o.triton.Exited():
		return true
	default:
	}
	return slices.ContainsFunc(answers, func(answer outcome) bool {
		return strings.Contains(answer.text, "error reading from server") || strings.Contains(answer.text, "connection error")
	})
}

// restart restarts tritonserver, and waits until it and the server before it are ready.
func (o *oracle) restart(t *testing.T, before grpc.ClientConnInterface) {
	t.Helper()
	t.Logf("tritonserver has crashed:\n%s", o.triton.LogTail(30))
	if err := o.triton.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, conn := range []grpc.ClientConnInterface{o.conn, before} {
		kservetest.Await(t, "not ready after tritonserver's restart", func() bool {
			answer, err := api.NewGRPCInferenceServiceClient(conn).ServerReady(t.Context(), &api.ServerReadyRequest{})
			return err == nil && answer.GetReady()
		})
	}
}

// calling returns a trial that calls a unary gRPC method of Trident and of tritonserver.
func calling[Req, Res any, ResPtr interface {
	*Res
	proto.Message
}](name string, method func(api.GRPCInferenceServiceClient, context.Context, *Req, ...grpc.CallOption) (*Res, error), req *Req, settle ...func(ResPtr)) trial {
	return trial{name: name, ask: func(ctx context.Context, client api.GRPCInferenceServiceClient) outcome {
		answer, err := method(client, ctx, req)
		if err != nil {
			return result(nil, err)
		}
		for _, s := range settle {
			s(answer)
		}
		return result(ResPtr(answer), nil)
	}}
}

type client = api.GRPCInferenceServiceClient

func (x trial) unlike(reason string) trial { x.differs = reason; return x }

func (x trial) loading() trial { x.loads = true; return x }

// conversation returns a trial of a stream: all requests, then the end of sending. With asStatus it
// requests errors as the call's status.
func conversation(name string, asStatus bool, requests ...*api.ModelInferRequest) trial {
	return trial{name: name, ask: func(ctx context.Context, client api.GRPCInferenceServiceClient) outcome {
		if asStatus {
			ctx = metadata.AppendToOutgoingContext(ctx, "triton_grpc_error", "true")
		}
		stream, err := client.ModelStreamInfer(ctx)
		if err != nil {
			return result(nil, err)
		}
		for _, req := range requests {
			if err := stream.Send(req); err != nil {
				break // the first receive returns the error
			}
		}
		if err := stream.CloseSend(); err != nil {
			return result(nil, err)
		}
		return received(stream)
	}}
}

func received(stream grpc.BidiStreamingClient[api.ModelInferRequest, api.ModelStreamInferResponse]) outcome {
	var all outcome
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			all.code, all.text = status.Code(err), status.Convert(err).Message()
			return all
		}
		all.messages = append(all.messages, m)
	}
}

// byRequest sorts the responses of different requests by id, since their relative order isn't defined.
func byRequest(x trial) trial {
	ask := x.ask
	x.ask = func(ctx context.Context, client api.GRPCInferenceServiceClient) outcome {
		o := ask(ctx, client)
		slices.SortStableFunc(o.messages, func(a, b proto.Message) int { return strings.Compare(idOf(a), idOf(b)) })
		return o
	}
	return x
}

func idOf(m proto.Message) string {
	if m, ok := m.(*api.ModelStreamInferResponse); ok {
		return m.GetInferResponse().GetId()
	}
	return ""
}

// steps returns a trial that runs several trials in sequence.
func steps(name string, all ...trial) trial {
	return trial{name: name, ask: func(ctx context.Context, client api.GRPCInferenceServiceClient) outcome {
		var o outcome
		for _, x := range all {
			one := x.ask(ctx, client)
			o.messages = append(o.messages, one.messages...)
			if one.code != codes.OK {
				o.text += x.name + ": " + one.code.String() + " " + one.text + "\n"
			}
		}
		return o
	}}
}

func copied(req *api.ModelInferRequest, change func(*api.ModelInferRequest)) *api.ModelInferRequest {
	c := proto.CloneOf(req)
	change(c)
	return c
}

func with(req *api.ModelInferRequest, p inferencetest.Params) *api.ModelInferRequest {
	return copied(req, func(r *api.ModelInferRequest) {
		if r.Parameters == nil {
			r.Parameters = inferencetest.Params{}
		}
		maps.Copy(r.GetParameters(), p)
	})
}
