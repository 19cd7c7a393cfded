// Package extension has the parts of Triton's protocol that tritonserver's own
// frontends do around the core, so that libtritonserver lacks them: the registry
// of shared memory, classification, and the trace and log settings.
//
// Texts and rules of errors are tritonserver's (triton-inference-server/server,
// src/shared_memory_manager.cc, classification.cc, common.cc, tracer.cc,
// grpc/grpc_server.cc and grpc/infer_handler.cc); where they aren't, the docstring
// says so.
package extension
