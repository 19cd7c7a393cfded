package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/auth"
)

// endpointCommand has the subcommands for the inference servers of a running Trident.
type endpointCommand struct {
	List   endpointList   `cmd:"" help:"Print the inference servers of --triton-endpoint with their states."`
	Drain  endpointDrain  `cmd:"" help:"Stop sending requests to an inference server. Its requests in flight continue. The server stays drained until the command trident endpoint resume, or until Trident restarts."`
	Resume endpointResume `cmd:"" help:"Send requests to a drained inference server again."`
}

// endpointList prints the servers.
type endpointList struct {
	connection
}

// Run prints a table of the servers.
func (c endpointList) Run(f *flags) error { return c.run(f, os.Stdout) }

func (c endpointList) run(f *flags, w io.Writer) error {
	return c.call(f, func(ctx context.Context, client endpointClient) error {
		answer, err := client.List(ctx, &tridentv1.EndpointServiceListRequest{})
		if err != nil {
			return err
		}
		return printEndpoints(w, answer.GetEndpoints()...)
	})
}

// endpointDrain drains a server.
type endpointDrain struct {
	connection

	Endpoint string        `arg:"" help:"Address of the inference server, as trident endpoint list prints it."`
	Force    bool          `env:"-" help:"Drain the server even if no other server can serve one of its models."`
	Wait     time.Duration `env:"-" default:"0s" help:"Maximum time to wait until the server has no request in flight. If the server still has requests in flight after this time, the command fails, and the server stays drained. With 0, the command doesn't wait."`
}

// waitPause is the time between two calls that read the number of requests in flight.
const waitPause = 500 * time.Millisecond

// Run drains the server and prints its state.
func (c endpointDrain) Run(f *flags) error { return c.run(f, os.Stdout) }

func (c endpointDrain) run(f *flags, w io.Writer) error {
	var drained *tridentv1.Endpoint
	err := c.call(f, func(ctx context.Context, client endpointClient) error {
		answer, err := client.Drain(ctx, &tridentv1.EndpointServiceDrainRequest{Address: c.Endpoint, Force: c.Force})
		drained = answer.GetEndpoint()
		return err
	})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for end := time.Now().Add(c.Wait); c.Wait > 0 && drained.GetInFlight() > 0; {
		if time.Now().After(end) {
			return fmt.Errorf("%s is drained, and has %d requests in flight after %s", drained.GetAddress(), drained.GetInFlight(), c.Wait)
		}
		select {
		case <-time.After(waitPause):
		case <-ctx.Done():
			return fmt.Errorf("interrupted: %s is drained, and has %d requests in flight", drained.GetAddress(), drained.GetInFlight())
		}
		if drained, err = c.state(f, drained.GetAddress()); err != nil {
			return err
		}
	}
	return printEndpoints(w, drained)
}

// state returns the state of a server.
func (c endpointDrain) state(f *flags, address string) (*tridentv1.Endpoint, error) {
	var found *tridentv1.Endpoint
	err := c.call(f, func(ctx context.Context, client endpointClient) error {
		answer, err := client.List(ctx, &tridentv1.EndpointServiceListRequest{})
		if i := slices.IndexFunc(answer.GetEndpoints(), func(e *tridentv1.Endpoint) bool { return e.GetAddress() == address }); err == nil && i >= 0 {
			found = answer.GetEndpoints()[i]
		}
		return err
	})
	if err == nil && found == nil {
		err = fmt.Errorf("%s is no longer in the list of inference servers", address)
	}
	return found, err
}

// endpointResume resumes a server.
type endpointResume struct {
	connection

	Endpoint string `arg:"" help:"Address of the inference server, as trident endpoint list prints it."`
}

// Run resumes the server and prints its state.
func (c endpointResume) Run(f *flags) error { return c.run(f, os.Stdout) }

func (c endpointResume) run(f *flags, w io.Writer) error {
	return c.call(f, func(ctx context.Context, client endpointClient) error {
		answer, err := client.Resume(ctx, &tridentv1.EndpointServiceResumeRequest{Address: c.Endpoint})
		if err != nil {
			return err
		}
		if answer.GetEndpoint() == nil {
			_, err = fmt.Fprintf(w, "%s is resumed; it isn't in the list at present\n", c.Endpoint)
			return err
		}
		return printEndpoints(w, answer.GetEndpoint())
	})
}

// endpointClient is the client of the service.
type endpointClient = tridentv1connect.EndpointServiceClient

// call makes a call to the running Trident, with the API key and the headers of the settings.
func (c connection) call(f *flags, call func(context.Context, endpointClient) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	client, err := c.client(f)
	if err != nil {
		return err
	}
	client.Transport = withHeaders{client.Transport, f.headers()}
	err = call(ctx, tridentv1connect.NewEndpointServiceClient(client, c.base(f)))
	refused, ok := errors.AsType[*connect.Error](err)
	switch {
	case !ok:
		return err
	case refused.Code() == connect.CodeUnauthenticated:
		return fmt.Errorf("%s: set TRIDENT_API_KEY to a key that allows all models", refused.Message())
	}
	return errors.New(refused.Message())
}

// headers returns the headers that a Trident with the same settings requires of operators.
func (f *flags) headers() http.Header {
	h := http.Header{}
	if len(f.APIKey) > 0 {
		h.Set("Authorization", "Bearer "+string(f.APIKey[0]))
	}
	for _, r := range f.OpenAIRestrictedAPI {
		if slices.Contains(r.Groups, auth.Repository) {
			h.Set(r.Header, string(r.Value))
		}
	}
	for _, r := range f.GRPCRestricted {
		if slices.Contains(r.Groups, auth.KServeRepository) || slices.Contains(r.Groups, auth.KServeMetadata) {
			h.Set("triton-grpc-protocol-"+r.Key, r.Value)
		}
	}
	return h
}

// withHeaders adds headers to requests.
type withHeaders struct {
	http.RoundTripper

	headers http.Header
}

// RoundTrip implements [http.RoundTripper].
func (t withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, t.headers)
	return t.RoundTripper.RoundTrip(r)
}

// printEndpoints prints a table of servers.
func printEndpoints(w io.Writer, endpoints ...*tridentv1.Endpoint) error {
	rows := [][]string{{"ENDPOINT", "STATE", "WEIGHT", "IN FLIGHT", "REQUESTS", "FAILURES", "REASON"}}
	for _, e := range endpoints {
		state := strings.ToLower(strings.TrimPrefix(e.GetState().String(), "ENDPOINT_STATE_"))
		rows = append(rows, []string{
			e.GetAddress(), state, strconv.FormatFloat(e.GetWeight(), 'g', -1, 64), strconv.FormatUint(uint64(e.GetInFlight()), 10),
			strconv.FormatUint(e.GetRequests(), 10), strconv.FormatUint(e.GetFailures(), 10), oneLine(e.GetReason()),
		})
	}
	_, err := io.WriteString(w, alignTrimmed(rows))
	return err
}
