// The names of an rpc.
#pragma once

namespace csi_proxy::rpc {

// The names and properties of one rpc of one version. Constants of the generated code; the strings
// are static.
struct MethodInfo {
  const char* group;
  const char* version;
  const char* service;  // `v1.Volume`, the name in the rpc's path
  const char* method;
  const char* pipe;  // `csi-proxy-volume-v1`
  const char* path;  // `/v1.Volume/MountVolume`
  // True if the rpc does not change the node: NO_SIDE_EFFECTS of the hub's method.
  bool reads = false;
  // True if the request may hold a secret, such as a password.
  bool has_secrets = false;
};

}  // namespace csi_proxy::rpc
