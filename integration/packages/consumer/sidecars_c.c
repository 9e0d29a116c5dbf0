/* The sidecars by their C interface: options that are wrong, and a driver that does not come. */
#include <stdio.h>
#include <string.h>

#include "csi_proxy/csi_proxy_sidecars.h"

int main(void) {
  const char wrong[] = "{\"colour\": 1}";
  const char options[] = "{\"csiAddress\": \"/nowhere/csi.sock\", \"livenessprobe\": {}}";
  csi_proxy_sidecars sidecars = 0;
  csi_proxy_bytes text = {0};
  const int32_t refused = csi_proxy_sidecars_start(CSI_PROXY_SIDECARS_ABI_VERSION, wrong,
                                                   strlen(wrong), NULL, &sidecars, &text);
  printf("%s: %d %.*s\n", csi_proxy_sidecars_version(), (int)refused, (int)text.size,
         (const char*)text.data);
  csi_proxy_sidecars_free(&text);
  if (csi_proxy_sidecars_start(CSI_PROXY_SIDECARS_ABI_VERSION, options, strlen(options), NULL,
                               &sidecars, &text) != 0) {
    fprintf(stderr, "%.*s\n", (int)text.size, (const char*)text.data);
    return 1;
  }
  return refused != 3 || csi_proxy_sidecars_stop(sidecars) != 0;
}
