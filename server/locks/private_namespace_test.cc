#include "server/locks/private_namespace.h"

#include <gtest/gtest.h>

#include <vector>

#include "server/names/win32_error.h"

namespace csi_proxy {
namespace {

int one_object;
void* const kHandle = &one_object;

// Returns a call that fails with each of `errors` in turn, then returns a handle.
NamespaceCalls::Call Answering(std::vector<uint32_t> errors, int* calls) {
  return [errors = std::move(errors), calls](uint32_t* error) -> void* {
    const size_t call = static_cast<size_t>((*calls)++);
    if (call >= errors.size()) return kHandle;
    *error = errors[call];
    return nullptr;
  };
}

struct Entered {
  absl::StatusOr<void*> handle;
  int created = 0, opened = 0;
};

Entered Enter(std::vector<uint32_t> create, std::vector<uint32_t> open) {
  int created = 0, opened = 0;
  auto handle = EnterNamespace({.create = Answering(std::move(create), &created),
                                .open = Answering(std::move(open), &opened)});
  return {std::move(handle), created, opened};
}

TEST(PrivateNamespaceTest, TheFirstProcessMakesTheNamespaceAndOthersOpenIt) {
  const Entered first = Enter({}, {});
  ASSERT_TRUE(first.handle.ok()) << first.handle.status();
  EXPECT_EQ(*first.handle, kHandle);
  EXPECT_EQ(first.opened, 0);
  const Entered second = Enter({win32_error::kAlreadyExists}, {});
  EXPECT_TRUE(second.handle.ok()) << second.handle.status();
  EXPECT_EQ(second.opened, 1);
}

TEST(PrivateNamespaceTest, ANamespaceThatVanishesBetweenTheCallsIsMadeAgain) {
  for (const uint32_t gone : {win32_error::kFileNotFound, win32_error::kPathNotFound}) {
    const Entered entered = Enter({win32_error::kAlreadyExists}, {gone});
    EXPECT_TRUE(entered.handle.ok()) << entered.handle.status();
    EXPECT_EQ(entered.created, 2);
    EXPECT_EQ(entered.opened, 1);
  }
}

TEST(PrivateNamespaceTest, AnAccountOutsideTheBoundaryIsDeniedWithoutRetries) {
  const Entered outside = Enter({win32_error::kAccessDenied}, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(outside.handle.status())) << outside.handle.status();
  EXPECT_EQ(outside.opened, 0);
  const Entered shut = Enter({win32_error::kAlreadyExists}, {win32_error::kAccessDenied});
  EXPECT_TRUE(absl::IsFailedPrecondition(shut.handle.status())) << shut.handle.status();
  EXPECT_EQ(shut.created, 1);
}

TEST(PrivateNamespaceTest, TheNumberOfRetriesIsLimited) {
  const Entered entered = Enter(std::vector<uint32_t>(1000, win32_error::kAlreadyExists),
                                std::vector<uint32_t>(1000, win32_error::kFileNotFound));
  EXPECT_FALSE(entered.handle.ok());
  EXPECT_LT(entered.created, 100);
}

}  // namespace
}  // namespace csi_proxy
