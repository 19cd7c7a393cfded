package encoders

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// FuzzBodies checks that each operation answers any body in the form of the document and without a failure of the server.
func FuzzBodies(f *testing.F) {
	handler := serve(f, Config{TEIModel: "vectors"})
	paths := slices.Sorted(maps.Keys(operations))
	for i := range paths {
		for _, seed := range []string{
			`{"model":"judge","query":"q","documents":["d",{"text":"e"}],"top_n":1,"truncate_prompt_tokens":-1}`,
			`{"model":"vectors","query":"a","texts":["a"],"raw_scores":true,"truncation_direction":"Left"}`,
			`{"model":"judge","text_1":["a","b"],"text_2":["c","d"],"activation":false}`,
			`{"model":"vectors","input":[[1,2],"a"],"inputs":["a",[3]],"dimensions":2,"encoding_format":"base64"}`,
			`{"model":"vectors","input":[{"type":"text","text":"a"}],"inputs":{"source_sentence":"a","sentences":["b"]},"parameters":null}`,
			`{"inputs":[["a"],["b","c"]],"prompt_name":"query"}`,
		} {
			f.Add(uint(i), seed)
		}
	}
	f.Fuzz(func(t *testing.T, operation uint, body string) {
		path := paths[operation%uint(len(paths))]
		answer := handler.post(t, path, body)
		switch {
		case answer.Code == http.StatusOK:
			if !strings.HasPrefix(answer.Body.String(), "{") && !strings.HasPrefix(answer.Body.String(), "[") {
				t.Errorf("%s", answer.Body)
			}
		case answer.Code == http.StatusFailedDependency || answer.Code >= http.StatusInternalServerError:
			t.Errorf("%s %s: %d %s", path, body, answer.Code, answer.Body)
		case strings.HasPrefix(path, teiPrefix):
			wantDocument(t, "TEIErrorResponse", answer.Body.String())
		case path == "/v2/rerank":
			wantDocument(t, "CohereErrorResponse", answer.Body.String())
		default:
			wantDocument(t, "ErrorResponse", answer.Body.String())
		}
	})
}
