// SPDX-License-Identifier: BSL-1.0
// IDC-14: identity and content are the same wherever the client is. What a machine has of
// locales differs, so the scenario brings the C++ library's part itself and asks for C's.
#include <array>
#include <clocale>
#include <cstdlib>
#include <ctime>
#include <locale>
#include <optional>
#include <sstream>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/identity_parts.h"

namespace idem::inline v1::conformance {

namespace {

class continental_numbers final : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

// As ISO 8859-9 has it: i and dotted I, dotless i and I.
class turkish_letters final : public std::ctype<char> {
  char do_toupper(char c) const override {
    return c == 'i' ? '\xDD' : std::ctype<char>::do_toupper(c);
  }
  char do_tolower(char c) const override {
    return c == 'I' ? '\xFD' : std::ctype<char>::do_tolower(c);
  }
};

struct place {
  std::string_view name;
  char const* c_locale;  ///< set if this machine has it
  char const* zone;      ///< POSIX's own notation: no database of zones is needed
  long seconds_east;
  bool is_abroad;
};

constexpr std::array places{
    place{"C", "C", "UTC0", 0, false},
    place{"tr_TR", "tr_TR.UTF-8", "<+03>-3", 10800, true},
    place{"de_DE", "de_DE.UTF-8", "<+01>-1", 3600, true},
    place{"Pacific/Chatham", "en_NZ.UTF-8", "<+1245>-12:45", 45900, true},
};

class visit {
 public:
  explicit visit(place const& p) {
    if (char const* before = std::setlocale(LC_ALL, nullptr)) c_locale_ = before;
    if (char const* before = std::getenv("TZ")) zone_ = before;
    auto abroad = std::locale(std::locale::classic(), new continental_numbers);
    if (p.is_abroad) std::locale::global(std::locale(abroad, new turkish_letters));
    has_c_locale_ = std::setlocale(LC_ALL, p.c_locale) != nullptr;
    set_zone(p.zone);
  }
  visit(visit const&) = delete;
  visit& operator=(visit const&) = delete;
  ~visit() {
    std::locale::global(before_);
    std::setlocale(LC_ALL, c_locale_.c_str());
    set_zone(zone_ ? zone_->c_str() : nullptr);
  }

  bool has_c_locale() const noexcept { return has_c_locale_; }

 private:
  static void set_zone(char const* zone) {
    if (zone == nullptr)
      unsetenv("TZ");
    else
      setenv("TZ", zone, 1);
    tzset();
  }

  std::locale before_;
  std::string c_locale_ = "C";
  std::optional<std::string> zone_;
  bool has_c_locale_ = false;
};

// The positive control: a program that leaves numbers, letters or times to the locale gets
// something else there.
void check_really_there(context& c, place const& p) {
  std::ostringstream number;
  number << std::fixed;
  number.precision(1);
  number << 1234567.5;
  char const upper = std::toupper('i', std::locale());
  std::time_t const epoch = 0;
  std::tm local{};
  localtime_r(&epoch, &local);
  bool const numbers = number.str() == (p.is_abroad ? "1.234.567,5" : "1234567.5");
  bool const letters = upper == (p.is_abroad ? '\xDD' : 'I');
  if (c.check(numbers && letters, std::string(p.name) + ": numbers and letters are as there") &&
      p.is_abroad)
    c.mark("locale_set");
  if (c.check(local.tm_gmtoff == p.seconds_east, std::string(p.name) + ": so are times") &&
      p.is_abroad)
    c.mark("zone_set");
}

// Texts that the letters of one of these places make the same.
std::vector<operation> operations_at(context& c, place const& p) {
  std::string const scope = c.scope() + "/" + std::string(p.name);
  std::vector<operation> all;
  for (std::string_view const key : {"file", "FILE", "f\xC4\xB1le", "F\xC4\xB0LE", "1,5", "1.5",
                                     "stra\xC3\x9F"
                                     "e",
                                     "strasse", "1.234", "1234"})
    all.push_back(c.make_operation({scope, "debit:v1", key}, "payload"));
  return all;
}

operation numbers(context& c, std::string_view key) {
  constexpr std::string_view json = R"({"amount":1234567.5,"rate":1e-7,"file":"I"})";
  auto made = c.idem().from_json({c.scope(), "debit:v1", key}, json, {});
  return c.wrap(c.must(std::move(made), "a request of JSON is made"));
}

}  // namespace

void places_do_not_matter(context& c) {
  std::vector<std::pair<std::string, call>> firsts;
  for (auto const& p : places) {
    std::string const name(p.name);
    visit const there(p);
    c.log(name + (there.has_c_locale() ? ": this machine has it for C"
                                       : ": this machine does not have it for C"));
    check_really_there(c, p);
    check_published_digests(c, name);
    check_told_apart(c, operations_at(c, p));
    auto& s = c.connect();
    for (auto const& [key, first] : firsts)
      check_replayed(c, c.run(s, numbers(c, key)), first, key + "'s request, asked at " + name);
    firsts.emplace_back(name, c.run(s, numbers(c, name)));
    check_executed(c, firsts.back().second, "a request at " + name);
  }
  auto& s = c.connect();
  for (auto const& [key, first] : firsts)
    check_replayed(c, c.run(s, numbers(c, key)), first, key + "'s request, asked at home");
}

}  // namespace idem::inline v1::conformance
