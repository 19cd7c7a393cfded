// Failures inside the backend are exceptions, and Triton's errors at its border.
#ifndef BURST_FAILURE_H
#define BURST_FAILURE_H

#include <stdexcept>
#include <string>

#include "triton.h"

namespace burst {

// Failure has the code and the text of an error of Triton's.
struct Failure : std::runtime_error {
  Failure(int code, const std::string& message) : std::runtime_error(message), code(code) {}
  int code;
};

// Must throws Triton's error, which it frees, if there is one.
inline void Must(TRITONSERVER_Error* error) {
  if (error == nullptr) return;
  Failure failure(TRITONSERVER_ErrorCode(error), TRITONSERVER_ErrorMessage(error));
  TRITONSERVER_ErrorDelete(error);
  throw failure;
}

// Log is for what nobody can be told.
inline void Log(const std::string& message) {
  TRITONSERVER_Error* error = TRITONSERVER_LogMessage(triton::kLogError, "burst", 0, message.c_str());
  if (error != nullptr) TRITONSERVER_ErrorDelete(error);
}

// LogIf is for calls whose failure changes nothing.
inline void LogIf(TRITONSERVER_Error* error) {
  if (error == nullptr) return;
  Log(TRITONSERVER_ErrorMessage(error));
  TRITONSERVER_ErrorDelete(error);
}

// Guarded runs what may throw and gives Triton its error.
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
