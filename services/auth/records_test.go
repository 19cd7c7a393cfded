package auth

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	_ "google.golang.org/grpc/health/grpc_health_v1" // registers its descriptors
	_ "google.golang.org/grpc/reflection"            // registers its descriptors
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/trident-inference/trident/gen/go/kserve" // registers its descriptors
	_ "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/openapi"
)

// TestRecordsOfDocuments compares the records with the OpenAPI documents. Each operation
// has a record with its name, method and path, and each record has an operation. The tag
// of an operation in KServe's document is its group there.
func TestRecordsOfDocuments(t *testing.T) {
	for api, text := range map[API][]byte{OpenAI: openapi.OpenAI(), REST: openapi.KServe(), Anthropic: openapi.Anthropic(), Encoders: openapi.Encoders()} {
		doc, err := openapi3.NewLoader().LoadFromData(text)
		if err != nil {
			t.Fatal(err)
		}
		described, groups := map[string]string{}, map[string]string{}
		for path, item := range doc.Paths.Map() {
			for method, operation := range item.Operations() {
				described[method+" "+path] = operation.OperationID
				groups[method+" "+path] = operation.Tags[0]
			}
		}
		recorded := map[string]string{}
		for _, r := range Records() {
			if r.API != api {
				continue
			}
			recorded[r.Pattern] = r.Name
			if group := groups[r.Pattern]; api == REST && string(r.KServe) != group {
				t.Errorf("%s has the group %q and the tag %q", r.Name, r.KServe, group)
			}
		}
		compareNames(t, recorded, described)
	}
}

// TestRecordsOfProcedures checks that each procedure of the proto services has an access record,
// and that no record names another procedure.
func TestRecordsOfProcedures(t *testing.T) {
	described, recorded := map[string]string{}, map[string]string{}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				name := "/" + string(service.FullName()) + "/" + string(service.Methods().Get(j).Name())
				described[name] = name
				if r := Find(name); r != nil && r.Renews != (service.Methods().Get(j).IsStreamingClient() && r.Effect == Runs) {
					t.Errorf("%s: clients stream requests: %t", name, r.Renews)
				}
			}
		}
		return true
	})
	for _, r := range Records() {
		if r.API == Procedure {
			recorded[r.Pattern] = r.Name
		}
	}
	compareNames(t, recorded, described)
}

// compareNames checks that both maps have the same patterns and names.
func compareNames(t *testing.T, recorded, described map[string]string) {
	t.Helper()
	if len(described) == 0 {
		t.Fatal("nothing is described")
	}
	for pattern, name := range described {
		if recorded[pattern] != name {
			t.Errorf("%s of %s has no record, or another name there: %q", name, pattern, recorded[pattern])
		}
	}
	for pattern, name := range recorded {
		if described[pattern] == "" {
			t.Errorf("the record %s of %s is of nothing that is described", name, pattern)
		}
	}
}

// TestRecords checks that the records are consistent: names are unique within an API,
// open routes run nothing, and only routes that are the same for all clients are free of
// all groups.
func TestRecords(t *testing.T) {
	type key struct {
		API
		string
	}
	names := map[key]bool{}
	for _, r := range Records() {
		if names[key{r.API, r.Name}] || r.Name == "" {
			t.Errorf("the name %q isn't unique", r.Name)
		}
		names[key{r.API, r.Name}] = true
		switch {
		case r.Surface == "":
			t.Errorf("%s has no surface", r.Name)
		case r.Access == Open && (r.Effect != Reads || r.Cost != Constant):
			t.Errorf("%s is open and does more than to answer", r.Name)
		case r.Group == Free && r.Access != Open:
			t.Errorf("%s is in no group, though it needs a key", r.Name)
		case (r.Effect == Runs) != (r.Cost == Model || r.Cost == Tokenizer):
			t.Errorf("%s: effect %d, cost %d", r.Name, r.Effect, r.Cost)
		case r.Cost == Loading && r.Effect != Changes:
			t.Errorf("%s loads a model and changes nothing", r.Name)
		case r.API == Procedure && !strings.HasPrefix(r.Pattern, "/"), r.API != Procedure && !strings.Contains(r.Pattern, " /"):
			t.Errorf("%s has the pattern %q", r.Name, r.Pattern)
		}
	}
	for api, r := range unmatched {
		if r.Access == Open || r.Group == Free || r.Pattern != "" || r.API != api {
			t.Errorf("what no route takes is %+v", r)
		}
	}
	if open := slices.Collect(maps.Keys(names)); len(open) < 100 {
		t.Errorf("%d records", len(open))
	}
}
