// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>

namespace idem_test {

/// What a file of SQLite is to fail at.
enum class sqlite_fault : std::uint8_t {
  none,
  sync,           ///< of any file, after what was written before is on its way
  write,          ///< of any file, before anything is written
  remove_before,  ///< of a journal: it stays
  remove_after,   ///< of a journal: it is gone, its folder may not know
};

/// While it lives, what is opened with SQLite's default file system passes through here, and
/// `arm` makes the next such call, and all after it, fail with a result code. One at a time.
class sqlite_faults {
 public:
  sqlite_faults();
  sqlite_faults(sqlite_faults const&) = delete;
  sqlite_faults& operator=(sqlite_faults const&) = delete;
  ~sqlite_faults();

  static void arm(sqlite_fault, int code);
  static void disarm();
};

}  // namespace idem_test
