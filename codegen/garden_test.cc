// Compiles and runs the invented group's generated conversions.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "csi_proxy/garden/v1/convert.h"
#include "csi_proxy/garden/v1alpha1/convert.h"
#include "csi_proxy/garden/v1alpha1/shim.h"
#include "gtest/gtest.h"

namespace csi_proxy::garden {

namespace {

v1alpha1::SowRequest Sow() {
  v1alpha1::SowRequest request;
  request.set_name("sage");
  request.set_kind(::v1alpha1::TREE);
  request.mutable_place()->set_bed("7");
  request.set_shed_key("under the mat");
  request.add_neighbours("1");
  request.add_neighbours("4294967295");
  request.add_avoids(::v1alpha1::HERB);
  request.add_cuttings()->set_bed("0");
  request.set_height_mm(300);
  request.set_weather("fine");
  return request;
}

TEST(GardenTest, EveryRuleConvertsItsValue) {
  PlantRequest hub;
  ASSERT_TRUE(v1alpha1::ToHub(Sow(), &hub).ok());
  PlantRequest expected;
  expected.name = "sage";
  expected.kind = Kind::kTree;
  expected.place.bed_number = 7;
  expected.shed_key = "under the mat";
  expected.neighbours = {1, 4294967295};
  expected.avoids = {Kind::kHerb};
  expected.cuttings = {Place{}};
  expected.height_mm = 300;
  EXPECT_EQ(hub, expected);
}

TEST(GardenTest, MessagesSurviveARoundTripThroughTheHub) {
  PlantRequest hub;
  ::v1alpha1::SowRequest back;
  ASSERT_TRUE(v1alpha1::ToHub(Sow(), &hub).ok());
  ASSERT_TRUE(v1alpha1::FromHub(hub, &back).ok());
  ::v1alpha1::SowRequest expected = Sow();
  expected.clear_weather();  // dropped, with a reason
  EXPECT_EQ(back.SerializeAsString(), expected.SerializeAsString());
}

TEST(GardenTest, MapsAndOverriddenTypesAreConverted) {
  ListPlantsResponse hub;
  hub.plants[3].bed_number = 9;
  hub.counts["sage"] = 12;
  hub.labels.push_back({.common = "sage", .latin = "salvia"});
  ::v1alpha1::ListPlantsResponse out;
  ASSERT_TRUE(v1alpha1::FromHub(hub, &out).ok());
  EXPECT_EQ(out.plants().at("3").bed(), "9");
  EXPECT_EQ(out.counts().at("sage"), "12");
  EXPECT_EQ(out.labels(0).names().at("latin"), "salvia");
  ListPlantsResponse back;
  ASSERT_TRUE(v1alpha1::ToHub(out, &back).ok());
  EXPECT_EQ(back, hub);
}

TEST(GardenTest, AnAbsentMessageConvertsToTheDefault) {
  PlantRequest hub;
  hub.place.bed_number = 5;
  ASSERT_TRUE(v1::ToHub(::v1::PlantRequest(), &hub).ok());
  EXPECT_EQ(hub, PlantRequest());
  ::v1::PlantRequest out;
  ASSERT_TRUE(v1::FromHub(hub, &out).ok());
  EXPECT_TRUE(out.has_place());
}

TEST(GardenTest, AnEnumValueUnknownToAVersionUsesTheTablesFallback) {
  PlantRequest hub;
  hub.kind = Kind::kMoss;
  ::v1alpha1::SowRequest out;
  ASSERT_TRUE(v1alpha1::FromHub(hub, &out).ok());
  EXPECT_EQ(out.kind(), ::v1alpha1::HERB);
}

TEST(GardenTest, TheErrorNamesTheFieldWithABadValue) {
  const auto refused = [](auto change, absl::string_view text) {
    ::v1alpha1::SowRequest request = Sow();
    change(&request);
    PlantRequest hub;
    const absl::Status status = v1alpha1::ToHub(request, &hub);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), text)) << status;
  };
  for (const char* bed : {"", " 7", "-7", "4294967296", "x"}) {
    refused([&](auto* r) { r->mutable_place()->set_bed(bed); }, "place: bed: ");
  }
  refused([](auto* r) { r->add_neighbours("seven"); },
          "neighbours: \"seven\" is not a decimal number from 0 to 4294967295");
  refused([](auto* r) { r->set_kind(static_cast<::v1alpha1::Kind>(9)); },
          "kind: 9 is not a value of Kind");

  ::v1alpha1::ListPlantsResponse twice;
  (*twice.mutable_plants())["1"].set_bed("1");
  (*twice.mutable_plants())["01"].set_bed("2");
  ListPlantsResponse hub;
  EXPECT_TRUE(absl::StrContains(v1alpha1::ToHub(twice, &hub).message(), "appears twice"));
}

TEST(GardenTest, AnAnswerOutOfRangeIsAnInternalError) {
  PlantRequest hub;
  hub.height_mm = int64_t{1} << 40;
  ::v1alpha1::SowRequest out;
  const absl::Status status = v1alpha1::FromHub(hub, &out);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(absl::StrContains(status.message(), "height_mm: 1099511627776 is not from"))
      << status;
}

TEST(GardenTest, DescriptionsEscapeTextAndHideSecrets) {
  PlantRequest hub;
  hub.name = "sage\n";
  hub.shed_key = "under the mat";
  const std::string text = Describe(hub);
  EXPECT_TRUE(absl::StrContains(text, "name=\"sage\\n\"")) << text;
  EXPECT_TRUE(absl::StrContains(text, "shed_key=<secret>")) << text;
  EXPECT_FALSE(absl::StrContains(text, "mat")) << text;
  // The end of a path names the volume.
  hub.name = absl::StrCat(R"(C:\plugins\)", std::string(200, '0'), R"(\globalmount)");
  EXPECT_TRUE(absl::StrContains(Describe(hub), R"(000\\globalmount" kind=)")) << Describe(hub);
}

// A short string is stored in the structure itself, where the test can look for its bytes.
TEST(GardenTest, SecretsAreOverwrittenOnDestruction) {
  alignas(PlantRequest) std::byte memory[sizeof(PlantRequest)] = {};
  const auto has_secret = [&memory] {
    return absl::StrContains(
        absl::string_view(reinterpret_cast<const char*>(memory), sizeof(memory)), "the mat");
  };
  auto* const hub = new (memory) PlantRequest{.shed_key = "under the mat"};
  const PlantRequest copy = *hub;
  EXPECT_EQ(copy.shed_key, "under the mat");
  EXPECT_TRUE(has_secret());
  hub->~PlantRequest();
  EXPECT_FALSE(has_secret());
}

// A garden that returns constant answers and refuses plants without a name.
class RealGarden final : public Service {
 public:
  absl::StatusOr<PlantResponse> Plant(const CallContext&, const PlantRequest& request) override {
    if (request.name.empty()) return absl::NotFoundError("name: nothing to plant");
    return PlantResponse{.plant_number = 42, .watered = true};
  }
  absl::StatusOr<ListPlantsResponse> ListPlants(const CallContext&,
                                                const ListPlantsRequest&) override {
    return ListPlantsResponse{};
  }
};

TEST(GardenTest, TheShimCallsTheRenamedMethodAndReturnsErrors) {
  RealGarden garden;
  v1alpha1::Shim shim(&garden);
  ::v1alpha1::SowResponse response;
  ASSERT_TRUE(shim.Sow(CallContext(), Sow(), &response).ok());
  EXPECT_EQ(response.plant_number(), 42);
  EXPECT_EQ(shim.Sow(CallContext(), ::v1alpha1::SowRequest(), &response).code(),
            absl::StatusCode::kInvalidArgument)
      << "the bed is not a number";
}

}  // namespace
}  // namespace csi_proxy::garden
