// What the shim does where memory is missing. The linker puts __wrap_malloc in the place of malloc.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim_api.h"

void *__real_malloc(size_t);
static bool exhausted;
void *__wrap_malloc(size_t size) { return exhausted ? NULL : __real_malloc(size); }

static int deleted;

static ts_error *describe(ts_server *server, ts_message **message) {
  (void)server;
  *message = (ts_message *)&deleted;
  return NULL;
}

static ts_error *serialize(ts_message *message, const char **base, size_t *size) {
  (void)message;
  *base = "{}";
  *size = 2;
  return NULL;
}

static ts_error *delete_message(ts_message *message) {
  (void)message;
  deleted++;
  return NULL;
}

static ts_error *metrics(ts_server *server, ts_metrics **made) {
  (void)server;
  *made = (ts_metrics *)&deleted;
  return NULL;
}

static ts_error *format(ts_metrics *from, int format, const char **base, size_t *size) {
  (void)from, (void)format;
  *base = "nv_gpu 1";
  *size = 8;
  return NULL;
}

static ts_error *delete_metrics(ts_metrics *from) {
  (void)from;
  deleted++;
  return NULL;
}

static void report(const char *what, tr_error error, const char *text, size_t size) {
  printf("%s: %zu bytes %.*s, %s\n", what, size, text != NULL ? (int)size : 4, text != NULL ? text : "NULL", error.text != NULL ? error.text : "no error");
}

int main(void) {
  tr_api.ServerMetadata = describe;
  tr_api.MessageSerializeToJson = serialize;
  tr_api.MessageDelete = delete_message;
  tr_api.ServerMetrics = metrics;
  tr_api.MetricsFormatted = format;
  tr_api.MetricsDelete = delete_metrics;
  for (int i = 0; i < 2; i++) {
    char *text = NULL;
    size_t size = 0;
    exhausted = i > 0;
    tr_error error = tr_describe(NULL, tr_server_metadata, "", 0, &text, &size);
    exhausted = false;
    report("description", error, text, size);
    text = NULL, size = 0, exhausted = i > 0;
    error = tr_metrics(NULL, &text, &size);
    exhausted = false;
    report("metrics", error, text, size);
  }
  printf("deleted %d\n", deleted);
  return 0;
}
