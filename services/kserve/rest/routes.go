package rest

import (
	"context"
	"net/http"

	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/gen/go/kserverest"
)

// respond calls a method of the service and writes the encoded answer.
func respond[Req, Res any](w http.ResponseWriter, r *http.Request, call func(context.Context, *Req) (*Res, error), req *Req, encode func(*Res) any) {
	answer, err := call(r.Context(), req)
	if err != nil {
		fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, encode(answer))
}

// perform calls a method whose answer has no content.
func perform[Req, Res any](w http.ResponseWriter, r *http.Request, call func(context.Context, *Req) (*Res, error), req *Req) {
	if _, err := call(r.Context(), req); err != nil {
		fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json") // the body is empty; tritonserver sends this type too
	w.WriteHeader(http.StatusOK)
}

// probe responds with 200 or 400 and an empty body.
func probe(w http.ResponseWriter, yes bool) {
	w.Header().Set("Content-Type", "text/plain") // the body is empty; tritonserver sends this type too
	if yes {
		w.WriteHeader(http.StatusOK)
	} else {
		w.WriteHeader(http.StatusBadRequest)
	}
}

func wholeMessage[M proto.Message](m M) any { return messageJSON(m, complete) }

// GetServerMetadata describes the server.
func (h *Handler) GetServerMetadata(w http.ResponseWriter, r *http.Request) {
	respond(w, r, h.service.ServerMetadata, &api.ServerMetadataRequest{}, wholeMessage)
}

// CheckServerLive reports that the process is running.
func (h *Handler) CheckServerLive(w http.ResponseWriter, _ *http.Request) { probe(w, true) }

// CheckServerReady reports whether requests would be served.
func (h *Handler) CheckServerReady(w http.ResponseWriter, r *http.Request) {
	answer, err := h.service.ServerReady(r.Context(), &api.ServerReadyRequest{})
	if err != nil {
		fail(w, r, err)
		return
	}
	probe(w, answer.GetReady())
}

// GetModelMetadata describes a model.
func (h *Handler) GetModelMetadata(w http.ResponseWriter, r *http.Request, model string) {
	h.GetModelVersionMetadata(w, r, model, "")
}

// GetModelVersionMetadata describes a version of a model.
func (h *Handler) GetModelVersionMetadata(w http.ResponseWriter, r *http.Request, model, version string) {
	respond(w, r, h.service.ModelMetadata, &api.ModelMetadataRequest{Name: model, Version: version}, wholeMessage)
}

// CheckModelReady reports whether a model accepts requests.
func (h *Handler) CheckModelReady(w http.ResponseWriter, r *http.Request, model string) {
	h.CheckModelVersionReady(w, r, model, "")
}

// CheckModelVersionReady reports whether a version of a model accepts requests.
func (h *Handler) CheckModelVersionReady(w http.ResponseWriter, r *http.Request, model, version string) {
	switch answer, err := h.service.ModelReady(r.Context(), &api.ModelReadyRequest{Name: model, Version: version}); {
	case err != nil:
		fail(w, r, err)
	case !answer.GetReady():
		writeError(w, http.StatusBadRequest, "Model version not ready")
	default:
		probe(w, true)
	}
}

// GetModelConfig returns a model's configuration.
func (h *Handler) GetModelConfig(w http.ResponseWriter, r *http.Request, model string) {
	h.GetModelVersionConfig(w, r, model, "")
}

// GetModelVersionConfig returns the configuration of a version.
func (h *Handler) GetModelVersionConfig(w http.ResponseWriter, r *http.Request, model, version string) {
	respond(w, r, h.service.ModelConfig, &api.ModelConfigRequest{Name: model, Version: version}, func(answer *api.ModelConfigResponse) any {
		return messageJSON(answer.GetConfig(), complete)
	})
}

// GetAllStatistics returns the statistics of all models.
func (h *Handler) GetAllStatistics(w http.ResponseWriter, r *http.Request) {
	h.GetModelVersionStatistics(w, r, "", "")
}

// GetModelStatistics returns the statistics of all versions of a model.
func (h *Handler) GetModelStatistics(w http.ResponseWriter, r *http.Request, model string) {
	h.GetModelVersionStatistics(w, r, model, "")
}

// GetModelVersionStatistics returns the statistics of a version.
func (h *Handler) GetModelVersionStatistics(w http.ResponseWriter, r *http.Request, model, version string) {
	respond(w, r, h.service.ModelStatistics, &api.ModelStatisticsRequest{Name: model, Version: version}, wholeMessage)
}

// InferModel runs an inference.
func (h *Handler) InferModel(w http.ResponseWriter, r *http.Request, model string, _ kserverest.InferModelParams) {
	h.infer(w, r, model, "")
}

// InferModelVersion runs an inference with a version.
func (h *Handler) InferModelVersion(w http.ResponseWriter, r *http.Request, model, version string, _ kserverest.InferModelVersionParams) {
	h.infer(w, r, model, version)
}

// infer compresses the response if the client accepts that. Like tritonserver it does
// so only for inferences.
func (h *Handler) infer(w http.ResponseWriter, r *http.Request, model, version string) {
	h.compressor.serve(w, r, func(w http.ResponseWriter, r *http.Request) { h.answerInfer(w, r, model, version) })
}

// GenerateModel generates one response.
func (h *Handler) GenerateModel(w http.ResponseWriter, r *http.Request, model string) {
	h.generate(w, r, model, "", false)
}

// GenerateModelVersion generates one response with a version.
func (h *Handler) GenerateModelVersion(w http.ResponseWriter, r *http.Request, model, version string) {
	h.generate(w, r, model, version, false)
}

// GenerateStreamModel generates a stream of responses.
func (h *Handler) GenerateStreamModel(w http.ResponseWriter, r *http.Request, model string) {
	h.generate(w, r, model, "", true)
}

// GenerateStreamModelVersion generates a stream of responses with a version.
func (h *Handler) GenerateStreamModelVersion(w http.ResponseWriter, r *http.Request, model, version string) {
	h.generate(w, r, model, version, true)
}
