// The part of libtritonserver's C API (version 1) that the engine uses, declared
// here by signature, and the shim between it and Go. The library is opened at run
// time: nothing links against it.
#ifndef TRIDENT_SHIM_H
#define TRIDENT_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Handles that only the library looks into.
typedef struct ts_error ts_error;
typedef struct ts_server ts_server;
typedef struct ts_options ts_options;
typedef struct ts_request ts_request;
typedef struct ts_response ts_response;
typedef struct ts_allocator ts_allocator;
typedef struct ts_message ts_message;
typedef struct ts_parameter ts_parameter;
typedef struct ts_trace ts_trace;
typedef struct ts_attributes ts_attributes; // of a buffer
typedef struct ts_metrics ts_metrics;

// Enumerations cross the API as int.
enum { ts_memory_cpu = 0, ts_memory_gpu = 2 };
enum { ts_batch_first_dimension = 2 };
enum { ts_control_explicit = 2 };
enum { ts_parameter_string = 0, ts_parameter_int = 1, ts_parameter_bool = 2, ts_parameter_double = 3 };
enum { ts_request_release_all = 1 };
enum { ts_response_final = 1 };

typedef ts_error *(*ts_alloc_fn)(ts_allocator *, const char *tensor, size_t size, int memory, int64_t memory_id,
                                 void *user, void **buffer, void **buffer_user, int *actual_memory,
                                 int64_t *actual_memory_id);
typedef ts_error *(*ts_free_fn)(ts_allocator *, void *buffer, void *buffer_user, size_t size, int memory,
                                int64_t memory_id);
typedef ts_error *(*ts_attributes_fn)(ts_allocator *, const char *tensor, ts_attributes *, void *user,
                                      void *buffer_user);
typedef void (*ts_release_fn)(ts_request *, uint32_t flags, void *user);
typedef void (*ts_response_fn)(ts_response *, uint32_t flags, void *user);
typedef void (*ts_activity_fn)(ts_trace *, int activity, uint64_t nanoseconds, void *user);
typedef void (*ts_tensor_activity_fn)(ts_trace *, int activity, const char *tensor, int datatype, const void *base,
                                      size_t size, const int64_t *shape, uint64_t dims, int memory, int64_t memory_id,
                                      void *user);
typedef void (*ts_trace_release_fn)(ts_trace *, void *user);

// TS_API lists the functions: F(result, name without TRITONSERVER_, parameters).
#define TS_API(F)                                                                                             \
  F(ts_error *, ApiVersion, (uint32_t *major, uint32_t *minor))                                               \
  F(ts_error *, ErrorNew, (int code, const char *message))                                                    \
  F(void, ErrorDelete, (ts_error *))                                                                          \
  F(int, ErrorCode, (ts_error *))                                                                             \
  F(const char *, ErrorMessage, (ts_error *))                                                                 \
  F(ts_error *, MessageDelete, (ts_message *))                                                                \
  F(ts_error *, MessageSerializeToJson, (ts_message *, const char **base, size_t *size))                      \
  F(ts_parameter *, ParameterNew, (const char *name, int type, const void *value))                            \
  F(ts_parameter *, ParameterBytesNew, (const char *name, const void *base, uint64_t size))                   \
  F(void, ParameterDelete, (ts_parameter *))                                                                  \
  F(ts_error *, ResponseAllocatorNew, (ts_allocator **, ts_alloc_fn, ts_free_fn, void *start))                \
  F(ts_error *, ResponseAllocatorSetBufferAttributesFunction, (ts_allocator *, ts_attributes_fn))             \
  F(ts_error *, BufferAttributesNew, (ts_attributes **))                                                      \
  F(ts_error *, BufferAttributesDelete, (ts_attributes *))                                                    \
  F(ts_error *, BufferAttributesSetMemoryType, (ts_attributes *, int memory))                                 \
  F(ts_error *, BufferAttributesSetMemoryTypeId, (ts_attributes *, int64_t memory_id))                        \
  F(ts_error *, BufferAttributesSetByteSize, (ts_attributes *, size_t size))                                  \
  F(ts_error *, BufferAttributesSetCudaIpcHandle, (ts_attributes *, void *handle))                            \
  F(ts_error *, ResponseAllocatorDelete, (ts_allocator *))                                                    \
  F(ts_error *, InferenceRequestNew, (ts_request **, ts_server *, const char *model, int64_t version))        \
  F(ts_error *, InferenceRequestDelete, (ts_request *))                                                       \
  F(ts_error *, InferenceRequestSetId, (ts_request *, const char *id))                                        \
  F(ts_error *, InferenceRequestSetFlags, (ts_request *, uint32_t flags))                                     \
  F(ts_error *, InferenceRequestSetCorrelationId, (ts_request *, uint64_t id))                                \
  F(ts_error *, InferenceRequestSetCorrelationIdString, (ts_request *, const char *id))                       \
  F(ts_error *, InferenceRequestSetPriorityUInt64, (ts_request *, uint64_t priority))                         \
  F(ts_error *, InferenceRequestSetTimeoutMicroseconds, (ts_request *, uint64_t timeout))                     \
  F(ts_error *, InferenceRequestAddInput,                                                                     \
    (ts_request *, const char *name, int datatype, const int64_t *shape, uint64_t dims))                      \
  F(ts_error *, InferenceRequestAppendInputData,                                                              \
    (ts_request *, const char *name, const void *base, size_t size, int memory, int64_t memory_id))           \
  F(ts_error *, InferenceRequestAppendInputDataWithBufferAttributes,                                          \
    (ts_request *, const char *name, const void *base, ts_attributes *))                                      \
  F(ts_error *, InferenceRequestAddRequestedOutput, (ts_request *, const char *name))                         \
  F(ts_error *, InferenceRequestSetStringParameter, (ts_request *, const char *key, const char *value))       \
  F(ts_error *, InferenceRequestSetIntParameter, (ts_request *, const char *key, int64_t value))              \
  F(ts_error *, InferenceRequestSetBoolParameter, (ts_request *, const char *key, bool value))                \
  F(ts_error *, InferenceRequestSetDoubleParameter, (ts_request *, const char *key, double value))            \
  F(ts_error *, InferenceRequestSetReleaseCallback, (ts_request *, ts_release_fn, void *user))                \
  F(ts_error *, InferenceRequestSetResponseCallback,                                                          \
    (ts_request *, ts_allocator *, void *alloc_user, ts_response_fn, void *user))                             \
  F(ts_error *, InferenceRequestCancel, (ts_request *))                                                       \
  F(ts_error *, InferenceResponseDelete, (ts_response *))                                                     \
  F(ts_error *, InferenceResponseError, (ts_response *))                                                      \
  F(ts_error *, InferenceResponseModel, (ts_response *, const char **model, int64_t *version))                \
  F(ts_error *, InferenceResponseParameterCount, (ts_response *, uint32_t *count))                            \
  F(ts_error *, InferenceResponseParameter,                                                                   \
    (ts_response *, uint32_t index, const char **name, int *type, const void **value))                        \
  F(ts_error *, InferenceResponseOutputClassificationLabel,                                                   \
    (ts_response *, uint32_t index, size_t class, const char **label))                                        \
  F(ts_error *, InferenceResponseOutputCount, (ts_response *, uint32_t *count))                               \
  F(ts_error *, InferenceResponseOutput,                                                                      \
    (ts_response *, uint32_t index, const char **name, int *datatype, const int64_t **shape, uint64_t *dims,  \
     const void **base, size_t *size, int *memory, int64_t *memory_id, void **user))                          \
  F(ts_error *, ServerOptionsNew, (ts_options **))                                                            \
  F(ts_error *, ServerOptionsDelete, (ts_options *))                                                          \
  F(ts_error *, ServerOptionsSetServerId, (ts_options *, const char *))                                       \
  F(ts_error *, ServerOptionsSetModelRepositoryPath, (ts_options *, const char *))                            \
  F(ts_error *, ServerOptionsSetModelControlMode, (ts_options *, int mode))                                   \
  F(ts_error *, ServerOptionsSetStrictModelConfig, (ts_options *, bool))                                      \
  F(ts_error *, ServerOptionsSetExitOnError, (ts_options *, bool))                                            \
  F(ts_error *, ServerOptionsSetExitTimeout, (ts_options *, unsigned int seconds))                            \
  F(ts_error *, ServerOptionsSetStrictReadiness, (ts_options *, bool))                                        \
  F(ts_error *, ServerOptionsSetModelNamespacing, (ts_options *, bool))                                       \
  F(ts_error *, ServerOptionsSetModelLoadRetryCount, (ts_options *, unsigned int))                            \
  F(ts_error *, ServerOptionsSetModelLoadThreadCount, (ts_options *, unsigned int))                           \
  F(ts_error *, ServerOptionsSetBufferManagerThreadCount, (ts_options *, unsigned int))                       \
  F(ts_error *, ServerOptionsSetRateLimiterMode, (ts_options *, int mode))                                    \
  F(ts_error *, ServerOptionsSetMinSupportedComputeCapability, (ts_options *, double))                        \
  F(ts_error *, ServerOptionsSetEnablePeerAccess, (ts_options *, bool))                                       \
  F(ts_error *, ServerOptionsSetLogInfo, (ts_options *, bool))                                                \
  F(ts_error *, ServerOptionsSetLogWarn, (ts_options *, bool))                                                \
  F(ts_error *, ServerOptionsSetLogError, (ts_options *, bool))                                               \
  F(ts_error *, ServerOptionsSetLogVerbose, (ts_options *, int level))                                        \
  F(ts_error *, ServerOptionsSetBackendDirectory, (ts_options *, const char *))                               \
  F(ts_error *, ServerOptionsSetBackendConfig,                                                                \
    (ts_options *, const char *backend, const char *setting, const char *value))                              \
  F(ts_error *, ServerNew, (ts_server **, ts_options *))                                                      \
  F(ts_error *, ServerSetExitTimeout, (ts_server *, unsigned int seconds))                                    \
  F(ts_error *, ServerDelete, (ts_server *))                                                                  \
  F(ts_error *, ServerIsLive, (ts_server *, bool *))                                                          \
  F(ts_error *, ServerIsReady, (ts_server *, bool *))                                                         \
  F(ts_error *, ServerModelIsReady, (ts_server *, const char *model, int64_t version, bool *))                \
  F(ts_error *, ServerModelBatchProperties,                                                                   \
    (ts_server *, const char *model, int64_t version, uint32_t *flags, void **unused))                        \
  F(ts_error *, ServerMetadata, (ts_server *, ts_message **))                                                 \
  F(ts_error *, ServerModelMetadata, (ts_server *, const char *model, int64_t version, ts_message **))        \
  F(ts_error *, ServerModelConfig,                                                                            \
    (ts_server *, const char *model, int64_t version, uint32_t config_version, ts_message **))                \
  F(ts_error *, ServerModelStatistics, (ts_server *, const char *model, int64_t version, ts_message **))      \
  F(ts_error *, ServerModelIndex, (ts_server *, uint32_t flags, ts_message **))                               \
  F(ts_error *, ServerLoadModelWithParameters,                                                                \
    (ts_server *, const char *model, const ts_parameter **parameters, uint64_t count))                        \
  F(ts_error *, ServerUnloadModel, (ts_server *, const char *model))                                          \
  F(ts_error *, ServerUnloadModelAndDependents, (ts_server *, const char *model))                             \
  F(ts_error *, ServerInferAsync, (ts_server *, ts_request *, ts_trace *))

// TS_OPTIONAL_API lists those that only serve what a user may ask for. All are in
// the API from 1.34 on; a later one may drop some.
#define TS_OPTIONAL_API(F)                                                                                    \
  F(ts_error *, ServerOptionsSetCacheDirectory, (ts_options *, const char *))                                 \
  F(ts_error *, ServerOptionsSetCacheConfig, (ts_options *, const char *cache, const char *json))             \
  F(ts_error *, ServerOptionsAddRateLimiterResource,                                                          \
    (ts_options *, const char *resource, size_t count, int device))                                           \
  F(ts_error *, ServerOptionsSetPinnedMemoryPoolByteSize, (ts_options *, uint64_t))                           \
  F(ts_error *, ServerOptionsSetCudaMemoryPoolByteSize, (ts_options *, int device, uint64_t))                 \
  F(ts_error *, ServerOptionsSetMetrics, (ts_options *, bool))                                                \
  F(ts_error *, ServerOptionsSetGpuMetrics, (ts_options *, bool))                                             \
  F(ts_error *, ServerOptionsSetCpuMetrics, (ts_options *, bool))                                             \
  F(ts_error *, ServerOptionsSetMetricsInterval, (ts_options *, uint64_t milliseconds))                       \
  F(ts_error *, ServerOptionsSetMetricsConfig,                                                                \
    (ts_options *, const char *name, const char *setting, const char *value))                                 \
  F(ts_error *, ServerOptionsSetLogFormat, (ts_options *, int format))                                        \
  F(ts_error *, ServerMetrics, (ts_server *, ts_metrics **))                                                  \
  F(ts_error *, MetricsFormatted, (ts_metrics *, int format, const char **base, size_t *size))                \
  F(ts_error *, MetricsDelete, (ts_metrics *))                                                                \
  F(ts_error *, InferenceTraceSetContext, (ts_trace *, const char *json))

// TS_TRACE_API lists those of traces, optional too.
#define TS_TRACE_API(F)                                                                                       \
  F(ts_error *, InferenceTraceTensorNew,                                                                      \
    (ts_trace **, int level, uint64_t parent, ts_activity_fn, ts_tensor_activity_fn, ts_trace_release_fn,     \
     void *user))                                                                                             \
  F(ts_error *, InferenceTraceDelete, (ts_trace *))                                                           \
  F(ts_error *, InferenceTraceId, (ts_trace *, uint64_t *))                                                   \
  F(ts_error *, InferenceTraceParentId, (ts_trace *, uint64_t *))                                             \
  F(ts_error *, InferenceTraceModelName, (ts_trace *, const char **))                                         \
  F(ts_error *, InferenceTraceModelVersion, (ts_trace *, int64_t *))                                          \
  F(ts_error *, InferenceTraceRequestId, (ts_trace *, const char **))                                         \
  F(ts_error *, InferenceTraceContext, (ts_trace *, const char **))                                           \
  F(const char *, InferenceTraceActivityString, (int activity))

// What can go wrong here carries a text that the caller frees; NULL is success.

// tr_open opens a library that another one needs. It stays open.
char *tr_open(const char *path);

// tr_load opens libtritonserver and fills the table of its functions, once in a
// process: a second call is for the same path, or fails.
char *tr_load(const char *path, uint32_t *major, uint32_t *minor);

// tr_abandon says that a server of this process couldn't be deleted. Its backends
// keep their state, the names of their shared memory among it, so that tr_load
// refuses from then on.
void tr_abandon(void);

// tr_freeze keeps threads of this process from starting others by fork from now on, and
// those that end by an exception from ending it. It reports whether no fork is under way.
bool tr_freeze(void);

// tr_parked is how many threads of Triton's were kept from ending this process.
uint64_t tr_parked(void);

// tr_error is an error of the library, taken over; the text is NULL on success.
typedef struct {
  int code;
  char *text; // to free
} tr_error;

// tr_output is one tensor of a response, in memory that the event owns, or in
// shared memory that the request has named.
typedef struct {
  const char *name;
  const int64_t *shape;
  const void *base;
  uint64_t dims;
  size_t size, name_size;
  int datatype;
  bool shared;
} tr_output;

// tr_event is one response on its way to Go, or the word that the request has
// been released, for who awaits that. Of a request that uses shared memory one more
// event says that nothing touches that any longer.
typedef struct tr_event {
  struct tr_event *next;
  uint64_t stream;
  ts_response *response; // NULL in an empty final one, and when its outputs have been copied
  size_t bytes;          // what it holds in memory, about
  ts_error *error;       // of a failed response, or NULL
  const char *failure;   // text, or NULL
  int failure_code;
  bool final;
  bool released;
  bool gone;
  int64_t version; // of the model
  uint32_t count, parameter_count;
  tr_output *outputs;
  struct tr_trace *trace; // of a request that is no stream's any more, or NULL
} tr_event;

// tr_queue takes the events of an engine. Its callbacks never wait: they push
// onto a list without locks, newest first, and write the eventfd when the list
// was empty. Go swaps head for NULL to take all.
typedef struct {
  tr_event *head; // atomic
  int wake;       // eventfd, which Go closes
  ts_allocator *allocator;
  // Live objects of the library's side; atomic.
  int64_t requests, events, buffers;
} tr_queue;

tr_error tr_queue_new(tr_queue **queue);
void tr_queue_delete(tr_queue *);
void tr_events_free(tr_queue *, tr_event *list);

// tr_output_take makes the bytes of an event's output the caller's too, who lets go of
// them by tr_output_free, before the event is freed or after it, whatever has become of
// queue and server by then. It is false for bytes that lie elsewhere, or are taken.
bool tr_output_take(const tr_event *, const tr_output *);
void tr_output_free(void *base);

// tr_place is where a tensor lies in memory that its client shares: of the system
// or, with a handle (cudaIpcMemHandle_t), of a GPU.
typedef struct {
  const char *name; // of the tensor
  void *base;
  void *handle;
  size_t size;
  int64_t memory_id;
} tr_place;

// tr_tensor is an input, tr_parameter a parameter of a request.
typedef struct {
  const char *name;
  const int64_t *shape;
  const void *base;
  const tr_place *place; // or NULL
  uint64_t dims;
  size_t size;
  int datatype;
} tr_tensor;

typedef struct {
  const char *name;
  const char *text;
  double number;
  int64_t integer; // and truth value
  int type;
} tr_parameter;

// tr_inference describes a request. All of it lies in one block of malloc's,
// which tr_request_new takes over when it succeeds.
typedef struct {
  const char *model, *id;
  const char *correlation; // or NULL for correlation_id
  const tr_tensor *inputs;
  const char **outputs;
  const tr_parameter *parameters;
  const tr_place *places; // of outputs that go to shared memory
  uint64_t stream, correlation_id, priority, timeout;
  int64_t version;
  uint32_t flags, input_count, output_count, parameter_count, place_count;
  bool shares; // shared memory, for inputs or outputs
  bool keeps;  // responses whole, to ask them for more than outputs
} tr_inference;

// tr_request is a request with three owners: who made it, the library until it
// releases it, and the callback until the final response. It is deleted when the
// last of them is done.
typedef struct tr_request tr_request;

tr_error tr_request_new(ts_server *, tr_queue *, tr_inference *, void *block, tr_request **);

// tr_request_send sends it, with a trace or NULL. The trace is the library's then.
tr_error tr_request_send(ts_server *, tr_request *, struct tr_trace *);
void tr_request_cancel(tr_request *);
void tr_request_unref(tr_request *);

// tr_request_await asks for an event when the request is released: the model is done
// with it then, and has counted it. False where it has been released already, as it
// mostly has when its last response is looked at.
bool tr_request_await(tr_request *);

// tr_option is one of those that are repeated, or that a library may lack.
typedef enum {
  tr_option_backend,
  tr_option_cache_directory,
  tr_option_cache,
  tr_option_rate_limit_resource,
  tr_option_pinned_memory_pool,
  tr_option_cuda_memory_pool,
  tr_option_metrics,
  tr_option_gpu_metrics,
  tr_option_cpu_metrics,
  tr_option_metrics_interval,
  tr_option_metrics_setting,
} tr_option_kind;

typedef struct {
  tr_option_kind kind;
  const char *flag;              // that asks for it, or NULL for a default
  const char *name, *key, *text; // what each kind takes of them
  uint64_t number;
  int device; // -1 for all
} tr_option;

// tr_options is what a server starts with.
typedef struct {
  const char **repositories;
  const char *backend_directory;
  const tr_option *settings;
  uint32_t repository_count, setting_count;
  unsigned int exit_timeout; // seconds
  unsigned int load_threads;
  int rate_limit; // TRITONSERVER_RateLimitMode
  bool strict_model_config;
} tr_options;

// tr_response_parameter reads a parameter of a response; its text is the event's.
tr_error tr_response_parameter(const tr_event *, uint32_t index, tr_parameter *);

// tr_label gives the label of a class of an output, which is the event's, or NULL.
const char *tr_label(const tr_event *, uint32_t output, size_t class);

tr_error tr_server_new(const tr_options *, ts_server **);
// tr_server_delete waits for a number of seconds for what is at work.
tr_error tr_server_delete(ts_server *, unsigned int timeout);

// tr_what is what tr_describe gives as JSON, to free.
typedef enum { tr_server_metadata, tr_model_metadata, tr_model_config, tr_model_statistics, tr_index } tr_what;

tr_error tr_describe(ts_server *, tr_what, const char *model, int64_t version, char **json, size_t *size);
tr_error tr_is_live(ts_server *, bool *);
tr_error tr_is_ready(ts_server *, bool *);
tr_error tr_model_is_ready(ts_server *, const char *model, int64_t version, bool *);
tr_error tr_model_batches(ts_server *, const char *model, int64_t version, bool *);

// tr_override is a parameter of a load: the text of a JSON configuration, or a
// file's contents.
typedef struct {
  const char *name;
  const void *base;
  uint64_t size;
  bool file;
} tr_override;

// tr_metrics gives the metrics as Prometheus's text, to free.
tr_error tr_metrics(ts_server *, char **text, size_t *size);

// tr_log puts log settings into force. They are the process's: a server has none.
typedef struct {
  bool info, warning, error;
  int verbose, format; // TRITONSERVER_LogFormat
} tr_log_values;

tr_error tr_log(const tr_log_values *);

tr_error tr_model_load(ts_server *, const char *model, const tr_override *, uint32_t count);
tr_error tr_model_unload(ts_server *, const char *model, bool dependents);

// tr_fix_signals gives the alternate signal stack, which Go needs, to signal
// handlers that came without it; a bit for each signal changed.
uint64_t tr_fix_signals(void);

#endif
