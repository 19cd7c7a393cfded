// Failures inside the backend are exceptions. At the backend's border they
// become Triton's errors.
#ifndef BURST_FAILURE_H
#define BURST_FAILURE_H

#include <stdexcept>
#include <string>

#include "triton.h"

namespace burst {

// Failure has the code and the message of a Triton error.
struct Failure : std::runtime_error {
  Failure(int code, const std::string& message) : std::runtime_error(message), code(code) {}
  int code;
};

// Must throws a Triton error as a Failure, and frees it. It does nothing without
// an error.
inline void Must(TRITONSERVER_Error* error) {
  if (error == nullptr) return;
  Failure failure(TRITONSERVER_ErrorCode(error), TRITONSERVER_ErrorMessage(error));
  TRITONSERVER_ErrorDelete(error);
  throw failure;
}

// Log writes messages about failures that can't be returned to a client.
inline void Log(const std::string& message) {
  TRITONSERVER_Error* error = TRITONSERVER_LogMessage(triton::kLogError, "burst", 0, message.c_str());
  if (error != nullptr) TRITONSERVER_ErrorDelete(error);
}

// LogIf logs the error of a call whose failure has no consequence.
inline void LogIf(TRITONSERVER_Error* error) {
  if (error == nullptr) return;
  Log(TRITONSERVER_ErrorMessage(error));
  TRITONSERVER_ErrorDelete(error);
}

// Guarded runs a function that may throw, and returns its Failure as a Triton
// error.
template <typename Function>
TRITONSERVER_Error* Guarded(Function function) {
  try {
    function();
    return nullptr;
  } catch (const Failure& failure) {
    return TRITONSERVER_ErrorNew(failure.code, failure.what());
  } catch (const std::exception& failure) {
    return TRITONSERVER_ErrorNew(triton::kInternal, failure.what());
  }
}

}  // namespace burst

#endif
