// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <idem/session.h>

namespace idem_test {

/// A session that answers as a test tells it and notes what it is asked. It has no tables.
class stub_session : public idem::session {
 public:
  using status_result = idem::result<idem::transaction_status>;
  using rows_result = idem::result<idem::rows>;

  idem::dialect const& sql() const noexcept override { return dialect; }
  status_result status() override {
    calls.emplace_back("status");
    return now;
  }
  idem::result<> begin(idem::begin_options const& o) override {
    calls.emplace_back("begin");
    begun.push_back(o);
    if (begins) now = idem::transaction_status::open;
    return begins;
  }
  idem::result<> commit(std::span<idem::statement const> last,
                        idem::call_limits const& limits) override {
    for (auto const& one : last) {
      if (auto done = note(one, limits); !done) return std::unexpected(done.error());
    }
    calls.emplace_back("commit");
    if (commits) now = idem::transaction_status::idle;
    return commits;
  }
  idem::result<> rollback() noexcept override {
    calls.emplace_back("rollback");
    if (rolls_back) now = idem::transaction_status::idle;
    return rolls_back;
  }
  idem::result<std::vector<idem::rows>> execute(std::span<idem::statement const> all,
                                                idem::call_limits const& limits) override {
    std::vector<idem::rows> answers;
    for (auto const& one : all) {
      auto done = note(one, limits);
      if (!done) return std::unexpected(done.error());
      answers.push_back(std::move(*done));
    }
    return answers;
  }
  idem::result<> reset() noexcept override { return resets; }
  void* native_handle() noexcept override { return this; }
  bool guards_commit() const noexcept override { return guards; }

  idem::dialect dialect;
  status_result now = idem::transaction_status::idle;
  idem::result<> begins, commits, rolls_back, resets;
  bool guards = false;
  /// What a statement answers; by default that it changed one row.
  std::function<rows_result(std::string_view sql)> answer = [](std::string_view) {
    return idem::rows{{}, 1};
  };

  std::vector<std::string> calls;  ///< names of calls and the text of statements
  std::vector<idem::begin_options> begun;
  std::vector<std::pair<std::string, idem::call_limits>> limits_of;

 private:
  rows_result note(idem::statement const& one, idem::call_limits const& limits) {
    calls.emplace_back(one.sql);
    limits_of.emplace_back(one.sql, limits);
    return answer(one.sql);
  }
};

inline idem::error make_error(idem::errc what, idem::advice next = idem::advice::never,
                              idem::certainty known = idem::certainty::not_executed) {
  idem::error e;
  e.what = what;
  e.advice = next;
  e.certainty = known;
  e.message = "stubbed";
  return e;
}

}  // namespace idem_test
