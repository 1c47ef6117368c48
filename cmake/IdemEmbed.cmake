# SPDX-License-Identifier: BSL-1.0
# idem_embed(<target> <name> <file>...): makes text files part of a target, which may include
# "idem_embedded_<name>.h". That declares in idem::embedded a std::string_view <name>_<stem> for
# each file, and <name>_schema, the list of all files in the order of their names.
function(idem_embed target name)
  if(NOT TARGET ${target} OR NOT ARGN)
    return()
  endif()
  set(files "")
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file)
    list(APPEND files "${file}")
  endforeach()
  list(SORT files)
  list(JOIN files "|" joined)
  set(directory "${PROJECT_BINARY_DIR}/embedded")
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed.cmake")
  add_custom_command(
    OUTPUT "${directory}/idem_embedded_${name}.cpp" "${directory}/idem_embedded_${name}.h"
    COMMAND "${CMAKE_COMMAND}" "-DNAME=${name}" "-DFILES=${joined}" "-DDIRECTORY=${directory}" -P
            "${script}"
    DEPENDS ${files} "${script}"
    COMMENT "Embedding ${name}"
    VERBATIM)
  target_sources(
    ${target} PRIVATE "${directory}/idem_embedded_${name}.cpp"
                      "${directory}/idem_embedded_${name}.h")
  target_include_directories(${target} PRIVATE "$<BUILD_INTERFACE:${directory}>")
endfunction()
