# The HTTP server, kinglet_server, where its libraries are there; the program is built without it else.
set(server_lacks)
if(NOT KINGLET_SERVE)
  set(server_lacks "KINGLET_SERVE is OFF")
else()
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(httplib QUIET IMPORTED_TARGET cpp-httplib)
  endif()
  find_package(nlohmann_json QUIET)
  if(NOT httplib_FOUND)
    set(server_lacks "no cpp-httplib: Debian has it as libcpp-httplib-dev, beside pkg-config")
  elseif(NOT httplib_VERSION VERSION_LESS 0.12)
    # Its streams and what processes them changed between the minor versions.
    set(server_lacks "cpp-httplib ${httplib_VERSION} is not 0.11")
  elseif(NOT nlohmann_json_FOUND)
    set(server_lacks "no nlohmann-json: Debian has it as nlohmann-json3-dev")
  endif()
endif()
if(server_lacks)
  message(STATUS "kinglet serve is left out: ${server_lacks}")
  return()
endif()

file(GLOB server_sources CONFIGURE_DEPENDS src/server/*.cpp)
list(FILTER server_sources EXCLUDE REGEX ${other_systems})
add_library(kinglet_server STATIC ${server_sources})
target_compile_options(kinglet_server PRIVATE -Os)  # nothing here is worth unrolling
if(KINGLET_SANITIZE MATCHES undefined)
  # The core has no RTTI for it to look at.
  target_compile_options(kinglet_server PRIVATE -fno-sanitize=vptr)
endif()
target_link_libraries(kinglet_server PUBLIC kinglet_core PkgConfig::httplib
                      nlohmann_json::nlohmann_json PRIVATE kinglet_options)
