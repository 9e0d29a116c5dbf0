#include "server/base/secret.h"

#include <cstddef>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
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

TEST(SecretTest, SecretsCanBeCopiedComparedAndMoved) {
  Secret a("correct horse");
  const Secret copy = a;
  EXPECT_EQ(copy, a);
  const Secret moved = std::move(a);
  EXPECT_EQ(moved.Reveal(), "correct horse");
  EXPECT_FALSE(moved == Secret("other"));
  for (size_t i = 0; i < moved.size(); ++i) {
    std::string other = moved.Reveal();
    other[i] = static_cast<char>(other[i] ^ 0x80);
    EXPECT_FALSE(moved == Secret(other)) << i;
  }
  EXPECT_TRUE(Secret().empty());
}

// Reads the bytes where an object was, because short strings lie in the object itself.
class SecretMemoryTest : public testing::Test {
 protected:
  bool HasSecret() const {
    const std::string_view memory(reinterpret_cast<const char*>(memory_), sizeof(memory_));
    return memory.find("horse") != memory.npos;
  }

  alignas(Secret) std::byte memory_[sizeof(Secret)] = {};
};

TEST_F(SecretMemoryTest, TheDestructorWipesTheSecret) {
  auto* const secret = new (memory_) Secret("correct horse");
  EXPECT_TRUE(HasSecret());
  secret->~Secret();
  EXPECT_FALSE(HasSecret());
}

TEST_F(SecretMemoryTest, AMoveWipesTheSource) {
  auto* const secret = new (memory_) Secret("correct horse");
  const Secret moved = std::move(*secret);
  EXPECT_EQ(moved.Reveal(), "correct horse");
  EXPECT_FALSE(HasSecret());
  secret->~Secret();
  EXPECT_FALSE(HasSecret());
}

}  // namespace
}  // namespace csi_proxy
