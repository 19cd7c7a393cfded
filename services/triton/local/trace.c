//go:build cgo && linux

#define _GNU_SOURCE
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim_api.h"

enum { activity_request_start = 0, activity_custom = 10 };

static void *need(void *memory) { return tr_need(memory, "a trace"); }

static uint64_t id_of(ts_trace *trace) {
  uint64_t id = 0;
  tr_drop(api.InferenceTraceId(trace, &id));
  return id;
}

// see adds a request to the live requests. The library reports the release of a
// request, but not its creation. So a request is live from its first activity on,
// which precedes the release of the request that it was derived from.
static void see(tr_trace *t, uint64_t id) {
  for (uint32_t i = 0; i < t->count; i++)
    if (t->live[i] == id) return;
  if (t->count == t->room) {
    t->room = t->room * 2 + 1;
    t->live = need(realloc(t->live, t->room * sizeof *t->live));
  }
  t->live[t->count++] = id;
}

static bool forget(tr_trace *t, uint64_t id) {
  for (uint32_t i = 0; i < t->count; i++) {
    if (t->live[i] != id) continue;
    t->live[i] = t->live[--t->count];
    return true;
  }
  return false;
}

// finish passes the trace to Go if no request is live. The caller must hold the
// lock, which finish releases.
static void finish(tr_trace *t) {
  bool done = t->count == 0 && !t->sending;
  pthread_mutex_unlock(&t->lock);
  if (!done) return;
  tr_event *event = tr_event_new(NULL, 0);
  event->trace = t;
  tr_push(t->queue, event);
}

static void add(tr_trace *t, tr_record *record) {
  pthread_mutex_lock(&t->lock);
  see(t, record->id);
  record->next = t->records;
  t->records = record;
  pthread_mutex_unlock(&t->lock);
}

// keep copies a string into the memory behind a record.
static const char *keep(char **at, const char *text) {
  const char *kept = *at;
  *at = stpcpy(*at, text) + 1;
  return kept;
}

static const char *or_empty(const char *text) { return text != NULL ? text : ""; }

static void on_activity(ts_trace *trace, int activity, uint64_t nanoseconds, void *user) {
  const char *model = NULL, *request = NULL, *context = NULL;
  bool start = activity == activity_request_start, custom = activity == activity_custom;
  if (start) tr_drop(api.InferenceTraceModelName(trace, &model));
  if (start) tr_drop(api.InferenceTraceRequestId(trace, &request));
  if (custom) tr_drop(api.InferenceTraceContext(trace, &context));
  model = or_empty(model), request = or_empty(request), context = or_empty(context);
  tr_record *record = need(calloc(1, sizeof *record + strlen(model) + strlen(request) + strlen(context) + 3));
  char *at = (char *)(record + 1);
  record->id = id_of(trace);
  record->activity = api.InferenceTraceActivityString(activity);
  record->nanoseconds = nanoseconds;
  if (start) {
    record->model = keep(&at, model);
    record->request_id = keep(&at, request);
    tr_drop(api.InferenceTraceModelVersion(trace, &record->version));
    tr_drop(api.InferenceTraceParentId(trace, &record->parent));
  }
  if (custom) record->context = keep(&at, context);
  add(user, record);
}

static void on_tensor(ts_trace *trace, int activity, const char *tensor, int datatype, const void *base, size_t size,
                      const int64_t *shape, uint64_t dims, int memory, int64_t memory_id, void *user) {
  (void)memory_id;
  if (memory == ts_memory_gpu || base == NULL) size = 0; // only its shape is recorded, not its contents
  size_t shape_size = dims * sizeof *shape, name_size = strlen(tensor) + 1;
  tr_record *record = need(calloc(1, sizeof *record + shape_size + size + name_size));
  char *at = (char *)(record + 1);
  record->id = id_of(trace);
  record->activity = api.InferenceTraceActivityString(activity);
  record->datatype = datatype;
  record->dims = dims;
  record->size = size;
  record->shape = memcpy(at, shape, shape_size);
  record->base = memcpy(at + shape_size, size > 0 ? base : "", size);
  record->tensor = memcpy(at + shape_size + size, tensor, name_size);
  add(user, record);
}

static void on_release_trace(ts_trace *trace, void *user) {
  tr_trace *t = user;
  uint64_t id = id_of(trace);
  pthread_mutex_lock(&t->lock);
  forget(t, id);
  tr_drop(api.InferenceTraceDelete(trace));
  finish(t);
}

static bool can_trace(void) {
#define CHECK(result, name, parameters) &&api.name != NULL
  return true TS_TRACE_API(CHECK);
#undef CHECK
}

tr_error tr_trace_new(tr_queue *queue, int level, uint64_t number, const char *context, tr_trace **made) {
  if (!can_trace()) return (tr_error){5, tr_duplicate("this libtritonserver doesn't support tracing")};
  tr_trace *t = need(calloc(1, sizeof *t));
  t->number = number;
  t->queue = queue;
  t->sending = true;
  pthread_mutex_init(&t->lock, NULL);
  ts_error *failed =
      api.InferenceTraceTensorNew(&t->handle, level, 0, on_activity, on_tensor, on_release_trace, t);
  if (failed != NULL) {
    tr_trace_free(t);
    return tr_take(failed);
  }
  if (context != NULL && api.InferenceTraceSetContext != NULL) tr_drop(api.InferenceTraceSetContext(t->handle, context));
  see(t, t->id = id_of(t->handle));
  *made = t;
  return (tr_error){0, NULL};
}

void tr_trace_sent(tr_trace *t, bool failed) {
  pthread_mutex_lock(&t->lock);
  if (failed && forget(t, t->id)) tr_drop(api.InferenceTraceDelete(t->handle));
  t->sending = false;
  finish(t);
}

void tr_trace_free(tr_trace *t) {
  while (t->records != NULL) {
    tr_record *next = t->records->next;
    free(t->records);
    t->records = next;
  }
  pthread_mutex_destroy(&t->lock);
  free(t->live);
  free(t);
}
