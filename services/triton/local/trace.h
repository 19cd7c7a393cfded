// Traces of requests. A trace's records are kept in C memory and passed to Go
// when the trace ends.
#ifndef TRIDENT_TRACE_H
#define TRIDENT_TRACE_H

#include <pthread.h>

#include "shim.h"

// tr_record is an event of a traced request, or of a request that its model
// derived from it. It is one block of memory.
typedef struct tr_record {
  struct tr_record *next;
  uint64_t id, parent;
  uint64_t nanoseconds; // 0 for a tensor
  const char *activity; // owned by the library
  // Set in the first record of a request; NULL in other records.
  const char *model, *request_id;
  int64_t version;
  const char *context; // for an activity that the model itself records: names by time as JSON; otherwise NULL
  // Set in the record of a tensor; NULL in other records.
  const char *tensor;
  const int64_t *shape;
  const void *base;
  uint64_t dims;
  size_t size;
  int datatype;
} tr_record;

// tr_trace is the trace of a request and of the requests that the request's
// model derives from it. The trace ends when all these requests have been
// released and tr_request_send has returned from the library. Then an event
// passes the trace to Go, which must free the trace.
typedef struct tr_trace {
  uint64_t number;    // Go's number of the trace
  tr_record *records; // newest first
  // Fields for the shim only.
  tr_queue *queue;
  ts_trace *handle;
  pthread_mutex_t lock;
  uint64_t id;    // id of the traced request
  uint64_t *live; // ids of the requests that aren't released
  uint32_t count, room;
  bool sending;
} tr_trace;

// tr_trace_new creates a trace. context is NULL, or JSON that models can read. A
// library without contexts ignores it.
tr_error tr_trace_new(tr_queue *, int level, uint64_t number, const char *context, tr_trace **);
void tr_trace_free(tr_trace *);

// tr_trace_sent must be called once, after TRITONSERVER_ServerInferAsync has
// returned for the traced request. failed is true if that function returned an
// error. The library then possibly hasn't taken over the trace: unless the
// library has released its trace already, tr_trace_sent deletes it. If no
// request of the trace is live any more, tr_trace_sent passes the trace to Go.
void tr_trace_sent(tr_trace *, bool failed);

#endif
