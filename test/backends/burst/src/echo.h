// A model with the parameter "echo" returns its input tensor at once.
#ifndef BURST_ECHO_H
#define BURST_ECHO_H

#include <cstdint>
#include <cstring>

#include "failure.h"
#include "statistics.h"

namespace burst {

// Copy creates an output with an input's datatype, shape and bytes.
inline void Copy(TRITONBACKEND_Input* input, TRITONBACKEND_Response* response, const char* name) {
  int type = 0;
  const int64_t* shape = nullptr;
  uint32_t dims = 0, buffers = 0;
  uint64_t size = 0;
  Must(TRITONBACKEND_InputProperties(input, nullptr, &type, &shape, &dims, &size, &buffers));
  TRITONBACKEND_Output* output = nullptr;
  Must(TRITONBACKEND_ResponseOutput(response, &output, name, type, shape, dims));
  void* to = nullptr;
  int memory = triton::kHostMemory;
  int64_t memory_id = 0;
  Must(TRITONBACKEND_OutputBuffer(output, &to, size, &memory, &memory_id));
  if (memory == triton::kDeviceMemory) throw Failure(triton::kUnsupported, "Triton wants an output in a GPU's memory");
  char* at = static_cast<char*>(to);
  for (uint32_t i = 0; i < buffers; i++) {
    const void* from = nullptr;
    uint64_t piece = 0;
    Must(TRITONBACKEND_InputBuffer(input, i, &from, &piece, &memory, &memory_id));
    if (memory == triton::kDeviceMemory) throw Failure(triton::kUnsupported, "an input lies in the memory of a GPU");
    std::memcpy(at, from, piece);
    at += piece;
  }
}

// Echo responds to a request with its input. If it throws, it has neither responded
// to the request nor released it.
inline void Echo(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request) {
  uint64_t began = Nanoseconds();
  TRITONBACKEND_Input* input = nullptr;
  Must(TRITONBACKEND_RequestInputByIndex(request, 0, &input));
  TRITONBACKEND_Response* response = nullptr;
  Must(TRITONBACKEND_ResponseNew(&response, request));
  try {
    Copy(input, response, "output");
  } catch (...) {
    LogIf(TRITONBACKEND_ResponseDelete(response));
    throw;
  }
  Count(instance, request, true, began);
  LogIf(TRITONBACKEND_RequestRelease(request, triton::kReleaseAll));
  LogIf(TRITONBACKEND_ResponseSend(response, triton::kFinal, nullptr));
}

}  // namespace burst

#endif
