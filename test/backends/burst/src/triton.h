// The part of Triton's C API (server API 1.34, backend API 1.19) that the backend
// uses, declared here by signature. Triton resolves the functions when it opens
// the backend, so the build needs no files of Triton.
#ifndef BURST_TRITON_H
#define BURST_TRITON_H

#include <cstddef>
#include <cstdint>

// Opaque handles of Triton.
struct TRITONSERVER_Error;
struct TRITONSERVER_Message;
struct TRITONSERVER_BufferAttributes;
struct TRITONSERVER_MetricFamily;
struct TRITONSERVER_Metric;
struct TRITONSERVER_Parameter;
struct TRITONBACKEND_Backend;
struct TRITONBACKEND_Model;
struct TRITONBACKEND_ModelInstance;
struct TRITONBACKEND_Request;
struct TRITONBACKEND_Input;
struct TRITONBACKEND_ResponseFactory;
struct TRITONBACKEND_Response;
struct TRITONBACKEND_Output;

namespace triton {

// Enumerations are int in the API.
enum : int { kLogError = 2 };
enum : int { kInternal = 1, kInvalid = 3, kUnavailable = 4, kUnsupported = 5 };
enum : int { kBool = 1, kUint32 = 4, kInt32 = 8, kBytes = 13 };
enum : int { kHostMemory = 0, kPinnedMemory = 1, kDeviceMemory = 2 };
enum : uint32_t { kReleaseAll = 1 };
enum : uint32_t { kMore = 0, kFinal = 1 };
enum : int { kCounter = 0 };  // kind of a metric
enum : int { kString = 0 };   // type of a parameter

// The minimum version of the backend API, for ResponseFactoryIsCancelled.
enum : uint32_t { kApiMajor = 1, kApiMinor = 15 };

}  // namespace triton

extern "C" {

TRITONSERVER_Error* TRITONSERVER_ErrorNew(int code, const char* message);
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error*);
int TRITONSERVER_ErrorCode(TRITONSERVER_Error*);
const char* TRITONSERVER_ErrorMessage(TRITONSERVER_Error*);
TRITONSERVER_Error* TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message*, const char** base, size_t* size);
TRITONSERVER_Error* TRITONSERVER_MessageDelete(TRITONSERVER_Message*);
TRITONSERVER_Error* TRITONSERVER_LogMessage(int level, const char* file, int line, const char* message);
TRITONSERVER_Error* TRITONSERVER_BufferAttributesSetMemoryType(TRITONSERVER_BufferAttributes*, int memory);

TRITONSERVER_Error* TRITONSERVER_MetricFamilyNew(TRITONSERVER_MetricFamily**, int kind, const char* name,
                                                 const char* description);
TRITONSERVER_Error* TRITONSERVER_MetricFamilyDelete(TRITONSERVER_MetricFamily*);
TRITONSERVER_Error* TRITONSERVER_MetricNew(TRITONSERVER_Metric**, TRITONSERVER_MetricFamily*,
                                           const TRITONSERVER_Parameter** labels, uint64_t count);
TRITONSERVER_Error* TRITONSERVER_MetricDelete(TRITONSERVER_Metric*);
TRITONSERVER_Error* TRITONSERVER_MetricIncrement(TRITONSERVER_Metric*, double value);
TRITONSERVER_Parameter* TRITONSERVER_ParameterNew(const char* name, int type, const void* value);
void TRITONSERVER_ParameterDelete(TRITONSERVER_Parameter*);

TRITONSERVER_Error* TRITONBACKEND_ApiVersion(uint32_t* major, uint32_t* minor);

TRITONSERVER_Error* TRITONBACKEND_ModelConfig(TRITONBACKEND_Model*, uint32_t version, TRITONSERVER_Message**);
TRITONSERVER_Error* TRITONBACKEND_ModelName(TRITONBACKEND_Model*, const char** name);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance*, TRITONBACKEND_Model**);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance*, void** state);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance*, void* state);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportStatistics(TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request*,
                                                                bool success, uint64_t exec_start,
                                                                uint64_t compute_start, uint64_t compute_end,
                                                                uint64_t exec_end);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportBatchStatistics(TRITONBACKEND_ModelInstance*, uint64_t batch,
                                                                     uint64_t exec_start, uint64_t compute_start,
                                                                     uint64_t compute_end, uint64_t exec_end);

TRITONSERVER_Error* TRITONBACKEND_RequestId(TRITONBACKEND_Request*, const char** id);
TRITONSERVER_Error* TRITONBACKEND_RequestInputCount(TRITONBACKEND_Request*, uint32_t* count);
TRITONSERVER_Error* TRITONBACKEND_RequestInputByIndex(TRITONBACKEND_Request*, uint32_t index, TRITONBACKEND_Input**);
TRITONSERVER_Error* TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request*, uint32_t* count);
TRITONSERVER_Error* TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request*, uint32_t index, const char** name);
TRITONSERVER_Error* TRITONBACKEND_RequestRelease(TRITONBACKEND_Request*, uint32_t flags);
TRITONSERVER_Error* TRITONBACKEND_InputProperties(TRITONBACKEND_Input*, const char** name, int* datatype,
                                                  const int64_t** shape, uint32_t* dims, uint64_t* bytes,
                                                  uint32_t* buffers);
TRITONSERVER_Error* TRITONBACKEND_InputBuffer(TRITONBACKEND_Input*, uint32_t index, const void** buffer,
                                              uint64_t* bytes, int* memory, int64_t* memory_id);

TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryNew(TRITONBACKEND_ResponseFactory**, TRITONBACKEND_Request*);
TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryDelete(TRITONBACKEND_ResponseFactory*);
TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryIsCancelled(TRITONBACKEND_ResponseFactory*, bool*);
TRITONSERVER_Error* TRITONBACKEND_ResponseFactorySendFlags(TRITONBACKEND_ResponseFactory*, uint32_t flags);
TRITONSERVER_Error* TRITONBACKEND_ResponseNew(TRITONBACKEND_Response**, TRITONBACKEND_Request*);
TRITONSERVER_Error* TRITONBACKEND_ResponseNewFromFactory(TRITONBACKEND_Response**, TRITONBACKEND_ResponseFactory*);
TRITONSERVER_Error* TRITONBACKEND_ResponseDelete(TRITONBACKEND_Response*);
TRITONSERVER_Error* TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response*, TRITONBACKEND_Output**, const char* name,
                                                 int datatype, const int64_t* shape, uint32_t dims);
TRITONSERVER_Error* TRITONBACKEND_ResponseSend(TRITONBACKEND_Response*, uint32_t flags, TRITONSERVER_Error*);
TRITONSERVER_Error* TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output*, void** buffer, uint64_t bytes, int* memory,
                                               int64_t* memory_id);
TRITONSERVER_Error* TRITONBACKEND_OutputBufferAttributes(TRITONBACKEND_Output*, TRITONSERVER_BufferAttributes**);

}  // extern "C"

#endif
