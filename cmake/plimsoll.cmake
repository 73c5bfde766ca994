# Helpers of the build: one library a folder, one warning set, one way to register a test.

add_library(plimsoll_options INTERFACE)
target_compile_options(plimsoll_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # g++ 12 sees overlapping copies in std::string's operator+ that are not there (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
target_include_directories(plimsoll_options INTERFACE "${CMAKE_SOURCE_DIR}")

if(PLIMSOLL_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(PLIMSOLL_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
endif()

# The libraries tell the fuzzer which of their branches an input took. Instrumented code needs a runtime to tell it to, which
# programs that are no fuzz targets get from a sanitizer. Without one (preset clang) the targets are built for the lint alone.
if(PLIMSOLL_FUZZ AND PLIMSOLL_SANITIZE)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# plimsoll_library(NAME HDRS a.h ... SRCS a.cc ... DEPS plimsoll::proto ...): library plimsoll::NAME.
# Includes are written from the top of the tree.
function(plimsoll_library name)
  cmake_parse_arguments(ARG "" "" "HDRS;SRCS;DEPS" ${ARGN})
  if(ARG_SRCS)
    add_library(plimsoll_${name} STATIC ${ARG_SRCS})
    set(scope PUBLIC)
    target_link_libraries(plimsoll_${name} PRIVATE plimsoll_options)
  else()
    add_library(plimsoll_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_sources(plimsoll_${name} ${scope} FILE_SET HEADERS BASE_DIRS "${CMAKE_SOURCE_DIR}" FILES ${ARG_HDRS})
  target_include_directories(plimsoll_${name} ${scope} "${CMAKE_SOURCE_DIR}")
  target_link_libraries(plimsoll_${name} ${scope} ${ARG_DEPS})
  set_target_properties(plimsoll_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  add_library(plimsoll::${name} ALIAS plimsoll_${name})
endfunction()

# plimsoll_test(NAME SRCS a_test.cc ... DEPS ... LABELS unit [TIMEOUT seconds]): a GoogleTest program and its tests.
function(plimsoll_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SRCS;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE plimsoll_options ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
endfunction()

# plimsoll_golden_test(NAME MESSAGES file.proto SRCS ... DEPS ...): a plimsoll_test that knows the tree (PLIMSOLL_SOURCE_DIR) and
# what a file of proto/plimsoll/v1 says with its comments (PLIMSOLL_DESCRIPTORS, for schemas); see tests/golden_files.h.
function(plimsoll_golden_test name)
  cmake_parse_arguments(ARG "" "MESSAGES" "SRCS;DEPS" ${ARGN})
  set(descriptors "${CMAKE_CURRENT_BINARY_DIR}/${ARG_MESSAGES}.descriptors")
  file(GLOB protos CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/proto/plimsoll/v1/*.proto")
  add_custom_command(
    OUTPUT "${descriptors}"
    COMMAND protobuf::protoc "-I${CMAKE_SOURCE_DIR}/proto" --include_imports --include_source_info
      "--descriptor_set_out=${descriptors}" "plimsoll/v1/${ARG_MESSAGES}"
    DEPENDS ${protos}
    VERBATIM)
  plimsoll_test(${name} SRCS ${ARG_SRCS} "${descriptors}" LABELS golden DEPS ${ARG_DEPS} protobuf::libprotobuf)
  target_compile_definitions(${name} PRIVATE PLIMSOLL_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    PLIMSOLL_DESCRIPTORS="${descriptors}")
endfunction()

# plimsoll_bench(NAME SRCS ... DEPS ...): a Google Benchmark program, not part of ctest.
function(plimsoll_bench name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE plimsoll_options ${ARG_DEPS} benchmark::benchmark)
endfunction()

# plimsoll_fuzz(NAME SRCS ... DEPS ... CORPUS dir): a libFuzzer program; its smoke run replays the corpus and goes on briefly.
function(plimsoll_fuzz name)
  cmake_parse_arguments(ARG "" "CORPUS" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE plimsoll_options ${ARG_DEPS})
  add_test(NAME ${name}.Smoke
    COMMAND ${name} -max_total_time=10 -rss_limit_mb=2048 -timeout=10 -print_final_stats=1
      "${CMAKE_CURRENT_BINARY_DIR}/${name}.found" "${ARG_CORPUS}")
  file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${name}.found")
  set_tests_properties(${name}.Smoke PROPERTIES LABELS fuzz TIMEOUT 120)
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  add_dependencies(fuzzers ${name})
endfunction()
