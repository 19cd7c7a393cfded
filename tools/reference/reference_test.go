package main

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const document = `
openapi: 3.0.3
info: {title: 'Trident, a test', version: 1.0.0, description: "One.\n\nTwo <b> *of* ` + "`a|b`" + `."}
tags: [{name: Chat, description: Chats.}]
paths:
  /v1/chat/{id}:
    post:
      tags: [Chat]
      summary: Make a chat
      description: Makes it.
      parameters:
        - {name: id, in: path, required: true, description: The chat., schema: {type: string, maxLength: 9}}
      requestBody: {description: The chat., content: {application/json: {schema: {$ref: '#/components/schemas/Chat'}}}}
      responses:
        '200': {description: The answer., headers: {x-id: {schema: {type: string}}}, content: {application/json: {schema: {$ref: '#/components/schemas/Part'}}}}
        '400': {description: Wrong.}
components:
  schemas:
    Chat:
      type: object
      description: A chat.
      required: [messages]
      properties:
        messages: {type: array, minItems: 1, description: The messages., items: {type: object, properties: {text: {type: string, description: A text.}}}}
        n: {type: integer, nullable: true, minimum: 1, maximum: 8, default: 1, description: Choices.}
        part: {$ref: '#/components/schemas/Part'}
        effort: {$ref: '#/components/schemas/Effort'}
        extra: {type: object, description: More., additionalProperties: {type: string}}
    Effort: {type: string, enum: [low, high], description: The effort.}
    Part:
      description: A part.
      oneOf: [{type: string}, {$ref: '#/components/schemas/Chat'}]
`

const page = "# HTTP: a test\n\nThis page is generated from [openapi/test.yaml](../../openapi/test.yaml), and describes each operation and each field.\n\n" +
	"One.\n\nTwo &lt;b> \\*of\\* `a\\|b`.\n\n## Operations\n\n| operation | purpose |\n|---|---|\n| [`POST /v1/chat/{id}`](#post-v1chatid) | Make a chat |\n\n" +
	"## Chat operations\n\nChats.\n\n### `POST /v1/chat/{id}`\n\nMake a chat.\n\nMakes it.\n\n" +
	"| parameter | in | type | required | meaning |\n|---|---|---|---|---|\n| `id` | path | string | yes | The chat. Limits: at most 9 characters. |\n\n" +
	"Body: `application/json` [Chat](#chat). The chat.\n\n" +
	"| status | body | headers | meaning |\n|---|---|---|---|\n| 200 | `application/json` [Part](#part) | `x-id` | The answer. |\n| 400 |  |  | Wrong. |\n\n" +
	"## Schemas\n\nIn the column *required*, \"yes\" means that a request must have the field, or that a response always has it. " +
	"A field of a nested object has the name of that object as a prefix, and `[]` means each element of a list.\n\n### Chat\n\nA chat.\n\n| field | type | required | meaning |\n|---|---|---|---|\n" +
	"| `effort` | `low`, `high` |  | The effort. |\n| `extra` | object with values of type string |  | More. |\n| `messages` | list of object | yes | The messages. Limits: at least 1 element. |\n" +
	"| `messages[].text` | string |  | A text. |\n| `n` | integer |  | Choices. Limits: from 1 to 8. Default: `1`. |\n| `part` | [Part](#part) |  | A part. |\n\n" +
	"### Part\n\nA part.\n\nA value is one of: string, [Chat](#chat).\n"

func TestDescribe(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	if got := describe(doc, "test.yaml"); got != page {
		t.Errorf("got\n%s\nwant\n%s", got, page)
	}
}

func TestTyped(t *testing.T) {
	location := func(comment string, path ...int32) *descriptorpb.SourceCodeInfo_Location {
		return &descriptorpb.SourceCodeInfo_Location{Path: path, Span: []int32{0, 0, 0}, LeadingComments: proto.String(comment)}
	}
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("trident/v1/a.proto"), Package: proto.String("trident.v1"),
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("Ask"),
			Field: []*descriptorpb.FieldDescriptorProto{
				{Name: proto.String("text"), Number: proto.Int32(1), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()},
				{Name: proto.String("roles"), Number: proto.Int32(2), Type: descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum(), TypeName: proto.String(".trident.v1.Role"), Label: descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()},
			},
		}},
		EnumType: []*descriptorpb.EnumDescriptorProto{{Name: proto.String("Role"), Value: []*descriptorpb.EnumValueDescriptorProto{{Name: proto.String("ROLE_USER"), Number: proto.Int32(0)}}}},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("ChatService"), Method: []*descriptorpb.MethodDescriptorProto{{
			Name: proto.String("Chat"), InputType: proto.String(".trident.v1.Ask"), OutputType: proto.String(".google.protobuf.Empty"), ServerStreaming: proto.Bool(true),
		}}}},
		SourceCodeInfo: &descriptorpb.SourceCodeInfo{Location: []*descriptorpb.SourceCodeInfo_Location{
			location(" ChatService chats.\n\n Codes:\n   - A: one.\n", 6, 0), location(" Chat streams\n an answer.\n", 6, 0, 2, 0),
			location(" Ask is a question.\n", 4, 0), location(" The text.\n", 4, 0, 2, 0), location(" Role is an author.\n", 5, 0), location(" The user.\n", 5, 0, 2, 0),
		}},
	}
	const want = "# Typed services: methods and messages\n\nThis page is generated from [api/trident/v1](../../api/trident/v1), and describes each service, message and field. " +
		"[The typed services](connect.md) describes how to call the methods, and their errors. In the column *GET*, `yes` marks methods that Connect's clients can also call with an HTTP GET.\n\n## Services\n\n### ChatService\n\nChatService chats.\n\nCodes:\n  - A: one.\n\n" +
		"| method | request | response | GET | purpose |\n|---|---|---|---|---|\n| `Chat` | [Ask](#ask) | stream of `google.protobuf.Empty` |  | Chat streams an answer. |\n\n" +
		"## Messages\n\n### Ask\n\nAsk is a question.\n\n| field | number | type | meaning |\n|---|---|---|---|\n| `text` | 1 | string | The text. |\n| `roles` | 2 | repeated [Role](#role) |  |\n\n" +
		"## Enums\n\n### Role\n\nRole is an author.\n\n| value | number | meaning |\n|---|---|---|\n| `ROLE_USER` | 0 | The user. |\n"
	got := typed(&pluginpb.CodeGeneratorRequest{FileToGenerate: []string{file.GetName()}, ProtoFile: []*descriptorpb.FileDescriptorProto{file}})
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
