# SPDX-License-Identifier: BSL-1.0
# What every target of idem has in common.

# idem_own(<target>): language, warnings and the include path of internal headers.
function(idem_own target)
  target_compile_features(${target} PUBLIC cxx_std_23)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PRIVATE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>")
  if(PROJECT_IS_TOP_LEVEL)
    # A designated initialiser leaves members out on purpose. The standard library's own
    # stable_sort uses what it calls deprecated, and only clang says so: g++ watches ours.
    target_compile_options(
      ${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wno-missing-field-initializers
                        $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
                        $<$<BOOL:${IDEM_WERROR}>:-Werror>
                        $<$<BOOL:${IDEM_BUILD_FUZZERS}>:-fsanitize=fuzzer-no-link>)
  endif()
endfunction()

# idem_component(<name> SOURCES <file>... HEADER_DIR <directory> HEADERS <file>...
#                [REQUIRES <component>...] [PACKAGES <find_dependency arguments>...]
#                [PC_REQUIRES <module>...] [PC_LIBS <flag>...])
# A library idem_<name>, known as idem::<name> here and when installed. PACKAGES are what CMake
# and PC_REQUIRES and PC_LIBS what pkg-config needs to link it; the caller links the targets.
function(idem_component name)
  cmake_parse_arguments(
    PARSE_ARGV 1 arg "" "HEADER_DIR" "SOURCES;HEADERS;REQUIRES;PACKAGES;PC_REQUIRES;PC_LIBS")
  if(NOT arg_SOURCES)
    message(STATUS "idem: component ${name} has no sources")
    return()
  endif()
  set(target idem_${name})
  add_library(${target} ${arg_SOURCES})
  add_library(idem::${name} ALIAS ${target})
  idem_own(${target})
  target_sources(
    ${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${arg_HEADER_DIR}" FILES ${arg_HEADERS})
  set_target_properties(
    ${target}
    PROPERTIES EXPORT_NAME ${name}
               VERSION ${PROJECT_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
               INSTALL_RPATH "$ORIGIN"
               IDEM_REQUIRES "${arg_REQUIRES}"
               IDEM_PACKAGES "${arg_PACKAGES}"
               IDEM_PC_REQUIRES "${arg_PC_REQUIRES}"
               IDEM_PC_LIBS "${arg_PC_LIBS}")
  foreach(required IN LISTS arg_REQUIRES)
    target_link_libraries(${target} PUBLIC idem::${required})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY IDEM_COMPONENTS ${name})
endfunction()

# idem_use_components(<target>): links every component that is built, and tells
# the sources which ones: IDEM_HAS_SQLITE, IDEM_HAS_MEMORY, IDEM_HAS_CONFORMANCE are 0 or 1.
function(idem_use_components target)
  foreach(name IN ITEMS core memory sqlite postgresql soci conformance)
    string(TOUPPER "${name}" upper)
    if(TARGET idem_${name})
      target_link_libraries(${target} PRIVATE idem::${name})
    endif()
    target_compile_definitions(${target} PRIVATE IDEM_HAS_${upper}=$<TARGET_EXISTS:idem_${name}>)
  endforeach()
endfunction()
