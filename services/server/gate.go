package server

import (
	"errors"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
)

// errorWriter writes errors in the protocol of an RPC.
var errorWriter = connect.NewErrorWriter() //nolint:gochecknoglobals // a constant

// admit passes requests on that the gate lets in.
func admit(g *auth.Gate, next http.Handler) http.Handler {
	if g == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, err := g.Admit(r.Context(), r.Method, r.URL, r.Header.Values)
		if err != nil {
			deny(w, r, err)
			return
		}
		if client := inference.ClientOf(ctx); client != nil {
			RecordOf(ctx).Client = client.Name
		}
		if ctx != r.Context() {
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

// assetsPath is where the playground's files are.
const assetsPath = "/assets/"

// denied are the codes by which a request is turned away.
type denied struct {
	status int
	code   connect.Code
}

// deny answers in the form of the surface that was asked.
func deny(w http.ResponseWriter, r *http.Request, err error) {
	RecordOf(r.Context()).Error = err
	e := inference.AsError(err)
	d := denied{http.StatusUnauthorized, connect.CodeUnauthenticated}
	if e.Code == inference.CodeForbidden {
		d = denied{http.StatusForbidden, connect.CodePermissionDenied}
	}
	kind := "invalid_request_error"
	switch e.Reason {
	case inference.ReasonInvalidKey:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case inference.ReasonInvalidAuth:
		kind = "authentication_error"
	}
	switch {
	case isCall(r.URL.Path) && errorWriter.IsSupported(r):
		_ = errorWriter.Write(w, r, connect.NewError(d.code, errors.New(e.Message))) // a client that has left needs none
	case r.URL.Path == "/v2" || strings.HasPrefix(r.URL.Path, "/v2/"):
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(d.status)
		_, _ = w.Write([]byte(`{"error":"` + e.Message + `"}`)) //nolint:gosec // a text of ours
	default:
		refuse(w, d.status, e.Message, kind, `"`+e.Reason+`"`)
	}
}

// isCall tells the paths of procedures: /package.Service/Method.
func isCall(path string) bool {
	service, method, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return ok && method != "" && strings.Contains(service, ".")
}
