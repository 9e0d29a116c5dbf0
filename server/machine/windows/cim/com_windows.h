// Owners of COM interfaces, BSTRs, VARIANTs and SAFEARRAYs. Only files that call WMI may include
// this header.
#pragma once

#include <windows.h>
// Must follow windows.h.
#include <oleauto.h>
#include <wbemidl.h>

#include <cstdlib>
#include <cwchar>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "server/platform/win32.h"

namespace csi_proxy::cim {

// Owns a reference to a COM object, or is null.
template <typename Interface>
class ComPtr {
 public:
  ComPtr() = default;
  // Takes over the caller's reference.
  explicit ComPtr(Interface* owned) : pointer_(owned) {}
  ComPtr(const ComPtr& other) : pointer_(other.pointer_) {
    if (pointer_ != nullptr) pointer_->AddRef();
  }
  ComPtr(ComPtr&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  ComPtr& operator=(ComPtr other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  ~ComPtr() {
    if (pointer_ != nullptr) pointer_->Release();
  }

  Interface* get() const { return pointer_; }
  Interface* operator->() const { return pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }
  // Drops the reference. Returns the place where a function stores a new reference.
  Interface** Receive() {
    *this = ComPtr();
    return &pointer_;
  }

  // Returns another interface of the object, or null if it lacks that interface.
  template <typename Other>
  ComPtr<Other> As(REFIID iid) const {
    ComPtr<Other> other;
    if (pointer_ == nullptr) return other;
    void* found = nullptr;
    if (FAILED(pointer_->QueryInterface(iid, &found))) return other;
    return ComPtr<Other>(static_cast<Other*>(found));
  }

 private:
  Interface* pointer_ = nullptr;
};

// Text for COM. Wiped when freed, and converted without a copy, because any text may be a password.
class Bstr {
 public:
  Bstr() = default;
  explicit Bstr(absl::string_view utf8) {
    const int size = static_cast<int>(utf8.size());
    const int length =
        size == 0 ? 0 : MultiByteToWideChar(CP_UTF8, 0, utf8.data(), size, nullptr, 0);
    text_ = SysAllocStringLen(nullptr, static_cast<UINT>(length));
    // Ends the program if memory is exhausted, as an uncaught exception of `new` does.
    if (text_ == nullptr) std::abort();
    if (length > 0) MultiByteToWideChar(CP_UTF8, 0, utf8.data(), size, text_, length);
  }
  Bstr(Bstr&& other) noexcept : text_(other.Release()) {}
  Bstr& operator=(Bstr&& other) noexcept {
    std::swap(text_, other.text_);
    return *this;
  }
  ~Bstr() { Free(); }

  BSTR get() const { return text_; }
  BSTR Release() { return std::exchange(text_, nullptr); }
  BSTR* Receive() {
    Free();
    return &text_;
  }
  // Returns the number of UTF-16 units.
  size_t size() const { return SysStringLen(text_); }
  std::string ToUtf8() const { return Utf8(text_); }

  // Converts the text up to its first NUL, where WMI's text ends.
  static std::string Utf8(BSTR text) {
    if (text == nullptr) return "";
    return win32::Utf8(std::wstring_view(text, wcsnlen(text, SysStringLen(text))));
  }
  static void Wipe(BSTR text) {
    if (text != nullptr) SecureZeroMemory(text, SysStringByteLen(text));
  }

 private:
  void Free() {
    Wipe(text_);
    SysFreeString(Release());
  }

  BSTR text_ = nullptr;
};

using UniqueSafeArray = win32::Unique<SAFEARRAY*, &SafeArrayDestroy>;

// Owns a VARIANT and its content. Wipes text like Bstr.
class Variant {
 public:
  Variant() { VariantInit(&value_); }
  Variant(Variant&& other) noexcept : value_(other.value_) { VariantInit(&other.value_); }
  Variant& operator=(Variant&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Variant() { Clear(); }

  const VARIANT& operator*() const { return value_; }
  VARIANT* get() { return &value_; }
  VARIANT* operator->() { return &value_; }
  // Clears the VARIANT. Returns the place where a function stores a new VARIANT.
  VARIANT* Receive() {
    Clear();
    return &value_;
  }

  void Clear() {
    Wipe();
    VariantClear(&value_);
  }
  // Overwrites a BSTR, or each BSTR of an array, with zeros. Lengths stay.
  void Wipe() {
    if (V_VT(&value_) == VT_BSTR) Bstr::Wipe(V_BSTR(&value_));
    if (V_VT(&value_) != (VT_ARRAY | VT_BSTR) || V_ARRAY(&value_) == nullptr) return;
    void* data = nullptr;
    if (FAILED(SafeArrayAccessData(V_ARRAY(&value_), &data))) return;
    for (ULONG i = 0; i < V_ARRAY(&value_)->rgsabound[0].cElements; ++i) {
      Bstr::Wipe(static_cast<BSTR*>(data)[i]);
    }
    SafeArrayUnaccessData(V_ARRAY(&value_));
  }

 private:
  VARIANT value_;
};

}  // namespace csi_proxy::cim
