package epp

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
)

// destination is the header in which a picker returns its choice, and the key of its metadata.
const destination = "x-gateway-destination-endpoint"

// gateway passes requests on to the endpoints that a picker chooses. It asks the picker as Envoy
// does, by the protocol ext_proc with bodies in the mode FULL_DUPLEX_STREAMED.
type gateway struct {
	picker extproc.ExternalProcessorClient
}

// newGateway returns a gateway that asks the picker at an address. As Envoy in a gateway, it
// doesn't verify the picker's certificate, which the picker has made for itself.
func newGateway(t *testing.T, address string) *gateway {
	t.Helper()
	encrypted := credentials.NewTLS(&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	again := grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1, MaxDelay: 100 * time.Millisecond}, MinConnectTimeout: time.Second}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(encrypted), grpc.WithConnectParams(again))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &gateway{extproc.NewExternalProcessorClient(conn)}
}

// choice is the answer of a picker to a request.
type choice struct {
	endpoint string      // the chosen endpoint, address:port
	header   http.Header // headers to set in the request
	body     []byte      // the request's body, as the picker returns it
	refused  int         // HTTP status, if the picker answers the request itself
}

// response is an endpoint's response, as the client behind the gateway gets it.
type response struct {
	choice

	status int
	body   []byte
}

// pick asks for an endpoint. The request isn't sent to it.
func (g *gateway) pick(ctx context.Context, path, body string) (choice, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := g.picker.Process(ctx)
	if err != nil {
		return choice{}, err
	}
	return ask(stream, path, body)
}

// ask sends the headers and the body of a request, and receives the choice.
func ask(stream extproc.ExternalProcessor_ProcessClient, path, body string) (choice, error) {
	headers := &extproc.HttpHeaders{Headers: headerMap(map[string]string{
		":method": http.MethodPost, ":path": path, ":scheme": "http", ":authority": "models.example.com",
		"content-type": "application/json", "authorization": authorization, "x-request-id": rand.Text(),
	})}
	for _, m := range []*extproc.ProcessingRequest{
		{Request: &extproc.ProcessingRequest_RequestHeaders{RequestHeaders: headers}},
		{Request: &extproc.ProcessingRequest_RequestBody{RequestBody: &extproc.HttpBody{Body: []byte(body), EndOfStream: true}}},
	} {
		if err := stream.Send(m); err != nil && err != io.EOF { // after io.EOF Recv has the reason
			return choice{}, err
		}
	}
	c := choice{header: http.Header{}}
	for {
		m, err := stream.Recv()
		if err != nil {
			return choice{}, err
		}
		if done, err := c.take(m); done || err != nil {
			return c, err
		}
	}
}

// take adds a message to the choice, and reports whether it was the last one.
func (c *choice) take(m *extproc.ProcessingResponse) (done bool, err error) {
	switch r := m.Response.(type) {
	case *extproc.ProcessingResponse_ImmediateResponse:
		c.refused = int(r.ImmediateResponse.Status.Code)
		c.body = r.ImmediateResponse.Body
		return true, nil
	case *extproc.ProcessingResponse_RequestHeaders:
		for _, h := range r.RequestHeaders.Response.HeaderMutation.SetHeaders {
			if !strings.HasPrefix(h.Header.Key, ":") { // Envoy keeps its own pseudo-headers
				c.header.Set(h.Header.Key, string(h.Header.RawValue))
			}
		}
		c.endpoint = c.header.Get(destination)
		lb := m.DynamicMetadata.GetFields()["envoy.lb"].GetStructValue().GetFields()
		if meta := lb[destination].GetStringValue(); meta != c.endpoint || c.endpoint == "" {
			return true, fmt.Errorf("the header has the endpoint %q, and the metadata %q", c.endpoint, meta)
		}
	case *extproc.ProcessingResponse_RequestBody:
		piece := r.RequestBody.Response.BodyMutation.GetStreamedResponse()
		c.body = append(c.body, piece.GetBody()...)
		return piece.GetEndOfStream(), nil
	default:
		return true, fmt.Errorf("the picker answers a request with %T", r)
	}
	return false, nil
}

// post sends a request to the endpoint that the picker chooses, and the response by way of the
// picker, which counts it as ended then.
func (g *gateway) post(ctx context.Context, path, body string) (response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := g.picker.Process(ctx)
	if err != nil {
		return response{}, err
	}
	c, err := ask(stream, path, body)
	if err != nil || c.refused != 0 {
		return response{choice: c, status: c.refused, body: c.body}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.endpoint+path, bytes.NewReader(c.body))
	if err != nil {
		return response{}, err
	}
	request.Header = c.header.Clone()
	request.Header.Set("content-type", "application/json")
	request.Header.Set("authorization", authorization)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return response{choice: c}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return response{choice: c}, err
	}
	returned, err := give(stream, answer, text)
	return response{choice: c, status: answer.StatusCode, body: returned}, err
}

// give sends a response to the picker, and returns the body that it passes on.
func give(stream extproc.ExternalProcessor_ProcessClient, answer *http.Response, body []byte) ([]byte, error) {
	headers := &extproc.HttpHeaders{Headers: headerMap(map[string]string{
		":status": strconv.Itoa(answer.StatusCode), "content-type": answer.Header.Get("content-type"),
	})}
	for _, m := range []*extproc.ProcessingRequest{
		{Request: &extproc.ProcessingRequest_ResponseHeaders{ResponseHeaders: headers}},
		{Request: &extproc.ProcessingRequest_ResponseBody{ResponseBody: &extproc.HttpBody{Body: body, EndOfStream: true}}},
	} {
		if err := stream.Send(m); err != nil && err != io.EOF {
			return nil, err
		}
	}
	var returned []byte
	for {
		m, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		if r, ok := m.Response.(*extproc.ProcessingResponse_ResponseBody); ok {
			piece := r.ResponseBody.Response.BodyMutation.GetStreamedResponse()
			returned = append(returned, piece.GetBody()...)
			if piece.GetEndOfStream() {
				return returned, stream.CloseSend()
			}
		}
	}
}

func headerMap(values map[string]string) *corev3.HeaderMap {
	m := &corev3.HeaderMap{}
	for key, value := range values {
		m.Headers = append(m.Headers, &corev3.HeaderValue{Key: strings.ToLower(key), RawValue: []byte(value)})
	}
	return m
}
