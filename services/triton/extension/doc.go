// Package extension implements the parts of Triton's protocol that tritonserver's
// frontends implement outside the core, so that libtritonserver lacks them: the
// registry of shared memory, classification, and the trace and log settings. The
// protocol's messages belong to package kserve, and calls of Triton's core to the
// engines.
//
// Error messages and rules are tritonserver's (triton-inference-server/server,
// src/shared_memory_manager.cc, classification.cc, common.cc, tracer.cc,
// grpc/grpc_server.cc and grpc/infer_handler.cc). Docs of functions name the
// exceptions.
package extension
