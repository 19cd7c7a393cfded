// The inputs of a request in the contract of vLLM or of TensorRT-LLM's ensemble, and its id.
#ifndef BURST_REQUEST_H
#define BURST_REQUEST_H

#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "failure.h"
#include "json.h"

namespace burst {

// Ask has the contract's defaults.
struct Ask {
  std::string id;  // id of the request; empty for none
  std::string prompt;
  uint32_t prompt_tokens = 0;  // number of its words, or of its tokens if these have a size
  int64_t max_tokens = 16;
  bool stream = false;
  bool exclude_input = true;
  bool finish_reason = false;
  bool input_tokens = false;
  bool output_tokens = false;
  bool sequence_index = false;  // whether the request names this output of the ensemble, or no output
  bool batch_index = false;

  // Of copies the id and the inputs of a request. Tokens of the prompt have so many bytes, or are words if that is 0.
  // It throws a Failure for unsupported values.
  static Ask Of(TRITONBACKEND_Request* request, int64_t token_bytes);

 private:
  void Take(std::string_view name, TRITONBACKEND_Input* input);
  void Sampling(const std::string& json);
  void Outputs(TRITONBACKEND_Request* request);
};

// Words counts the words separated by white space.
inline uint32_t Words(std::string_view text) {
  uint32_t words = 0;
  bool inside = false;
  for (char c : text) {
    bool space = c == ' ' || (c >= '\t' && c <= '\r');
    if (!space && !inside) words++;
    inside = !space;
  }
  return words;
}

// Bytes returns the bytes of an input, which may be in several buffers.
inline std::string Bytes(TRITONBACKEND_Input* input, uint32_t buffers) {
  std::string all;
  for (uint32_t i = 0; i < buffers; i++) {
    const void* base = nullptr;
    uint64_t size = 0;
    int memory = triton::kHostMemory;
    int64_t memory_id = 0;
    Must(TRITONBACKEND_InputBuffer(input, i, &base, &size, &memory, &memory_id));
    if (memory == triton::kDeviceMemory) throw Failure(triton::kUnsupported, "an input lies in the memory of a GPU");
    all.append(static_cast<const char*>(base), size);
  }
  return all;
}

inline void Ask::Take(std::string_view name, TRITONBACKEND_Input* input) {
  int type = 0;
  uint32_t buffers = 0;
  Must(TRITONBACKEND_InputProperties(input, nullptr, &type, nullptr, nullptr, nullptr, &buffers));
  std::string bytes = Bytes(input, buffers);
  if (type == triton::kBool) {
    if (bytes.size() != 1) throw Failure(triton::kInvalid, std::string(name) + " must have one element");
    bool value = bytes[0] != 0;
    if (name == "stream") stream = value;
    if (name == "exclude_input_in_output") exclude_input = value;
    if (name == "return_finish_reason") finish_reason = value;
    if (name == "return_num_input_tokens") input_tokens = value;
    if (name == "return_num_output_tokens") output_tokens = value;
    return;
  }
  if (type == triton::kInt32 && name == "max_tokens") {
    int32_t limit = 0;
    if (bytes.size() == sizeof limit) std::memcpy(&limit, bytes.data(), sizeof limit);
    if (limit < 1) throw Failure(triton::kInvalid, "max_tokens must be a single value > 0");
    max_tokens = limit;
    return;
  }
  // Other parameters of the ensemble have no effect.
  if (name != "text_input" && name != "sampling_parameters") return;
  // One element: its length and its bytes.
  uint32_t length = 0;
  if (bytes.size() >= sizeof length) std::memcpy(&length, bytes.data(), sizeof length);
  if (bytes.size() != sizeof length + length)
    throw Failure(triton::kInvalid, std::string(name) + " must have one element");
  bytes.erase(0, sizeof length);
  if (name == "text_input") prompt = std::move(bytes);
  if (name == "sampling_parameters") Sampling(bytes);
}

inline void Ask::Sampling(const std::string& json) {
  std::optional<std::string> text = Json::Find(json, {"max_tokens"});
  if (!text.has_value()) return;
  const char* end = text->data() + text->size();
  auto [stop, error] = std::from_chars(text->data(), end, max_tokens);
  if (error != std::errc() || stop != end || max_tokens < 1)
    throw Failure(triton::kInvalid, "sampling parameter 'max_tokens=" + *text + "' must be a whole number from 1");
}

// Outputs reads the names of the requested outputs. Triton names all outputs of the model if the request
// names none.
inline void Ask::Outputs(TRITONBACKEND_Request* request) {
  uint32_t count = 0;
  Must(TRITONBACKEND_RequestOutputCount(request, &count));
  for (uint32_t i = 0; i < count; i++) {
    const char* name = nullptr;
    Must(TRITONBACKEND_RequestOutputName(request, i, &name));
    sequence_index = sequence_index || std::string_view(name) == "sequence_index";
    batch_index = batch_index || std::string_view(name) == "batch_index";
  }
}

inline Ask Ask::Of(TRITONBACKEND_Request* request, int64_t token_bytes) {
  Ask ask;
  bool excludes = false;
  uint32_t count = 0;
  const char* id = nullptr;
  Must(TRITONBACKEND_RequestId(request, &id));
  ask.id = id;
  Must(TRITONBACKEND_RequestInputCount(request, &count));
  for (uint32_t i = 0; i < count; i++) {
    TRITONBACKEND_Input* input = nullptr;
    const char* name = nullptr;
    Must(TRITONBACKEND_RequestInputByIndex(request, i, &input));
    Must(TRITONBACKEND_InputProperties(input, &name, nullptr, nullptr, nullptr, nullptr, nullptr));
    excludes = excludes || std::string_view(name) == "exclude_input_in_output";
    ask.Take(name, input);
  }
  ask.Outputs(request);
  ask.prompt_tokens = Words(ask.prompt);
  if (token_bytes > 0) {
    int64_t bytes = static_cast<int64_t>(ask.prompt.size());
    ask.prompt_tokens = static_cast<uint32_t>((bytes + token_bytes - 1) / token_bytes);
  }
  if (!excludes) ask.exclude_input = ask.stream;
  if (ask.stream && !ask.exclude_input)
    throw Failure(triton::kInvalid, "exclude_input_in_output must not be false with stream");
  return ask;
}

}  // namespace burst

#endif
