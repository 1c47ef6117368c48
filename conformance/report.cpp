// SPDX-License-Identifier: BSL-1.0
#include <idem/conformance/report.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <sstream>

namespace idem::inline v1::conformance {

namespace {

using json = nlohmann::ordered_json;

constexpr std::array all_verdicts{verdict::pass,          verdict::known_fail, verdict::unsupported,
                                  verdict::indeterminate, verdict::vacuous,    verdict::fail,
                                  verdict::error};

std::string group_of(std::string const& id) { return id.substr(0, id.find('-')); }

std::string_view level_name(level l) { return l == level::required ? "required" : "extended"; }

// Bodies and rows may hold any bytes; JSON holds text.
std::string printable(std::string const& text) {
  std::string out;
  for (char c : text) {
    if (c >= 0x20 && c < 0x7F)
      out += c;
    else
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

json to_json(scenario_result const& r) {
  json one{{"id", r.id},
           {"verdict", to_string(r.verdict)},
           {"reason", r.reason},
           {"milliseconds", r.took.count()},
           {"body_calls", r.body_calls},
           {"marks", r.marks},
           {"missing_marks", r.missing_marks},
           {"log", json::array()},
           {"checks", json::array()},
           {"history", json::array()}};
  for (auto const& line : r.log) one["log"].push_back(printable(line));
  for (auto const& c : r.checks)
    one["checks"].push_back({{"ok", c.ok}, {"what", printable(c.what)}, {"place", c.place}});
  for (auto const& h : r.history)
    one["history"].push_back({{"identity", h.tag}, {"told", to_string(h.what)}});
  return one;
}

json to_json(run_report const& report) {
  json one{{"subject", report.subject},
           {"target", report.target},
           {"catalogue_sha256", report.catalogue},
           {"profile", report.profile},
           {"seed", report.seed},
           {"repeat", report.repeat},
           {"verdict", to_string(report.verdict)},
           {"reason", report.reason},
           {"facts", json::object()},
           {"results", json::array()}};
  for (auto const& f : report.facts) one["facts"][f.name] = printable(f.value);
  for (auto const& r : report.results) one["results"].push_back(to_json(r));
  return one;
}

// The worst child's word alone would read as a failure where all that can be shown is shown.
std::string verdict_line(run_report const& report, std::map<verdict, int> const& counts) {
  auto const count = [&counts](verdict v) {
    auto const place = counts.find(v);
    return place == counts.end() ? 0 : place->second;
  };
  if (report.verdict > verdict::unsupported)
    return fmt::format("verdict: {}{}{}\n", to_string(report.verdict),
                       report.reason.empty() ? "" : ": ", report.reason);
  std::string line = fmt::format("verdict: PASS ({} shown", count(verdict::pass));
  if (int const n = count(verdict::known_fail); n > 0)
    line += fmt::format(", {} failing as declared", n);
  if (int const n = count(verdict::unsupported); n > 0)
    line += fmt::format(", {} proven impossible on this engine", n);
  return line + ")\n";
}

std::string fact_line(run_report const& report) {
  std::string line;
  for (auto const& f : report.facts) {
    if (f.name == "schema" || f.name == "build") continue;
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", f.name, f.value);
  }
  return line;
}

}  // namespace

std::string list_text(std::vector<catalogue_entry> const& entries) {
  std::string out;
  for (auto const& e : entries) {
    fmt::format_to(std::back_inserter(out), "{:<8}{:<10}{:<10}{}\n", e.id, level_name(e.level),
                   e.profile, e.must);
    if (!e.marks.empty() || !e.kills.empty())
      fmt::format_to(std::back_inserter(out), "{:28}marks: {}; kills: {}\n", "",
                     e.marks.empty() ? "-" : fmt::format("{}", fmt::join(e.marks, ", ")),
                     e.kills.empty() ? "-" : fmt::format("{}", fmt::join(e.kills, ", ")));
  }
  fmt::format_to(std::back_inserter(out), "{} scenarios, catalogue {}\n", entries.size(),
                 catalogue_digest());
  return out;
}

std::string list_json(std::vector<catalogue_entry> const& entries) {
  json all{{"catalogue_sha256", catalogue_digest()}, {"scenarios", json::array()}};
  for (auto const& e : entries)
    all["scenarios"].push_back({{"id", e.id},
                                {"must", e.must},
                                {"level", level_name(e.level)},
                                {"profile", e.profile},
                                {"since", e.since},
                                {"marks", e.marks},
                                {"kills", e.kills},
                                {"min_checks", e.min_checks},
                                {"runs_effect", e.runs_effect}});
  return all.dump(2) + "\n";
}

std::string saboteurs_text() {
  std::string out;
  for (auto const& s : saboteurs())
    fmt::format_to(std::back_inserter(out), "{:<5}{}\n", s.id, s.what);
  return out;
}

std::string summary_text(run_report const& report) {
  std::string out =
      fmt::format("{} at {}\n{}\n\n", report.subject, report.target, fact_line(report));
  std::vector<std::string> groups;
  std::map<std::string, std::map<verdict, int>> counts;
  std::chrono::milliseconds took{0};
  for (auto const& r : report.results) {
    auto const group = group_of(r.id);
    if (!counts.contains(group)) groups.push_back(group);
    ++counts[group][r.verdict];
    ++counts["all"][r.verdict];
    took += r.took;
  }
  groups.emplace_back("all");
  fmt::format_to(std::back_inserter(out), "{:<6}", "group");
  for (auto v : all_verdicts) fmt::format_to(std::back_inserter(out), "{:>14}", to_string(v));
  for (auto const& group : groups) {
    fmt::format_to(std::back_inserter(out), "\n{:<6}", group);
    for (auto v : all_verdicts) fmt::format_to(std::back_inserter(out), "{:>14}", counts[group][v]);
  }
  out += "\n\n";
  for (auto const& r : report.results)
    if (r.verdict != verdict::pass)
      fmt::format_to(std::back_inserter(out), "{:<8}{}: {}\n", r.id, to_string(r.verdict),
                     printable(r.reason));
  fmt::format_to(std::back_inserter(out), "{} scenarios in {:.1f} s, seed {}, catalogue {}\n",
                 report.results.size(), static_cast<double>(took.count()) / 1000, report.seed,
                 report.catalogue.substr(0, 12));
  return out + verdict_line(report, counts["all"]);
}

std::string summary_text(sabotage_report const& report) {
  std::string out;
  std::map<std::string, std::vector<std::string>> by_saboteur;
  std::vector<std::string> order;
  int dead = 0, unsupported = 0;
  for (auto const& k : report.kills) {
    if (!by_saboteur.contains(k.saboteur)) order.push_back(k.saboteur);
    dead += k.verdict == verdict::fail ? 1 : 0;
    unsupported += k.verdict == verdict::unsupported ? 1 : 0;
    by_saboteur[k.saboteur].push_back(
        k.verdict == verdict::fail ? k.scenario
                                   : fmt::format("({} {})", k.scenario, to_string(k.verdict)));
  }
  for (auto const& id : order) {
    auto const* s = find_saboteur(id);
    fmt::format_to(std::back_inserter(out), "{:<5}{}\n     killed by {}\n", id,
                   s != nullptr ? s->what : "?", fmt::join(by_saboteur[id], " "));
  }
  out += "\n";
  for (auto const& survivor : report.survivors)
    fmt::format_to(std::back_inserter(out), "ALIVE: {}\n", survivor);
  fmt::format_to(std::back_inserter(out),
                 "{} saboteurs; kills: {}/{} ({} more pairs cannot be shown on {})\nverdict: {}\n",
                 order.size(), dead, static_cast<int>(report.kills.size()) - unsupported,
                 unsupported, report.subject, to_string(report.verdict));
  return out;
}

std::string report_json(std::vector<run_report> const& reports) {
  json all{{"idem", IDEM_VERSION}, {"runs", json::array()}};
  for (auto const& r : reports) all["runs"].push_back(to_json(r));
  return all.dump(2) + "\n";
}

std::string report_json(sabotage_report const& report) {
  json all{{"idem", IDEM_VERSION},
           {"subject", report.subject},
           {"verdict", to_string(report.verdict)},
           {"survivors", report.survivors},
           {"kills", json::array()}};
  for (auto const& k : report.kills)
    all["kills"].push_back({{"saboteur", k.saboteur},
                            {"scenario", k.scenario},
                            {"verdict", to_string(k.verdict)},
                            {"reason", printable(k.reason)}});
  return all.dump(2) + "\n";
}

std::string report_junit(std::vector<run_report> const& reports) {
  pugi::xml_document document;
  auto suites = document.append_child("testsuites");
  for (auto const& report : reports) {
    auto suite = suites.append_child("testsuite");
    auto const count = [&](auto... v) {
      return std::ranges::count_if(report.results,
                                   [=](auto const& r) { return ((r.verdict == v) || ...); });
    };
    suite.append_attribute("name") = ("idem conformance " + report.subject).c_str();
    suite.append_attribute("tests") = static_cast<unsigned>(report.results.size());
    suite.append_attribute("failures") = static_cast<unsigned>(count(verdict::fail));
    suite.append_attribute("errors") =
        static_cast<unsigned>(count(verdict::error, verdict::vacuous, verdict::indeterminate));
    suite.append_attribute("skipped") = static_cast<unsigned>(count(verdict::unsupported));
    for (auto const& r : report.results) {
      auto test = suite.append_child("testcase");
      test.append_attribute("classname") = (report.subject + "." + group_of(r.id)).c_str();
      test.append_attribute("name") = r.id.c_str();
      test.append_attribute("time") =
          fmt::format("{:.3f}", static_cast<double>(r.took.count()) / 1000).c_str();
      if (r.verdict == verdict::pass) continue;
      auto const kind = r.verdict == verdict::fail          ? "failure"
                        : r.verdict == verdict::unsupported ? "skipped"
                                                            : "error";
      auto trouble = test.append_child(kind);
      trouble.append_attribute("message") = printable(r.reason).c_str();
      trouble.append_attribute("type") = std::string(to_string(r.verdict)).c_str();
    }
  }
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace idem::inline v1::conformance
