// Access to GPU memory that other processes have exported. It uses the CUDA
// runtime, which is opened when it is first needed.
#ifndef TRIDENT_CUDA_H
#define TRIDENT_CUDA_H

#include "shim.h"

// tr_cuda_load opens the runtime and the driver. It returns NULL, or an error
// message, which the caller must free. Calls must not be concurrent.
char *tr_cuda_load(void);

// tr_cuda_open maps the memory of a cudaIpcMemHandle_t. It returns the address
// and the number of bytes from there to the end of the memory.
char *tr_cuda_open(const void *handle, int device, void **address, size_t *size);
char *tr_cuda_close(void *address);

#endif
