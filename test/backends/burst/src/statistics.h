// Reports requests to Triton's statistics.
#ifndef BURST_STATISTICS_H
#define BURST_STATISTICS_H

#include <chrono>
#include <cstdint>

#include "failure.h"

namespace burst {

using Clock = std::chrono::steady_clock;

inline uint64_t Nanoseconds() {
  return static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now().time_since_epoch()).count());
}

// Count reports a request that began at this time and has ended.
inline void Count(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request, bool success, uint64_t began) {
  uint64_t now = Nanoseconds();
  LogIf(TRITONBACKEND_ModelInstanceReportStatistics(instance, request, success, began, began, now, now));
  LogIf(TRITONBACKEND_ModelInstanceReportBatchStatistics(instance, 1, began, began, now, now));
}

}  // namespace burst

#endif
