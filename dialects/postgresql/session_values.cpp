// SPDX-License-Identifier: BSL-1.0
// Values on the wire.
// https://www.postgresql.org/docs/15/protocol-overview.html#PROTOCOL-FORMAT-CODES
#include "dialects/postgresql/session_values.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "dialects/postgresql/session_errors.h"

namespace idem::inline v1::postgresql::detail {

namespace {

// src/include/catalog/pg_type.dat; these numbers never change.
enum type : Oid {
  boolean = 16,
  bytea = 17,
  name = 19,
  int8 = 20,
  int2 = 21,
  int4 = 23,
  text = 25,
  float4 = 700,
  float8 = 701,
  varchar = 1043,
};

constexpr int text_format = 0;
constexpr int binary_format = 1;

std::string text_of(double d) {
  if (std::isnan(d)) return "NaN";
  if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
  std::array<char, 32> buffer{};
  auto const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), d);
  return {buffer.data(), end.ptr};
}

template <class Number>
std::optional<Number> number_in(std::string_view t) {
  Number n{};
  auto const [end, problem] = std::from_chars(t.data(), t.data() + t.size(), n);
  if (problem != std::errc() || end != t.data() + t.size()) return std::nullopt;
  return n;
}

std::optional<double> double_in(std::string_view t) {
  if (t == "NaN") return std::nan("");
  if (t == "Infinity") return HUGE_VAL;
  if (t == "-Infinity") return -HUGE_VAL;
  return number_in<double>(t);
}

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// bytea_output = hex, the default since 9.0, or escape.
// https://www.postgresql.org/docs/15/datatype-binary.html
std::optional<std::string> bytes_in(std::string_view t) {
  std::string out;
  if (!t.starts_with("\\x")) {
    std::size_t length = 0;
    std::string const terminated(t);
    auto* raw =
        PQunescapeBytea(reinterpret_cast<unsigned char const*>(terminated.c_str()), &length);
    if (raw == nullptr) return std::nullopt;
    out.assign(reinterpret_cast<char const*>(raw), length);
    PQfreemem(raw);
    return out;
  }
  out.resize((t.size() - 2) / 2);
  for (std::size_t i = 0; i < out.size(); ++i) {
    int const high = nibble(t[2 + 2 * i]);
    int const low = nibble(t[3 + 2 * i]);
    if (high < 0 || low < 0) return std::nullopt;
    out[i] = static_cast<char>(high * 16 + low);
  }
  return out;
}

template <class V>
std::optional<value> as_value(std::optional<V> v) {
  if (!v) return std::nullopt;
  return value(std::move(*v));
}

std::optional<value> read_text(Oid of, std::string_view t) {
  switch (of) {
    case type::boolean:
      return value(std::int64_t{t == "t"});
    case type::int2:
    case type::int4:
    case type::int8:
      return as_value(number_in<std::int64_t>(t));
    case type::float4:
    case type::float8:
      return as_value(double_in(t));
    case type::bytea: {
      auto bytes = bytes_in(t);
      if (!bytes) return std::nullopt;
      return value(blob{std::move(*bytes)});
    }
    default:
      return value(std::string(t));
  }
}

// Network byte order.
template <class Unsigned>
std::optional<Unsigned> big_endian(std::string_view t) {
  if (t.size() != sizeof(Unsigned)) return std::nullopt;
  Unsigned n = 0;
  for (char const c : t) n = static_cast<Unsigned>((n << 8) | static_cast<unsigned char>(c));
  return n;
}

template <class Unsigned>
std::optional<value> read_integer(std::string_view t) {
  auto const n = big_endian<Unsigned>(t);
  if (!n) return std::nullopt;
  return value(static_cast<std::int64_t>(static_cast<std::make_signed_t<Unsigned>>(*n)));
}

std::optional<value> read_binary(Oid of, std::string_view t) {
  switch (of) {
    case type::boolean:
      return t.size() == 1 ? std::optional(value(std::int64_t{t[0] != 0})) : std::nullopt;
    case type::int2:
      return read_integer<std::uint16_t>(t);
    case type::int4:
      return read_integer<std::uint32_t>(t);
    case type::int8:
      return read_integer<std::uint64_t>(t);
    case type::float8: {
      auto const bits = big_endian<std::uint64_t>(t);
      return bits ? std::optional(value(std::bit_cast<double>(*bits))) : std::nullopt;
    }
    case type::bytea:
      return value(blob{std::string(t)});
    case type::text:
    case type::varchar:
    case type::name:
      return value(std::string(t));
    default:
      return std::nullopt;
  }
}

bool is_binary_type(Oid t) noexcept {
  switch (t) {
    case type::boolean:
    case type::int2:
    case type::int4:
    case type::int8:
    case type::float8:
    case type::bytea:
    case type::text:
    case type::varchar:
    case type::name:
      return true;
    default:
      return false;
  }
}

result<value> read_value(PGresult const* r, int row, int column) {
  if (PQgetisnull(r, row, column) != 0) return value();
  std::string_view const raw(PQgetvalue(r, row, column),
                             static_cast<std::size_t>(PQgetlength(r, row, column)));
  auto const of = PQftype(r, column);
  auto read = PQfformat(r, column) == binary_format ? read_binary(of, raw) : read_text(of, raw);
  if (read) return std::move(*read);
  return std::unexpected(refusal_of(errc::corrupt, "a value of the answer cannot be read"));
}

}  // namespace

namespace {

// A field of the server's. https://www.postgresql.org/docs/15/limits.html
constexpr std::size_t most_bytes = (std::size_t{1} << 30) - 1;

}  // namespace

result<> bound_parameters::bind(std::span<parameter const> all) {
  // https://www.postgresql.org/docs/15/limits.html
  constexpr std::size_t most_parameters = 65535;
  if (all.size() > most_parameters)
    return std::unexpected(
        refusal_of(errc::invalid_argument,
                   "a statement has at most 65535 parameters, not " + std::to_string(all.size())));
  texts_.reserve(all.size());  // what is in it is pointed to
  for (auto const& one : all) {
    auto const& v = one.get();
    if (auto const* bytes = std::get_if<blob_view>(&v)) {
      auto const place = values_.size();
      if (place >= 64)
        return std::unexpected(refusal_of(errc::invalid_argument,
                                          "bytes must be among a statement's first 64 parameters"));
      if (bytes->bytes.size() > most_bytes)
        return std::unexpected(
            refusal_of(errc::invalid_argument, "a value must have less than 1 GB"));
      bytes_ |= byte_mask{1} << place;
      types_.push_back(type::bytea);
      // A null pointer would be NULL: an empty value needs another one.
      values_.push_back(bytes->bytes.empty() ? "" : bytes->bytes.data());
      lengths_.push_back(static_cast<int>(bytes->bytes.size()));
      formats_.push_back(binary_format);
      continue;
    }
    types_.push_back(0);  // as the server infers it
    lengths_.push_back(0);
    formats_.push_back(text_format);
    if (std::holds_alternative<std::monostate>(v)) {
      values_.push_back(nullptr);
      continue;
    }
    if (auto const* t = std::get_if<std::string_view>(&v)) {
      if (t->contains('\0'))
        return std::unexpected(refusal_of(errc::invalid_argument,
                                          "text with a NUL cannot be stored: bind it as bytes"));
      texts_.emplace_back(*t);
    } else if (auto const* n = std::get_if<std::int64_t>(&v)) {
      texts_.push_back(std::to_string(*n));
    } else {
      texts_.push_back(text_of(std::get<double>(v)));
    }
    values_.push_back(texts_.back().c_str());
  }
  return {};
}

bool has_binary_columns(PGresult const* r) noexcept {
  for (int i = 0; i < PQnfields(r); ++i)
    if (!is_binary_type(PQftype(r, i))) return false;
  return PQnfields(r) > 0;
}

result<rows> read_rows(PGresult const* r) {
  rows out;
  if (PQresultStatus(r) != PGRES_TUPLES_OK) {
    out.affected = number_in<std::int64_t>(PQcmdTuples(const_cast<PGresult*>(r))).value_or(0);
    return out;
  }
  // INSERT … RETURNING has both.
  std::string_view const tag(PQcmdStatus(const_cast<PGresult*>(r)));
  if (!tag.starts_with("SELECT"))
    out.affected = number_in<std::int64_t>(PQcmdTuples(const_cast<PGresult*>(r))).value_or(0);
  int const columns = PQnfields(r);
  out.values.resize(static_cast<std::size_t>(PQntuples(r)));
  for (int row = 0; row < PQntuples(r); ++row) {
    auto& into = out.values[static_cast<std::size_t>(row)];
    into.reserve(static_cast<std::size_t>(columns));
    for (int column = 0; column < columns; ++column) {
      auto read = read_value(r, row, column);
      if (!read) return std::unexpected(std::move(read).error());
      into.push_back(std::move(*read));
    }
  }
  return out;
}

}  // namespace idem::inline v1::postgresql::detail
