// Null, huge or malformed arguments for every function of the C interface, and stale or forged
// handles.
#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "client/c/method_paths.h"
#include "client/c/testing.h"

namespace csi_proxy::c {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Sizes larger than any object in memory.
constexpr size_t kHuge[] = {size_t{1} << 31, SIZE_MAX / 2, SIZE_MAX};

bool IsUtf8(std::string_view text) {
  size_t more = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (more > 0) {
      if ((byte & 0xC0) != 0x80) return false;
      --more;
    } else if (byte >= 0x80) {
      if (byte < 0xC2 || byte > 0xF4) return false;
      more = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    }
  }
  return more == 0;
}

TEST(HostileOpenTest, WhatWasInTheErrorIsNotRead) {
  csi_proxy_node node = 7;
  uint8_t somebody_elses = 1;
  csi_proxy_bytes error = {&somebody_elses, 1};
  ASSERT_EQ(csi_proxy_open(1, kSimulated, sizeof(kSimulated) - 1, nullptr, nullptr, &node, &error),
            kOk);
  EXPECT_EQ(error.data, nullptr);
  EXPECT_EQ(error.size, 0u);
  EXPECT_EQ(csi_proxy_close(node), kOk);
}

TEST(HostileOpenTest, NullPointers) {
  csi_proxy_bytes error = {};
  EXPECT_EQ(
      csi_proxy_open(1, kSimulated, sizeof(kSimulated) - 1, nullptr, nullptr, nullptr, &error),
      kInvalidArgument);
  EXPECT_THAT(Take(&error), HasSubstr("node: is null"));
  csi_proxy_node node = 7;
  EXPECT_EQ(csi_proxy_open(1, nullptr, 1, nullptr, nullptr, &node, nullptr), kInvalidArgument);
  EXPECT_EQ(node, 0u);
  EXPECT_EQ(csi_proxy_open(2, nullptr, 0, nullptr, nullptr, nullptr, nullptr), kFailedPrecondition);
  // The log and the error's text may be omitted.
  EXPECT_EQ(csi_proxy_open(1, kSimulated, sizeof(kSimulated) - 1, nullptr, nullptr, &node, nullptr),
            kOk);
  EXPECT_EQ(csi_proxy_close(node), kOk);
}

TEST(HostileOpenTest, HugeOptions) {
  for (const size_t size : kHuge) {
    const Opened opened = Open(std::string_view(kSimulated, size));
    EXPECT_EQ(opened.code, kInvalidArgument);
    EXPECT_THAT(opened.error, HasSubstr("options"));
  }
  const std::string nested = "{\"workingDirs\": " + std::string(1'000'000, '[');
  EXPECT_EQ(Open(nested).code, kInvalidArgument);
  const std::string text = R"({"scenario": ")" + std::string(1'000'000, '(') + "\"}";
  EXPECT_EQ(Open(text).code, kInvalidArgument);
}

struct BadOptions {
  const char* json;
  const char* named;
};

TEST(HostileOpenTest, MalformedOptionsAreNamed) {
  constexpr BadOptions kBad[] = {
      {R"(})", "options"},
      {"{\"\xff\": 1}", "options"},
      {R"({"colour": 1})", "colour"},
      {R"({"node": "MARS"})", "node"},
      {R"({"node": "SIMULATED", "scenario": "disk {"})", "scenario:1:"},
      {R"({"node": "WINDOWS", "scenario": "disk {}"})", "scenario"},
      {R"({"node": "SIMULATED", "workingDirs": ["relative"]})", "working_dirs"},
      {R"({"node": "SIMULATED", "allowedServices": [{}]})", "allowed_services"},
      {R"({"node": "SIMULATED", "allowPlainSmb": "maybe"})", "allow_plain_smb"},
      {R"({"node": "SIMULATED", "maxCalls": 0})", "max_calls"},
      {R"({"node": "SIMULATED", "maxQueued": 0.5})", "max_queued"},
      {R"({"node": "SIMULATED", "maxCallSeconds": 0})", "max_call_seconds"},
      {R"({"node": "SIMULATED", "maxCallSeconds": "NaN"})", "max_call_seconds"},
      {R"({"node": "SIMULATED", "metricsBindAddress": "nowhere"})", "metrics_bind_address"},
  };
  for (const BadOptions& bad : kBad) {
    const Opened opened = Open(bad.json);
    EXPECT_EQ(opened.code, kInvalidArgument) << bad.json;
    EXPECT_EQ(opened.node, 0u) << bad.json;
    EXPECT_THAT(opened.error, HasSubstr(bad.named)) << bad.json;
    EXPECT_TRUE(IsUtf8(opened.error)) << opened.error;
  }
}

TEST(HostileInvokeTest, NullPointers) {
  const Node node;
  EXPECT_EQ(csi_proxy_invoke(node.handle, 0, kRescan, nullptr, 0, -1, nullptr, nullptr), kOk);
  EXPECT_EQ(csi_proxy_invoke(node.handle, 0, nullptr, nullptr, 0, -1, nullptr, nullptr),
            kInvalidArgument);
  EXPECT_EQ(
      csi_proxy_invoke(node.handle, 0, "/v1.Disk/ListDiskIDs", nullptr, 0, -1, nullptr, nullptr),
      kOk);
  csi_proxy_bytes message = {};
  EXPECT_EQ(csi_proxy_invoke(node.handle, 0, kRescan, nullptr, 1, -1, nullptr, &message),
            kInvalidArgument);
  EXPECT_THAT(Take(&message), HasSubstr("request: is null"));
  EXPECT_EQ(csi_proxy_begin(node.handle, nullptr), kInvalidArgument);
  csi_proxy_free(nullptr);
}

TEST(HostileInvokeTest, DoesNotReadOldResponsesAndMessages) {
  const Node node;
  uint8_t somebody_elses = 1;
  // An empty answer, another answer, and a failure: the output that is not set must be emptied.
  for (const char* const method : {kRescan, "/v1.Disk/ListDiskIDs", "/v1.Disk/Erase"}) {
    csi_proxy_bytes response = {&somebody_elses, 1}, message = {&somebody_elses, 1};
    const int32_t code =
        csi_proxy_invoke(node.handle, 0, method, nullptr, 0, -1, &response, &message);
    for (csi_proxy_bytes* const bytes : {&response, &message}) {
      EXPECT_NE(bytes->data, &somebody_elses) << method;
      EXPECT_EQ(bytes->data == nullptr, bytes->size == 0) << method;
    }
    EXPECT_EQ(message.size == 0, code == kOk) << method;
    EXPECT_EQ(response.size != 0, method == std::string_view("/v1.Disk/ListDiskIDs"));
    csi_proxy_free(&response);
    csi_proxy_free(&message);
  }
  EXPECT_EQ(somebody_elses, 1);
}

TEST(HostileInvokeTest, MethodsThereAreNot) {
  const Node node;
  const std::string long_name = "/v1.Disk/" + std::string(1 << 20, 'R');
  for (const char* const method :
       {"", "v1.Disk/Rescan", "/v1.Disk/rescan", "/v1.Disk/Rescan/", "%s%n%s%n",
        "/v1.Disk/\xff\xfe", "/csi_proxy.simulated.Admin/Conquer", long_name.c_str()}) {
    const Result result = node.Call(method);
    EXPECT_EQ(result.code, kUnimplemented) << method;
    EXPECT_THAT(result.message, Not(IsEmpty()));
    EXPECT_TRUE(IsUtf8(result.message)) << method;
    EXPECT_THAT(result.response, IsEmpty());
  }
}

TEST(HostileInvokeTest, RequestsThatAreNoMessages) {
  const Node node;
  // Deeply nested groups, which every parser must skip.
  const std::string groups(1'000'000, '\x0b');
  const std::string_view requests[] = {
      "\xff",                                          // half a tag
      "\x0a\x05\141bc",                                // less than its length
      "\x0a\xff\xff\xff\xff\x7f",                      // a length of 32 GiB
      "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  // the largest length
      groups,
  };
  for (const char* const method : kMethodPaths) {
    for (const std::string_view request : requests) {
      const Result result = node.Call(method, request);
      EXPECT_EQ(result.code, kInvalidArgument) << method;
      EXPECT_THAT(result.message, Not(IsEmpty())) << method;
      EXPECT_TRUE(IsUtf8(result.message)) << method;
    }
    for (const size_t size : kHuge) {
      EXPECT_EQ(node.Call(method, std::string_view("", size)).code, kInvalidArgument) << method;
    }
  }
  EXPECT_THAT(node.lines.all(), IsEmpty());
}

TEST(HostileHandlesTest, ForgedStaleAndOfAnotherKind) {
  const Node node;
  csi_proxy_node stale = Open(kSimulated).node;
  ASSERT_EQ(csi_proxy_close(stale), kOk);
  const csi_proxy_call call = node.Begin();
  for (const csi_proxy_node wrong :
       {csi_proxy_node{0}, stale, call, node.handle + 1000, UINT64_MAX}) {
    EXPECT_EQ(Invoke(wrong, kRescan).code, kNotFound) << wrong;
    EXPECT_THAT(Invoke(wrong, kRescan).message, HasSubstr("node"));
    csi_proxy_call begun = 7;
    EXPECT_EQ(csi_proxy_begin(wrong, &begun), kNotFound) << wrong;
    EXPECT_EQ(begun, 0u);
    EXPECT_EQ(csi_proxy_begin(wrong, nullptr), kInvalidArgument) << wrong;
    EXPECT_EQ(csi_proxy_close(wrong), kNotFound) << wrong;
  }
  for (const csi_proxy_call forged : {node.handle, stale, call + 1000, UINT64_MAX}) {
    csi_proxy_cancel(forged);
    const Result result = node.Call(kRescan, "", {.call = forged});
    EXPECT_EQ(result.code, kNotFound) << forged;
    EXPECT_THAT(result.message, HasSubstr("call"));
  }
  csi_proxy_cancel(0);
  EXPECT_EQ(node.Call(kRescan, "", {.call = call}).code, kOk) << "nobody has cancelled it";
}

TEST(HostileHandlesTest, NumbersAreNeverUsedAgain) {
  csi_proxy_node last = 0;
  for (int i = 0; i < 20; ++i) {
    const csi_proxy_node node = Open(kSimulated).node;
    EXPECT_GT(node, last);
    csi_proxy_call call = 0;
    EXPECT_EQ(csi_proxy_begin(node, &call), kOk);
    EXPECT_GT(call, node);
    last = call;
    EXPECT_EQ(csi_proxy_close(node), kOk);
    EXPECT_EQ(csi_proxy_close(node), kNotFound);
  }
}

}  // namespace
}  // namespace csi_proxy::c
