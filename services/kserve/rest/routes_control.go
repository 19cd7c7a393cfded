package rest

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/tensorjson"
)

// IndexRepository lists the models.
func (h *Handler) IndexRepository(w http.ResponseWriter, r *http.Request) {
	body, err := readObject(r, true)
	req := &api.RepositoryIndexRequest{}
	if err == nil && body.has("ready") {
		req.Ready, err = body.boolean("ready")
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	respond(w, r, h.service.RepositoryIndex, req, func(answer *api.RepositoryIndexResponse) any {
		return messagesJSON(answer.GetModels(), sparse)
	})
}

// IndexNamedRepository lists the models of all repositories, as in
// tritonserver.
func (h *Handler) IndexNamedRepository(w http.ResponseWriter, r *http.Request, _ string) {
	h.IndexRepository(w, r)
}

// LoadModel loads a model.
func (h *Handler) LoadModel(w http.ResponseWriter, r *http.Request, model string) {
	req := &api.RepositoryModelLoadRequest{ModelName: model}
	body, err := readObject(r, true)
	if err == nil {
		req.Parameters, err = loadParameters(body)
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	perform(w, r, h.service.RepositoryModelLoad, req)
}

// LoadModelOfRepository always returns an error, as in tritonserver.
func (h *Handler) LoadModelOfRepository(w http.ResponseWriter, r *http.Request, _, _ string) {
	fail(w, r, errRepositoryName())
}

// UnloadModel unloads a model.
func (h *Handler) UnloadModel(w http.ResponseWriter, r *http.Request, model string) {
	req := &api.RepositoryModelUnloadRequest{ModelName: model}
	body, err := readObject(r, true)
	if err == nil {
		req.Parameters, err = unloadParameters(body)
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	perform(w, r, h.service.RepositoryModelUnload, req)
}

// UnloadModelOfRepository always returns an error, as in tritonserver.
func (h *Handler) UnloadModelOfRepository(w http.ResponseWriter, r *http.Request, _, _ string) {
	fail(w, r, errRepositoryName())
}

func errRepositoryName() error {
	return kserve.Unsupported("'repository_name' specification is not supported")
}

// fileParameter is the prefix of the names of parameters with files.
const fileParameter = "file:"

// loadParameters returns the parameters of a load, which must be strings: the
// configuration, and files in base64.
func loadParameters(body object) (map[string]*api.ModelRepositoryParameter, error) {
	raw := body.Member(keyParameters)
	switch raw.Kind() {
	case 0:
		return nil, nil //nolint:nilnil // no parameters
	case '{':
	default:
		return nil, tensorjson.Internal("attempt to get members for non-object")
	}
	if _, err := objectOf(raw); err != nil {
		return nil, err
	}
	named := map[string]tensorjson.Value{} // the first parameter of each name is kept
	for key, value := range raw.Members {
		name := validText(string(key.AppendUnquoted(nil)))
		if _, again := named[name]; !again {
			named[name] = value
		}
	}
	parameters := make(map[string]*api.ModelRepositoryParameter, len(named))
	for _, name := range slices.Sorted(maps.Keys(named)) {
		value, wrong := named[name].Text()
		if wrong != nil {
			return nil, wrong
		}
		var err error
		if parameters[name], err = loadParameter(name, validText(value)); err != nil {
			return nil, err
		}
	}
	return parameters, nil
}

func loadParameter(name, value string) (*api.ModelRepositoryParameter, error) {
	switch {
	case name == "config":
		return &api.ModelRepositoryParameter{ParameterChoice: &api.ModelRepositoryParameter_StringParam{StringParam: value}}, nil
	case strings.HasPrefix(name, fileParameter):
		file, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, inference.Invalid(name, "the parameter '%s' is not base64", name)
		}
		return &api.ModelRepositoryParameter{ParameterChoice: &api.ModelRepositoryParameter_BytesParam{BytesParam: file}}, nil
	}
	return nil, tensorjson.Internal("unexpected error on creating Triton parameter")
}

// dependents is the only parameter of an unload.
const dependents = "unload_dependents"

func unloadParameters(body object) (map[string]*api.ModelRepositoryParameter, error) {
	named, err := objectOf(body.Member(keyParameters))
	if err != nil || !named.has(dependents) {
		return nil, err
	}
	all, err := named.boolean(dependents)
	if err != nil {
		return nil, tensorjson.Internal("Unable to parse '%s': %s", dependents, err.Error())
	}
	return map[string]*api.ModelRepositoryParameter{
		dependents: {ParameterChoice: &api.ModelRepositoryParameter_BoolParam{BoolParam: all}},
	}, nil
}
