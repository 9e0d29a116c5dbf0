#include "server/transport/wire.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace csi_proxy::transport {
namespace {

using Event = MessageReader::Event;

TEST(MessageReaderTest, MessagesAreFoundHoweverTheBytesAreSplit) {
  const std::vector<std::string> messages = {"", "a", std::string(300, 'b'), "", "cd"};
  std::string bytes;
  for (const std::string& message : messages) AppendMessage(message, &bytes);
  for (size_t step = 1; step <= bytes.size(); ++step) {
    MessageReader reader;
    std::vector<std::string> found;
    for (size_t at = 0; at < bytes.size(); at += step) {
      absl::string_view piece = absl::string_view(bytes).substr(at, step);
      for (Event event; (event = reader.Take(&piece)) != Event::kNeedsMore;) {
        if (event == Event::kMessage) found.push_back(reader.TakeMessage());
      }
    }
    EXPECT_EQ(found, messages) << step;
    EXPECT_TRUE(reader.at_start()) << step;
  }
}

TEST(MessageReaderTest, APrefixContainsFlagsAndALength) {
  MessageReader reader;
  EXPECT_TRUE(reader.at_start());
  absl::string_view bytes(
      "\x81\xff\x02\x03\x04"
      "xy",
      7);
  EXPECT_EQ(reader.Take(&bytes), Event::kPrefix);
  EXPECT_EQ(reader.flags(), 0x81);
  EXPECT_EQ(reader.length(), 0xff020304u);
  EXPECT_EQ(bytes, "xy");
  EXPECT_TRUE(reader.in_message());
  EXPECT_FALSE(reader.at_start());
  EXPECT_EQ(reader.Take(&bytes), Event::kNeedsMore);
  EXPECT_EQ(reader.kept(), 2u);
  EXPECT_EQ(reader.missing(), 0xff020302u);
}

TEST(MessageReaderTest, AReaderInsideAPrefixIsNotAtTheStart) {
  MessageReader reader;
  absl::string_view bytes("\0", 1);
  EXPECT_EQ(reader.Take(&bytes), Event::kNeedsMore);
  EXPECT_FALSE(reader.at_start());
  EXPECT_FALSE(reader.in_message());
}

TEST(TimeoutTest, EachUnitIsParsed) {
  EXPECT_EQ(ParseTimeout("1H"), absl::Hours(1));
  EXPECT_EQ(ParseTimeout("2M"), absl::Minutes(2));
  EXPECT_EQ(ParseTimeout("3S"), absl::Seconds(3));
  EXPECT_EQ(ParseTimeout("40m"), absl::Milliseconds(40));
  EXPECT_EQ(ParseTimeout("500u"), absl::Microseconds(500));
  EXPECT_EQ(ParseTimeout("6000000n"), absl::Milliseconds(6));
  EXPECT_EQ(ParseTimeout("0S"), absl::ZeroDuration());
}

TEST(TimeoutTest, EightDigitsDoNotOverflow) {
  EXPECT_EQ(ParseTimeout("99999999H"), absl::Hours(99999999));
  EXPECT_LT(*ParseTimeout("99999999H"), absl::InfiniteDuration());
  EXPECT_GT(*ParseTimeout("99999999H"), absl::Hours(24 * 365 * 10000));
}

TEST(TimeoutTest, MalformedTimeoutsAreRefused) {
  for (const char* text :
       {"", "S", "1", "123456789S", "-1S", "+1S", "1.5S", " 1S", "1 S", "1s", "1h", "1SS"}) {
    EXPECT_EQ(ParseTimeout(text), std::nullopt) << text;
  }
}

TEST(ContentTypeTest, GrpcContentTypesWithAnyFormatAreAccepted) {
  for (const char* text : {"application/grpc", "application/grpc+proto",
                           "application/grpc;charset=utf-8", "Application/gRPC"}) {
    EXPECT_TRUE(IsGrpcContentType(text)) << text;
  }
  for (const char* text :
       {"", "application/grp", "application/grpc-web", "application/json", "text/grpc"}) {
    EXPECT_FALSE(IsGrpcContentType(text)) << text;
  }
}

TEST(StatusTextTest, OnlyPrintableAsciiStaysUnencoded) {
  EXPECT_EQ(EncodeStatusText(" a~"), " a~");
  EXPECT_EQ(EncodeStatusText("100%"), "100%25");
  EXPECT_EQ(EncodeStatusText("a\nb\x7f"), "a%0Ab%7F");
  EXPECT_EQ(EncodeStatusText("\xc3\xa9"), "%C3%A9");
  EXPECT_EQ(EncodeStatusText(absl::string_view("\0", 1)), "%00");
}

TEST(StatusTextTest, ALongTextIsCutAtACharacterBoundary) {
  const std::string fits(kMaxStatusText, 'x');
  EXPECT_EQ(EncodeStatusText(fits), fits);
  EXPECT_EQ(EncodeStatusText(fits + "y"), fits);
  EXPECT_EQ(EncodeStatusText(absl::StrCat(fits.substr(1), "\xc3\xa9")), fits.substr(1));
  EXPECT_LE(EncodeStatusText(std::string(5000, '\n')).size(), 8000u) << "clients accept 8 KiB";
}

}  // namespace
}  // namespace csi_proxy::transport
