// The part of libtritonserver's C API (version 1) that the engine uses, declared
// by signature, and the shim between that API and Go. The library is opened at
// run time. No binary links to it.
#ifndef TRIDENT_SHIM_H
#define TRIDENT_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Opaque handles of the library.
typedef struct ts_error ts_error;
typedef struct ts_server ts_server;
typedef struct ts_options ts_options;
typedef struct ts_request ts_request;
typedef struct ts_response ts_response;
typedef struct ts_allocator ts_allocator;
typedef struct ts_message ts_message;
typedef struct ts_parameter ts_parameter;
typedef struct ts_trace ts_trace;
typedef struct ts_attributes ts_attributes; // attributes of a buffer
typedef struct ts_metrics ts_metrics;

// The API passes enumerations as int.
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

// TS_API lists the required functions: F(result, name without TRITONSERVER_,
// parameters).
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

// TS_OPTIONAL_API lists functions that are needed only for options that a user
// may set. The API has all of them since version 1.34. A later version may drop
// some.
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

// TS_TRACE_API lists the functions of traces, which are optional too.
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

// Functions that return char * return NULL on success, or an error message that
// the caller must free.

// tr_open opens a library that another library needs. The library stays open.
char *tr_open(const char *path);

// tr_load opens libtritonserver and fills the table of its functions, once in a
// process. A second call must have the same path, or it fails.
char *tr_load(const char *path, uint32_t *major, uint32_t *minor);

// tr_abandon records that a server of this process couldn't be deleted. Its
// backends keep their state, including the names of their shared memory. So
// tr_load fails from then on.
void tr_abandon(void);

// tr_freeze blocks all further forks of this process's threads. It also keeps a thread
// that ends with an exception from ending the process. It reports whether no fork is in
// progress.
bool tr_freeze(void);

// tr_parked returns the number of Triton's threads that were blocked to keep
// them from ending this process.
uint64_t tr_parked(void);

// tr_error is a copy of an error of the library. text is NULL on success.
typedef struct {
  int code;
  char *text; // the caller must free it
} tr_error;

// tr_output is one tensor of a response. Its memory belongs to the event, or is
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

// tr_event passes one response to Go, or reports that a request has been released,
// if that was awaited. For a request with shared memory, one more event reports
// that Triton doesn't use that memory any more.
typedef struct tr_event {
  struct tr_event *next;
  uint64_t stream;
  ts_response *response; // NULL in an empty final event, and if the outputs have been copied
  size_t bytes;          // approximate size of the event and its outputs
  ts_error *error;       // error of a failed response, or NULL
  const char *failure;   // error message, or NULL
  int failure_code;
  bool final;
  bool released;
  bool gone;
  int64_t version; // version of the model that responded
  uint32_t count, parameter_count;
  tr_output *outputs;
  struct tr_trace *trace; // a trace that has ended, or NULL; the event then has no stream
} tr_event;

// tr_queue receives the events of an engine. Its callbacks never block: they
// push events onto a lock-free list, newest first, and write to the eventfd if
// the list was empty. Go swaps head with NULL to take all events.
typedef struct {
  tr_event *head; // atomic
  int wake;       // eventfd, closed by Go
  ts_allocator *allocator;
  // Numbers of live objects; atomic.
  int64_t requests, events, buffers;
} tr_queue;

tr_error tr_queue_new(tr_queue **queue);
void tr_queue_delete(tr_queue *);
void tr_events_free(tr_queue *, tr_event *list);

// tr_output_take makes the caller a second owner of an output's memory. The caller must
// release the memory by tr_output_free, before or after the event, the queue and the
// server are freed. tr_output_take returns false if the memory isn't the event's, or is
// already taken.
bool tr_output_take(const tr_event *, const tr_output *);
void tr_output_free(void *base);

// tr_place is the location of a tensor in memory that its client shares. The
// memory is system memory or, with a handle (cudaIpcMemHandle_t), GPU memory.
typedef struct {
  const char *name; // name of the tensor
  void *base;
  void *handle;
  size_t size;
  int64_t memory_id;
} tr_place;

// tr_tensor is an input of a request.
typedef struct {
  const char *name;
  const int64_t *shape;
  const void *base;
  const tr_place *place; // location in shared memory; NULL if the tensor is elsewhere
  uint64_t dims;
  size_t size;
  int datatype;
} tr_tensor;

typedef struct {
  const char *name;
  const char *text;
  double number;
  int64_t integer; // value of an integer or a boolean
  int type;
} tr_parameter;

// tr_inference describes a request. It is one block of memory from malloc,
// which tr_request_new takes over if it succeeds.
typedef struct {
  const char *model, *id;
  const char *correlation; // string id of the sequence, or NULL if correlation_id applies
  const tr_tensor *inputs;
  const char **outputs;
  const tr_parameter *parameters;
  const tr_place *places; // places of outputs in shared memory
  uint64_t stream, correlation_id, priority, timeout;
  int64_t version;
  uint32_t flags, input_count, output_count, parameter_count, place_count;
  bool shares; // inputs or outputs are in shared memory
  bool keeps;  // keep responses whole, because their outputs are looked up later
} tr_inference;

// tr_request is a request with three owners: its creator, the library until it
// releases the request, and the callback until the final response. The last
// owner to release it deletes it.
typedef struct tr_request tr_request;

tr_error tr_request_new(ts_server *, tr_queue *, tr_inference *, void *block, tr_request **);

// tr_request_send sends a request, with a trace or NULL. The library then owns the
// trace.
tr_error tr_request_send(ts_server *, tr_request *, struct tr_trace *);
void tr_request_cancel(tr_request *);
void tr_request_unref(tr_request *);

// tr_request_await asks for an event when the model has released the request and
// Triton has updated its statistics. It returns false if the request has been
// released already, which is the usual case after its last response.
bool tr_request_await(tr_request *);

// tr_option is an option that may be repeated, or that a library may lack.
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
  const char *flag;              // name in errors of the flag that sets the option; NULL for a default
  const char *name, *key, *text; // parts of the option; each kind uses some of them
  uint64_t number;
  int device; // -1 for all
} tr_option;

// tr_options has the options that a server starts with.
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

// tr_response_parameter reads a parameter of a response. The event owns the
// parameter's strings.
tr_error tr_response_parameter(const tr_event *, uint32_t index, tr_parameter *);

// tr_label returns the label of a class of an output, or NULL. The event owns the
// label.
const char *tr_label(const tr_event *, uint32_t output, size_t class);

tr_error tr_server_new(const tr_options *, ts_server **);
// tr_server_delete deletes a server. It waits at most timeout seconds for its
// models and requests.
tr_error tr_server_delete(ts_server *, unsigned int timeout);

// tr_what selects the JSON that tr_describe returns. The caller must free the
// JSON.
typedef enum { tr_server_metadata, tr_model_metadata, tr_model_config, tr_model_statistics, tr_index } tr_what;

tr_error tr_describe(ts_server *, tr_what, const char *model, int64_t version, char **json, size_t *size);
tr_error tr_is_live(ts_server *, bool *);
tr_error tr_is_ready(ts_server *, bool *);
tr_error tr_model_is_ready(ts_server *, const char *model, int64_t version, bool *);
tr_error tr_model_batches(ts_server *, const char *model, int64_t version, bool *);

// tr_override is a parameter of a load: a model configuration as JSON, or the
// contents of a file.
typedef struct {
  const char *name;
  const void *base;
  uint64_t size;
  bool file;
} tr_override;

// tr_metrics returns the metrics in Prometheus's text format. The caller must
// free them.
tr_error tr_metrics(ts_server *, char **text, size_t *size);

// tr_log_values are log settings. The settings apply to the whole process, because the
// library has one logger.
typedef struct {
  bool info, warning, error;
  int verbose, format; // TRITONSERVER_LogFormat
} tr_log_values;

tr_error tr_log(const tr_log_values *);

tr_error tr_model_load(ts_server *, const char *model, const tr_override *, uint32_t count);
tr_error tr_model_unload(ts_server *, const char *model, bool dependents);

// tr_fix_signals sets the alternate signal stack, which Go needs, for signal
// handlers without it. It returns a bit for each signal that it changed.
uint64_t tr_fix_signals(void);

#endif
