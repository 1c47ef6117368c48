# SPDX-License-Identifier: BSL-1.0
# SOCI::Core, and SOCI::SQLite3 and SOCI::PostgreSQL where those backends are there.
#
# SOCI 4.1 brings a configuration with these targets. SOCI 4.0 as distributions build it brings
# none (Debian bookworm: libsoci-dev): it is looked for by hand.
set(_soci_targets TRUE)
find_package(SOCI CONFIG QUIET OPTIONAL_COMPONENTS Core SQLite3 PostgreSQL)
if(NOT TARGET SOCI::Core)
  set(_soci_targets FALSE)
  find_path(SOCI_INCLUDE_DIR soci/soci.h)
  find_library(SOCI_CORE_LIBRARY soci_core)
  find_library(SOCI_SQLITE3_LIBRARY soci_sqlite3)
  find_library(SOCI_POSTGRESQL_LIBRARY soci_postgresql)
  mark_as_advanced(SOCI_INCLUDE_DIR SOCI_CORE_LIBRARY SOCI_SQLITE3_LIBRARY SOCI_POSTGRESQL_LIBRARY)
  if(SOCI_INCLUDE_DIR AND EXISTS "${SOCI_INCLUDE_DIR}/soci/version.h")
    file(STRINGS "${SOCI_INCLUDE_DIR}/soci/version.h" _soci_line REGEX "define SOCI_LIB_VERSION ")
    string(REGEX MATCH "[0-9]+_[0-9]+_[0-9]+" SOCI_VERSION "${_soci_line}")
    string(REPLACE "_" "." SOCI_VERSION "${SOCI_VERSION}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
if(_soci_targets)
  find_package_handle_standard_args(SOCI REQUIRED_VARS SOCI_DIR VERSION_VAR SOCI_VERSION)
else()
  find_package_handle_standard_args(
    SOCI REQUIRED_VARS SOCI_CORE_LIBRARY SOCI_INCLUDE_DIR VERSION_VAR SOCI_VERSION)
endif()

# _soci_target(<target> <library>): a library found by hand; its users need the headers.
function(_soci_target target library)
  if(NOT library OR TARGET ${target})
    return()
  endif()
  add_library(${target} UNKNOWN IMPORTED)
  set_target_properties(
    ${target} PROPERTIES IMPORTED_LOCATION "${library}" INTERFACE_INCLUDE_DIRECTORIES
                                                        "${SOCI_INCLUDE_DIR}")
  if(NOT target STREQUAL "SOCI::Core")
    target_link_libraries(${target} INTERFACE SOCI::Core)
    return()
  endif()
  # UBSan's vptr check needs the typeinfo of SOCI's classes, which its libraries hide.
  set_target_properties(${target} PROPERTIES INTERFACE_COMPILE_OPTIONS "-fno-sanitize=vptr")
endfunction()

if(SOCI_FOUND AND NOT _soci_targets)
  _soci_target(SOCI::Core "${SOCI_CORE_LIBRARY}")
  _soci_target(SOCI::SQLite3 "${SOCI_SQLITE3_LIBRARY}")
  _soci_target(SOCI::PostgreSQL "${SOCI_POSTGRESQL_LIBRARY}")
endif()
