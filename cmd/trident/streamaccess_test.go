package main

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/server/servertest"
)

// TestAccessOnAStream checks that each further request on a stream is authorized by the
// current keys. If the key was removed, the request is refused and the stream stays open.
// The request works again once the key is back.
func TestAccessOnAStream(t *testing.T) {
	dir := t.TempDir()
	const given = "- {name: some, key: sk-some}\n- {name: other, key: sk-other}"
	d := deploy(t, textModels(), "--api-keys-file="+servertest.Write(t, dir, "keys", []byte(given)))
	for name, address := range map[string]string{"the port of KServe": d.native, "the shared port": d.openai} {
		t.Run(name, func(t *testing.T) {
			servertest.Write(t, dir, "keys", []byte(given))
			said := openStream(t, address, "sk-some")
			awaitAuthError(t, said, "")
			for _, step := range []struct{ keys, want string }{
				{"- {name: other, key: sk-other}", "Incorrect API key provided"},
				{"- {name: some, key: sk-some, expires: 2001-01-01}", "this API key has expired"},
				{"- {name: some, key: sk-some, models: [chat]}", "this API key may not use it"},
				{given, ""},
			} {
				servertest.Write(t, dir, "keys", []byte(step.keys))
				awaitAuthError(t, said, step.want)
			}
		})
	}
}

// TestFirstKeysOnAStream checks that a server without keys can get keys while streams are
// open. Further requests on the streams then need a key.
func TestFirstKeysOnAStream(t *testing.T) {
	const rest = "host: 127.0.0.1\nopenai-port: 0\nenable-kserve-frontends: true\nkserve-grpc-port: 0\nkserve-http-port: 0\nmetrics-port: 0\nshutdown-timeout: 5s\n"
	path := settingsOf(t, rest)
	url, log := runWith(t, path, textModels())
	open := map[string]func() string{"the shared port": openStream(t, strings.TrimPrefix(url, "http://"), "sk-other")}
	for _, found := range addresses.FindAllStringSubmatch(log.String(), -1) {
		if found[1] == "listening for KServe v2 by gRPC" {
			open["the port of KServe"] = openStream(t, found[2], "sk-other")
		}
	}
	if len(open) != 2 {
		t.Fatalf("no port of KServe in\n%s", log)
	}
	for _, said := range open {
		awaitAuthError(t, said, "")
	}
	write(t, path, rest+"keys: [{name: some, key: sk-some}]\n")
	log.Await(t, taken, 1)
	for name, said := range open {
		if got := said(); !strings.Contains(got, "Incorrect API key provided") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// openStream opens a KServe stream. The returned function sends a request and returns its
// error.
func openStream(t *testing.T, address, key string) func() string {
	t.Helper()
	stream, err := kserve.NewGRPCInferenceServiceClient(dial(t, address)).ModelStreamInfer(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+key))
	if err != nil {
		t.Fatal(err)
	}
	return func() string {
		t.Helper()
		if err := stream.Send(&kserve.ModelInferRequest{ModelName: "echo"}); err != nil {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		if err != nil {
			t.Fatalf("the stream has ended: %v", err)
		}
		return answer.GetErrorMessage()
	}
}

// awaitAuthError sends requests until the error is want; "" means no authentication error. A
// changed keys file takes effect within a second.
func awaitAuthError(t *testing.T, authError func() string, want string) {
	t.Helper()
	for end, tick := time.Now().Add(20*time.Second), time.Tick(20*time.Millisecond); ; <-tick {
		got := authError()
		if want != "" && strings.Contains(got, want) || want == "" && !strings.Contains(got, "key") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}
