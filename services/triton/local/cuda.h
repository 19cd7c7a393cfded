// Memory of GPUs that other processes have exported, by the CUDA runtime, which
// is opened when it is first needed.
#ifndef TRIDENT_CUDA_H
#define TRIDENT_CUDA_H

#include "shim.h"

// tr_cuda_load opens the runtime and the driver; the text, to free, says why that
// isn't possible. Not to be called twice at once.
char *tr_cuda_load(void);

// tr_cuda_open maps what a cudaIpcMemHandle_t stands for and tells how many bytes
// follow the address.
char *tr_cuda_open(const void *handle, int device, void **address, size_t *size);
char *tr_cuda_close(void *address);

#endif
