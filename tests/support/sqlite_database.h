// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <idem/sqlite.h>

namespace idem_test {

/// A folder of its own, removed at the end.
class temporary_folder {
 public:
  temporary_folder();
  temporary_folder(temporary_folder const&) = delete;
  temporary_folder& operator=(temporary_folder const&) = delete;
  ~temporary_folder();

  std::string operator/(std::string_view name) const { return (path_ / name).string(); }
  std::filesystem::path const& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Opens what the URL says; a failure fails the test.
std::unique_ptr<idem::session> open_sqlite(std::string const& url);

/// Statements on the handle itself, as an effect may send them. The result code, extended.
int raw(idem::session&, char const* sql);

/// One statement through the port; a failure fails the test.
idem::rows run(idem::session&, std::string_view sql, std::initializer_list<idem::parameter> = {});

/// As `run`, for a statement that is to fail: its error.
idem::error run_error(idem::session&, std::string_view sql,
                      std::initializer_list<idem::parameter> = {});

/// The one integer that the statement returns.
std::int64_t number(idem::session&, std::string_view sql);

/// Limits with nothing but a wait limit.
idem::call_limits wait_at_most(std::chrono::milliseconds);

idem::begin_options begin_waiting(std::chrono::milliseconds);

}  // namespace idem_test
