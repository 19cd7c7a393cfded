// CUDA's runtime. It is opened if a model allocates its outputs in a GPU's memory.
#ifndef BURST_CUDA_H
#define BURST_CUDA_H

#include <dlfcn.h>

#include <cstddef>
#include <string>

#include "failure.h"

namespace burst {

// Cuda is memory of the first GPU in which outputs are built before they are copied
// to Triton's buffer. It isn't thread-safe.
class Cuda {
 public:
  // Throws a Failure if there is no CUDA runtime or no GPU.
  Cuda() {
    Resolve("cudaGetErrorString", &error_string_);
    Resolve("cudaSetDevice", &set_device_);
    Resolve("cudaMalloc", &malloc_);
    Resolve("cudaFree", &free_);
    Resolve("cudaMemcpy", &memcpy_);
    Choose();
  }
  Cuda(const Cuda&) = delete;
  Cuda& operator=(const Cuda&) = delete;
  ~Cuda() { free_(memory_); }

  // Copy copies bytes into the GPU's memory and from there into a buffer of any
  // kind.
  void Copy(const void* from, size_t size, void* to) {
    Choose();
    Reserve(size);
    Check("copy to the GPU", memcpy_(memory_, from, size, kAnywhere));
    Check("copy from the GPU", memcpy_(to, memory_, size, kAnywhere));
  }

 private:
  // cudaMemcpyDefault: CUDA detects the kind of memory from the addresses.
  static constexpr int kAnywhere = 4;

  // Choose selects the GPU for the calling thread.
  void Choose() { Check("no GPU for output_memory", set_device_(0)); }

  void Reserve(size_t size) {
    if (size <= size_) return;
    Check("free the GPU's memory", free_(memory_));
    memory_ = nullptr;
    size_ = 0;
    Check("memory of the GPU", malloc_(&memory_, size));
    size_ = size;
  }

  void Check(const char* what, int code) {
    if (code != 0) throw Failure(triton::kUnavailable, std::string(what) + ": CUDA: " + error_string_(code));
  }

  // Resolve prefers Triton's own runtime, which is in the global scope.
  template <typename Function>
  static void Resolve(const char* name, Function* function) {
    void* found = dlsym(RTLD_DEFAULT, name);
    for (const char* library : {"libcudart.so", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}) {
      if (found != nullptr) break;
      void* opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);  // it stays open
      if (opened != nullptr) found = dlsym(opened, name);
    }
    if (found == nullptr)
      throw Failure(triton::kUnavailable,
                    "output_memory GPU needs CUDA, but there is no libcudart.so: install the CUDA runtime, or use a "
                    "container of NVIDIA's");
    *function = reinterpret_cast<Function>(found);
  }

  const char* (*error_string_)(int) = nullptr;
  int (*set_device_)(int) = nullptr;
  int (*malloc_)(void**, size_t) = nullptr;
  int (*free_)(void*) = nullptr;
  int (*memcpy_)(void*, const void*, size_t, int) = nullptr;
  void* memory_ = nullptr;
  size_t size_ = 0;
};

}  // namespace burst

#endif
