// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>
#include <unistd.h>

#include <idem/conformance/report.h>
#include <idem/conformance/suite.h>
#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "conformance/subjects/subjects.h"
#include "tools/commands.h"

namespace idem::tools {

namespace {

using namespace idem::conformance;

struct suite_arguments {
  std::vector<std::string> targets;
  suite_options options;
  std::string out_directory, junit_file, json_file;
  bool as_json = false;
  bool list_saboteurs = false;
};

// One line that is written over on a terminal; elsewhere a line for each that ended.
void show_progress(std::size_t number, std::size_t total, std::string const& id,
                   scenario_result const* r) {
  bool const terminal = isatty(STDERR_FILENO) != 0;
  if (r == nullptr) {
    if (terminal) fmt::print(stderr, "\r\x1b[K[{}/{}] {}", number, total, id);
    return;
  }
  if (!terminal)
    fmt::print(stderr, "[{}/{}] {} {} {} ms\n", number, total, id, to_string(r->verdict),
               r->took.count());
  else if (number == total)
    fmt::print(stderr, "\r\x1b[K");
}

// Empty if it was written, else what stood in the way.
std::string write_file(std::filesystem::path const& path, std::string const& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file.good()) return {};
  return fmt::format("cannot write to '{}': {}", path.string(),
                     errno != 0 ? std::generic_category().message(errno) : "no reason is known");
}

std::filesystem::path json_in(suite_arguments const& a) {
  return std::filesystem::path(a.out_directory) / "report.json";
}
std::filesystem::path junit_in(suite_arguments const& a) {
  return std::filesystem::path(a.out_directory) / "junit.xml";
}
std::filesystem::path summary_in(suite_arguments const& a) {
  return std::filesystem::path(a.out_directory) / "summary.txt";
}

// The files asked for are proved writable before anything is run. Empty if they are.
std::string prepare_output(suite_arguments const& a) {
  std::vector<std::filesystem::path> files;
  if (!a.junit_file.empty()) files.emplace_back(a.junit_file);
  if (!a.json_file.empty()) files.emplace_back(a.json_file);
  if (!a.out_directory.empty()) {
    std::error_code failure;
    std::filesystem::create_directories(a.out_directory, failure);
    if (failure)
      return fmt::format("cannot make the folder '{}' given with --out: {}", a.out_directory,
                         failure.message());
    for (auto const& file : {json_in(a), junit_in(a), summary_in(a)}) files.push_back(file);
  }
  for (auto const& file : files)
    if (auto trouble = write_file(file, ""); !trouble.empty()) return trouble;
  return {};
}

int write_reports(suite_arguments const& a, std::vector<run_report> const& reports) {
  int code = 0;
  auto const write = [&code](std::filesystem::path const& path, std::string const& text) {
    if (auto trouble = write_file(path, text); !trouble.empty()) code = complain(trouble);
  };
  if (!a.junit_file.empty()) write(a.junit_file, report_junit(reports));
  if (!a.json_file.empty()) write(a.json_file, report_json(reports));
  if (a.out_directory.empty()) return code;
  std::string summaries;
  for (auto const& r : reports) summaries += summary_text(r) + "\n";
  write(json_in(a), report_json(reports));
  write(junit_in(a), report_junit(reports));
  write(summary_in(a), summaries);
  return code;
}

worker_command own_worker() {
  return {std::filesystem::read_symlink("/proc/self/exe").string(), "conformance", "worker"};
}

int run_targets(suite_arguments& a) {
  if (auto selected = select(a.options.select); !selected) return complain(selected.error());
  if (auto trouble = prepare_output(a); !trouble.empty()) return complain(trouble);
  a.options.worker = own_worker();
  a.options.progress = show_progress;
  std::vector<run_report> reports;
  int code = 0;
  for (auto const& target : a.targets) {
    auto subject = make_subject(target);
    if (!subject) {
      code = complain(subject.error());
      continue;
    }
    auto report = run_suite(**subject, a.options);
    if (!report) {
      code = complain(report.error());
      continue;
    }
    fmt::print("{}\n", summary_text(*report));
    code = std::max(code, exit_code(report->verdict));
    reports.push_back(std::move(*report));
  }
  return std::max(code, write_reports(a, reports));
}

int sabotage_target(suite_arguments& a) {
  if (!a.json_file.empty() && a.targets.size() > 1)
    return complain("the file of --json holds one report: name one --target");
  if (auto selected = select_sabotage(a.options); !selected) return complain(selected.error());
  if (auto trouble = prepare_output(a); !trouble.empty()) return complain(trouble);
  a.options.worker = own_worker();
  a.options.progress = show_progress;
  int code = 0;
  for (auto const& target : a.targets) {
    auto subject = make_subject(target);
    if (!subject) return complain(subject.error());
    auto report = run_sabotage(**subject, a.options);
    if (!report) return complain(report.error());
    fmt::print("{}", summary_text(*report));
    if (!a.json_file.empty())
      if (auto trouble = write_file(a.json_file, report_json(*report)); !trouble.empty())
        return complain(trouble);
    code = std::max(code, exit_code(report->verdict));
  }
  return code;
}

int list(suite_arguments const& a) {
  if (a.list_saboteurs) {
    fmt::print("{}", saboteurs_text());
    return 0;
  }
  fmt::print("{}", a.as_json ? list_json(catalogue()) : list_text(catalogue()));
  return 0;
}

int work(std::vector<std::string> const& arguments) {
  std::string output;
  int const code = worker_main(make_subject, arguments, output);
  fmt::print("{}", output);
  return code;
}

// Read as a number by CLI11, "-1" would be the largest there is.
std::string check_seed(std::string const& text) {
  std::uint64_t seed = 0;
  auto const* const end = text.data() + text.size();
  auto const [stopped, problem] = std::from_chars(text.data(), end, seed);
  if (problem == std::errc() && stopped == end) return {};
  return "a seed is a whole number from 0 to 18446744073709551615";
}

void add_selection(CLI::App& command, suite_arguments& a) {
  command.add_option("--target", a.targets, "a database's URL; may be repeated")
      ->required()
      ->allow_extra_args(false);
  command.add_option("--profile", a.options.select.profile, "only the scenarios of this profile");
  command
      .add_option("--scenario", a.options.select.scenarios, "only this scenario; may be repeated")
      ->allow_extra_args(false);
  command.add_option("--seed", a.options.seed, "of every random choice")
      ->check(check_seed)
      ->capture_default_str();
  command.add_option("--json", a.json_file, "write everything seen to this file");
}

}  // namespace

void add_conformance_commands(CLI::App& app, std::function<int()>& chosen) {
  auto* suite = app.add_subcommand("conformance", "hold a database to the contract");
  suite->require_subcommand(1);
  auto a = std::make_shared<suite_arguments>();
  auto* run = suite->add_subcommand("run", "run the scenarios and give a verdict");
  add_selection(*run, *a);
  run->add_option("--repeat", a->options.repeat, "run each scenario so often; the worst counts")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  run->add_option("--out", a->out_directory, "write all reports into this folder");
  run->add_option("--junit", a->junit_file, "write JUnit XML to this file");
  run->callback([&chosen, a] { chosen = [a] { return run_targets(*a); }; });

  auto* listing = suite->add_subcommand("list", "the catalogue: id, level, profile, MUST sentence");
  listing->add_flag("--json", a->as_json, "as JSON");
  listing->add_flag("--saboteurs", a->list_saboteurs, "the saboteurs instead");
  listing->callback([&chosen, a] { chosen = [a] { return list(*a); }; });

  auto* worker = suite->add_subcommand("worker", "")->group("");  // started by the suite itself
  worker->prefix_command();
  worker->callback([&chosen, worker] {
    chosen = [arguments = worker->remaining()] { return work(arguments); };
  });

  auto* sabotage = app.add_subcommand(
      "sabotage", "run deliberately broken stores: every one must fail the scenarios that name it");
  add_selection(*sabotage, *a);
  sabotage->add_option("--saboteur", a->options.saboteur, "only this one");
  sabotage->callback([&chosen, a] { chosen = [a] { return sabotage_target(*a); }; });
}

}  // namespace idem::tools
