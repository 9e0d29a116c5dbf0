/* The C interface as a C program uses it: a raw disk becomes a mounted volume, with messages that
 * are written by hand. Prints each check that fails, and then returns EXIT_FAILURE. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csi_proxy/csi_proxy.h"

#define SECOND INT64_C(1000000000)

/* Codes of gRPC. */
enum { OK = 0, INVALID_ARGUMENT = 3, NOT_FOUND = 5, FAILED_PRECONDITION = 9, UNIMPLEMENTED = 12 };

static const char kSimulated[] = "{\"node\": \"SIMULATED\"}";
static const char kTarget[] = "C:\\var\\lib\\kubelet\\pods\\1\\mount";

static int failures = 0;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

/* Ends the program if this or an earlier check fails, because the next call needs the condition. */
#define REQUIRE(condition)                \
  do {                                    \
    CHECK(condition);                     \
    if (failures > 0) exit(EXIT_FAILURE); \
  } while (0)

/* Counts the lines of the log. All calls of the callback come from one thread. */
struct log {
  size_t lines;
  size_t audits;
  char last_audit[512];
};

static int contains(const char* text, size_t size, const char* part) {
  const size_t length = strlen(part);
  for (size_t i = 0; i + length <= size; ++i) {
    if (memcmp(text + i, part, length) == 0) return 1;
  }
  return 0;
}

static int holds(csi_proxy_bytes bytes, const char* part) {
  return contains((const char*)bytes.data, bytes.size, part);
}

static void take_line(void* user, int32_t severity, const char* line, size_t size) {
  struct log* const log = user;
  ++log->lines;
  CHECK(severity >= 0 && severity <= 2);
  if (!contains(line, size, "audit ")) return;
  ++log->audits;
  const size_t kept = size < sizeof(log->last_audit) ? size : sizeof(log->last_audit) - 1;
  memcpy(log->last_audit, line, kept);
  log->last_audit[kept] = '\0';
}

/* A message under construction. */
struct request {
  uint8_t bytes[512];
  size_t size;
};

/* Adds a string field of less than 128 bytes: its number and type, its length, its bytes. */
static void add_text(struct request* request, int field, const void* text, size_t size) {
  REQUIRE(size < 128 && request->size + 2 + size <= sizeof(request->bytes));
  request->bytes[request->size++] = (uint8_t)(field << 3 | 2);
  request->bytes[request->size++] = (uint8_t)size;
  memcpy(request->bytes + request->size, text, size);
  request->size += size;
}

/* Makes a call that must succeed. The caller must free the response. */
static csi_proxy_bytes call(csi_proxy_node node, const char* method, const void* request,
                            size_t size) {
  csi_proxy_bytes response = {0}, message = {0};
  const int32_t code =
      csi_proxy_invoke(node, 0, method, request, size, 30 * SECOND, &response, &message);
  if (code != OK) {
    fprintf(stderr, "%s: %d %.*s\n", method, (int)code, (int)message.size, (char*)message.data);
  }
  REQUIRE(code == OK);
  CHECK(message.data == NULL && message.size == 0);
  return response;
}

/* Makes a call that must succeed with an empty response. */
static void change(csi_proxy_node node, const char* method, const void* request, size_t size) {
  csi_proxy_bytes response = call(node, method, request, size);
  CHECK(response.data == NULL && response.size == 0);
  csi_proxy_free(&response);
}

static void test_versions(void) {
  CHECK(csi_proxy_abi_version() == CSI_PROXY_ABI_VERSION);
  CHECK(strchr(csi_proxy_version(), '.') != NULL);

  csi_proxy_node node = 7;
  csi_proxy_bytes error = {0};
  CHECK(csi_proxy_open(CSI_PROXY_ABI_VERSION + 1, kSimulated, strlen(kSimulated), NULL, NULL, &node,
                       &error) == FAILED_PRECONDITION);
  CHECK(node == 0);
  CHECK(holds(error, "abi_version: the program was built for 2, this library has 1"));
  csi_proxy_free(&error);
  CHECK(error.data == NULL && error.size == 0);
}

static csi_proxy_node open_node(struct log* log) {
  csi_proxy_node node = 0;
  csi_proxy_bytes error = {0};
  const int32_t code = csi_proxy_open(CSI_PROXY_ABI_VERSION, kSimulated, strlen(kSimulated),
                                      take_line, log, &node, &error);
  if (code != OK) fprintf(stderr, "open: %d %.*s\n", (int)code, (int)error.size, (char*)error.data);
  REQUIRE(code == OK && node != 0);
  CHECK(error.data == NULL && error.size == 0);
  return node;
}

static void test_volume(csi_proxy_node node, struct log* log) {
  csi_proxy_bytes response = call(node, "/v1.Disk/ListDiskIDs", NULL, 0);
  CHECK(holds(response, "60022480a1b2c3d4e5f60718293a4b5c"));
  csi_proxy_free(&response);
  CHECK(log->lines == 0);

  static const uint8_t kDisk1[] = {0x08, 0x01}; /* field 1, a number: 1 */
  change(node, "/v1.Disk/PartitionDisk", kDisk1, sizeof(kDisk1));
  CHECK(log->audits == 1 && strstr(log->last_audit, "method=PartitionDisk") != NULL);

  /* One volume id, as field 1. */
  csi_proxy_bytes volumes = call(node, "/v1.Volume/ListVolumesOnDisk", kDisk1, sizeof(kDisk1));
  REQUIRE(volumes.size > 2 && volumes.data[0] == 0x0a && volumes.data[1] == volumes.size - 2);
  CHECK(holds(volumes, "\\\\?\\Volume{"));
  struct request volume = {{0}, 0};
  add_text(&volume, 1, volumes.data + 2, volumes.size - 2);
  csi_proxy_free(&volumes);

  static const uint8_t kTrue[] = {0x08, 0x01}; /* field 1, true; false is not written */
  response = call(node, "/v1.Volume/IsVolumeFormatted", volume.bytes, volume.size);
  CHECK(response.size == 0);
  csi_proxy_free(&response);
  change(node, "/v1.Volume/FormatVolume", volume.bytes, volume.size);
  response = call(node, "/v1.Volume/IsVolumeFormatted", volume.bytes, volume.size);
  CHECK(response.size == sizeof(kTrue) && memcmp(response.data, kTrue, sizeof(kTrue)) == 0);
  csi_proxy_free(&response);

  struct request directory = {{0}, 0};
  add_text(&directory, 1, kTarget, strlen(kTarget));
  change(node, "/v1.Filesystem/Mkdir", directory.bytes, directory.size);
  struct request mount = volume;
  add_text(&mount, 2, kTarget, strlen(kTarget));
  change(node, "/v1.Volume/MountVolume", mount.bytes, mount.size);
  CHECK(log->audits == 4 && strstr(log->last_audit, "method=MountVolume") != NULL);

  response = call(node, "/v1.Volume/GetVolumeIDFromTargetPath", directory.bytes, directory.size);
  CHECK(response.size == volume.size && memcmp(response.data, volume.bytes, volume.size) == 0);
  csi_proxy_free(&response);
  change(node, "/v1.Volume/UnmountVolume", mount.bytes, mount.size);
}

/* Makes a call that must fail with `expected`, and with a text that contains `part`. */
static void refuse(csi_proxy_node node, const char* method, const char* request, int32_t expected,
                   const char* part) {
  csi_proxy_bytes response = {0}, message = {0};
  const int32_t code = csi_proxy_invoke(node, 0, method, (const uint8_t*)request, strlen(request),
                                        30 * SECOND, &response, &message);
  CHECK(code == expected);
  CHECK(holds(message, part));
  CHECK(response.data == NULL && response.size == 0);
  csi_proxy_free(&message);
  csi_proxy_free(&response);
}

static void test_errors(csi_proxy_node node) {
  refuse(node, "/v1.Disk/PartitionDisk", "\x08\x4d", NOT_FOUND, "there is no disk 77");
  refuse(node, "/v1.Disk/PartitionDisk", "\x08", INVALID_ARGUMENT, "not a v1.PartitionDiskRequest");
  refuse(node, "/v1.Disk/Erase", "", UNIMPLEMENTED, "/v1.Disk/Erase");
  refuse(node, "/v1.Filesystem/Mkdir", "\x0a\x02..", INVALID_ARGUMENT, "path");
}

static void test_cancel(csi_proxy_node node) {
  csi_proxy_call announced = 0;
  REQUIRE(csi_proxy_begin(node, &announced) == OK && announced != 0);
  csi_proxy_cancel(announced);
  csi_proxy_bytes message = {0};
  CHECK(csi_proxy_invoke(node, announced, "/v1.Disk/Rescan", NULL, 0, -1, NULL, &message) == 1);
  CHECK(message.size > 0);
  csi_proxy_free(&message);
  csi_proxy_cancel(announced);
}

static void test_close(csi_proxy_node node, const struct log* log) {
  CHECK(csi_proxy_close(node) == OK);
  const size_t lines = log->lines;
  refuse(node, "/v1.Disk/PartitionDisk", "\x08\x02", NOT_FOUND, "node: is closed");
  csi_proxy_call announced = 7;
  CHECK(csi_proxy_begin(node, &announced) == NOT_FOUND && announced == 0);
  CHECK(csi_proxy_close(node) == NOT_FOUND);
  CHECK(log->lines == lines);
  csi_proxy_free(NULL);
}

int main(void) {
  struct log log = {0};
  test_versions();
  const csi_proxy_node node = open_node(&log);
  test_volume(node, &log);
  test_errors(node);
  test_cancel(node);
  test_close(node, &log);
  if (failures > 0) return EXIT_FAILURE;
  printf("csi_proxy %s, ABI %u: passed, %u lines of log\n", csi_proxy_version(),
         (unsigned)csi_proxy_abi_version(), (unsigned)log.lines);
  return EXIT_SUCCESS;
}
