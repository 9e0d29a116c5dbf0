/* The C interface, from C: a call that succeeds, and one that does not. */
#include <stdio.h>

#include "csi_proxy/csi_proxy.h"

int main(void) {
  /* The path of a PathExistsRequest. */
  const uint8_t request[] =
      "\x0a\x14"
      "C:\\var\\lib\\kubelet\\c";
  const int64_t seconds = 30 * (int64_t)1000000000;
  csi_proxy_node node;
  csi_proxy_bytes text = {0};
  if (csi_proxy_open(CSI_PROXY_ABI_VERSION, NULL, 0, NULL, NULL, &node, &text)) {
    fprintf(stderr, "%.*s\n", (int)text.size, (const char*)text.data);
    return 1;
  }
  const int exists = csi_proxy_invoke(node, 0, "/v1.Filesystem/PathExists", request,
                                      sizeof(request) - 1, seconds, NULL, NULL);
  const int none = csi_proxy_invoke(node, 0, "/v1.Disk/None", NULL, 0, seconds, NULL, &text);
  fprintf(stderr, "%s: %d, %d %.*s\n", csi_proxy_version(), exists, none, (int)text.size,
          (const char*)text.data);
  csi_proxy_free(&text);
  return exists == 0 && none == 12 && csi_proxy_close(node) == 0 ? 0 : 1;
}
