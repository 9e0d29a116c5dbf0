/* What node-driver-registrar and livenessprobe do for a CSI driver on a node, from inside the
 * driver and for any language: registers it with the kubelet, and answers /healthz.
 *
 *   const char options[] =
 *       "{\"csiAddress\": \"unix:///csi/csi.sock\","
 *       " \"registrar\": {"
 *       "   \"kubeletRegistrationPath\": \"/var/lib/kubelet/plugins/example.csi.k8s.io/csi.sock\","
 *       "   \"pluginRegistrationPath\": \"/registration\"},"
 *       " \"livenessprobe\": {}}";
 *   csi_proxy_sidecars sidecars;
 *   csi_proxy_bytes error = {0};
 *   if (csi_proxy_sidecars_start(CSI_PROXY_SIDECARS_ABI_VERSION, options, strlen(options), NULL,
 *                                &sidecars, &error) != 0) ...
 *   ...
 *   csi_proxy_sidecars_stop(sidecars);
 *
 * It is a library of its own, beside csi_proxy.h's: libcsi_proxy_sidecars_c.so.1,
 * csi_proxy_sidecars.dll. Its rules are those of csi_proxy.h: every function may be called by any
 * thread at any time; handles are numbers and never reused; codes are those of gRPC, from 0 (OK) to
 * 16, and texts are UTF-8; no function throws, and none ends the process. Once loaded it stays.
 */
#ifndef CSI_PROXY_CSI_PROXY_SIDECARS_H_
#define CSI_PROXY_CSI_PROXY_SIDECARS_H_

/* For csi_proxy_bytes and csi_proxy_log. */
#include "csi_proxy/csi_proxy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when programs built for an earlier version would no longer work. */
#define CSI_PROXY_SIDECARS_ABI_VERSION 1u

/* Sidecars that were started. 0 is none. */
typedef uint64_t csi_proxy_sidecars;

/* What is called back, on threads of the library; each may be null. Nothing is called any more once
 * csi_proxy_sidecars_stop has returned. None of them may stop sidecars: that is refused. `user` is
 * passed to all. */
typedef struct csi_proxy_sidecars_callbacks {
  void* user;
  /* Takes the lines of the log, which otherwise go to standard error. Must not call the library. */
  csi_proxy_log log;
  /* The kubelet refuses the driver, with its reason. It tries again by itself as long as the
   * registration socket is there. Must return soon: until then the kubelet has no answer. The text
   * is only valid during the call. */
  void (*refused)(void* user, const char* reason, size_t size);
  /* At most once: the sidecars cannot go on, because the driver did not come in time, or an address
   * cannot be listened on. They have to be stopped all the same. */
  void (*failed)(void* user, int32_t code, const char* why, size_t size);
} csi_proxy_sidecars_callbacks;

/* The library's ABI version. */
CSI_PROXY_API uint32_t csi_proxy_sidecars_abi_version(void);

/* The release, such as "2.0.0". Static. */
CSI_PROXY_API const char* csi_proxy_sidecars_version(void);

/* Starts sidecars, and returns at once: they wait for the driver, so they may be started before the
 * driver serves. `options` is a JSON object of `options_size` bytes, whose fields are those of
 * client/sidecars/c/options.proto; csi_proxy/sidecars.h says more about each:
 *
 *   "csiAddress"             the driver's socket: a path, or "unix://" and a path. Required
 *   "driverName"             otherwise the driver is asked
 *   "connectTimeoutSeconds"  how long the driver is waited for; without end if absent
 *   "registrar"              an object; absent: the driver is not registered
 *     "kubeletRegistrationPath"  where the kubelet finds the driver's socket. Required
 *     "pluginRegistrationPath"   the kubelet's directory of sockets of plugins. Required
 *     "timeoutSeconds", "markerFile", "httpEndpoint"
 *   "livenessprobe"          an object, which may be empty; absent: /healthz is not served
 *     "httpEndpoint"             "0.0.0.0:9808" if absent
 *     "probeTimeoutSeconds", "metricsAddress", "metricsPath", "serveMetrics"
 *
 * `callbacks` may be null, and is only read during the call.
 *
 * Returns 0 and sets `*sidecars`. On failure returns a code, sets `*sidecars` to 0 and, unless
 * `error` is null, `*error` to the text, which csi_proxy_sidecars_free frees: FAILED_PRECONDITION
 * if the library has another ABI version, INVALID_ARGUMENT naming the option. */
CSI_PROXY_API int32_t csi_proxy_sidecars_start(uint32_t abi_version, const char* options,
                                               size_t options_size,
                                               const csi_proxy_sidecars_callbacks* callbacks,
                                               csi_proxy_sidecars* sidecars,
                                               csi_proxy_bytes* error);

/* Sets `*registered` to 1 if the kubelet has accepted the driver since the registration socket was
 * made, otherwise to 0. Returns 0; NOT_FOUND if the sidecars are stopped. */
CSI_PROXY_API int32_t csi_proxy_sidecars_registered(csi_proxy_sidecars sidecars,
                                                    int32_t* registered);

/* Stops sidecars: the registration socket is removed if it is still theirs, which makes the kubelet
 * deregister the driver. Then waits for requests under way, which takes a few seconds. Returns 0;
 * or, at once, NOT_FOUND if another thread has stopped them or is stopping them, and
 * FAILED_PRECONDITION if it is called by a callback. */
CSI_PROXY_API int32_t csi_proxy_sidecars_stop(csi_proxy_sidecars sidecars);

/* Frees what csi_proxy_sidecars_start handed out, and empties `*bytes`. Null is ignored. */
CSI_PROXY_API void csi_proxy_sidecars_free(csi_proxy_bytes* bytes);

#ifdef __cplusplus
}
#endif

#endif /* CSI_PROXY_CSI_PROXY_SIDECARS_H_ */
