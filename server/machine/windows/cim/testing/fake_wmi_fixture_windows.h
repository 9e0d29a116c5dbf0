// A session on a fake WMI with the class Thing, which has the methods Make and Plain.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/machine/cim/errors.h"
#include "server/machine/windows/cim/com_session.h"
#include "server/machine/windows/cim/testing/fake_wmi_windows.h"

namespace csi_proxy::cim {

inline constexpr HRESULT Hr(uint32_t code) { return static_cast<HRESULT>(code); }

class FakeWmiTest : public ::testing::Test {
 protected:
  FakeWmiTest() {
    wmi_.connect = [this](const std::wstring&) -> HRESULT {
      ++connections_;
      return S_OK;
    };
    wmi_.query = [this](const std::wstring&) {
      ++queries_;
      FakeReply reply;
      for (const char* const name : {"a", "b"}) {
        reply.objects.push_back(FakeObject::New(L"Thing", L"Thing.Name=\"x\""));
        reply.objects.back()->Set(L"Name", name);
      }
      return reply;
    };
    wmi_.get = [this](const std::wstring& path) {
      FakeReply reply;
      if (path == L"Thing") {
        ++definitions_;
        reply.objects = {Definition()};
      } else if (path == L"Thing.Name=\"x\"") {
        reply.objects = {FakeObject::New(L"Thing", path)};
      } else {
        reply.end = WBEM_E_NOT_FOUND;
      }
      return reply;
    };
    wmi_.method = [this](const std::wstring&, const std::wstring&, FakeObject*) {
      ++calls_;
      FakeReply reply;
      reply.objects = {FakeObject::New(L"__PARAMETERS")};
      reply.objects[0]->Set(L"ReturnValue", CIM_UINT32, 7);
      reply.objects[0]->Set(L"Created", "thing");
      return reply;
    };
  }

  ~FakeWmiTest() override {
    session_.reset();
    wmi_.query = nullptr;
    wmi_.get = nullptr;
    wmi_.method = nullptr;
    SetErrorInfo(0, nullptr);
    // The threads that connected may still hold references.
    for (int i = 0; i < 200 && FakesAlive() > 1; ++i) absl::SleepFor(absl::Milliseconds(10));
    EXPECT_EQ(FakesAlive(), 1) << "not all was released; the factory alone should be left";
  }

  static ComPtr<FakeObject> Definition() {
    ComPtr<FakeObject> definition = FakeObject::New(L"Thing");
    ComPtr<FakeObject> in = FakeObject::New(L"__PARAMETERS");
    in->Declare(L"Size", CIM_UINT64);
    in->Declare(L"Port", CIM_UINT16);
    in->Declare(L"Letter", CIM_CHAR16);
    in->Declare(L"Full", CIM_BOOLEAN);
    in->Declare(L"Password", CIM_STRING);
    in->Declare(L"Paths", CIM_STRING | CIM_FLAG_ARRAY);
    definition->methods = {{L"Make", in}, {L"Plain", {}}};
    return definition;
  }

  absl::Status Query(const CallContext& context = {}, Namespace space = Namespace::kCimV2) {
    return session_->Query(context, space, cim::Query("Thing")).status();
  }
  absl::StatusOr<MethodResult> Invoke(const std::string& method, const Arguments& arguments = {},
                                      const CallContext& context = {}) {
    return session_->Invoke(context, Namespace::kCimV2, "Thing.Name=\"x\"", method, arguments);
  }

  std::atomic<int> connections_ = 0;
  std::atomic<int> queries_ = 0;
  std::atomic<int> definitions_ = 0;
  std::atomic<int> calls_ = 0;
  FakeWmi wmi_;
  FakeWmiServer server_{&wmi_};
  std::unique_ptr<Session> session_ = NewComSession();
};

}  // namespace csi_proxy::cim
