// Traces of requests: what happens to one is recorded in C memory and goes to Go
// at its end.
#ifndef TRIDENT_TRACE_H
#define TRIDENT_TRACE_H

#include <pthread.h>

#include "shim.h"

// tr_record is something that happened to a request, or to one that its model
// made of it. All of it is one block of memory.
typedef struct tr_record {
  struct tr_record *next;
  uint64_t id, parent;
  uint64_t nanoseconds; // 0 for a tensor
  const char *activity; // the library's
  // What the record that begins a request has, NULL in others.
  const char *model, *request_id;
  int64_t version;
  const char *context; // of an activity of the model's own: JSON of its names, or NULL
  // What a tensor has, NULL in others.
  const char *tensor;
  const int64_t *shape;
  const void *base;
  uint64_t dims;
  size_t size;
  int datatype;
} tr_record;

// tr_trace is a traced request, with all that its model makes of it. It ends when
// the last of them is released and tr_request_send is done with it: then it comes
// to Go in an event, to be freed.
typedef struct tr_trace {
  uint64_t number;    // Go's
  tr_record *records; // newest first
  // What follows is the shim's.
  tr_queue *queue;
  ts_trace *handle;
  pthread_mutex_t lock;
  uint64_t id;    // of the request itself
  uint64_t *live; // requests that aren't released
  uint32_t count, room;
  bool sending;
} tr_trace;

// tr_trace_new makes a trace. The context, unless it is NULL, is JSON that models
// get to see; a library that has no such thing goes without it.
tr_error tr_trace_new(tr_queue *, int level, uint64_t number, const char *context, tr_trace **);
void tr_trace_free(tr_trace *);

// tr_trace_sent says that the library has the trace, or that the request failed.
// Then the library may not have taken it, and it ends here.
void tr_trace_sent(tr_trace *, bool failed);

#endif
