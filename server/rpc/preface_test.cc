#include "server/rpc/preface.h"

#include <string>

#include "gtest/gtest.h"

namespace csi_proxy::transport {
namespace {

TEST(PrefaceTest, EveryProperPrefixIsPartial) {
  for (size_t n = 0; n < kHttp2Preface.size(); ++n) {
    EXPECT_EQ(MatchPreface(kHttp2Preface.substr(0, n)), PrefaceMatch::kPartial) << n;
  }
}

TEST(PrefaceTest, CompleteWithAndWithoutWhatFollows) {
  EXPECT_EQ(MatchPreface(kHttp2Preface), PrefaceMatch::kComplete);
  EXPECT_EQ(MatchPreface(std::string(kHttp2Preface) + std::string("\0\0\0\4", 4)),
            PrefaceMatch::kComplete);
}

TEST(PrefaceTest, OneWrongByteAnywhereIsAMismatch) {
  for (size_t n = 0; n < kHttp2Preface.size(); ++n) {
    std::string bytes(kHttp2Preface);
    bytes[n] ^= 1;
    EXPECT_EQ(MatchPreface(bytes), PrefaceMatch::kMismatch) << n;
    EXPECT_EQ(MatchPreface(bytes.substr(0, n + 1)), PrefaceMatch::kMismatch) << n;
  }
  EXPECT_EQ(MatchPreface("GET / HTTP/1.1\r\n"), PrefaceMatch::kMismatch);
}

}  // namespace
}  // namespace csi_proxy::transport
