// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace idem::inline v1 {

/// Bytes bound as a binary value. A view: must outlive the call.
struct blob_view {
  std::string_view bytes;
  friend bool operator==(blob_view const&, blob_view const&) = default;
};

/// One bound value. Text and bytes are views and must outlive the call. `std::monostate` is
/// NULL.
class parameter {
 public:
  using variant = std::variant<std::monostate, std::int64_t, double, std::string_view, blob_view>;

  parameter() = default;
  parameter(std::nullptr_t) {}
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  parameter(I v) : value_(static_cast<std::int64_t>(v)) {
    static_assert(sizeof(I) < 8 || std::signed_integral<I>, "bind a 64-bit signed integer");
  }
  /// Nothing that merely converts to bool, as every pointer does.
  template <std::same_as<bool> B>
  parameter(B v) : value_(std::int64_t{v}) {}
  parameter(double v) : value_(v) {}
  parameter(std::string_view v) : value_(v) {}
  /// Text up to its NUL; a null pointer binds NULL.
  parameter(char const* v) {
    if (v != nullptr) value_ = std::string_view(v);
  }
  parameter(std::string const& v) : value_(std::string_view(v)) {}
  parameter(blob_view v) : value_(v) {}

  variant const& get() const noexcept { return value_; }

 private:
  variant value_;
};

/// Bytes read from a binary column.
struct blob {
  std::string bytes;
  friend bool operator==(blob const&, blob const&) = default;
};

/// One value read. `std::monostate` is NULL.
using value = std::variant<std::monostate, std::int64_t, double, std::string, blob>;

/// What one statement answered.
struct rows {
  std::vector<std::vector<value>> values;
  /// Rows inserted, updated or deleted, as the driver counts them; 0 for a query.
  std::int64_t affected = 0;

  bool empty() const noexcept { return values.empty(); }
  std::size_t size() const noexcept { return values.size(); }
  std::vector<value> const& operator[](std::size_t row) const { return values[row]; }
};

/// The integer in `v`. Throws std::bad_variant_access if it holds something else.
inline std::int64_t as_integer(value const& v) { return std::get<std::int64_t>(v); }
/// The text or bytes in `v`. Throws std::bad_variant_access if it holds something else.
inline std::string const& as_text(value const& v) {
  return std::holds_alternative<blob>(v) ? std::get<blob>(v).bytes : std::get<std::string>(v);
}
inline bool is_null(value const& v) noexcept { return std::holds_alternative<std::monostate>(v); }

}  // namespace idem::inline v1
