#include "server/http/host_port.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy {
namespace {

using ::testing::HasSubstr;

TEST(HostPortTest, ParseAcceptsAHostWithAPortOrAPortAlone) {
  const struct {
    const char* text;
    HostPort address;
  } kTaken[] = {
      {"10.0.0.1:9090", {"10.0.0.1", 9090}},
      {"node.example:1", {"node.example", 1}},
      {":9090", {"", 9090}},
      {"0.0.0.0:0", {"0.0.0.0", 0}},
      {"[::1]:65535", {"::1", 65535}},
      {"[::]:9090", {"::", 9090}},
      {"[fe80::1%eth0]:9090", {"fe80::1%eth0", 9090}},
  };
  for (const auto& taken : kTaken) {
    const auto address = HostPort::Parse("--flag", taken.text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(*address, taken.address) << taken.text;
    EXPECT_EQ(ToString(*address), taken.text);
  }
}

TEST(HostPortTest, ErrorsNameTheFlagAndTheAllowedForms) {
  for (const char* wrong : {"", "9807", "host", "10.0.0.1", ":", "host:", ":x", ":-1", ":+1", ": 1",
                            ":1 ", ":65536", ":4294967297", "0x1:0x1", "9807,:9808"}) {
    const auto address = HostPort::Parse("--flag", wrong);
    EXPECT_TRUE(absl::IsInvalidArgument(address.status())) << wrong;
    EXPECT_THAT(std::string(address.status().message()), HasSubstr("--flag: \"")) << wrong;
  }
  EXPECT_THAT(std::string(HostPort::Parse("--flag", "9807").status().message()),
              HasSubstr("\"9807\" is neither HOST:PORT nor :PORT, with a port from 0 to 65535"));
  for (const char* wrong : {"::1:9090", "[::1:9090", "::1]:9090", "[10.0.0.1]:9090", "[]:9090",
                            "+9807:1", "a,b:1", "http://a:1", "a b:1"}) {
    EXPECT_THAT(std::string(HostPort::Parse("--flag", wrong).status().message()),
                HasSubstr("has no valid host; IPv6 is written [::1]:PORT"))
        << wrong;
  }
}

TEST(HostPortTest, OnlyLoopbackAddressesAreLoopback) {
  for (const char* host : {"127.0.0.1", "127.255.0.9", "::1"}) {
    EXPECT_TRUE(IsLoopback({host, 1})) << host;
  }
  for (const char* host : {"", "localhost", "127.0.0.1.example", "0.0.0.0", "128.0.0.1",
                           "::", "fe80::1", "::ffff:10.0.0.1", "10.0.0.1"}) {
    EXPECT_FALSE(IsLoopback({host, 1})) << host;
  }
}

}  // namespace
}  // namespace csi_proxy
