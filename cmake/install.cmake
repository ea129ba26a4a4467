# cmake --install: installs the core as a library for find_package(kinglet), and the program with
# its manual page and completions.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(kinglet_core PROPERTIES EXPORT_NAME kinglet)
install(TARGETS kinglet_core EXPORT kinglet-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY src/ DESTINATION include/kinglet FILES_MATCHING PATTERN "*.h"
  PATTERN cli EXCLUDE PATTERN server EXCLUDE)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/kinglet)
install(EXPORT kinglet-targets NAMESPACE kinglet:: DESTINATION ${package_folder})
configure_package_config_file(cmake/kinglet-config.cmake.in kinglet-config.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(kinglet-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kinglet-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/kinglet-config-version.cmake DESTINATION ${package_folder})

if(NOT TARGET kinglet)
  return()
endif()
install(TARGETS kinglet RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# Installs the program's output as `name`. The arguments after `name` are passed to the program.
function(install_output folder name)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/printed/${name})
  add_custom_command(TARGET kinglet POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/printed
    COMMAND kinglet ${ARGN} > ${made})
  install(FILES ${made} DESTINATION ${folder})
endfunction()

if(NOT CMAKE_CROSSCOMPILING)
  install_output(${CMAKE_INSTALL_MANDIR}/man1 kinglet.1 man)
  install_output(${CMAKE_INSTALL_DATADIR}/bash-completion/completions kinglet completions bash)
  install_output(${CMAKE_INSTALL_DATADIR}/zsh/site-functions _kinglet completions zsh)
  install_output(${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d kinglet.fish completions fish)
endif()
