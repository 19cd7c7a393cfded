package e2e

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// TestReflection works like grpcurl: it knows the services only by the server's reflection. It
// lists them, describes a method and calls it, with one response and as a stream.
func TestReflection(t *testing.T) {
	t.Parallel()
	s := kserveServing(t)
	for name, address := range s.ports() {
		t.Run(name, func(t *testing.T) {
			conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			r := newReflector(t, conn)
			services := r.services(t)
			for _, want := range []string{"inference.GRPCInferenceService", "grpc.health.v1.Health"} {
				if !slices.Contains(services, want) {
					t.Fatalf("the services are %v", services)
				}
				if methods := r.service(t, want).Methods(); want == "inference.GRPCInferenceService" && methods.Len() != 20 {
					t.Errorf("%s has %d methods", want, methods.Len())
				}
			}
			service := r.service(t, "inference.GRPCInferenceService")
			infer := service.Methods().ByName("ModelInfer")
			if input := infer.Input().Fields().ByName("raw_input_contents"); input.Number() != 7 || input.Kind() != protoreflect.BytesKind || !input.IsList() {
				t.Errorf("raw_input_contents is %v", input)
			}
			check := func(method protoreflect.MethodDescriptor, request, field, want string) {
				t.Helper()
				answer, err := call(t.Context(), conn, method, request)
				if err != nil {
					t.Fatal(err)
				}
				if got := answer.Get(method.Output().Fields().ByName(protoreflect.Name(field))).String(); got != want {
					t.Errorf("%s: %s is %q, want %q", method.Name(), field, got, want)
				}
			}
			check(infer, `{"model_name":"echo","id":"7","inputs":[{"name":"TEXT","datatype":"BYTES","shape":[1],"contents":{"bytes_contents":["aGk="]}}]}`, "id", "7")
			check(service.Methods().ByName("ModelStreamInfer"), `{"model_name":"stream","inputs":[{"name":"COUNT","datatype":"INT32","shape":[1],"contents":{"int_contents":[2]}}]}`, "error_message", "")
			check(r.service(t, "grpc.health.v1.Health").Methods().ByName("Check"), `{}`, "status", "1")
			if _, err := call(t.Context(), conn, infer, `{"model_name":"none"}`); status.Code(err) != codes.NotFound {
				t.Errorf("an unknown model: %v", err)
			}
		})
	}
}

// reflector requests descriptors from a server.
type reflector struct {
	stream grpc.BidiStreamingClient[grpc_reflection_v1.ServerReflectionRequest, grpc_reflection_v1.ServerReflectionResponse]
}

func newReflector(t *testing.T, conn *grpc.ClientConn) reflector {
	t.Helper()
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return reflector{stream}
}

func (r reflector) ask(t *testing.T, req *grpc_reflection_v1.ServerReflectionRequest) *grpc_reflection_v1.ServerReflectionResponse {
	t.Helper()
	if err := r.stream.Send(req); err != nil {
		t.Fatal(err)
	}
	answer, err := r.stream.Recv()
	if err != nil || answer.GetErrorResponse() != nil {
		t.Fatalf("%v: %v", err, answer)
	}
	return answer
}

func (r reflector) services(t *testing.T) (names []string) {
	t.Helper()
	answer := r.ask(t, &grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}})
	for _, s := range answer.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	return names
}

// service returns the descriptor of a service, from the server's files alone.
func (r reflector) service(t *testing.T, name string) protoreflect.ServiceDescriptor {
	t.Helper()
	files := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	var add func(answer *grpc_reflection_v1.ServerReflectionResponse)
	add = func(answer *grpc_reflection_v1.ServerReflectionResponse) {
		for _, raw := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
			file := &descriptorpb.FileDescriptorProto{}
			if err := proto.Unmarshal(raw, file); err != nil {
				t.Fatal(err)
			}
			if seen[file.GetName()] {
				continue
			}
			seen[file.GetName()] = true
			for _, needed := range file.GetDependency() {
				if !seen[needed] {
					add(r.ask(t, &grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileByFilename{FileByFilename: needed}}))
				}
			}
			files.File = append(files.File, file)
		}
	}
	add(r.ask(t, &grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name}}))
	registry, err := protodesc.NewFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	found, err := registry.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		t.Fatal(err)
	}
	service, ok := found.(protoreflect.ServiceDescriptor)
	if !ok {
		t.Fatalf("%s is %T", name, found)
	}
	return service
}

// call sends one request, given as JSON, and returns the first response. The call must then end
// without an error.
func call(ctx context.Context, conn *grpc.ClientConn, method protoreflect.MethodDescriptor, body string) (*dynamicpb.Message, error) {
	request, answer := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
	if err := (protojson.UnmarshalOptions{Resolver: new(protoregistry.Types)}).Unmarshal([]byte(body), request); err != nil {
		return nil, err
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/"+string(method.Parent().FullName())+"/"+string(method.Name()))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(stream.SendMsg(request), stream.CloseSend()); err != nil {
		return nil, err
	}
	if err := stream.RecvMsg(answer); err != nil {
		return nil, err
	}
	for {
		if err := stream.RecvMsg(dynamicpb.NewMessage(method.Output())); errors.Is(err, io.EOF) {
			return answer, nil
		} else if err != nil {
			return nil, err
		}
	}
}
