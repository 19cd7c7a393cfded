//go:build cgo && linux

#define _GNU_SOURCE
#include "cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim_api.h"

// ipc_handle is cudaIpcMemHandle_t, which CUDA's functions take by value.
typedef struct {
  char bytes[64];
} ipc_handle;

enum { lazy_peer_access = 1 }; // cudaIpcMemLazyEnablePeerAccess

static struct {
  int (*GetDeviceCount)(int *count);
  int (*SetDevice)(int device);
  int (*IpcOpenMemHandle)(void **address, ipc_handle, unsigned int flags);
  int (*IpcCloseMemHandle)(void *address);
  const char *(*GetErrorString)(int error);
  int (*AddressRange)(uint64_t *base, size_t *size, uint64_t address); // a function of the driver
} cuda;

static char *text_of(const char *what, const char *why) {
  char *text = NULL;
  return asprintf(&text, "%s: %s", what, why) < 0 ? tr_duplicate(what) : text;
}

static char *check(const char *what, int error) { return error == 0 ? NULL : text_of(what, cuda.GetErrorString(error)); }

// find_runtime prefers the runtime that Triton has loaded, which may have any
// file name.
static bool find_runtime(void **runtime) {
  static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"};
  *runtime = RTLD_DEFAULT;
  if (dlsym(RTLD_DEFAULT, "cudaIpcOpenMemHandle") != NULL) return true;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    *runtime = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (*runtime != NULL) return true;
  }
  return false;
}

char *tr_cuda_load(void) {
  void *runtime;
  if (!find_runtime(&runtime)) return tr_duplicate("libcudart can't be opened");
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == NULL) return tr_duplicate("libcuda.so.1, which comes with NVIDIA's driver, can't be opened");
  *(void **)&cuda.GetDeviceCount = dlsym(runtime, "cudaGetDeviceCount");
  *(void **)&cuda.SetDevice = dlsym(runtime, "cudaSetDevice");
  *(void **)&cuda.IpcOpenMemHandle = dlsym(runtime, "cudaIpcOpenMemHandle");
  *(void **)&cuda.IpcCloseMemHandle = dlsym(runtime, "cudaIpcCloseMemHandle");
  *(void **)&cuda.GetErrorString = dlsym(runtime, "cudaGetErrorString");
  *(void **)&cuda.AddressRange = dlsym(driver, "cuMemGetAddressRange_v2");
  if (cuda.GetDeviceCount == NULL || cuda.SetDevice == NULL || cuda.IpcOpenMemHandle == NULL ||
      cuda.IpcCloseMemHandle == NULL || cuda.GetErrorString == NULL || cuda.AddressRange == NULL)
    return tr_duplicate("libcudart or libcuda.so.1 lacks a function");
  int count = 0;
  char *failed = check("count the GPUs", cuda.GetDeviceCount(&count));
  return failed != NULL || count > 0 ? failed : tr_duplicate("there is no GPU");
}

char *tr_cuda_open(const void *handle, int device, void **address, size_t *size) {
  ipc_handle copy;
  memcpy(&copy, handle, sizeof copy);
  char *failed = check("choose the GPU", cuda.SetDevice(device));
  if (failed == NULL) failed = check("open CUDA IPC handle", cuda.IpcOpenMemHandle(address, copy, lazy_peer_access));
  if (failed != NULL) return failed;
  uint64_t base = 0;
  if (cuda.AddressRange(&base, size, (uint64_t)(uintptr_t)*address) != 0) {
    cuda.IpcCloseMemHandle(*address);
    return tr_duplicate("the size of the memory behind a CUDA IPC handle isn't known");
  }
  *size -= (uint64_t)(uintptr_t)*address - base;
  return NULL;
}

char *tr_cuda_close(void *address) { return check("close CUDA IPC handle", cuda.IpcCloseMemHandle(address)); }
