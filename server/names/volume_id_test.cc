#include "server/names/volume_id.h"

#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace csi_proxy {
namespace {

constexpr char kCanonical[] = R"(\\?\Volume{0123abcd-89ab-cdef-0123-456789abcdef}\)";

TEST(VolumeIdTest, ParseAcceptsAnyCaseWithAndWithoutTheBackslash) {
  for (const char* text : {kCanonical, R"(\\?\Volume{0123abcd-89ab-cdef-0123-456789abcdef})",
                           R"(\\?\VOLUME{0123ABCD-89AB-CDEF-0123-456789ABCDEF}\)"}) {
    const auto id = VolumeId::Parse(text);
    ASSERT_TRUE(id.ok()) << id.status();
    EXPECT_EQ(id->ToString(), kCanonical);
    EXPECT_EQ(id->guid(), "0123abcd-89ab-cdef-0123-456789abcdef");
  }
}

TEST(VolumeIdTest, ParseRefusesAnyOtherText) {
  for (const std::string& text : std::vector<std::string>{
           "", "\\", "C:", "{0123abcd-89ab-cdef-0123-456789abcdef}",
           R"(\\.\Volume{0123abcd-89ab-cdef-0123-456789abcdef}\)",
           R"(\\?\Volume{0123abcd-89ab-cdef-0123-456789abcde}\)",
           R"(\\?\Volume{0123abcd-89ab-cdef-0123-456789abcdef0}\)",
           R"(\\?\Volume{0123abcd_89ab_cdef_0123_456789abcdef}\)",
           R"(\\?\Volume{0123abcg-89ab-cdef-0123-456789abcdef}\)",
           R"(\\?\Volume{0123abcd-89ab-cdef-0123-456789abcdef}\\)",
           R"(\\?\Volume{0123abcd-89ab-cdef-0123-456789abcdef}\a)",
           R"(\\?\Volume{0123abcd-89ab-cdef-0123-456789abcdef}' OR 1=1 --)",
           std::string(kCanonical) + std::string(1, '\0'), std::string(70'000, 'a')}) {
    const auto id = VolumeId::Parse(text);
    EXPECT_TRUE(absl::IsInvalidArgument(id.status())) << text.substr(0, 100);
    EXPECT_TRUE(absl::StartsWith(id.status().message(), "volume_id: ")) << id.status();
    EXPECT_LT(id.status().message().size(), 400u);
  }
}

TEST(VolumeIdTest, TheErrorQuotesTheBeginningOfARefusedId) {
  const auto refusal = [](const std::string& text) {
    return std::string(VolumeId::Parse(text).status().message());
  };
  const std::string rule =
      R"( is not a volume id such as \\?\Volume{01234567-89ab-cdef-0123-456789abcdef}\)";
  EXPECT_EQ(refusal("a\n"), R"(volume_id: "a\n")" + rule);
  const std::string most(64, 'v');
  EXPECT_EQ(refusal(most), "volume_id: \"" + most + "\"" + rule);
  EXPECT_EQ(refusal(most + "w"), "volume_id: \"" + most + "...\"" + rule);
}

}  // namespace
}  // namespace csi_proxy
