// No path, link or race lets a call leave the working directories. A sentinel outside must stay
// untouched.
#include <atomic>
#include <thread>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/groups/testing.h"
#include "server/names/hostile_paths.h"

namespace csi_proxy::groups {
namespace {

constexpr char kSentinel[] = R"(C:\outside\sentinel\file)";

class ConfinementTest : public HandlerTest, public testing::WithParamInterface<Files> {
 protected:
  ConfinementTest() : HandlerTest(GetParam()) { EXPECT_TRUE(PlantFile(kSentinel, 7).ok()); }

  using Answers = std::vector<std::pair<const char*, absl::Status>>;

  // Makes the calls of TryStrict(), TryLenient() and TryShares(), and returns the answers.
  Answers TryAll(const std::string& path) {
    Answers answers = TryStrict(path);
    for (auto& answer : TryLenient(path)) answers.push_back(std::move(answer));
    for (auto& answer : TryShares(path)) answers.push_back(std::move(answer));
    return answers;
  }

  // Makes calls that accept a path in any spelling and fail if the path does not exist.
  Answers TryLenient(const std::string& path) {
    const std::string volume = R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\)";
    return {
        {"GetPathStats", storage_->GetPathStats(context_, {.path = path}).status()},
        // An empty path would list all mounts.
        {"ListMounts", path.empty() ? absl::InvalidArgumentError("path: the path is empty")
                                    : storage_->ListMounts(context_, {.path = path}).status()},
        {"IsSymlink", filesystem_->IsSymlink(context_, {.path = path}).status()},
        {"MountVolume",
         volume_->MountVolume(context_, {.volume_id = volume, .target_path = path}).status()},
        {"UnmountVolume",
         volume_->UnmountVolume(context_, {.volume_id = volume, .target_path = path}).status()},
    };
  }

  // Makes the calls that succeed if the path does not exist.
  Answers TryShares(const std::string& path) {
    return {
        {"StageShare", storage_
                           ->StageShare(context_, {.remote_path = R"(\\fileserver.example\data)",
                                                   .target_path = path,
                                                   .username = R"(EXAMPLE\storage)",
                                                   .password = "correct horse"})
                           .status()},
        {"UnstageShare", storage_->UnstageShare(context_, {.target_path = path}).status()},
    };
  }

  Answers TryStrict(const std::string& path) {
    return {
        {"PathExists", filesystem_->PathExists(context_, {.path = path}).status()},
        {"Mkdir", Mkdir(path)},
        {"CreateSymlink from", Link(path, Below("made-link"))},
        {"CreateSymlink to", Link(Below("pods"), path)},
        {"RmdirContents", filesystem_->RmdirContents(context_, {.path = path}).status()},
        {"Rmdir", Rmdir(path)},
        {"RemoveMount", storage_->RemoveMount(context_, {.path = path, .target = "x"}).status()},
        {"Rmdir force", Rmdir(path, true)},
        {"NewSmbGlobalMapping",
         path.empty()
             ? absl::InvalidArgumentError("local_path: the path is empty")
             : smb_->NewSmbGlobalMapping(context_, {.remote_path = R"(\\fileserver.example\data)",
                                                    .local_path = path,
                                                    .username = R"(EXAMPLE\storage)",
                                                    .password = "correct horse"})
                   .status()},
    };
  }

  // Returns everything on C: outside the working directory.
  std::string Outside() {
    if (real_files_ != nullptr) return real_files_->ListOutside();
    std::string all;
    const auto state = node_->Snapshot();
    const auto& tree = state.disks[0].partitions[2].volume->tree;
    for (const auto id : tree.Walk()) {
      const std::string path = tree.PathOf(id);
      if (absl::StartsWithIgnoreCase(path, R"(var\lib\kubelet\)")) continue;
      absl::StrAppend(&all, path, " ", tree.at(id).size_bytes, " ", tree.at(id).target, "\n");
    }
    return all;
  }
};

TEST_P(ConfinementTest, EveryCallRefusesHostilePaths) {
  const std::string before = Outside();
  for (const HostilePath& hostile : HostilePaths()) {
    if (hostile.code == absl::StatusCode::kOk) continue;
    const Answers answers =
        hostile.is_other_spelling ? TryStrict(hostile.text) : TryAll(hostile.text);
    for (const auto& [call, status] : answers) {
      const std::string shown = absl::CHexEscape(hostile.text.substr(0, 80));
      EXPECT_EQ(status.code(), hostile.code) << call << " " << shown << ": " << status;
      EXPECT_TRUE(absl::StrContains(status.message(), hostile.rule))
          << call << " " << shown << ": " << status;
    }
  }
  EXPECT_EQ(Outside(), before);
}

TEST_P(ConfinementTest, LenientSpellingsAreConfinedLikeAnyPath) {
  const std::string before = Outside();
  for (const HostilePath& spelled : OtherSpellings()) {
    Answers answers = TryLenient(spelled.text);
    answers.emplace_back(
        "GetVolumeIDFromTargetPath",
        volume_->GetVolumeIDFromTargetPath(context_, {.target_path = spelled.text}).status());
    answers.emplace_back(
        "GetClosestVolumeIDFromTargetPath",
        volume_->GetClosestVolumeIDFromTargetPath(context_, {.target_path = spelled.text})
            .status());
    for (const auto& [call, status] : answers) {
      // A harmless path does not exist.
      const bool harmless = spelled.code == absl::StatusCode::kOk;
      EXPECT_EQ(status.code(), harmless ? absl::StatusCode::kNotFound : spelled.code)
          << call << " " << spelled.text << ": " << status;
      EXPECT_TRUE(absl::StrContains(status.message(), spelled.rule))
          << call << " " << spelled.text << ": " << status;
    }
  }
  EXPECT_EQ(Outside(), before);
}

TEST_P(ConfinementTest, HarmlessPathsOfTheTableAreAccepted) {
  for (const HostilePath& hostile : HostilePaths()) {
    if (hostile.code != absl::StatusCode::kOk) continue;
    const auto answer = filesystem_->PathExists(context_, {.path = hostile.text});
    EXPECT_TRUE(answer.ok()) << absl::CHexEscape(hostile.text.substr(0, 80)) << answer.status();
  }
}

// An attacker's links to several kinds of places, at several depths of a path, are never followed.
TEST_P(ConfinementTest, LinksOutOfTheTreeAreNotFollowed) {
  const char* const targets[] = {R"(C:\outside)",
                                 R"(C:\)",
                                 R"(C:\var\lib)",
                                 R"(C:\Windows)",
                                 R"(C:\var\lib\kubelet-evil)",
                                 R"(\\fileserver.example\data)",
                                 R"(D:\)"};
  ASSERT_TRUE(PlantFile(R"(C:\var\lib\kubelet-evil\f)", 1).ok());
  ASSERT_TRUE(smb_->NewSmbGlobalMapping(context_, {.remote_path = R"(\\fileserver.example\data)",
                                                   .username = R"(EXAMPLE\storage)",
                                                   .password = "correct horse"})
                  .ok());
  const std::string before = Outside();
  int n = 0;
  for (const char* target : targets) {
    for (const std::string& above : {std::string(), std::string("a\\"), std::string("a\\b\\c\\")}) {
      const std::string link = Below(absl::StrCat(above, "link", n++));
      ASSERT_TRUE(PlantLink(link, target).ok());
      for (const char* rest : {"\\sentinel", "\\sentinel\\file", "\\new", "\\new\\deeper"}) {
        for (const auto& [call, status] : TryAll(link + rest)) {
          // A path through a link to an absent drive is refused too.
          EXPECT_FALSE(status.ok()) << call << " " << link << rest << " -> " << target;
          EXPECT_TRUE(absl::IsPermissionDenied(status))
              << call << " " << link << rest << " -> " << target << ": " << status;
          EXPECT_TRUE(absl::StrContains(status.message(), "link")) << status;
        }
      }
      EXPECT_FALSE(filesystem_->RmdirContents(context_, {.path = link}).ok());
      EXPECT_TRUE(Rmdir(link, true).ok()) << "the link itself may go";
    }
  }
  EXPECT_EQ(Outside(), before);
}

TEST_P(ConfinementTest, LinksWithinTheTreeAreFollowed) {
  ASSERT_TRUE(Mkdir(Below("real\\inner")).ok());
  ASSERT_TRUE(Link(Below("real"), Below("one")).ok());
  ASSERT_TRUE(Link(Below("one\\inner"), Below("two")).ok());
  EXPECT_TRUE(Mkdir(Below("two\\made")).ok());
  EXPECT_TRUE(Exists(Below("real\\inner\\made")));
}

TEST_P(ConfinementTest, AChainOfLinksIsRefusedIfItsEndIsOutside) {
  ASSERT_TRUE(PlantLink(Below("last"), R"(C:\outside)").ok());
  ASSERT_TRUE(PlantLink(Below("first"), Below("last")).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Mkdir(Below("first\\x"))));
  EXPECT_TRUE(absl::IsPermissionDenied(Rmdir(Below("first\\sentinel"), true)));
}

TEST_P(ConfinementTest, ALoopOfLinksIsAnError) {
  ASSERT_TRUE(PlantLink(Below("a"), Below("b")).ok());
  ASSERT_TRUE(PlantLink(Below("b"), Below("a")).ok());
  for (const auto& [call, status] : TryAll(Below("a\\x"))) EXPECT_FALSE(status.ok()) << call;
}

// An attacker swaps a directory for a link while calls pass through it. Each call meets the
// directory or the link, and never reaches the link's target.
TEST_P(ConfinementTest, ALinkSwappedInDuringACallIsNotFollowed) {
  const std::string before = Outside();
  std::atomic<bool> stop = false;
  std::thread attacker([&] {
    while (!stop) {
      (void)Rmdir(Below("swap"), true);
      (void)PlantLink(Below("swap"), R"(C:\outside)");
      (void)Rmdir(Below("swap"), true);
      (void)Mkdir(Below("swap\\sentinel"));
    }
  });
  int refused = 0, worked = 0;
  const int tries = real_files_ != nullptr ? 4'000 : 20'000;
  for (int i = 0; i < tries; ++i) {
    const std::string path = Below("swap\\sentinel");
    const absl::Status status = i % 3 == 0 ? Rmdir(path, true)
                                : i % 3 == 1
                                    ? Mkdir(path + "\\file")
                                    : filesystem_->RmdirContents(context_, {.path = path}).status();
    ++(status.ok() ? worked : refused);
  }
  stop = true;
  attacker.join();
  EXPECT_GT(refused, 0) << "the link was met";
  EXPECT_GT(worked, 0) << "the directory was met";
  EXPECT_EQ(Outside(), before);
}

INSTANTIATE_TEST_SUITE_P(Machines, ConfinementTest, AllFiles(), FilesName);

}  // namespace
}  // namespace csi_proxy::groups
