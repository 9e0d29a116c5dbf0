/* Embedded mode of CSI Proxy for any language: every rpc of every version, in the calling process.
 *
 *   csi_proxy_node node;
 *   csi_proxy_bytes error = {0};
 *   if (csi_proxy_open(CSI_PROXY_ABI_VERSION, NULL, 0, NULL, NULL, &node, &error) != 0) ...
 *   csi_proxy_bytes response = {0}, message = {0};
 *   int32_t code = csi_proxy_invoke(node, 0, "/v1.Volume/ListVolumesOnDisk", request, request_size,
 *                                   30 * INT64_C(1000000000), &response, &message);
 *   ...
 *   csi_proxy_free(&response);
 *   csi_proxy_free(&message);
 *   csi_proxy_close(node);
 *
 * Requests and responses are serialized protobuf messages of api/<group>/<version>/api.proto. A
 * call returns a gRPC status: a code from 0 (OK) to 16, and a text in UTF-8.
 *
 * All functions are thread-safe. Handles are numbers that are never reused: given a handle that is
 * closed or never existed, functions return NOT_FOUND or do nothing. If a required pointer is null,
 * they return INVALID_ARGUMENT. No function throws or ends the process. The library does not change
 * its inputs, and reads them only during the call. Memory that it returns belongs to the caller,
 * who must pass it to csi_proxy_free. csi_proxy_free also wipes the memory, because responses may
 * contain secrets.
 */
#ifndef CSI_PROXY_CSI_PROXY_H_
#define CSI_PROXY_CSI_PROXY_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32) && defined(CSI_PROXY_BUILDING_LIBRARY)
#define CSI_PROXY_API __declspec(dllexport)
#elif defined(CSI_PROXY_BUILDING_LIBRARY)
#define CSI_PROXY_API __attribute__((visibility("default")))
#else
#define CSI_PROXY_API
#endif

/* Changes when programs built for an earlier version would no longer work. */
#define CSI_PROXY_ABI_VERSION 1u

/* A node that this process manages. 0 is never a node. */
typedef uint64_t csi_proxy_node;

/* A call that can be cancelled. 0 is never such a call. */
typedef uint64_t csi_proxy_call;

/* Memory that the library allocated; `data` is null if `size` is 0. */
typedef struct csi_proxy_bytes {
  uint8_t* data;
  size_t size;
} csi_proxy_bytes;

/* Receives a log line: severity 0 (information), 1 (warning) or 2 (error), and text in UTF-8. The
 * text is not zero-terminated and only valid during the call. Threads call this concurrently, from
 * the start of csi_proxy_open until the csi_proxy_close that closes the node returns. Must not
 * close the node that logs. May call that node, but only with a timeout, because the call that
 * wrote the line still counts towards "maxCalls". */
typedef void (*csi_proxy_log)(void* user, int32_t severity, const char* line, size_t size);

/* Returns the ABI version of the library. */
CSI_PROXY_API uint32_t csi_proxy_abi_version(void);

/* Returns the release, for example "2.0.0". Must not be freed. */
CSI_PROXY_API const char* csi_proxy_version(void);

/* Opens a node. `options` is a JSON object of `options_size` bytes, or null for the defaults; its
 * fields are those of client/c/options.proto:
 *
 *   "node"             "WINDOWS", this machine, or "SIMULATED", one in memory; by default the one
 *                      that fits the platform. csi_proxy.dll has no simulated node and returns
 *                      UNIMPLEMENTED; csi_proxy_simulated.dll has one
 *   "scenario"         the simulated node as textproto, or the name of a built-in one, for example
 *                      "azure-scsi"
 *   "workingDirs"      ["C:\\var\\lib\\kubelet"]: paths in calls must lead into these directories
 *   "allowedServices"  the services that calls may start and stop; all if empty
 *   "allowPlainSmb"    true: SMB mappings need not be encrypted
 *   "bindSmbCredentials"  true: calls for a mapped share must give the credentials of the mapping
 *   "maxCalls", "maxQueued", "maxCallSeconds"  limits of each API group
 *   "lockDirectory", "metricsBindAddress"      see NodeOptions in csi_proxy/node.h
 *
 * `log` may be null: lines then go to standard error. `user` is passed to `log`.
 *
 * Returns 0 and sets `*node`. On failure returns a code, sets `*node` to 0 and, unless `error` is
 * null, `*error` to the text: FAILED_PRECONDITION if the library has another ABI version,
 * INVALID_ARGUMENT naming the option, UNIMPLEMENTED for "WINDOWS" on another system. */
CSI_PROXY_API int32_t csi_proxy_open(uint32_t abi_version, const char* options, size_t options_size,
                                     csi_proxy_log log, void* user, csi_proxy_node* node,
                                     csi_proxy_bytes* error);

/* Announces a call, so that csi_proxy_cancel can end it. Returns 0 and sets `*call`, or returns
 * NOT_FOUND if the node is closed. The caller must pass `*call` to one csi_proxy_invoke. The call
 * uses memory until csi_proxy_invoke returns or the node is closed. */
CSI_PROXY_API int32_t csi_proxy_begin(csi_proxy_node node, csi_proxy_call* call);

/* Calls `method`, for example "/v1.Volume/FormatVolume", on this thread.
 *
 * `call` is from csi_proxy_begin and can be used once; 0 if the call need not be cancelled.
 * `timeout_ns` is how long the call may take, in nanoseconds; negative for no limit of its own.
 *
 * Returns the code. If the code is 0, sets `*response` and empties `*message`; otherwise sets
 * `*message` to the text and empties `*response`. Does not free their old values. Either may be
 * null. Codes besides those of the rpc: NOT_FOUND for a closed node or an unknown call,
 * UNIMPLEMENTED for an unknown method, INVALID_ARGUMENT for a request that is not a message of its
 * type, CANCELLED, DEADLINE_EXCEEDED. On simulated nodes the methods of csi_proxy.simulated.Admin
 * work too: "/csi_proxy.simulated.Admin/Reset".
 */
CSI_PROXY_API int32_t csi_proxy_invoke(csi_proxy_node node, csi_proxy_call call, const char* method,
                                       const uint8_t* request, size_t request_size,
                                       int64_t timeout_ns, csi_proxy_bytes* response,
                                       csi_proxy_bytes* message);

/* Cancels a call that is announced or under way, and returns immediately. Has no effect on a call
 * that has ended. */
CSI_PROXY_API void csi_proxy_cancel(csi_proxy_call call);

/* Closes a node: refuses new calls, cancels those under way and waits until they have ended.
 * Windows may never finish a flush or read of an ended call. After 5 s a thread of the library
 * waits for it instead; then the library must stay loaded. Does not log afterwards. Returns 0, or
 * immediately NOT_FOUND if another thread has closed the node or is closing it. */
CSI_PROXY_API int32_t csi_proxy_close(csi_proxy_node node);

/* Wipes and frees bytes that the library returned, and empties `*bytes`. Null is ignored. */
CSI_PROXY_API void csi_proxy_free(csi_proxy_bytes* bytes);

#ifdef __cplusplus
}
#endif

#endif /* CSI_PROXY_CSI_PROXY_H_ */
