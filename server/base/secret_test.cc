#include "server/base/secret.h"

#include <sstream>
#include <type_traits>
#include <utility>

#include "gtest/gtest.h"

namespace csi_proxy {
namespace {

template <typename T>
concept Printable = requires(std::ostream& out, const T& value) {
  out << value;
};

static_assert(!Printable<Secret>);
static_assert(!std::is_convertible_v<Secret, std::string>);

TEST(SecretTest, HoldsComparesAndMoves) {
  Secret a("correct horse");
  const Secret copy = a;
  EXPECT_EQ(copy, a);
  const Secret moved = std::move(a);
  EXPECT_EQ(moved.Reveal(), "correct horse");
  EXPECT_FALSE(moved == Secret("other"));
  EXPECT_TRUE(Secret().empty());
}

}  // namespace
}  // namespace csi_proxy
