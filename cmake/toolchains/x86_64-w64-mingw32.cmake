# Windows on x86-64: cross-built with Debian's g++-mingw-w64-x86-64-posix, tested with its wine64.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_CROSSCOMPILING_EMULATOR /usr/lib/wine/wine64)

# Libraries of the build machine cannot be used.
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Except header-only ones, through links, because /usr/include itself also has glibc's headers.
get_property(is_trial GLOBAL PROPERTY IN_TRY_COMPILE)
if(NOT is_trial)
  set(KINGLET_HEADERS ${CMAKE_BINARY_DIR}/headers CACHE PATH "")
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/headers)
  file(CREATE_LINK /usr/include/CLI ${CMAKE_BINARY_DIR}/headers/CLI SYMBOLIC)
endif()

# So the program is built without what needs other libraries. With its single header, cpp-httplib is
# none.
foreach(part HISTORY PULL IMAGE)
  set(KINGLET_${part} OFF CACHE BOOL "")
endforeach()
if(NOT KINGLET_HTTPLIB)
  set(KINGLET_SERVE OFF CACHE BOOL "")
endif()
