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
	AllowSageMaker bool `name:"allow-sagemaker" negatable:"" help:"Answer SageMaker, GET /ping and POST /invocations, on port ${platform_port} or --sagemaker-port."`
	SageMakerPort  int  `name:"sagemaker-port" env:"TRIDENT_SAGEMAKER_PORT" default:"0" help:"Port of that endpoint; 0 is no endpoint, without --allow-sagemaker."`

	AllowVertexAI        bool   `name:"allow-vertex-ai" negatable:"" default:"${allow_vertex_ai}" help:"Answer Vertex AI on the paths of AIP_PREDICT_ROUTE and AIP_HEALTH_ROUTE; true by default where AIP_MODE is PREDICTION."`
	VertexAIPort         int    `name:"vertex-ai-port" env:"TRIDENT_VERTEX_AI_PORT,AIP_HTTP_PORT" default:"${platform_port}" help:"Port of that endpoint."`
	VertexAIDefaultModel string `name:"vertex-ai-default-model" placeholder:"MODEL" help:"Model of its requests that name none; the only one unless set."`
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
