// Counters on Triton's page of metrics.
#ifndef BURST_METRICS_H
#define BURST_METRICS_H

#include <cstdint>
#include <memory>
#include <string>

#include "failure.h"

namespace burst {

// Counter is a counter with the label model.
class Counter {
 public:
  Counter(const std::string& model, const char* name, const char* description) {
    TRITONSERVER_MetricFamily* family = nullptr;
    Must(TRITONSERVER_MetricFamilyNew(&family, triton::kCounter, name, description));
    family_.reset(family);
    TRITONSERVER_Parameter* label = TRITONSERVER_ParameterNew("model", triton::kString, model.c_str());
    const TRITONSERVER_Parameter* labels[] = {label};
    TRITONSERVER_Metric* metric = nullptr;
    TRITONSERVER_Error* error = TRITONSERVER_MetricNew(&metric, family, labels, 1);
    TRITONSERVER_ParameterDelete(label);
    Must(error);
    metric_.reset(metric);
  }

  // Set increases the counter to a value.
  void Set(int64_t value) {
    if (value > value_) LogIf(TRITONSERVER_MetricIncrement(metric_.get(), static_cast<double>(value - value_)));
    value_ = value;
  }

 private:
  struct Delete {
    void operator()(TRITONSERVER_MetricFamily* family) const { LogIf(TRITONSERVER_MetricFamilyDelete(family)); }
    void operator()(TRITONSERVER_Metric* metric) const { LogIf(TRITONSERVER_MetricDelete(metric)); }
  };

  // The metric is deleted before its family.
  std::unique_ptr<TRITONSERVER_MetricFamily, Delete> family_;
  std::unique_ptr<TRITONSERVER_Metric, Delete> metric_;
  int64_t value_ = 0;
};

}  // namespace burst

#endif
