/* CSI Proxy embedded, for any language: every rpc of every version, in the process that calls.
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
 * Requests and responses are the protobuf messages of api/<group>/<version>/api.proto, serialized.
 * What a call answers is a gRPC status: a code of 0 (OK) to 16, and a text in UTF-8.
 *
 * Every function may be called by any thread at any time. Handles are numbers: one that was closed,
 * or never was, is answered with NOT_FOUND or ignored, and is never used again. A null pointer
 * where one is needed is answered with INVALID_ARGUMENT. No function throws, and none ends the
 * process. Memory passed in is read during the call only; memory handed out is the caller's, who
 * returns it by csi_proxy_free. Responses may hold what a driver keeps secret: they are wiped when
 * freed.
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

/* Grows when a program built for an earlier one would no longer work. */
#define CSI_PROXY_ABI_VERSION 1u

/* A node this process manages. 0 is none. */
typedef uint64_t csi_proxy_node;

/* A call that can be cancelled. 0 is none. */
typedef uint64_t csi_proxy_call;

/* Memory of the library's; `data` is null when `size` is 0. */
typedef struct csi_proxy_bytes {
  uint8_t* data;
  size_t size;
} csi_proxy_bytes;

/* Takes a line of the log: severity 0 (information), 1 (warning) or 2 (error), and text in UTF-8
 * without a closing zero, which is valid during the call only. Called by many threads at once,
 * never before csi_proxy_open is called nor after the csi_proxy_close that closes the node has
 * returned. Must not close the node whose line it is. May call it, but as the call that the line is
 * about still counts among "maxCalls", with a timeout. */
typedef void (*csi_proxy_log)(void* user, int32_t severity, const char* line, size_t size);

/* The ABI the library has. */
CSI_PROXY_API uint32_t csi_proxy_abi_version(void);

/* The release, as "2.0.0". Static. */
CSI_PROXY_API const char* csi_proxy_version(void);

/* Opens a node. `options` is a JSON object of `options_size` bytes, or null for the defaults; its
 * fields are those of client/c/options.proto:
 *
 *   "node"             "WINDOWS", this machine, or "SIMULATED", one in memory; the platform's when
 *                      absent
 *   "scenario"         what the simulated node is like, as textproto
 *   "workingDirs"      ["C:\\var\\lib\\kubelet"]: the directories that paths may lead into
 *   "allowedServices"  the services that calls may start and stop; all when empty
 *   "allowPlainSmb"    true: SMB mappings need no encryption
 *   "maxCalls", "maxQueued", "maxCallSeconds"  limits of each API group
 *   "lockDirectory", "metricsBindAddress"      as NodeOptions has them
 *
 * `log` may be null: then lines go to standard error. `user` is passed to it.
 *
 * Returns 0 and sets `*node`; else a code, `*node` is 0 and `*error`, unless null, is the text:
 * FAILED_PRECONDITION when the library does not have ABI `abi_version`, INVALID_ARGUMENT naming the
 * option, UNIMPLEMENTED for this machine where it is no Windows node. */
CSI_PROXY_API int32_t csi_proxy_open(uint32_t abi_version, const char* options, size_t options_size,
                                     csi_proxy_log log, void* user, csi_proxy_node* node,
                                     csi_proxy_bytes* error);

/* Announces a call that csi_proxy_cancel may end. Returns 0, having set `*call`, which is for one
 * csi_proxy_invoke, and takes memory until that ends or the node is closed; NOT_FOUND when it is
 * closed already. */
CSI_PROXY_API int32_t csi_proxy_begin(csi_proxy_node node, csi_proxy_call* call);

/* Calls `method`, as "/v1.Volume/FormatVolume", and waits for its end on this thread.
 *
 * `call` is of csi_proxy_begin, and ends here; 0 when nobody will cancel. `timeout_ns` is how long
 * the call may take, in nanoseconds; below 0 for no limit of its own.
 *
 * Returns the code. With 0, `*response` is the response. Else `*message` is the text. Both may be
 * null; what is not set is emptied, and what they held before is not freed. Besides the rpc's own:
 * NOT_FOUND for a closed node or a call that is not announced, UNIMPLEMENTED for a method there is
 * not, INVALID_ARGUMENT for a request that is not a message of its type, CANCELLED. The methods of
 * csi_proxy.simulated.Admin, as "/csi_proxy.simulated.Admin/InjectFault", work on simulated nodes.
 */
CSI_PROXY_API int32_t csi_proxy_invoke(csi_proxy_node node, csi_proxy_call call, const char* method,
                                       const uint8_t* request, size_t request_size,
                                       int64_t timeout_ns, csi_proxy_bytes* response,
                                       csi_proxy_bytes* message);

/* Ends a call early, whether it is under way or only announced; returns at once. A call that has
 * ended is ignored. */
CSI_PROXY_API void csi_proxy_cancel(csi_proxy_call call);

/* Closes a node: takes no more calls, cancels those under way, waits until they have ended. Returns
 * 0; NOT_FOUND, at once, when another has closed it or is about to. */
CSI_PROXY_API int32_t csi_proxy_close(csi_proxy_node node);

/* Wipes and frees what the library handed out, and empties `*bytes`. Null is ignored. */
CSI_PROXY_API void csi_proxy_free(csi_proxy_bytes* bytes);

#ifdef __cplusplus
}
#endif

#endif /* CSI_PROXY_CSI_PROXY_H_ */
