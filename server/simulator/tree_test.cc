#include "server/simulator/tree.h"

#include "server/simulator/testing.h"

namespace csi_proxy::machine::simulator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TreeTest, NamesCompareWithoutCaseAndKeepTheirs) {
  Tree tree;
  const Tree::Id id = *tree.Add(Tree::kRoot, Tree::Directory("Windows"));
  EXPECT_EQ(tree.Find(Tree::kRoot, "WINDOWS"), id);
  EXPECT_EQ(tree.at(id).name, "Windows");
  EXPECT_THAT(tree.Add(Tree::kRoot, Tree::Directory("windowS")), HasCode(kExists));
  EXPECT_EQ(tree.Find(Tree::kRoot, "Window"), std::nullopt);
}

TEST(TreeTest, FilesHoldNothingAndCountInClusters) {
  Tree tree;
  const Tree::Id file = *tree.Add(Tree::kRoot, Tree::File("f", 1, false));
  EXPECT_THAT(tree.Add(file, Tree::Directory("d")), HasCode(kPrecondition));
  EXPECT_EQ(tree.file_bytes(), 4096u);
  tree.SetFile(file, 8193, true);
  EXPECT_EQ(tree.file_bytes(), 12288u);
  EXPECT_TRUE(tree.at(file).read_only);
  tree.Remove(file);
  EXPECT_EQ(tree.file_bytes(), 0u);
  EXPECT_EQ(tree.size(), 0u);
}

TEST(TreeTest, RemovesWithAllBelowAndNothingElse) {
  Tree tree;
  const Tree::Id a = *tree.Add(Tree::kRoot, Tree::Directory("a"));
  const Tree::Id b = *tree.Add(a, Tree::Directory("b"));
  ASSERT_THAT(tree.Add(b, Tree::File("f", 10, false)), IsOk());
  ASSERT_THAT(tree.Add(Tree::kRoot, Tree::File("kept", 10, false)), IsOk());
  EXPECT_EQ(tree.PathOf(b), "a\\b");
  tree.RemoveChildren(a);
  EXPECT_EQ(tree.size(), 2u);
  EXPECT_TRUE(tree.at(a).children.empty());
  tree.Remove(a);
  EXPECT_EQ(tree.size(), 1u);
  EXPECT_EQ(tree.file_bytes(), 4096u);
}

TEST(TreeTest, KnowsWhereAVolumeIsMounted) {
  const VolumeId volume = TestVolume(1);
  const VolumeId other = TestVolume(2);
  Tree tree;
  const Tree::Id b = *tree.Add(Tree::kRoot, Tree::Directory("b"));
  const Tree::Id a = *tree.Add(Tree::kRoot, Tree::Directory("a"));
  const Tree::Id below = *tree.Add(a, Tree::Directory("below"));
  EXPECT_THAT(tree.MountsOf(volume), IsEmpty());
  tree.SetMounted(b, volume);
  tree.SetMounted(below, volume);
  EXPECT_THAT(tree.MountsOf(volume), ElementsAre(below, b));
  // The mount is made with its directory, as in a scenario.
  Tree::Entry made = Tree::Directory("made");
  made.mounted = other;
  const Tree::Id third = *tree.Add(Tree::kRoot, made);
  EXPECT_THAT(tree.MountsOf(other), ElementsAre(third));
  const Tree copy = tree;

  tree.SetMounted(b, other);
  EXPECT_THAT(tree.MountsOf(volume), ElementsAre(below));
  EXPECT_THAT(tree.MountsOf(other), ElementsAre(b, third));
  tree.SetLink(b, "C:\\x");
  EXPECT_THAT(tree.MountsOf(other), ElementsAre(third));
  tree.Remove(third);
  EXPECT_THAT(tree.MountsOf(other), IsEmpty());
  tree.RemoveChildren(Tree::kRoot);
  EXPECT_THAT(tree.MountsOf(volume), IsEmpty());
  EXPECT_THAT(copy.MountsOf(volume), ElementsAre(below, b));
}

TEST(TreeTest, DigsAsDeepAsWindowsCanName) {
  Tree tree;
  Tree::Id at = Tree::kRoot;
  size_t depth = 0;
  absl::Status end;
  while (true) {
    const absl::StatusOr<Tree::Id> made = tree.Add(at, Tree::Directory("d"));
    end = made.status();
    if (!made.ok()) break;
    at = *made;
    ++depth;
  }
  EXPECT_EQ(depth, 32767u / 2);
  EXPECT_THAT(end, FailsWith(kInternal, "error 0xce"));
  EXPECT_EQ(tree.Walk().size(), depth);
  tree.RemoveChildren(Tree::kRoot);
  EXPECT_EQ(tree.size(), 0u);
}

}  // namespace
}  // namespace csi_proxy::machine::simulator
