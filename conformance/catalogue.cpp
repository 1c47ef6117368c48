// SPDX-License-Identifier: BSL-1.0
#include <idem/conformance/catalogue.h>

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <stdexcept>

#include "conformance/digest.h"
#include "idem_embedded_catalogue.h"

namespace idem::inline v1::conformance {

namespace {

// The order in which groups run and are listed: the suite tests itself first.
constexpr std::array<std::string_view, 14> group_order{"SELF", "RPL", "MIS", "RBK", "CON",
                                                       "ISO",  "IDC", "SIZ", "EMP", "FIX",
                                                       "UNK",  "CRS", "POL", "THR"};

std::string text_of(toml::table const& row, std::string_view name) {
  auto const text = row[name].value<std::string>();
  if (!text || text->empty())
    throw std::runtime_error("the catalogue has a row without '" + std::string(name) + "'");
  return *text;
}

std::vector<std::string> texts_of(toml::table const& row, std::string_view name) {
  std::vector<std::string> all;
  auto const* list = row[name].as_array();
  if (list == nullptr)
    throw std::runtime_error("the catalogue has a row without '" + std::string(name) + "'");
  for (auto const& entry : *list) all.push_back(entry.value<std::string>().value());
  return all;
}

catalogue_entry read_row(toml::table const& row) {
  catalogue_entry e;
  e.id = text_of(row, "id");
  e.must = text_of(row, "must");
  e.level = text_of(row, "level") == "required" ? level::required : level::extended;
  e.profile = text_of(row, "profile");
  e.since = text_of(row, "since");
  e.marks = texts_of(row, "marks");
  e.kills = texts_of(row, "kills");
  e.min_checks = row["min_checks"].value_or(1);
  e.runs_effect = row["runs_effect"].value_or(true);
  return e;
}

std::size_t group_place(std::string const& id) {
  auto const group = std::string_view(id).substr(0, id.find('-'));
  return static_cast<std::size_t>(std::ranges::find(group_order, group) - group_order.begin());
}

std::vector<catalogue_entry> read_all() {
  std::vector<catalogue_entry> all;
  for (auto const& file : embedded::catalogue_schema) {
    auto const table = toml::parse(file.text);
    auto const* rows = table["scenario"].as_array();
    if (rows == nullptr) throw std::runtime_error("a catalogue file has no scenario");
    for (auto const& row : *rows) all.push_back(read_row(*row.as_table()));
  }
  std::ranges::sort(all, [](catalogue_entry const& a, catalogue_entry const& b) {
    return std::pair(group_place(a.id), a.id) < std::pair(group_place(b.id), b.id);
  });
  return all;
}

}  // namespace

std::vector<catalogue_entry> const& catalogue() {
  static std::vector<catalogue_entry> const all = read_all();
  return all;
}

catalogue_entry const* find_entry(std::string_view id) {
  auto const place = std::ranges::find(catalogue(), id, &catalogue_entry::id);
  return place == catalogue().end() ? nullptr : &*place;
}

std::string const& catalogue_digest() {
  static std::string const digest = [] {
    std::string all;
    for (auto const& file : embedded::catalogue_schema) all += file.text;
    return sha256_hex(all);
  }();
  return digest;
}

}  // namespace idem::inline v1::conformance
