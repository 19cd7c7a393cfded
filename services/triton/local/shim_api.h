// Declarations that the shim's C files share, and that Go doesn't see.
#ifndef TRIDENT_SHIM_API_H
#define TRIDENT_SHIM_API_H

#include "shim.h"

// The table of the library's functions, which tr_load fills once. Optional
// functions are NULL if the library lacks them.
#define api tr_api
#define TS_MEMBER(result, name, parameters) result(*name) parameters;
extern struct tr_api {
  TS_API(TS_MEMBER)
  TS_OPTIONAL_API(TS_MEMBER)
  TS_TRACE_API(TS_MEMBER)
} tr_api;
#undef TS_MEMBER

// tr_take converts an error of the library to the shim's and frees it.
tr_error tr_take(ts_error *);

// tr_drop frees an error that the caller ignores.
void tr_drop(ts_error *);

// tr_need returns memory, and ends the process if memory is NULL. It is for
// allocations whose failure would cause incorrect results.
void *tr_need(void *memory, const char *what);

// tr_duplicate copies a string, which may be NULL. It never returns NULL, which would mean
// success.
char *tr_duplicate(const char *);

// tr_copy copies bytes for the caller, who must free them. On success it sets the pointer
// and the size. After an error it sets neither.
tr_error tr_copy(const char *base, size_t size, char **to, size_t *to_size);

// tr_event_new creates an event with room for outputs. It never returns NULL.
tr_event *tr_event_new(ts_response *, uint32_t outputs);

// tr_push passes an event to Go.
void tr_push(tr_queue *, tr_event *);

// tr_set_option sets one option. If the library doesn't support it, that is an
// error only if the option has a flag, which means that the user set it.
tr_error tr_set_option(ts_options *, const tr_option *);

#endif
