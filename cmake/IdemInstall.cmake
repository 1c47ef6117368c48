# SPDX-License-Identifier: BSL-1.0
# One export set, one CMake file and one .pc file for each component that is built.
include(CMakePackageConfigHelpers)

get_property(IDEM_COMPONENTS GLOBAL PROPERTY IDEM_COMPONENTS)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/idem")
set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
set(staging_dir "${PROJECT_BINARY_DIR}/install")

# A directory below the prefix, as a .pc file writes it; the prefix is found from the file.
set(IDEM_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(IDEM_PC_LIBDIR "${CMAKE_INSTALL_LIBDIR}")
set(IDEM_PC_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}")
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH up "/p/${pkgconfig_dir}" "/p")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(IDEM_PC_PREFIX "\${pcfiledir}/${up}")
  set(IDEM_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(IDEM_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()

set(IDEM_REQUIRES_LINES "")
foreach(name IN LISTS IDEM_COMPONENTS)
  install(
    TARGETS idem_${name}
    EXPORT idem-${name}-targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(
    EXPORT idem-${name}-targets
    NAMESPACE idem::
    DESTINATION "${package_dir}")

  get_target_property(requires idem_${name} IDEM_REQUIRES)
  get_target_property(packages idem_${name} IDEM_PACKAGES)
  get_target_property(pc_requires idem_${name} IDEM_PC_REQUIRES)
  get_target_property(pc_libs idem_${name} IDEM_PC_LIBS)
  set(IDEM_COMPONENT ${name})
  set(IDEM_FIND_DEPENDENCIES "")
  foreach(package IN LISTS packages)
    string(APPEND IDEM_FIND_DEPENDENCIES "find_dependency(${package})\n")
  endforeach()
  list(JOIN requires " " required)
  string(APPEND IDEM_REQUIRES_LINES "set(_idem_requires_${name} ${required})\n")
  # A static library cannot name what it needs, so everyone who links it has to; a shared one does.
  list(TRANSFORM requires REPLACE "(.+)" "idem-\\1 = ${PROJECT_VERSION}")
  set(IDEM_PC_REQUIRES_PRIVATE "")
  set(IDEM_PC_LIBS_PRIVATE "")
  get_target_property(type idem_${name} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND requires ${pc_requires})
  else()
    list(JOIN pc_requires ", " IDEM_PC_REQUIRES_PRIVATE)
    list(JOIN pc_libs " " IDEM_PC_LIBS_PRIVATE)
    set(pc_libs "")
  endif()
  list(JOIN requires ", " IDEM_PC_REQUIRES)
  list(PREPEND pc_libs "-lidem_${name}")
  list(JOIN pc_libs " " IDEM_PC_LIBS)
  configure_file(cmake/idem-component.cmake.in "${staging_dir}/idem-${name}.cmake" @ONLY)
  configure_file(cmake/idem-component.pc.in "${staging_dir}/idem-${name}.pc" @ONLY)
  install(FILES "${staging_dir}/idem-${name}.cmake" DESTINATION "${package_dir}")
  install(FILES "${staging_dir}/idem-${name}.pc" DESTINATION "${pkgconfig_dir}")
endforeach()

configure_package_config_file(
  cmake/idem-config.cmake.in "${staging_dir}/idem-config.cmake"
  INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  "${staging_dir}/idem-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${staging_dir}/idem-config.cmake" "${staging_dir}/idem-config-version.cmake"
        DESTINATION "${package_dir}")
if(TARGET idem_soci)
  install(FILES cmake/FindSOCI.cmake DESTINATION "${package_dir}")
endif()

if(TARGET idem_tool)
  install(TARGETS idem_tool RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
install(DIRECTORY schemas/ DESTINATION "${CMAKE_INSTALL_DATADIR}/idem/schemas")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
