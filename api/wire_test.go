// Package api_test checks that the schemas in this folder match the APIs of other software. The
// tables in testdata list these APIs.
package api_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/trident-inference/trident/gen/go/health/grpc_health_v1connect"
	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/gen/go/kserve/kserveconnect"
)

// TestDescriptorsMatchTables renders each compiled file in the columns of its table and compares in
// both directions. A missing, changed or added service, method, message, field, oneof or enum value
// fails. The tables list the API that Triton publishes. They are sorted by declaration; this order
// means nothing on the wire.
func TestDescriptorsMatchTables(t *testing.T) {
	t.Parallel()
	tests := []struct {
		table string
		file  protoreflect.FileDescriptor
		// beyond lists rows of the file that Triton's table doesn't have.
		beyond []string
	}{
		{table: "triton_grpc_service.tsv", file: kserve.File_kserve_grpc_service_proto},
		{table: "triton_model_config.tsv", file: kserve.File_kserve_model_config_proto},
		{
			table: "triton_health.tsv",
			file:  grpc_health_v1.File_grpc_health_v1_health_proto,
			beyond: []string{ // grpc-go's messages have newer methods than Triton's.
				"service grpc.health.v1.Health\t-\tList\tgrpc.health.v1.HealthListRequest\treturns grpc.health.v1.HealthListResponse",
				"service grpc.health.v1.Health\t-\tWatch\tgrpc.health.v1.HealthCheckRequest\treturns stream grpc.health.v1.HealthCheckResponse",
				"grpc.health.v1.HealthListRequest\t-\t(no fields)\t\t",
				"grpc.health.v1.HealthListResponse\t1\tstatuses\tmap<string, grpc.health.v1.HealthCheckResponse>\t",
			},
		},
	}
	for _, test := range tests {
		t.Run(test.table, func(t *testing.T) {
			t.Parallel()
			want := append(readTable(t, test.table), test.beyond...)
			got := fileRows(test.file)
			for _, row := range want {
				if !slices.Contains(got, row) {
					t.Errorf("missing: %s", row)
				}
			}
			for _, row := range got {
				if !slices.Contains(want, row) {
					t.Errorf("not in the table: %s", row)
				}
			}
			if len(got) != len(want) {
				t.Errorf("the proto file has %d rows, the table has %d", len(got), len(want))
			}
		})
	}
}

// TestConnectHandlersServeTheTables compares names only. The compiler already checks the message
// types in the signatures against the descriptors above.
func TestConnectHandlersServeTheTables(t *testing.T) {
	t.Parallel()
	tests := []struct {
		table   string
		service string
		handler reflect.Type
		more    []string // methods that tritonserver doesn't serve
	}{
		{"triton_grpc_service.tsv", kserveconnect.GRPCInferenceServiceName, reflect.TypeFor[kserveconnect.GRPCInferenceServiceHandler](), nil},
		{"triton_health.tsv", grpc_health_v1connect.HealthName, reflect.TypeFor[grpc_health_v1connect.HealthHandler](), []string{"Watch"}},
	}
	for _, test := range tests {
		t.Run(test.service, func(t *testing.T) {
			t.Parallel()
			want := slices.Clone(test.more)
			for _, row := range readTable(t, test.table) {
				columns := strings.Split(row, "\t")
				if columns[0] == "service "+test.service {
					want = append(want, columns[2])
				}
			}
			var got []string
			for method := range test.handler.Methods() {
				got = append(got, method.Name)
			}
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("the handler serves %v, want the methods of the table and the additional ones: %v", got, want)
			}
		})
	}
}

// TestEncoding checks encoded bytes that follow from the tables but aren't visible in them. Scalars
// without presence are omitted at their zero value, a set oneof member never is, and repeated
// numbers are packed.
func TestEncoding(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		message proto.Message
		want    []byte
	}{
		{"zero bool vanishes", &kserve.ServerLiveResponse{Live: false}, nil},
		{"bool", &kserve.ServerLiveResponse{Live: true}, []byte{1 << 3, 1}},
		{"zero enum vanishes", &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_UNKNOWN}, nil},
		{"enum", &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, []byte{1 << 3, 1}},
		{"zero in a oneof stays", &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_BoolParam{}}, []byte{1 << 3, 0}},
		{
			"repeated numbers are packed",
			&kserve.ModelInferRequest_InferInputTensor{Name: "x", Shape: []int64{1, -1}},
			[]byte{1<<3 | 2, 1, 'x', 3<<3 | 2, 11, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		},
		{
			"empty raw tensor keeps its place",
			&kserve.ModelInferResponse{RawOutputContents: [][]byte{{}, {7}}},
			[]byte{6<<3 | 2, 0, 6<<3 | 2, 1, 7},
		},
		{
			"map entry",
			&kserve.ModelInferRequest{Parameters: map[string]*kserve.InferParameter{
				"k": {ParameterChoice: &kserve.InferParameter_Int64Param{Int64Param: 5}},
			}},
			[]byte{4<<3 | 2, 7, 1<<3 | 2, 1, 'k', 2<<3 | 2, 2, 2 << 3, 5},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := proto.Marshal(test.message)
			if err != nil {
				t.Fatalf("marshal: %v", err)
			}
			if !bytes.Equal(got, test.want) {
				t.Errorf("encoded as % x, want % x", got, test.want)
			}
		})
	}
}

// readTable returns the rows of a table in testdata without its header row.
func readTable(t *testing.T, name string) []string {
	t.Helper()
	table, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSuffix(string(table), "\n"), "\n")
	if len(rows) < 2 {
		t.Fatalf("%s has no rows", name)
	}
	return rows[1:]
}

// fileRows renders a file as a table: one row for each method, field and enum
// value, and for each message without fields.
func fileRows(file protoreflect.FileDescriptor) []string {
	var rows []string
	for i := range file.Services().Len() {
		service := file.Services().Get(i)
		for j := range service.Methods().Len() {
			rows = append(rows, methodRow(service, service.Methods().Get(j)))
		}
	}
	rows = append(rows, enumRows(file.Enums())...)
	return append(rows, messageRows(file.Messages())...)
}

func methodRow(service protoreflect.ServiceDescriptor, method protoreflect.MethodDescriptor) string {
	input, output := string(method.Input().FullName()), string(method.Output().FullName())
	if method.IsStreamingClient() {
		input = "stream " + input
	}
	if method.IsStreamingServer() {
		output = "stream " + output
	}
	return fmt.Sprintf("service %s\t-\t%s\t%s\treturns %s", service.FullName(), method.Name(), input, output)
}

func messageRows(messages protoreflect.MessageDescriptors) []string {
	var rows []string
	for i := range messages.Len() {
		message := messages.Get(i)
		if message.IsMapEntry() {
			continue
		}
		if message.Fields().Len() == 0 {
			rows = append(rows, fmt.Sprintf("%s\t-\t(no fields)\t\t", message.FullName()))
		}
		for j := range message.Fields().Len() {
			field := message.Fields().Get(j)
			rows = append(rows, fmt.Sprintf("%s\t%d\t%s\t%s\t%s",
				message.FullName(), field.Number(), field.Name(), fieldType(field), oneofName(field)))
		}
		rows = append(rows, enumRows(message.Enums())...)
		rows = append(rows, messageRows(message.Messages())...)
	}
	return rows
}

func enumRows(enums protoreflect.EnumDescriptors) []string {
	var rows []string
	for i := range enums.Len() {
		enum := enums.Get(i)
		for j := range enum.Values().Len() {
			value := enum.Values().Get(j)
			rows = append(rows, fmt.Sprintf("%s\t%d\t%s\tenum value\t", enum.FullName(), value.Number(), value.Name()))
		}
	}
	return rows
}

// fieldType returns a field's type as a proto file spells it, with full names.
func fieldType(field protoreflect.FieldDescriptor) string {
	if field.IsMap() {
		return fmt.Sprintf("map<%s, %s>", fieldType(field.MapKey()), fieldType(field.MapValue()))
	}
	name := field.Kind().String()
	switch {
	case field.Message() != nil:
		name = string(field.Message().FullName())
	case field.Enum() != nil:
		name = string(field.Enum().FullName())
	}
	if field.IsList() {
		return "repeated " + name
	}
	return name
}

// oneofName returns the name of the field's oneof, or "" outside of a oneof. The hidden oneof of an
// "optional" field has a name, so the comparison detects presence that a table doesn't have.
func oneofName(field protoreflect.FieldDescriptor) string {
	if oneof := field.ContainingOneof(); oneof != nil {
		return string(oneof.Name())
	}
	return ""
}
