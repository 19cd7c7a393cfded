// What the shim's C files share. Go doesn't see it.
#ifndef TRIDENT_SHIM_API_H
#define TRIDENT_SHIM_API_H

#include "shim.h"

// The table of the library's functions, written once by tr_load. Those that are
// optional are NULL where the library lacks them.
#define api tr_api
#define TS_MEMBER(result, name, parameters) result(*name) parameters;
extern struct tr_api {
  TS_API(TS_MEMBER)
  TS_OPTIONAL_API(TS_MEMBER)
  TS_TRACE_API(TS_MEMBER)
} tr_api;
#undef TS_MEMBER

// tr_take turns the library's error, which it frees, into the shim's.
tr_error tr_take(ts_error *);

// tr_drop frees an error that changes nothing.
void tr_drop(ts_error *);

// tr_need returns memory, and ends the process where there is none: for what can't be
// left out without a wrong result.
void *tr_need(void *memory, const char *what);

// tr_duplicate copies a string, which may be NULL. It never returns NULL, which would mean
// success.
char *tr_duplicate(const char *);

// tr_copy copies bytes for the caller, who frees them. Pointer and size are written both or
// neither: neither after an error.
tr_error tr_copy(const char *base, size_t size, char **to, size_t *to_size);

// tr_event_new makes an event with room for outputs; there always is memory.
tr_event *tr_event_new(ts_response *, uint32_t outputs);

// tr_push hands an event to Go.
void tr_push(tr_queue *, tr_event *);

// tr_set_option sets one option. What the library can't do is no error unless it
// was asked for.
tr_error tr_set_option(ts_options *, const tr_option *);

#endif
