# SPDX-License-Identifier: BSL-1.0
# idem_embed(<target> <name> [SCHEMA] <file>...): makes text files part of a target.
# The target may include "idem_embedded_<name>.h", which declares in idem::embedded
#   with SCHEMA:    a std::string_view <name>_<stem> for each file, and <name>_schema, the list of
#                   all files in the order of their names;
#   without SCHEMA: one std::string_view <name>_<extension>, the texts of all files in the order of
#                   their names, one after the other.
function(idem_embed target name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "SCHEMA" "" "")
  if(NOT TARGET ${target} OR NOT arg_UNPARSED_ARGUMENTS)
    return()
  endif()
  set(files "")
  foreach(file IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH file)
    list(APPEND files "${file}")
  endforeach()
  list(SORT files)
  list(JOIN files "|" joined)
  set(directory "${PROJECT_BINARY_DIR}/embedded")
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed.cmake")
  add_custom_command(
    OUTPUT "${directory}/idem_embedded_${name}.cpp" "${directory}/idem_embedded_${name}.h"
    COMMAND "${CMAKE_COMMAND}" "-DNAME=${name}" "-DSCHEMA=${arg_SCHEMA}" "-DFILES=${joined}"
            "-DDIRECTORY=${directory}" -P "${script}"
    DEPENDS ${files} "${script}"
    COMMENT "Embedding ${name}"
    VERBATIM)
  target_sources(
    ${target} PRIVATE "${directory}/idem_embedded_${name}.cpp"
                      "${directory}/idem_embedded_${name}.h")
  target_include_directories(${target} PRIVATE "$<BUILD_INTERFACE:${directory}>")
endfunction()
