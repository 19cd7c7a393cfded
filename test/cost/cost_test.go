package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/openapi"
	"github.com/trident-inference/trident/test/cost/probe"
	"github.com/trident-inference/trident/test/pause"
	"github.com/trident-inference/trident/test/tier"
)

// plantedVariable makes the test binary serve the planted readers instead of running tests.
const plantedVariable = "TRIDENT_COST_PLANTED"

func TestMain(m *testing.M) {
	if os.Getenv(plantedVariable) != "" {
		fmt.Fprintln(os.Stderr, servePlanted())
		os.Exit(1) //nolint:forbidigo // it serves until it is killed
	}
	os.Exit(m.Run()) //nolint:forbidigo // this is main
}

// servePlanted serves three readers of a list of numbers. The first does constant work for each
// element, the second searches all elements before each element, and the third keeps a hundred
// times the body in memory.
func servePlanted() error {
	if err := probe.Listen(); err != nil {
		return err
	}
	mux := http.NewServeMux()
	for path, read := range map[string]func([]int) int{"/linear": linear, "/quadratic": quadratic, "/retaining": retaining} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			var elements []int
			if err := json.NewDecoder(r.Body).Decode(&elements); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			_, _ = fmt.Fprintln(w, read(elements)) // the client detects a failed write
		})
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Println("http://" + listener.Addr().String()); err != nil { //nolint:forbidigo // the test reads it
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.Serve(listener)
}

func linear(elements []int) int {
	sum := [sha256.Size]byte{}
	for range elements {
		for range 4 {
			sum = sha256.Sum256(sum[:])
		}
	}
	return int(sum[0])
}

func quadratic(elements []int) int {
	found := 0
	for i := range elements {
		for _, before := range elements[:i] {
			if before == elements[i] {
				found++
			}
		}
	}
	return found
}

func retaining(elements []int) int {
	kept := bytes.Repeat([]byte{1}, 64<<20+100*2*len(elements))
	return bytes.Count(kept, []byte{2})
}

// planted starts the planted readers in a separate process.
func planted(t *testing.T) *meter {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "probe")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program)
	command.Env = append(os.Environ(), plantedVariable+"=1", probe.Variable+"="+socket)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	p, err := open(t.Context(), command.Process.Pid, socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.close() })
	url := strings.TrimSpace(line)
	m := newMeter(newClient(url, url), p)
	if err := m.settle(probe.Free); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPlanted checks that the judge finds a reader with quadratic time and one with too much
// memory, and accepts one with linear time.
func TestPlanted(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	m := planted(t)
	for _, test := range []struct{ path, want string }{
		{"/linear", ""},
		{"/quadratic", "takes more than 6 times the CPU time of a quarter of its size"},
		{"/retaining", "MiB of memory, more than 32."},
	} {
		t.Run(test.path, func(t *testing.T) {
			of := &target{
				call:  &call{surface: "planted", operation: test.path, path: test.path, content: "application/json", base: []byte("[1]")},
				field: "elements", fill: first("many elements"),
				body: func(n int) []byte { return []byte("[" + strings.Repeat("1,", n-1) + "1]") },
			}
			steps, err := m.steps(t.Context(), of, []int{256, 1024, 4096, 16384}, false)
			if err != nil {
				t.Fatal(err)
			}
			found := strings.Join(judge(steps), "\n")
			if (found == "") != (test.want == "") || !strings.Contains(found, test.want) {
				t.Errorf("found %q", found)
			}
			for _, s := range steps {
				t.Log(s)
			}
		})
	}
}

// TestJudge checks that judge reports a request that exceeds a limit on CPU time or memory, with
// measurements at a limit and just above it.
func TestJudge(t *testing.T) {
	at := func(cpu time.Duration, memory int64) *step {
		return &step{decoded: 1 << 20, cpu: cpu, memory: memory, answer: answer{ok: true}}
	}
	for _, test := range []struct {
		name  string
		steps []*step
		want  string
	}{
		{"linear", []*step{at(time.Millisecond, 0), at(4*time.Millisecond, 0), at(16*time.Millisecond, 0)}, ""},
		{"six times", []*step{at(3*time.Millisecond, 0), at(18*time.Millisecond, 0)}, ""},
		{"more than six times", []*step{at(3*time.Millisecond, 0), at(18100*time.Microsecond, 0)}, "6 times the CPU"},
		{"more than six times of what bytes take", []*step{at(time.Millisecond, 0), at(16*time.Millisecond, 0)}, ""},
		{"more than six times of little", []*step{at(100*time.Microsecond, 0), at(5*time.Millisecond, 0)}, ""},
		{"half a second", []*step{at(500*time.Millisecond, 0)}, ""},
		{"more than half a second", []*step{at(501*time.Millisecond, 0)}, "501ms of CPU time, more than 500ms"},
		{"half a second before the model", []*step{{decoded: 1 << 20, cpu: time.Second, planned: 500 * time.Millisecond, answer: answer{ok: true}}}, ""},
		{"more before the model", []*step{{decoded: 1 << 20, cpu: time.Second, planned: 501 * time.Millisecond, answer: answer{ok: true}}}, "501ms of CPU time, more than 500ms"},
		{"no place", []*step{{answer: refused("503 {}")}}, "is refused before its body is read"},
		{"no place by gRPC", []*step{{answer: refused("14 the server is short of memory")}}, "is refused before its body is read"},
		{"no place by Connect", []*step{{answer: refused(`{"code":"unavailable"}`)}}, "is refused before its body is read"},
		{"refused for its content", []*step{{answer: refused("400 {}")}, {answer: refused("3 no")}, {answer: refused(`{"code":"invalid_argument"}`)}}, ""},
		{"memory", []*step{at(0, 42<<20)}, ""},
		{"more memory", []*step{at(0, 42<<20+1)}, "more than 42.0 MiB"},
		{"no answer", []*step{{answer: answer{none: true, text: "no answer"}}}, "gets no response"},
	} {
		found := strings.Join(judge(test.steps), "\n")
		if (found == "") != (test.want == "") || !strings.Contains(found, test.want) {
			t.Errorf("%s: %q", test.name, found)
		}
	}
}

// TestTargets checks that each generated request is valid in its protocol, and grows with its
// units.
func TestTargets(t *testing.T) {
	targets, err := all()
	if err != nil {
		t.Fatal(err)
	}
	surfaces, names := map[string]int{}, map[string]bool{}
	for _, made := range targets {
		names[made.String()] = true
		if (scope{}).has(made) {
			surfaces[made.surface]++
		}
		few, many := made.body(2), made.body(40)
		if len(few) >= len(many) {
			t.Errorf("%s: %d bytes for 2 units, %d for 40", made, len(few), len(many))
		}
		if strings.HasSuffix(made.content, "json") && (!json.Valid(few) || !json.Valid(many)) {
			t.Errorf("%s: %s isn't JSON", made, few)
		}
		if strings.HasSuffix(made.content, "proto") {
			if err := decodes(made, many); err != nil {
				t.Errorf("%s: %v", made, err)
			}
		}
	}
	for _, surface := range []string{"OpenAI", "Anthropic", "encoders", "KServe REST", "Connect JSON", "Connect proto", "gRPC", "gRPC of KServe's port"} {
		if surfaces[surface] < 40 {
			t.Errorf("%s has %d requests", surface, surfaces[surface])
		}
	}
	for _, name := range []string{
		"OpenAI createChatCompletion: logit_bias, many keys", "OpenAI tokenize: prompt, many words", "KServe REST generateModel: the message, many unknown keys",
		"KServe REST inferModel: inputs[].data, many elements", "Connect JSON Chat: messages.tool_calls, many elements", "Connect proto Chat: messages, many empty messages",
		"Anthropic createMessage: messages[].content[].signature, many words", "Anthropic createMessage: messages[].content[].input, many keys",
		"encoders rerank: documents, many elements", "Connect proto Rerank: documents, many elements",
		"gRPC Infer: parameters, many keys", "gRPC of KServe's port ModelInfer: inputs.contents.int_contents, many elements", "KServe REST inferModel: binary elements, many empty strings",
	} {
		if !names[name] {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestAuthors checks that blocks which only messages of the assistant have are in messages of the assistant, and
// others in messages of the user.
func TestAuthors(t *testing.T) {
	anthropic := anthropicDocument()
	targets, err := anthropic.targets()
	if err != nil {
		t.Fatal(err)
	}
	authors := map[string]int{}
	for _, made := range targets {
		var body struct {
			Messages []struct {
				Role    string
				Content json.RawMessage
			}
		}
		if err := json.Unmarshal(made.body(2), &body); err != nil || len(body.Messages) != 1 {
			continue // the target is the list of messages, or a value of another type in it
		}
		var blocks []struct{ Type string }
		if err := json.Unmarshal(body.Messages[0].Content, &blocks); err != nil || len(blocks) == 0 {
			continue
		}
		want := "user"
		switch kind := blocks[0].Type; kind {
		case "":
			continue
		case "tool_use", "thinking", "redacted_thinking":
			want = "assistant"
		}
		authors[want]++
		if body.Messages[0].Role != want {
			t.Errorf("%s is a block of the %s: %s", made, body.Messages[0].Role, made.body(2))
		}
	}
	if authors["user"] < 20 || authors["assistant"] < 10 {
		t.Errorf("blocks by author: %v", authors)
	}
}

// decodes returns an error if an encoded message is invalid.
func decodes(of *target, body []byte) error {
	service, method, _ := strings.Cut(strings.TrimPrefix(of.path, "/"), "/")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return err
	}
	input := d.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(method)).Input()
	m := dynamicpb.NewMessage(input)
	if err := proto.Unmarshal(body, m); err != nil {
		return err
	}
	_, err = protojson.Marshal(m)
	return err
}

// TestNewFields checks that make cost measures a new field of an API without a change of the program.
func TestNewFields(t *testing.T) {
	openAI := openAIDocument()
	const before = "        documents:\n"
	openAI.text = bytes.Replace(openapi.OpenAI(), []byte(before), []byte("        planted:\n          type: object\n          properties:\n            inside:\n              type: array\n              items: {type: string}\n"+before), 1)
	targets, err := openAI.targets()
	if err != nil {
		t.Fatal(err)
	}
	wantTarget(t, targets, "OpenAI createChatCompletion: planted.inside, many elements")
	file := protodesc.ToFileDescriptorProto(tridentv1.File_trident_v1_chat_proto)
	for _, m := range file.GetMessageType() {
		if m.GetName() == "FunctionTool" {
			m.Field = append(m.Field, &descriptorpb.FieldDescriptorProto{
				Name: new("planted"), JsonName: new("planted"), Number: new(int32(99)),
				Type: descriptorpb.FieldDescriptorProto_TYPE_UINT32.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(),
			})
		}
	}
	changed, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range protocols()[:3] {
		targets, err := p.services(changed)
		if err != nil {
			t.Fatal(err)
		}
		wantTarget(t, targets, p.surface+" Chat: tools.function.planted, many elements")
	}
}

func wantTarget(t *testing.T, targets []*target, name string) {
	t.Helper()
	for _, made := range targets {
		if made.String() == name {
			return
		}
	}
	t.Errorf("%s is missing", name)
}

// TestCompress checks that a body is compressed as tightly as Trident accepts.
func TestCompress(t *testing.T) {
	for _, size := range []int{1 << 10, freeBytes, freeBytes + 1, 9 << 20} {
		body := bytes.Repeat([]byte("[1],"), size/4+1)[:size]
		packed, err := compress(body)
		if err != nil {
			t.Fatal(err)
		}
		if size > freeBytes && (size >= 100*len(packed) || size < 30*len(packed)) {
			t.Errorf("%d bytes become %d", size, len(packed))
		}
	}
}

// manyRequests is the number of requests after which memory must be back at its previous value,
// plus a margin.
const (
	manyRequests = 1000
	memoryMargin = 64 << 20
	backWithin   = time.Minute
)

// TestMemoryComesBack sends requests of all kinds to a real trident, and checks that its memory is
// released afterwards.
func TestMemoryComesBack(t *testing.T) {
	tier.OnlySlow(t)
	if tier.Race {
		t.Skip("make measured runs it: with the race detector it takes minutes to make the requests")
	}
	f, err := launch(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(f.stop(), f.remove()); err != nil {
			t.Error(err)
		}
	})
	targets, err := all()
	if err != nil {
		t.Fatal(err)
	}
	m := newMeter(newClient(f.tridents[0].shared, f.tridents[0].native), f.tridents[0].process)
	if err := m.warm(t.Context(), targets); err != nil {
		t.Fatal(err)
	}
	for i := range manyRequests {
		of := targets[i*len(targets)/manyRequests]
		p, err := of.pack(of.body(of.units(probeSize)), i%2 == 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.client.send(t.Context(), p); err != nil {
			t.Fatalf("%s: %v", of, err)
		}
	}
	baseline, began := m.floor, time.Now()
	for {
		if err := m.settle(probe.Free); err != nil {
			t.Fatal(err)
		}
		if m.floor <= baseline+memoryMargin {
			t.Logf("%s before, %s after %s", size(baseline), size(m.floor), time.Since(began).Round(time.Millisecond))
			return
		}
		if time.Since(began) > backWithin {
			t.Fatalf("%s before, %s a minute after %d requests", size(baseline), size(m.floor), manyRequests)
		}
		if err := pause.For(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
	}
}

// TestList checks that the option that lists the requests prints their names without measuring
// them.
func TestList(t *testing.T) {
	var out strings.Builder
	if err := command(t.Context(), []string{"--list", "--only", "logit_bias"}, &out); err != nil || !strings.Contains(out.String(), "OpenAI createCompletion: logit_bias, many keys\n") {
		t.Errorf("%v: %s", err, out.String())
	}
	if err := command(t.Context(), []string{"--list", "--only", "no such name"}, io.Discard); err == nil || !strings.Contains(err.Error(), "no request's name matches") {
		t.Error(err)
	}
}
