// burst is a Triton backend for measurements. It responds with words from a list, one response per token, as fast as
// the core takes them or at a pace, with the tensor contract of Triton's vLLM backend, or that of TensorRT-LLM's
// ensemble. The code around the engine costs the same as with a real engine, and the engine itself uses almost no CPU
// time.
//
// Parameters of a model's configuration:
//   words          the words of every response, repeated, separated by spaces
//   contract       "vllm" or "ensemble"
//   counts         "true" for a model whose token i, from 0, is a space, the prompt, @, the request's id, a slash and
//                  i instead
//   pace_us        microseconds between steps; 0 for no wait
//   output_memory  where the outputs are allocated: CPU, GPU for a GPU's memory, or MISLABELLED for host memory that
//                  is reported as a GPU's
//   cache_tokens   with this parameter the model works like vLLM with a prefix cache of so many tokens: scheduler.h. Then
//                  it needs the parameters block_tokens, token_bytes, batch_tokens, batch_requests, step_us, prompt_us,
//                  context_us and time_factor, which are the members of Steps, and pace_us has no effect. The metrics
//                  burst_prompt_tokens_total and burst_cached_tokens_total have the tokens of all prompts, and how many
//                  of them were in the cache.
// With the parameter "echo", which must be true, a model returns its first input as "output" instead.
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "echo.h"
#include "engine.h"
#include "failure.h"
#include "json.h"

namespace burst {
namespace {

// Parameter returns a parameter of the model's configuration. A missing parameter is a Failure.
std::string Parameter(std::string_view config, const char* name) {
  std::optional<std::string> value = Json::Find(config, {"parameters", name, "string_value"});
  if (!value.has_value())
    throw Failure(triton::kInvalid, std::string("the model's configuration lacks the parameter ") + name);
  return *value;
}

// Whole returns a parameter that is a whole number from least.
int64_t Whole(std::string_view config, const char* name, int64_t least) {
  std::string text = Parameter(config, name);
  int64_t value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < least)
    throw Failure(triton::kInvalid, std::string("the parameter ") + name + " must be a whole number from " +
                                        std::to_string(least) + ", not " + text);
  return value;
}

// Positive returns a parameter that is a number above 0.
double Positive(std::string_view config, const char* name) {
  std::string text = Parameter(config, name);
  char* stop = nullptr;
  double value = std::strtod(text.c_str(), &stop);
  if (text.empty() || *stop != 0 || !(value > 0) || !std::isfinite(value))
    throw Failure(triton::kInvalid, std::string("the parameter ") + name + " must be a number above 0, not " + text);
  return value;
}

Steps ReadSteps(std::string_view config) {
  Steps steps;
  if (!Json::Find(config, {"parameters", "cache_tokens", "string_value"}).has_value()) return steps;
  steps.cache_tokens = Whole(config, "cache_tokens", 2);
  steps.block_tokens = Whole(config, "block_tokens", 1);
  steps.token_bytes = Whole(config, "token_bytes", 1);
  steps.batch_tokens = Whole(config, "batch_tokens", 1);
  steps.batch_requests = Whole(config, "batch_requests", 1);
  steps.step_us = Positive(config, "step_us");
  steps.prompt_us = Positive(config, "prompt_us");
  steps.context_us = Positive(config, "context_us");
  steps.time_factor = Positive(config, "time_factor");
  return steps;
}

Settings Read(std::string_view config) {
  Settings settings;
  std::istringstream words(Parameter(config, "words"));
  for (std::string word; words >> word;) settings.words.push_back(Element(" " + word));
  if (settings.words.empty()) throw Failure(triton::kInvalid, "the parameter words has no words");
  settings.counts = Parameter(config, "counts") == "true";
  std::string contract = Parameter(config, "contract");
  settings.ensemble = contract == "ensemble";
  if (contract != "vllm" && !settings.ensemble)
    throw Failure(triton::kInvalid, "the parameter contract must be vllm or ensemble, not " + contract);
  settings.pace = std::chrono::microseconds(Whole(config, "pace_us", 0));
  settings.steps = ReadSteps(config);
  std::string memory = Parameter(config, "output_memory");
  settings.gpu = memory == "GPU";
  settings.mislabelled = memory == "MISLABELLED";
  if (memory != "CPU" && !settings.gpu && !settings.mislabelled)
    throw Failure(triton::kInvalid, "the parameter output_memory must be CPU, GPU or MISLABELLED, not " + memory);
  return settings;
}

// MakeEngine reads the model's configuration. It returns no engine for an echo model.
std::unique_ptr<Engine> MakeEngine(TRITONBACKEND_Model* model) {
  TRITONSERVER_Message* message = nullptr;
  Must(TRITONBACKEND_ModelConfig(model, 1, &message));
  std::unique_ptr<TRITONSERVER_Message, void (*)(TRITONSERVER_Message*)> owner(
      message, [](TRITONSERVER_Message* m) { LogIf(TRITONSERVER_MessageDelete(m)); });
  const char* base = nullptr;
  size_t size = 0;
  Must(TRITONSERVER_MessageSerializeToJson(message, &base, &size));
  std::string_view config(base, size);
  std::optional<std::string> echo = Json::Find(config, {"parameters", "echo", "string_value"});
  if (!echo.has_value()) {
    Settings settings = Read(config);
    const char* name = nullptr;
    Must(TRITONBACKEND_ModelName(model, &name));
    settings.model = name;
    return std::make_unique<Engine>(settings);
  }
  if (*echo != "true") throw Failure(triton::kInvalid, "the parameter echo must be true");
  return nullptr;
}

// Refuse responds to a request with an error.
void Refuse(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request, TRITONSERVER_Error* error) {
  TRITONBACKEND_Response* response = nullptr;
  LogIf(TRITONBACKEND_ModelInstanceReportStatistics(instance, request, false, 0, 0, 0, 0));
  LogIf(TRITONBACKEND_ResponseNew(&response, request));
  if (response != nullptr) LogIf(TRITONBACKEND_ResponseSend(response, triton::kFinal, error));
  LogIf(TRITONBACKEND_RequestRelease(request, triton::kReleaseAll));
  TRITONSERVER_ErrorDelete(error);
}

}  // namespace
}  // namespace burst

using burst::Engine;
using burst::Failure;
using burst::Guarded;
using burst::Must;

extern "C" {

// All other symbols are hidden, so that symbols of other libraries in the process can't replace them.
#pragma GCC visibility push(default)

TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend*) {
  return Guarded([] {
    uint32_t major = 0, minor = 0;
    Must(TRITONBACKEND_ApiVersion(&major, &minor));
    if (major != triton::kApiMajor || minor < triton::kApiMinor)
      throw Failure(triton::kUnsupported, "this Triton is too old or too new for the backend burst");
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance) {
  return Guarded([instance] {
    TRITONBACKEND_Model* model = nullptr;
    Must(TRITONBACKEND_ModelInstanceModel(instance, &model));
    std::unique_ptr<Engine> engine = burst::MakeEngine(model);
    Must(TRITONBACKEND_ModelInstanceSetState(instance, engine.get()));
    engine.release();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
  return Guarded([instance] {
    void* state = nullptr;
    Must(TRITONBACKEND_ModelInstanceState(instance, &state));
    delete static_cast<Engine*>(state);
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                       TRITONBACKEND_Request** requests, const uint32_t count) {
  void* state = nullptr;
  TRITONSERVER_Error* failed = TRITONBACKEND_ModelInstanceState(instance, &state);
  if (failed != nullptr) return failed;
  for (uint32_t i = 0; i < count; i++) {
    TRITONSERVER_Error* error = Guarded([&] {
      if (state == nullptr) return burst::Echo(instance, requests[i]);
      static_cast<Engine*>(state)->Add(instance, requests[i]);
    });
    if (error != nullptr) burst::Refuse(instance, requests[i], error);
  }
  return nullptr;
}

#pragma GCC visibility pop

}  // extern "C"
