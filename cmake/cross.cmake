# Toolchain file: compiles for PLIMSOLL_ARCH, ppc64le or s390x, on another machine. Headers and libraries are those of the sysroot that
# scripts/sysroot makes; programs that run while building (protoc, grpc_cpp_plugin, Python) are this machine's. What is built
# runs under qemu-user.

set(PLIMSOLL_ARCH "" CACHE STRING "Architecture to compile for: ppc64le, s390x")
# Checks of the compiler read this file again.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PLIMSOLL_ARCH)
if(PLIMSOLL_ARCH STREQUAL "ppc64le")
  set(CMAKE_LIBRARY_ARCHITECTURE powerpc64le-linux-gnu)
elseif(PLIMSOLL_ARCH STREQUAL "s390x")
  set(CMAKE_LIBRARY_ARCHITECTURE s390x-linux-gnu)
else()
  message(FATAL_ERROR "PLIMSOLL_ARCH is \"${PLIMSOLL_ARCH}\"; it has to be ppc64le or s390x")
endif()

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR "${PLIMSOLL_ARCH}")
set(CMAKE_CXX_COMPILER "${CMAKE_LIBRARY_ARCHITECTURE}-g++")
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-${PLIMSOLL_ARCH}")

set(CMAKE_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build/sysroot-${PLIMSOLL_ARCH}")
cmake_path(NORMAL_PATH CMAKE_SYSROOT)
# The cross compiler has a C library and a C++ library of its own, older than those of the sysroot.
file(GLOB gcc_libraries "${CMAKE_SYSROOT}/usr/lib/gcc/${CMAKE_LIBRARY_ARCHITECTURE}/*")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-B${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} -B${gcc_libraries}")
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(ENV{PKG_CONFIG_LIBDIR}
  "${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
