// SPDX-License-Identifier: BSL-1.0
// https://www.postgresql.org/docs/18/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS
#include "dialects/postgresql/session_places.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <random>
#include <utility>

namespace idem::inline v1::postgresql::detail {

namespace {

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (true) {
    auto const comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

// The part of that place, of a list that is as long as all, one for all, or not there.
std::string part(std::vector<std::string> const& list, std::size_t place) {
  return list.size() == 1 ? list.front() : list[place];
}

// Nothing where libpq would refuse the lists, or an empty part means what it does not say: an
// empty word cannot take the place of a list.
std::vector<server_place> each_host(PQconninfoOption const* all) {
  auto const hosts = split(option(all, "host"));
  auto const addresses = split(option(all, "hostaddr"));
  auto const ports = split(option(all, "port"));
  std::size_t const count = std::max(hosts.size(), addresses.size());
  auto const fits = [count](std::vector<std::string> const& list, bool one_for_all) {
    bool const absent = list.size() == 1 && list.front().empty();
    if (absent || (one_for_all && list.size() == 1)) return true;
    return list.size() == count && std::ranges::none_of(list, &std::string::empty);
  };
  if (count < 2 || !fits(hosts, false) || !fits(addresses, false) || !fits(ports, true)) return {};
  std::vector<server_place> places;
  for (std::size_t i = 0; i < count; ++i)
    places.push_back({part(hosts, i), part(addresses, i), part(ports, i), {}});
  return places;
}

}  // namespace

std::string_view option(PQconninfoOption const* all, std::string_view keyword) {
  for (; all->keyword != nullptr; ++all)
    if (keyword == all->keyword && all->val != nullptr) return all->val;
  return {};
}

std::vector<server_place> server_places(PQconninfoOption const* all) {
  std::string attrs(option(all, "target_session_attrs"));
  if (attrs.empty()) attrs = "read-write";
  auto places = each_host(all);
  if (places.empty()) return {{{}, {}, {}, attrs}};
  if (option(all, "load_balance_hosts") == "random")
    std::ranges::shuffle(places, std::minstd_rand(std::random_device{}()));
  std::vector<std::string> passes{attrs};
  if (attrs == "prefer-standby") passes = {"standby", "any"};
  std::vector<server_place> asked;
  for (auto const& wanted : passes) {
    for (auto place : places) {
      place.session_attrs = wanted;
      asked.push_back(std::move(place));
    }
  }
  return asked;
}

// https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNECT-CONNECT-TIMEOUT
std::chrono::seconds connect_timeout(std::string_view text) {
  int seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (seconds <= 0) seconds = 30;
  return std::chrono::seconds(std::max(seconds, 2));
}

}  // namespace idem::inline v1::postgresql::detail
