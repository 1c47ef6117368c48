// SPDX-License-Identifier: BSL-1.0
// What a sqlite: URL says.
#include "dialects/sqlite/options.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <span>
#include <utility>

#include <idem/url.h>

namespace idem::inline v1::sqlite {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds max_busy = std::chrono::hours(24);

std::unexpected<error> refuse(std::string message) {
  error e;
  e.what = errc::configuration;
  e.message = std::move(message);
  return std::unexpected(std::move(e));
}

template <class E>
struct word {
  std::string_view text;
  E meaning;
};

constexpr word<open_mode> modes[] = {
    {"create", open_mode::create}, {"rw", open_mode::read_write}, {"ro", open_mode::read_only}};
constexpr word<journal> journals[] = {
    {"keep", journal::keep}, {"wal", journal::wal}, {"delete", journal::rollback}};
constexpr word<durability> durabilities[] = {{"keep", durability::keep},
                                             {"off", durability::off},
                                             {"normal", durability::normal},
                                             {"full", durability::full},
                                             {"extra", durability::extra}};
constexpr word<setting> settings[] = {
    {"keep", setting::keep}, {"off", setting::off}, {"on", setting::on}};

template <class E, std::size_t N>
result<> read_word(std::string_view option, std::string_view text, word<E> const (&words)[N],
                   E& out) {
  std::string allowed;
  for (auto const& w : words) {
    if (w.text == text) {
      out = w.meaning;
      return {};
    }
    allowed.append(allowed.empty() ? "" : ", ").append(w.text);
  }
  return refuse("the option " + std::string(option) + " of a sqlite: URL takes " + allowed);
}

result<> read_busy(std::string_view text, milliseconds& out) {
  std::int64_t ms = 0;
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (problem != std::errc() || end != text.data() + text.size() || ms < 0 || ms > max_busy.count())
    return refuse("the option busy_ms of a sqlite: URL takes 0 to 86400000 milliseconds");
  out = milliseconds(ms);
  return {};
}

result<> read_option(std::string const& name, std::string const& text, options& out) {
  if (name == "mode") return read_word(name, text, modes, out.mode);
  if (name == "journal") return read_word(name, text, journals, out.journal);
  if (name == "synchronous") return read_word(name, text, durabilities, out.synchronous);
  if (name == "foreign_keys") return read_word(name, text, settings, out.foreign_keys);
  if (name == "busy_ms") return read_busy(text, out.busy);
  if (name == "name" && !out.memory_name.empty()) {
    out.memory_name = text;
    return {};
  }
  return refuse("a sqlite: URL has no option '" + name +
                "': it takes mode, journal, synchronous, foreign_keys, busy_ms, and name for "
                "sqlite::memory:");
}

result<std::string> read_path(std::string_view rest) {
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    if (!rest.starts_with('/'))
      return refuse(
          "a sqlite: URL names no host: write sqlite:/absolute/file.db or "
          "sqlite:relative.db");
  }
  return percent_decode(rest);
}

bool is_memory_name(std::string_view name) {
  auto const allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  };
  return name.size() <= 128 && std::ranges::all_of(name, allowed);
}

}  // namespace

namespace detail {

result<> check(options const& o) {
  if (o.path.empty() == o.memory_name.empty())
    return refuse(
        "either a path or the name of a database in memory: write sqlite:/absolute/"
        "file.db, sqlite:relative.db or sqlite::memory:");
  if (o.path.contains('\0')) return refuse("the path of a database holds NUL (%00)");
  if (!is_memory_name(o.memory_name))
    return refuse(
        "the name of a database in memory takes 1 to 128 letters, digits, '_', '.' "
        "and '-'");
  bool const memory = !o.memory_name.empty();
  if (memory && o.mode != open_mode::create)
    return refuse("a database in memory cannot be opened with another mode than create");
  if (memory && o.journal == journal::wal)
    return refuse("a database in memory has no WAL: leave the option journal out");
  if (o.busy < milliseconds::zero() || o.busy > max_busy)
    return refuse("busy must be 0 to 24 hours");
  return {};
}

}  // namespace detail

std::string unique_memory_name() {
  static std::atomic<std::uint64_t> last{0};
  return "unnamed-" + std::to_string(++last);
}

result<options> parse_url(std::string_view url) {
  auto parsed = parse_target_url(url);
  if (!parsed) return std::unexpected(std::move(parsed).error());
  if (parsed->engine != "sqlite" || !parsed->driver.empty())
    return refuse(
        "this is not a sqlite: URL: write sqlite:/absolute/file.db, sqlite:relative.db "
        "or sqlite::memory:");
  options out;
  if (parsed->rest == ":memory:") {
    out.memory_name = unique_memory_name();
  } else {
    auto path = read_path(parsed->rest);
    if (!path) return std::unexpected(std::move(path).error());
    out.path = std::move(*path);
  }
  for (auto const& [name, text] : parsed->options)
    if (auto read = read_option(name, text, out); !read)
      return std::unexpected(std::move(read).error());
  if (auto valid = detail::check(out); !valid) return std::unexpected(std::move(valid).error());
  return out;
}

}  // namespace idem::inline v1::sqlite
