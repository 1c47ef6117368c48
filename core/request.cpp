// SPDX-License-Identifier: BSL-1.0
#include <idem/request.h>
#include <openssl/evp.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/canonical_json.h"
#include "core/utf8.h"

namespace idem::inline v1 {

namespace {

enum class maker : std::uint8_t { bytes = 1, fields = 2, json = 3 };

void append_number(std::string& out, std::uint64_t n) {
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>((n >> shift) & 0xFF);
}

void append_sized(std::string& out, std::string_view text) {
  append_number(out, text.size());
  out += text;
}

void append_value(std::string& out, field_value const& v) {
  out += static_cast<char>(v.index());
  if (auto const* b = std::get_if<bool>(&v)) out += static_cast<char>(*b ? 1 : 0);
  if (auto const* i = std::get_if<std::int64_t>(&v))
    append_number(out, static_cast<std::uint64_t>(*i));
  if (auto const* s = std::get_if<std::string>(&v)) append_sized(out, *s);
  if (auto const* b = std::get_if<field_bytes>(&v)) append_sized(out, b->value);
}

result<std::string> canonical_fields(std::span<field const> fields) {
  std::vector<field const*> sorted;
  for (auto const& f : fields) {
    if (f.name.empty() || !detail::is_utf8(f.name))
      return invalid_argument("a field's name is empty or not valid UTF-8");
    if (auto const* text = std::get_if<std::string>(&f.value); text && !detail::is_utf8(*text))
      return invalid_argument("the text of field '" + f.name +
                              "' is not valid UTF-8: pass it as field_bytes");
    sorted.push_back(&f);
  }
  std::ranges::sort(sorted, {}, &field::name);
  auto const repeated = std::ranges::adjacent_find(sorted, {}, &field::name);
  if (repeated != sorted.end())
    return invalid_argument("the field '" + (*repeated)->name + "' is given twice");
  std::string out;
  for (auto const* f : sorted) {
    append_sized(out, f->name);
    append_value(out, f->value);
  }
  return out;
}

// Frees itself; throws where OpenSSL cannot work at all (out of memory, no SHA-256 provider).
class sha256 {
 public:
  sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    check(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void add(std::string_view bytes) {
    check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  std::array<std::byte, 32> finish() {
    std::array<std::byte, 32> digest{};
    check(EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()),
                             nullptr) == 1);
    return digest;
  }

 private:
  static void check(bool ok) {
    if (!ok) throw std::runtime_error("idem: SHA-256 is not available from libcrypto");
  }
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

bool is_known(fingerprint_version v) noexcept {
  return v == current_fingerprint_version || v == rehearsal_fingerprint_version;
}

struct request::content {
  idem::identity identity;
  maker made_by;
  std::vector<std::string> left_out;
  bool has_body;
  std::string canonical;
  std::array<std::byte, 32> current_digest{};

  /// docs/fingerprint.md gives this layout and its golden vectors.
  std::array<std::byte, 32> digest(fingerprint_version version) const {
    std::string head = "idem fingerprint";
    head += '\0';
    append_number(head, version);
    head += static_cast<char>(made_by);
    append_number(head, left_out.size());
    for (auto const& pointer : left_out) append_sized(head, pointer);
    head += static_cast<char>(has_body ? 1 : 0);
    append_number(head, canonical.size());
    sha256 hash;
    hash.add(head);
    hash.add(canonical);
    return hash.finish();
  }
};

request::request(std::shared_ptr<content const> c) : content_(std::move(c)) {}

result<request> request::from_bytes(identity_parts parts, std::optional<std::string_view> bytes) {
  auto id = identity::make(parts);
  if (!id) return std::unexpected(std::move(id).error());
  auto c = std::make_shared<content>(content{
      std::move(*id), maker::bytes, {}, bytes.has_value(), std::string(bytes.value_or("")), {}});
  c->current_digest = c->digest(current_fingerprint_version);
  return request(std::move(c));
}

result<request> request::from_fields(identity_parts parts, std::span<field const> fields) {
  auto id = identity::make(parts);
  if (!id) return std::unexpected(std::move(id).error());
  auto canonical = canonical_fields(fields);
  if (!canonical) return std::unexpected(std::move(canonical).error());
  auto c = std::make_shared<content>(
      content{std::move(*id), maker::fields, {}, true, std::move(*canonical), {}});
  c->current_digest = c->digest(current_fingerprint_version);
  return request(std::move(c));
}

result<request> request::from_json(identity_parts parts, std::string_view json,
                                   json_options options) {
  auto id = identity::make(parts);
  if (!id) return std::unexpected(std::move(id).error());
  auto canonical = detail::canonical_json(json, options.left_out, options.limits);
  if (!canonical) return std::unexpected(std::move(canonical).error());
  // The list is a set: its order and repetitions are no part of the contract.
  std::ranges::sort(options.left_out);
  auto const repeated = std::ranges::unique(options.left_out);
  options.left_out.erase(repeated.begin(), repeated.end());
  auto c = std::make_shared<content>(content{
      std::move(*id), maker::json, std::move(options.left_out), true, std::move(*canonical), {}});
  c->current_digest = c->digest(current_fingerprint_version);
  return request(std::move(c));
}

idem::identity const& request::identity() const noexcept { return content_->identity; }

result<idem::fingerprint> request::fingerprint(fingerprint_version version) const {
  if (version == current_fingerprint_version)
    return idem::fingerprint{version, content_->current_digest};
  if (!is_known(version)) {
    error e;
    e.what = errc::fingerprint_unknown;
    e.message = "fingerprint rule " + std::to_string(version) +
                " is not known to this version of idem: upgrade the reader first";
    return std::unexpected(std::move(e));
  }
  return idem::fingerprint{version, content_->digest(version)};
}

std::string_view request::canonical() const noexcept { return content_->canonical; }

}  // namespace idem::inline v1
