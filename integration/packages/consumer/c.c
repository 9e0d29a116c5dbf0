/* The C interface, from C: a call that succeeds, and one that does not. */
#include <stdio.h>
#include <string.h>

#include "csi_proxy/csi_proxy.h"

int main(void) {
  const char options[] = "{\"node\": \"SIMULATED\"}";
  const int64_t second = 1000000000;
  csi_proxy_node node;
  csi_proxy_bytes text = {0};
  if (csi_proxy_open(CSI_PROXY_ABI_VERSION, options, strlen(options), NULL, NULL, &node, &text)) {
    fprintf(stderr, "%.*s\n", (int)text.size, (const char*)text.data);
    return 1;
  }
  const int rescan = csi_proxy_invoke(node, 0, "/v1.Disk/Rescan", NULL, 0, second, NULL, NULL);
  const int none = csi_proxy_invoke(node, 0, "/v1.Disk/None", NULL, 0, second, NULL, &text);
  fprintf(stderr, "%s: %d, %d %.*s\n", csi_proxy_version(), rescan, none, (int)text.size,
          (const char*)text.data);
  csi_proxy_free(&text);
  return rescan == 0 && none == 12 && csi_proxy_close(node) == 0 ? 0 : 1;
}
