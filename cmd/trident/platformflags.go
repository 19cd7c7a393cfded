package main

import (
	"cmp"
	"os"
	"strconv"

	"github.com/alecthomas/kong"

	"github.com/trident-inference/trident/services/cloud"
)

// platformFlags are tritonserver's flags for SageMaker and Vertex AI. The platforms'
// environment variables provide defaults.
type platformFlags struct {
	AllowSageMaker bool `name:"allow-sagemaker" negatable:"" help:"Serve SageMaker's endpoint, GET /ping and POST /invocations, on --sagemaker-port, or on port ${platform_port} if --sagemaker-port is 0."`
	SageMakerPort  int  `name:"sagemaker-port" env:"TRIDENT_SAGEMAKER_PORT" default:"0" help:"TCP port of SageMaker's endpoint; a port other than 0 enables the endpoint. 0 means port ${platform_port} with --allow-sagemaker, otherwise no endpoint."`

	AllowVertexAI        bool   `name:"allow-vertex-ai" negatable:"" default:"${allow_vertex_ai}" help:"Serve Vertex AI's endpoint on --vertex-ai-port, with the paths of the variables AIP_PREDICT_ROUTE and AIP_HEALTH_ROUTE. Default: true if the variable AIP_MODE is PREDICTION."`
	VertexAIPort         int    `name:"vertex-ai-port" env:"TRIDENT_VERTEX_AI_PORT,AIP_HTTP_PORT" default:"${platform_port}" help:"TCP port of Vertex AI's endpoint with --allow-vertex-ai."`
	VertexAIDefaultModel string `name:"vertex-ai-default-model" placeholder:"MODEL" help:"Model for Vertex AI requests that don't name a model. Default: the only model, if there is just one model."`
}

// platformDefaults returns the default values that the struct tags refer to by name.
func platformDefaults() kong.Vars {
	return kong.Vars{
		"platform_port":   strconv.Itoa(cloud.DefaultPort),
		"allow_vertex_ai": strconv.FormatBool(os.Getenv("AIP_MODE") == "PREDICTION"),
	}
}

func (f *platformFlags) config(getenv func(string) string) cloud.Config {
	cfg := cloud.Default()
	s, v := &cfg.SageMaker, &cfg.VertexAI
	s.Port, s.Model, s.Kind = f.SageMakerPort, getenv(cloud.EnvSageMakerModel), getenv(cloud.EnvSageMakerKind)
	s.Ping = cmp.Or(getenv(cloud.EnvSageMakerPing), s.Ping)
	if f.AllowSageMaker && s.Port == 0 {
		s.Port = cloud.DefaultPort
	}
	v.Enabled, v.Port, v.Model = f.AllowVertexAI, f.VertexAIPort, f.VertexAIDefaultModel
	v.Predict, v.Health = getenv(cloud.EnvVertexPredict), getenv(cloud.EnvVertexHealth)
	return cfg
}

// storage returns the model repository that Vertex AI names, or "".
func (f *platformFlags) storage(getenv func(string) string) string {
	if !f.AllowVertexAI {
		return ""
	}
	return getenv("AIP_STORAGE_URI")
}
