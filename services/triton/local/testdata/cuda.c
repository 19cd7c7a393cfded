// One library in place of libcudart and of libcuda: a GPU with 64 bytes of memory,
// which the handle that begins with "ok" opens at its 16th byte.
#include <stddef.h>
#include <string.h>

typedef struct {
  char bytes[64];
} handle;

static char memory[64];

int cudaGetDeviceCount(int *count) { return *count = 1, 0; }
int cudaSetDevice(int device) { return device == 0 ? 0 : 101; }
const char *cudaGetErrorString(int error) { return error == 101 ? "invalid device ordinal" : "invalid resource handle"; }
int cudaIpcCloseMemHandle(void *address) { return address == memory + 16 ? 0 : 400; }

int cudaIpcOpenMemHandle(void **address, handle h, unsigned int flags) {
  if (flags != 1 || memcmp(h.bytes, "ok", 3) != 0 || h.bytes[63] != 'z') return 400;
  *address = memory + 16;
  return 0;
}

int cuMemGetAddressRange_v2(unsigned long long *base, size_t *size, unsigned long long address) {
  if ((char *)address != memory + 16) return 1;
  *base = (unsigned long long)memory;
  *size = sizeof memory;
  return 0;
}
