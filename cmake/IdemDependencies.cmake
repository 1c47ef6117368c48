# SPDX-License-Identifier: BSL-1.0
# Finds what the components need and decides which components are built: IDEM_SQLITE,
# IDEM_POSTGRESQL, IDEM_MEMORY and IDEM_CONFORMANCE are ON or OFF afterwards.

# Header-only, and used by .cpp files alone: a user of an installed idem needs none of them.
find_path(IDEM_RAPIDJSON_INCLUDE_DIR rapidjson/reader.h)
find_path(IDEM_TOML_INCLUDE_DIR toml++/toml.h)
find_path(IDEM_NLOHMANN_JSON_INCLUDE_DIR nlohmann/json.hpp)
find_path(IDEM_ASIO_INCLUDE_DIR boost/asio.hpp)
mark_as_advanced(IDEM_RAPIDJSON_INCLUDE_DIR IDEM_TOML_INCLUDE_DIR IDEM_NLOHMANN_JSON_INCLUDE_DIR
                 IDEM_ASIO_INCLUDE_DIR)

if(NOT TARGET OpenSSL::Crypto)
  find_package(OpenSSL 3 REQUIRED COMPONENTS Crypto)
endif()
if(NOT IDEM_RAPIDJSON_INCLUDE_DIR)
  message(FATAL_ERROR "idem: rapidjson/reader.h not found (Debian: rapidjson-dev)")
endif()
if(NOT TARGET SQLite::SQLite3)
  find_package(SQLite3 QUIET)
endif()
if(NOT TARGET PostgreSQL::PostgreSQL)
  find_package(PostgreSQL 14 QUIET)
endif()
if(NOT TARGET fmt::fmt)
  find_package(fmt QUIET)
endif()
if(NOT TARGET pugixml::pugixml)
  find_package(pugixml QUIET)
endif()
find_package(Threads QUIET)

# idem_switch(<component> <needed>...): sets IDEM_<COMPONENT> from IDEM_WITH_<COMPONENT>.
# A needed thing is the name of a target or of a variable that find_path has set.
function(idem_switch component)
  string(TOUPPER "${component}" upper)
  set(option "IDEM_WITH_${upper}")
  set(${option} AUTO CACHE STRING "Build the component ${component}: AUTO, ON or OFF")
  set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
  set(IDEM_${upper} OFF PARENT_SCOPE)
  if(NOT ${option})
    message(STATUS "idem: component ${component} is switched off")
    return()
  endif()
  set(missing "")
  foreach(needed IN LISTS ARGN)
    if(NOT TARGET "${needed}" AND NOT (DEFINED "${needed}" AND ${needed}))
      string(REGEX REPLACE "^IDEM_(.*)_INCLUDE_DIR$" "\\1" needed "${needed}")
      list(APPEND missing "${needed}")
    endif()
  endforeach()
  if(missing)
    list(JOIN missing ", " missing)
    if(${option} STREQUAL "AUTO")
      message(WARNING "idem: component ${component} is left out, not found: ${missing}")
      return()
    endif()
    message(FATAL_ERROR "idem: ${option} is on, but not found: ${missing}")
  endif()
  set(IDEM_${upper} ON PARENT_SCOPE)
endfunction()

idem_switch(memory)
idem_switch(sqlite SQLite::SQLite3)
idem_switch(postgresql PostgreSQL::PostgreSQL Threads::Threads)
idem_switch(
  conformance fmt::fmt pugixml::pugixml Threads::Threads IDEM_TOML_INCLUDE_DIR
  IDEM_NLOHMANN_JSON_INCLUDE_DIR IDEM_ASIO_INCLUDE_DIR)
