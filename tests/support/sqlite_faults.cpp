// SPDX-License-Identifier: BSL-1.0
// A file system for SQLite that is the real one until it is told to fail.
// https://sqlite.org/vfs.html#vfs_shims
#include "tests/support/sqlite_faults.h"

#include <sqlite3.h>

namespace idem_test {

namespace {

struct {
  sqlite3_vfs* real = nullptr;
  sqlite3_vfs shim{};
  sqlite_fault kind = sqlite_fault::none;
  int code = SQLITE_OK;
} state;

/// SQLite's part; the real file lies behind it.
struct file {
  sqlite3_file base;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

template <auto method, class... A>
int pass(sqlite3_file* f, A... a) {
  auto* real = reinterpret_cast<file*>(f)->real();
  return (real->pMethods->*method)(real, a...);
}

using methods = sqlite3_io_methods;

int write(sqlite3_file* f, void const* data, int bytes, sqlite3_int64 at) {
  if (state.kind == sqlite_fault::write) return state.code;
  return pass<&methods::xWrite>(f, data, bytes, at);
}

int sync(sqlite3_file* f, int flags) {
  if (state.kind == sqlite_fault::sync) return state.code;
  return pass<&methods::xSync>(f, flags);
}

void shm_barrier(sqlite3_file* f) {
  auto* real = reinterpret_cast<file*>(f)->real();
  real->pMethods->xShmBarrier(real);
}

// Version 2: with shared memory, which WAL needs, and without mapped pages.
constexpr methods shim_methods{
    .iVersion = 2,
    .xClose = pass<&methods::xClose>,
    .xRead = pass<&methods::xRead, void*, int, sqlite3_int64>,
    .xWrite = write,
    .xTruncate = pass<&methods::xTruncate, sqlite3_int64>,
    .xSync = sync,
    .xFileSize = pass<&methods::xFileSize, sqlite3_int64*>,
    .xLock = pass<&methods::xLock, int>,
    .xUnlock = pass<&methods::xUnlock, int>,
    .xCheckReservedLock = pass<&methods::xCheckReservedLock, int*>,
    .xFileControl = pass<&methods::xFileControl, int, void*>,
    .xSectorSize = pass<&methods::xSectorSize>,
    .xDeviceCharacteristics = pass<&methods::xDeviceCharacteristics>,
    .xShmMap = pass<&methods::xShmMap, int, int, int, void volatile**>,
    .xShmLock = pass<&methods::xShmLock, int, int, int>,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = pass<&methods::xShmUnmap, int>,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open(sqlite3_vfs*, char const* name, sqlite3_file* f, int flags, int* out_flags) {
  auto* shim = reinterpret_cast<file*>(f);
  shim->base.pMethods = nullptr;
  int const rc = state.real->xOpen(state.real, name, shim->real(), flags, out_flags);
  if (shim->real()->pMethods != nullptr) shim->base.pMethods = &shim_methods;
  return rc;
}

int remove(sqlite3_vfs*, char const* name, int sync_folder) {
  if (state.kind == sqlite_fault::remove_before) return state.code;
  int const rc = state.real->xDelete(state.real, name, sync_folder);
  return state.kind == sqlite_fault::remove_after ? state.code : rc;
}

}  // namespace

sqlite_faults::sqlite_faults() {
  disarm();
  state.real = sqlite3_vfs_find(nullptr);
  state.shim = *state.real;
  state.shim.pNext = nullptr;
  state.shim.zName = "idem_faults";
  state.shim.szOsFile = static_cast<int>(sizeof(file)) + state.real->szOsFile;
  state.shim.xOpen = open;
  state.shim.xDelete = remove;
  sqlite3_vfs_register(&state.shim, 1);
}

sqlite_faults::~sqlite_faults() {
  sqlite3_vfs_unregister(&state.shim);
  sqlite3_vfs_register(state.real, 1);
}

void sqlite_faults::arm(sqlite_fault kind, int code) {
  state.kind = kind;
  state.code = code;
}

void sqlite_faults::disarm() { arm(sqlite_fault::none, SQLITE_OK); }

}  // namespace idem_test
