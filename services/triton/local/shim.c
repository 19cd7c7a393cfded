//go:build cgo && linux

#define _GNU_SOURCE
#include "shim_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace.h"

struct tr_api api;

void *tr_need(void *memory, const char *what) {
  if (memory != NULL) return memory;
  fprintf(stderr, "trident: out of memory for %s\n", what);
  abort();
}

char *tr_duplicate(const char *text) { return tr_need(strdup(text != NULL ? text : "no reason given"), "an error"); }

tr_error tr_copy(const char *base, size_t size, char **to, size_t *to_size) {
  char *memory = malloc(size > 0 ? size : 1);
  if (memory == NULL) return (tr_error){1, tr_duplicate("out of memory for an answer of Triton")};
  if (size > 0) memcpy(memory, base, size);
  *to = memory;
  *to_size = size;
  return (tr_error){0, NULL};
}

char *tr_open(const char *path) { return dlopen(path, RTLD_LAZY | RTLD_LOCAL) != NULL ? NULL : tr_duplicate(dlerror()); }

static char *fill(void *library) {
#define LOOK_UP(result, name, parameters)                     \
  *(void **)&api.name = dlsym(library, "TRITONSERVER_" #name); \
  if (api.name == NULL) return tr_duplicate(dlerror());
  TS_API(LOOK_UP)
#undef LOOK_UP
#define LOOK_UP(result, name, parameters) *(void **)&api.name = dlsym(library, "TRITONSERVER_" #name);
  TS_OPTIONAL_API(LOOK_UP)
  TS_TRACE_API(LOOK_UP)
#undef LOOK_UP
  return NULL;
}

// on_terminate keeps some exceptions of Triton's threads from ending this
// process. The shared memory of a Python model has robust mutexes. If the
// model's process dies while it holds one, Triton's next lock throws an
// exception that Triton doesn't catch. The C++ runtime would then end this
// process with all other models. These threads hold only resources of the broken
// model, so on_terminate blocks them instead. Any other exception ends the
// process.
static uint64_t parked; // atomic
static void (*terminate)(void);
static void *(*exception_type)(void); // returns a std::type_info *

// In a frozen process all forks block, so that the code that kills its children misses
// none.
static bool frozen;  // atomic
static int forking;  // atomic

static void before_fork(void) {
  __atomic_add_fetch(&forking, 1, __ATOMIC_SEQ_CST);
  if (!__atomic_load_n(&frozen, __ATOMIC_SEQ_CST)) return;
  __atomic_sub_fetch(&forking, 1, __ATOMIC_SEQ_CST);
  for (;;) pause();
}

static void after_fork(void) { __atomic_sub_fetch(&forking, 1, __ATOMIC_SEQ_CST); }

bool tr_freeze(void) {
  __atomic_store_n(&frozen, true, __ATOMIC_SEQ_CST);
  return __atomic_load_n(&forking, __ATOMIC_SEQ_CST) == 0;
}

// system replaces the C library's function for the libraries that are loaded here. Triton's python
// backend calls it for each model that it starts. The C library's version ignores SIGINT in the
// whole process during the call, so a signal to stop may be lost. The C library's version also
// doesn't call the handlers of forks.
int system(const char *command) {
  if (command == NULL) return 1; // reports that a shell exists
  char *arguments[] = {"sh", "-c", (char *)command, NULL};
  pid_t child;
  before_fork();
  int failed = posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ);
  after_fork();
  if (failed != 0) {
    errno = failed;
    return -1;
  }
  int status;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

static void on_terminate(void) {
  // The mangled name of the type follows the pointer to the virtual function
  // table.
  const char *const *type = exception_type();
  bool parks = type != NULL && strstr(type[1], "5boost12interprocess") != NULL;
  if (parks || __atomic_load_n(&frozen, __ATOMIC_SEQ_CST)) {
    __atomic_add_fetch(&parked, 1, __ATOMIC_RELAXED);
    for (;;) pause();
  }
  terminate();
  abort();
}

uint64_t tr_parked(void) { return __atomic_load_n(&parked, __ATOMIC_RELAXED); }

// survive installs on_terminate if the backends share the C++ runtime.
static void survive(void) {
  void (*(*set_terminate)(void (*)(void)))(void) = NULL;
  *(void **)&set_terminate = dlsym(RTLD_DEFAULT, "_ZSt13set_terminatePFvvE");
  *(void **)&exception_type = dlsym(RTLD_DEFAULT, "__cxa_current_exception_type");
  if (set_terminate != NULL && exception_type != NULL) terminate = set_terminate(on_terminate);
}

static bool abandoned; // atomic

void tr_abandon(void) { __atomic_store_n(&abandoned, true, __ATOMIC_SEQ_CST); }

char *tr_load(const char *path, uint32_t *major, uint32_t *minor) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static char *loaded;
  char *failure = NULL;
  if (__atomic_load_n(&abandoned, __ATOMIC_SEQ_CST))
    return tr_duplicate("an earlier in-process Triton didn't shut down: restart the process");
  pthread_mutex_lock(&lock);
  if (loaded == NULL) {
    // Backends may expect that the process provides the library's symbols.
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    failure = library != NULL ? fill(library) : tr_duplicate(dlerror());
    if (failure == NULL) {
      loaded = tr_duplicate(path);
      survive();
      if (pthread_atfork(before_fork, after_fork, NULL) != 0) failure = tr_duplicate("out of memory for a handler of forks");
    }
  } else if (strcmp(loaded, path) != 0) {
    if (asprintf(&failure, "this process has already loaded %s: restart it to load another library", loaded) < 0) failure = tr_duplicate(NULL);
  }
  pthread_mutex_unlock(&lock);
  if (failure == NULL) {
    ts_error *error = api.ApiVersion(major, minor);
    if (error != NULL) api.ErrorDelete(error);
  }
  return failure;
}

tr_error tr_take(ts_error *error) {
  if (error == NULL) return (tr_error){0, NULL};
  tr_error taken = {api.ErrorCode(error), tr_duplicate(api.ErrorMessage(error))};
  api.ErrorDelete(error);
  return taken;
}

// TRY returns the error of a call if it fails.
#define TRY(call)                          \
  do {                                     \
    ts_error *failed_ = (call);            \
    if (failed_ != NULL) return failed_;   \
  } while (0)

void tr_drop(ts_error *error) {
  if (error != NULL) api.ErrorDelete(error);
}

static void count(int64_t *live, int64_t change) { __atomic_add_fetch(live, change, __ATOMIC_RELAXED); }

struct tr_request {
  ts_request *request;
  tr_queue *queue;
  void *block; // memory of the request's inputs and places
  const tr_place *places;
  uint32_t place_count;
  bool shares, keeps;
  uint64_t stream;
  int owners;  // atomic
  int release; // atomic
};

// State of a request's release, and whether Go awaits it.
enum { release_unknown, release_awaited, release_done };

static const tr_place *find_place(const tr_request *r, const char *tensor) {
  for (uint32_t i = 0; i < r->place_count; i++)
    if (strcmp(r->places[i].name, tensor) == 0) return &r->places[i];
  return NULL;
}

static int memory_of(const tr_place *place) { return place->handle != NULL ? ts_memory_gpu : ts_memory_cpu; }

static ts_error *too_small(const tr_place *place, size_t size) {
  char text[512];
  snprintf(text, sizeof text,
           "shared memory size specified with the request for output '%s' (%zu bytes) should be at least %zu bytes to "
           "hold the results",
           place->name, place->size, size);
  return api.ErrorNew(1, text);
}

// Header before the bytes of an output, with malloc's alignment. The owners are Triton's response
// and, once the output is taken, Go. The response and Go may release the memory in any order.
typedef struct {
  _Alignas(16) int owners; // atomic
} buffer_head;

static buffer_head *head_of(const void *base) { return (buffer_head *)base - 1; }

static void let_go(buffer_head *head) {
  if (__atomic_sub_fetch(&head->owners, 1, __ATOMIC_ACQ_REL) == 0) free(head);
}

// allocate places outputs in host memory, whatever memory the model prefers.
// The backend copies them from their location. Outputs in shared memory have no
// buffer_user.
static ts_error *allocate(ts_allocator *allocator, const char *tensor, size_t size, int memory, int64_t memory_id,
                          void *user, void **buffer, void **buffer_user, int *actual_memory,
                          int64_t *actual_memory_id) {
  (void)allocator, (void)memory, (void)memory_id;
  tr_request *r = user;
  tr_queue *queue = r->queue;
  *buffer = NULL;
  *buffer_user = queue;
  *actual_memory = ts_memory_cpu;
  *actual_memory_id = 0;
  const tr_place *place = find_place(r, tensor);
  if (place != NULL && size <= place->size) {
    *buffer = place->base;
    *buffer_user = NULL;
    *actual_memory = memory_of(place);
    *actual_memory_id = place->memory_id;
    return NULL;
  }
  if (place != NULL) return too_small(place, size);
  if (size == 0) return NULL;
  buffer_head *head = size <= SIZE_MAX - sizeof *head ? malloc(sizeof *head + size) : NULL;
  if (head == NULL) return api.ErrorNew(1, "out of memory for an output tensor");
  head->owners = 1;
  *buffer = head + 1;
  count(&queue->buffers, 1);
  return NULL;
}

static ts_error *set_attributes(ts_allocator *allocator, const char *tensor, ts_attributes *attributes, void *user,
                                void *buffer_user) {
  (void)allocator, (void)buffer_user;
  const tr_place *place = tensor != NULL ? find_place(user, tensor) : NULL;
  if (place == NULL || place->handle == NULL) return NULL;
  return api.BufferAttributesSetCudaIpcHandle(attributes, place->handle);
}

static ts_error *give_back(ts_allocator *allocator, void *buffer, void *buffer_user, size_t size, int memory,
                           int64_t memory_id) {
  (void)allocator, (void)size, (void)memory, (void)memory_id;
  if (buffer_user == NULL || buffer == NULL) return NULL;
  count(&((tr_queue *)buffer_user)->buffers, -1);
  let_go(head_of(buffer));
  return NULL;
}

bool tr_output_take(const tr_event *event, const tr_output *out) {
  int untaken = 1;
  return event->response != NULL && !out->shared && out->base != NULL &&
         __atomic_compare_exchange_n(&head_of(out->base)->owners, &untaken, 2, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void tr_output_free(void *base) { let_go(head_of(base)); }

tr_error tr_queue_new(tr_queue **queue) {
  tr_queue *q = calloc(1, sizeof *q);
  if (q == NULL) return (tr_error){1, tr_duplicate("out of memory")};
  q->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (q->wake < 0) {
    free(q);
    return (tr_error){1, tr_duplicate(strerror(errno))};
  }
  tr_error failed = tr_take(api.ResponseAllocatorNew(&q->allocator, allocate, give_back, NULL));
  if (failed.text == NULL) tr_drop(api.ResponseAllocatorSetBufferAttributesFunction(q->allocator, set_attributes));
  if (failed.text != NULL) {
    close(q->wake);
    free(q);
  } else {
    *queue = q;
  }
  return failed;
}

void tr_queue_delete(tr_queue *queue) {
  tr_drop(api.ResponseAllocatorDelete(queue->allocator));
  free(queue);
}

void tr_events_free(tr_queue *queue, tr_event *list) {
  int64_t freed = 0;
  while (list != NULL) {
    tr_event *next = list->next;
    tr_drop(list->error);
    if (list->response != NULL) tr_drop(api.InferenceResponseDelete(list->response));
    free(list);
    list = next;
    freed++;
  }
  count(&queue->events, -freed);
}

void tr_push(tr_queue *queue, tr_event *event) {
  count(&queue->events, 1);
  tr_event *head = __atomic_load_n(&queue->head, __ATOMIC_RELAXED);
  do {
    event->next = head;
  } while (!__atomic_compare_exchange_n(&queue->head, &head, event, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  if (head == NULL) {
    uint64_t one = 1;
    // The write fails only if the counter is at its maximum. Then a wake-up is
    // pending already.
    ssize_t written = write(queue->wake, &one, sizeof one);
    (void)written;
  }
}

// event_room is the room for the contents of a small response, in bytes. A
// token's response takes half of it.
enum { event_room = 256 };

static size_t padded(size_t size) { return (size + 7) / 8 * 8; }

static void describe_outputs(tr_event *event) {
  for (uint32_t i = 0; i < event->count; i++) {
    tr_output *out = &event->outputs[i];
    int memory = ts_memory_cpu;
    int64_t memory_id = 0;
    void *user = NULL;
    ts_error *failed = api.InferenceResponseOutput(event->response, i, &out->name, &out->datatype, &out->shape,
                                                   &out->dims, &out->base, &out->size, &memory, &memory_id, &user);
    tr_drop(failed);
    // An output in shared memory has no buffer_user, and may be in GPU memory.
    out->shared = failed == NULL && user == NULL;
    if (failed != NULL || (memory == ts_memory_gpu && !out->shared)) {
      event->failure_code = 1;
      event->failure = failed != NULL ? "an output can't be read" : "an output is in GPU memory";
      return;
    }
    out->name_size = strlen(out->name);
    if (!out->shared) event->bytes += out->size;
  }
}

// put copies bytes into an event and advances the pointer for the next copy.
static const void *put(char **at, const void *from, size_t size) {
  void *to = *at;
  if (size > 0) memcpy(to, from, size);
  *at += padded(size);
  return to;
}

// copy_outputs copies the outputs of a small response into the event and
// deletes the response. A response has many small objects. Freeing them is
// cheap in the thread that has just created them, and expensive in another
// thread later.
static void copy_outputs(tr_event *event) {
  size_t size = 0;
  for (uint32_t i = 0; i < event->count; i++) {
    const tr_output *out = &event->outputs[i];
    size += padded(out->name_size) + padded(out->dims * sizeof *out->shape) + padded(out->size);
  }
  if (size > event_room) return;
  char *at = (char *)(event->outputs + event->count);
  for (uint32_t i = 0; i < event->count; i++) {
    tr_output *out = &event->outputs[i];
    out->name = put(&at, out->name, out->name_size);
    out->shape = put(&at, out->shape, out->dims * sizeof *out->shape);
    out->base = put(&at, out->base, out->size);
  }
  tr_drop(api.InferenceResponseDelete(event->response));
  event->response = NULL;
}

tr_event *tr_event_new(ts_response *response, uint32_t outputs) {
  // The memory has the event, the outputs and the room, in this order.
  size_t size = sizeof(tr_event) + outputs * sizeof(tr_output) + (outputs > 0 ? event_room : 0);
  // A stream that silently lacks a response would be worse than the end of the
  // process.
  tr_event *event = tr_need(malloc(size), "a response");
  memset(event, 0, sizeof *event);
  event->response = response;
  event->count = outputs;
  event->outputs = (tr_output *)(event + 1);
  event->bytes = size;
  return event;
}

void tr_request_unref(tr_request *r) {
  if (__atomic_sub_fetch(&r->owners, 1, __ATOMIC_ACQ_REL) > 0) return;
  tr_queue *queue = r->queue;
  tr_drop(api.InferenceRequestDelete(r->request));
  if (r->shares) {
    tr_event *event = tr_event_new(NULL, 0);
    event->stream = r->stream;
    event->gone = true;
    tr_push(queue, event);
  }
  free(r->block);
  free(r);
  count(&queue->requests, -1);
}

static void on_response(ts_response *response, uint32_t flags, void *user) {
  tr_request *r = user;
  bool final = (flags & ts_response_final) != 0;
  if (response != NULL || final) {
    // Triton's header says that the response owns the error. But each call creates an error that
    // the caller must free.
    ts_error *failure = response != NULL ? api.InferenceResponseError(response) : NULL;
    uint32_t outputs = 0;
    if (response != NULL && failure == NULL) tr_drop(api.InferenceResponseOutputCount(response, &outputs));
    tr_event *event = tr_event_new(response, outputs);
    event->stream = r->stream;
    event->final = final;
    event->error = failure;
    if (failure != NULL) {
      event->failure_code = api.ErrorCode(failure);
      event->failure = api.ErrorMessage(failure);
    }
    if (response != NULL && failure == NULL) {
      const char *model = NULL;
      tr_drop(api.InferenceResponseModel(response, &model, &event->version));
      tr_drop(api.InferenceResponseParameterCount(response, &event->parameter_count));
    }
    describe_outputs(event);
    if (event->count > 0 && event->failure == NULL && event->parameter_count == 0 && !r->keeps) copy_outputs(event);
    tr_push(r->queue, event);
  }
  if (final) tr_request_unref(r);
}

static void on_release(ts_request *request, uint32_t flags, void *user) {
  (void)request;
  if ((flags & ts_request_release_all) == 0) return;
  tr_request *r = user;
  if (__atomic_exchange_n(&r->release, release_done, __ATOMIC_ACQ_REL) == release_awaited) {
    tr_event *event = tr_event_new(NULL, 0);
    event->stream = r->stream;
    event->released = true;
    tr_push(r->queue, event);
  }
  tr_request_unref(r);
}

bool tr_request_await(tr_request *r) {
  int known = release_unknown;
  return __atomic_compare_exchange_n(&r->release, &known, release_awaited, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static ts_error *set_parameter(ts_request *request, const tr_parameter *p) {
  switch (p->type) {
    case ts_parameter_string:
      return api.InferenceRequestSetStringParameter(request, p->name, p->text);
    case ts_parameter_bool:
      return api.InferenceRequestSetBoolParameter(request, p->name, p->integer != 0);
    case ts_parameter_double:
      return api.InferenceRequestSetDoubleParameter(request, p->name, p->number);
    default:
      return api.InferenceRequestSetIntParameter(request, p->name, p->integer);
  }
}

// append_gpu appends GPU memory as an input, with its own handle. A model in
// another process can open the memory only by that handle.
static ts_error *append_gpu(ts_request *request, const tr_tensor *in) {
  ts_attributes *attributes = NULL;
  TRY(api.BufferAttributesNew(&attributes));
  ts_error *failed = api.BufferAttributesSetMemoryType(attributes, ts_memory_gpu);
  if (failed == NULL) failed = api.BufferAttributesSetMemoryTypeId(attributes, in->place->memory_id);
  if (failed == NULL) failed = api.BufferAttributesSetByteSize(attributes, in->size);
  if (failed == NULL) failed = api.BufferAttributesSetCudaIpcHandle(attributes, in->place->handle);
  if (failed == NULL)
    failed = api.InferenceRequestAppendInputDataWithBufferAttributes(request, in->name, in->base, attributes);
  tr_drop(api.BufferAttributesDelete(attributes));
  return failed;
}

static ts_error *set_tensors(ts_request *request, const tr_inference *inference) {
  for (uint32_t i = 0; i < inference->input_count; i++) {
    const tr_tensor *in = &inference->inputs[i];
    TRY(api.InferenceRequestAddInput(request, in->name, in->datatype, in->shape, in->dims));
    if (in->place != NULL && in->place->handle != NULL) {
      TRY(append_gpu(request, in));
    } else {
      TRY(api.InferenceRequestAppendInputData(request, in->name, in->base, in->size, ts_memory_cpu, 0));
    }
  }
  for (uint32_t i = 0; i < inference->output_count; i++)
    TRY(api.InferenceRequestAddRequestedOutput(request, inference->outputs[i]));
  return NULL;
}

static ts_error *set_request(tr_request *r, const tr_inference *inference) {
  ts_request *request = r->request;
  if (*inference->id != 0) TRY(api.InferenceRequestSetId(request, inference->id));
  TRY(api.InferenceRequestSetFlags(request, inference->flags));
  if (inference->correlation != NULL) {
    TRY(api.InferenceRequestSetCorrelationIdString(request, inference->correlation));
  } else if (inference->correlation_id != 0) {
    TRY(api.InferenceRequestSetCorrelationId(request, inference->correlation_id));
  }
  if (inference->priority != 0) TRY(api.InferenceRequestSetPriorityUInt64(request, inference->priority));
  if (inference->timeout != 0) TRY(api.InferenceRequestSetTimeoutMicroseconds(request, inference->timeout));
  for (uint32_t i = 0; i < inference->parameter_count; i++) TRY(set_parameter(request, &inference->parameters[i]));
  TRY(set_tensors(request, inference));
  TRY(api.InferenceRequestSetReleaseCallback(request, on_release, r));
  return api.InferenceRequestSetResponseCallback(request, r->queue->allocator, r, on_response, r);
}

tr_error tr_request_new(ts_server *server, tr_queue *queue, tr_inference *inference, void *block, tr_request **made) {
  tr_request *r = calloc(1, sizeof *r);
  if (r == NULL) return (tr_error){1, tr_duplicate("out of memory")};
  r->queue = queue;
  r->stream = inference->stream;
  r->places = inference->places;
  r->place_count = inference->place_count;
  r->shares = inference->shares;
  r->keeps = inference->keeps;
  r->owners = 1;
  ts_error *failed = api.InferenceRequestNew(&r->request, server, inference->model, inference->version);
  if (failed != NULL) {
    free(r);
    return tr_take(failed);
  }
  failed = set_request(r, inference);
  if (failed != NULL) {
    tr_drop(api.InferenceRequestDelete(r->request));
    free(r);
    return tr_take(failed);
  }
  r->block = block;
  count(&queue->requests, 1);
  *made = r;
  return (tr_error){0, NULL};
}

tr_error tr_request_send(ts_server *server, tr_request *r, tr_trace *trace) {
  __atomic_store_n(&r->owners, 3, __ATOMIC_RELEASE);
  ts_error *failed = api.ServerInferAsync(server, r->request, trace != NULL ? trace->handle : NULL);
  if (trace != NULL) tr_trace_sent(trace, failed != NULL);
  // After an error no callback is called.
  if (failed != NULL) __atomic_store_n(&r->owners, 1, __ATOMIC_RELEASE);
  return tr_take(failed);
}

void tr_request_cancel(tr_request *r) { tr_drop(api.InferenceRequestCancel(r->request)); }

tr_error tr_response_parameter(const tr_event *event, uint32_t index, tr_parameter *to) {
  const void *value = NULL;
  ts_error *failed = api.InferenceResponseParameter(event->response, index, &to->name, &to->type, &value);
  if (failed != NULL) return tr_take(failed);
  switch (to->type) {
    case ts_parameter_string:
      to->text = value;
      break;
    case ts_parameter_int:
      to->integer = *(const int64_t *)value;
      break;
    case ts_parameter_bool:
      to->integer = *(const bool *)value;
      break;
    case ts_parameter_double:
      to->number = *(const double *)value;
      break;
    default:
      return (tr_error){5, tr_duplicate("Response parameter of type 'TRITONSERVER_PARAMETER_BYTES' is not currently supported")};
  }
  return (tr_error){0, NULL};
}

const char *tr_label(const tr_event *event, uint32_t output, size_t class) {
  const char *label = NULL;
  tr_drop(api.InferenceResponseOutputClassificationLabel(event->response, output, class, &label));
  return label;
}

// set_options sets each option, as tritonserver does, because some options have
// no default in the library.
static ts_error *set_options(ts_options *options, const tr_options *o) {
  TRY(api.ServerOptionsSetServerId(options, "triton"));
  for (uint32_t i = 0; i < o->repository_count; i++)
    TRY(api.ServerOptionsSetModelRepositoryPath(options, o->repositories[i]));
  TRY(api.ServerOptionsSetModelControlMode(options, ts_control_explicit));
  TRY(api.ServerOptionsSetStrictModelConfig(options, o->strict_model_config));
  TRY(api.ServerOptionsSetExitOnError(options, true)); // for an error of a repository; no model is loaded yet
  TRY(api.ServerOptionsSetExitTimeout(options, o->exit_timeout));
  TRY(api.ServerOptionsSetStrictReadiness(options, true));
  TRY(api.ServerOptionsSetModelNamespacing(options, false));
  TRY(api.ServerOptionsSetModelLoadRetryCount(options, 0));
  TRY(api.ServerOptionsSetModelLoadThreadCount(options, o->load_threads));
  TRY(api.ServerOptionsSetBufferManagerThreadCount(options, 0));
  TRY(api.ServerOptionsSetRateLimiterMode(options, o->rate_limit));
  TRY(api.ServerOptionsSetMinSupportedComputeCapability(options, 6.0));
  TRY(api.ServerOptionsSetEnablePeerAccess(options, true));
  return api.ServerOptionsSetBackendDirectory(options, o->backend_directory);
}

// keep_memory makes malloc keep freed memory. Large tensors are allocated and freed with each
// request. By default malloc returns the memory of each one to the kernel, which must clear the
// memory before it is used again. The thresholds are the ones that malloc reaches by itself after a
// tensor of 32 MiB has been freed.
static void keep_memory(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

tr_error tr_server_new(const tr_options *o, ts_server **server) {
  ts_options *options = NULL;
  keep_memory();
  ts_error *failed = api.ServerOptionsNew(&options);
  if (failed != NULL) return tr_take(failed);
  tr_error error = tr_take(set_options(options, o));
  for (uint32_t i = 0; i < o->setting_count && error.text == NULL; i++) error = tr_set_option(options, &o->settings[i]);
  if (error.text == NULL) error = tr_take(api.ServerNew(server, options));
  tr_drop(api.ServerOptionsDelete(options));
  return error;
}

tr_error tr_server_delete(ts_server *server, unsigned int timeout) {
  tr_drop(api.ServerSetExitTimeout(server, timeout));
  return tr_take(api.ServerDelete(server));
}

static ts_error *ask(ts_server *server, tr_what what, const char *model, int64_t version, ts_message **message) {
  switch (what) {
    case tr_server_metadata:
      return api.ServerMetadata(server, message);
    case tr_model_metadata:
      return api.ServerModelMetadata(server, model, version, message);
    case tr_model_config:
      return api.ServerModelConfig(server, model, version, 1, message);
    case tr_model_statistics:
      return api.ServerModelStatistics(server, model, version, message);
    default:
      return api.ServerModelIndex(server, (uint32_t)version, message);
  }
}

tr_error tr_describe(ts_server *server, tr_what what, const char *model, int64_t version, char **json, size_t *size) {
  ts_message *message = NULL;
  ts_error *failed = ask(server, what, model, version, &message);
  if (failed != NULL) return tr_take(failed);
  const char *base = NULL;
  size_t length = 0;
  tr_error error = tr_take(api.MessageSerializeToJson(message, &base, &length));
  if (error.text == NULL) error = tr_copy(base, length, json, size);
  tr_drop(api.MessageDelete(message));
  return error;
}

tr_error tr_is_live(ts_server *server, bool *live) { return tr_take(api.ServerIsLive(server, live)); }

tr_error tr_is_ready(ts_server *server, bool *ready) { return tr_take(api.ServerIsReady(server, ready)); }

tr_error tr_model_is_ready(ts_server *server, const char *model, int64_t version, bool *ready) {
  return tr_take(api.ServerModelIsReady(server, model, version, ready));
}

tr_error tr_model_batches(ts_server *server, const char *model, int64_t version, bool *batches) {
  uint32_t flags = 0;
  ts_error *failed = api.ServerModelBatchProperties(server, model, version, &flags, NULL);
  *batches = (flags & ts_batch_first_dimension) != 0;
  return tr_take(failed);
}

tr_error tr_model_load(ts_server *server, const char *model, const tr_override *overrides, uint32_t number) {
  const ts_parameter **parameters = calloc(number + 1, sizeof *parameters);
  if (parameters == NULL) return (tr_error){1, tr_duplicate("out of memory")};
  for (uint32_t i = 0; i < number; i++) {
    const tr_override *o = &overrides[i];
    parameters[i] = o->file ? api.ParameterBytesNew(o->name, o->base, o->size)
                            : api.ParameterNew(o->name, ts_parameter_string, o->base);
  }
  tr_error failed = tr_take(api.ServerLoadModelWithParameters(server, model, parameters, number));
  for (uint32_t i = 0; i < number; i++) api.ParameterDelete((ts_parameter *)parameters[i]);
  free(parameters);
  return failed;
}

tr_error tr_model_unload(ts_server *server, const char *model, bool dependents) {
  return tr_take(dependents ? api.ServerUnloadModelAndDependents(server, model) : api.ServerUnloadModel(server, model));
}

uint64_t tr_fix_signals(void) {
  uint64_t fixed = 0;
  for (int number = 1; number < 64; number++) {
    struct sigaction action;
    if (sigaction(number, NULL, &action) != 0) continue;
    bool own = (action.sa_flags & SA_SIGINFO) != 0 || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
    if (!own || (action.sa_flags & SA_ONSTACK) != 0) continue;
    action.sa_flags |= SA_ONSTACK;
    if (sigaction(number, &action, NULL) == 0) fixed |= UINT64_C(1) << number;
  }
  return fixed;
}
