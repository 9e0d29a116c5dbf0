/* The sidecars as a C program uses them, with a driver that does not come. */
#include <stdio.h>
#include <string.h>

#include "csi_proxy/csi_proxy_sidecars.h"

static int failures = 0;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

int main(void) {
  const char options[] =
      "{\"csiAddress\": \"unix:///none/csi.sock\","
      " \"registrar\": {"
      "   \"kubeletRegistrationPath\": \"/var/lib/kubelet/plugins/a.b/csi.sock\","
      "   \"pluginRegistrationPath\": \"/registration\"},"
      " \"livenessprobe\": {}}";
  const char unknown[] = "{\"colour\": 1}";
  csi_proxy_sidecars sidecars = 7;
  csi_proxy_bytes error = {0};
  int32_t registered = 7;
  CHECK(csi_proxy_sidecars_abi_version() == CSI_PROXY_SIDECARS_ABI_VERSION);
  CHECK(strlen(csi_proxy_sidecars_version()) > 0);
  CHECK(csi_proxy_sidecars_start(CSI_PROXY_SIDECARS_ABI_VERSION, unknown, strlen(unknown), NULL,
                                 &sidecars, &error) == 3);
  CHECK(sidecars == 0 && error.size > 0);
  fprintf(stderr, "%.*s\n", (int)error.size, (const char*)error.data);
  csi_proxy_sidecars_free(&error);
  CHECK(error.data == NULL && error.size == 0);
  CHECK(csi_proxy_sidecars_start(CSI_PROXY_SIDECARS_ABI_VERSION, options, strlen(options), NULL,
                                 &sidecars, &error) == 0);
  CHECK(sidecars != 0 && error.size == 0);
  CHECK(csi_proxy_sidecars_registered(sidecars, &registered) == 0 && registered == 0);
  CHECK(csi_proxy_sidecars_stop(sidecars) == 0);
  CHECK(csi_proxy_sidecars_stop(sidecars) == 5);
  return failures > 0;
}
