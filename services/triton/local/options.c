//go:build cgo && linux

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim_api.h"

enum { code_unsupported = 5 };

// IF_THERE calls an optional function, or returns an error if the library lacks
// it.
#define IF_THERE(function, ...) \
  (api.function != NULL ? api.function(__VA_ARGS__) : api.ErrorNew(code_unsupported, "it has no function TRITONSERVER_" #function))

static ts_error *set(ts_options *options, const tr_option *o) {
  switch (o->kind) {
    case tr_option_backend:
      return api.ServerOptionsSetBackendConfig(options, o->name, o->key, o->text);
    case tr_option_cache_directory:
      return IF_THERE(ServerOptionsSetCacheDirectory, options, o->text);
    case tr_option_cache:
      return IF_THERE(ServerOptionsSetCacheConfig, options, o->name, o->text);
    case tr_option_rate_limit_resource:
      return IF_THERE(ServerOptionsAddRateLimiterResource, options, o->name, o->number, o->device);
    case tr_option_pinned_memory_pool:
      return IF_THERE(ServerOptionsSetPinnedMemoryPoolByteSize, options, o->number);
    case tr_option_cuda_memory_pool:
      return IF_THERE(ServerOptionsSetCudaMemoryPoolByteSize, options, o->device, o->number);
    case tr_option_metrics:
      return IF_THERE(ServerOptionsSetMetrics, options, o->number != 0);
    case tr_option_gpu_metrics:
      return IF_THERE(ServerOptionsSetGpuMetrics, options, o->number != 0);
    case tr_option_cpu_metrics:
      return IF_THERE(ServerOptionsSetCpuMetrics, options, o->number != 0);
    case tr_option_metrics_interval:
      return IF_THERE(ServerOptionsSetMetricsInterval, options, o->number);
    case tr_option_metrics_setting:
      return IF_THERE(ServerOptionsSetMetricsConfig, options, "", o->key, o->text);
  }
  return api.ErrorNew(code_unsupported, "no such option");
}

tr_error tr_set_option(ts_options *options, const tr_option *o) {
  tr_error failed = tr_take(set(options, o));
  if (failed.text == NULL) return failed;
  char *text = NULL;
  uint32_t major = 0, minor = 0;
  if (o->flag != NULL) {
    tr_drop(api.ApiVersion(&major, &minor));
    const char *can = failed.code == code_unsupported ? "this libtritonserver doesn't support the option" : "refused";
    if (asprintf(&text, "%s: %s (API %u.%u): %s", o->flag, can, major, minor, failed.text) < 0) text = tr_duplicate(NULL);
  } else if (failed.code != code_unsupported) {
    return failed;
  }
  free(failed.text);
  failed.text = text;
  return failed;
}

tr_error tr_metrics(ts_server *server, char **text, size_t *size) {
  ts_metrics *metrics = NULL;
  ts_error *failed = IF_THERE(ServerMetrics, server, &metrics);
  if (failed != NULL) return tr_take(failed);
  const char *base = NULL;
  size_t length = 0;
  tr_error error = tr_take(IF_THERE(MetricsFormatted, metrics, 0, &base, &length));
  if (error.text == NULL) error = tr_copy(base, length, text, size);
  tr_drop(IF_THERE(MetricsDelete, metrics));
  return error;
}

// The library has one logger, which doesn't belong to a server. The functions
// that set log options take effect at once, without a server. tritonserver
// relies on that too.
tr_error tr_log(const tr_log_values *values) {
  ts_error *failed = api.ServerOptionsSetLogInfo(NULL, values->info);
  if (failed == NULL) failed = api.ServerOptionsSetLogWarn(NULL, values->warning);
  if (failed == NULL) failed = api.ServerOptionsSetLogError(NULL, values->error);
  if (failed == NULL) failed = api.ServerOptionsSetLogVerbose(NULL, values->verbose);
  if (failed == NULL && (values->format != 0 || api.ServerOptionsSetLogFormat != NULL))
    failed = IF_THERE(ServerOptionsSetLogFormat, NULL, values->format);
  return tr_take(failed);
}
