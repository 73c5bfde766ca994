# Helpers of the build: one library a folder, one warning set, one way to register a test.

add_library(plimsoll_options INTERFACE)
target_compile_options(plimsoll_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # g++ 12 sees overlapping copies in std::string's operator+ that are not there (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(CMAKE_CROSSCOMPILING)
  # At -O2, g++ 12 for Z sees copies beyond the end of a std::string that are not there (GCC bug 105329).
  target_compile_options(plimsoll_options INTERFACE -Wno-array-bounds -Wno-stringop-overflow)
endif()
target_include_directories(plimsoll_options INTERFACE "${CMAKE_SOURCE_DIR}")
# For all targets, since a precompiled header fits only sources that are compiled with the same options. Without
# -ffp-contract=off, g++ joins a product and a sum to one instruction with another last digit where the machine has one, as POWER and Z
# do: a journal would give other figures there.
add_compile_options(-pthread -ffp-contract=off)

# g++ compiles test programs without optimisation: GoogleTest's templates take longer to optimise than most tests to run.
add_library(plimsoll_test_options INTERFACE)
target_link_libraries(plimsoll_test_options INTERFACE plimsoll_options)
target_compile_options(plimsoll_test_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-O0>)
# Those of properties, which compute for long, are optimised. GoogleTest at -O1 makes g++ 12 see copies beyond the end of a
# std::string that are not there (GCC bug 105329).
add_library(plimsoll_property_options INTERFACE)
target_link_libraries(plimsoll_property_options INTERFACE plimsoll_options)
target_compile_options(plimsoll_property_options INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)

# plimsoll_precompile(TARGET HOLDER): TARGET's sources start from the header that HOLDER has precompiled. No source may rely on
# that: scripts/check builds all of them without it as well.
function(plimsoll_precompile target holder)
  if(PLIMSOLL_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${holder})
  endif()
endfunction()

# plimsoll_precompiled_header(HOLDER HEADER OPTIONS target DEPS ...): compiles HEADER once for all targets that reuse it, with the
# options of `target`.
function(plimsoll_precompiled_header holder header)
  cmake_parse_arguments(ARG "" "OPTIONS" "DEPS" ${ARGN})
  if(PLIMSOLL_PRECOMPILE)
    file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${holder}.cc" CONTENT "// Holds a precompiled header.\n")
    add_library(${holder} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/${holder}.cc")
    target_link_libraries(${holder} PRIVATE ${ARG_OPTIONS} ${ARG_DEPS})
    target_precompile_headers(${holder} PRIVATE "${header}")
    # Compiled anew each time: ccache 4.7 returned a precompiled header of before a change of a .proto.
    set_target_properties(${holder} PROPERTIES CXX_COMPILER_LAUNCHER "")
  endif()
endfunction()

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

# plimsoll_library(NAME [SRCS generated.cc ...] DEPS plimsoll::proto ...): library plimsoll::NAME of the sources and headers in its folder.
# Includes are written from the top of the tree. The release compiles a library as one unit, and so do builds with precompiled headers
# in parts of six sources, which takes half the time; a change of one source still costs seconds. So a name in an anonymous namespace
# is used once in its library.
function(plimsoll_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  list(APPEND ARG_SRCS ${sources})
  if(ARG_SRCS)
    add_library(plimsoll_${name} STATIC ${ARG_SRCS})
    set(scope PUBLIC)
    target_link_libraries(plimsoll_${name} PRIVATE plimsoll_options)
    plimsoll_precompile(plimsoll_${name} plimsoll_headers)
    if(PLIMSOLL_PRECOMPILE AND NOT CMAKE_UNITY_BUILD)
      set_target_properties(plimsoll_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    endif()
  else()
    add_library(plimsoll_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_sources(plimsoll_${name} ${scope} FILE_SET HEADERS BASE_DIRS "${CMAKE_SOURCE_DIR}" FILES ${headers})
  target_include_directories(plimsoll_${name} ${scope} "${CMAKE_SOURCE_DIR}")
  target_link_libraries(plimsoll_${name} ${scope} ${ARG_DEPS})
  set_target_properties(plimsoll_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  add_library(plimsoll::${name} ALIAS plimsoll_${name})
endfunction()

# plimsoll_test(NAME SRCS a_test.cc ... DEPS ... LABELS unit [TIMEOUT seconds] [COST seconds]): a GoogleTest program, one entry of ctest. It prints
# the cases that fail; `build/dev/bin/NAME --gtest_filter=...` runs some of them. With a precompiled header, up to eight sources
# compile as one: GoogleTest's templates cost more than the tests do. So in a test program, too, a name in an anonymous namespace is
# used once.
function(plimsoll_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;COST" "SRCS;DEPS;LABELS" ${ARGN})
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
    # Sanitizers take three times as long, and more.
    if(PLIMSOLL_SANITIZE)
      set(ARG_TIMEOUT 900)
    endif()
  endif()
  # An emulated processor takes some ten times as long.
  if(CMAKE_CROSSCOMPILING)
    math(EXPR ARG_TIMEOUT "10 * ${ARG_TIMEOUT}")
  endif()
  set(kind test)
  if("property" IN_LIST ARG_LABELS)
    set(kind property)
  endif()
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE plimsoll_${kind}_options ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  plimsoll_precompile(${name} plimsoll_${kind}_headers)
  if(PLIMSOLL_PRECOMPILE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  # What needs none of the programs is built by itself for an emulator.
  if(ARG_LABELS MATCHES "unit|property|golden")
    if(NOT TARGET unit_tests)
      add_custom_target(unit_tests)
    endif()
    add_dependencies(unit_tests ${name})
  endif()
  # What the thread sanitizer can find something in is built by itself.
  if("threads" IN_LIST ARG_LABELS)
    if(NOT TARGET threaded_tests)
      add_custom_target(threaded_tests)
    endif()
    add_dependencies(threaded_tests ${name})
  endif()
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} COST ${ARG_COST}
    FAIL_REGULAR_EXPRESSION "Running 0 tests|==========. 0 tests")
endfunction()

# plimsoll_test_library(NAME SRCS ... DEPS ...): what several test programs share, or what computes for long; no GoogleTest in it.
function(plimsoll_test_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE plimsoll_options PUBLIC ${ARG_DEPS})
  plimsoll_precompile(${name} plimsoll_headers)
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

# plimsoll_manual(PROGRAM COMPONENT): manual pages and shell completion, which PROGRAM writes from the declarations of its options,
# made with it and installed in COMPONENT.
function(plimsoll_manual program component)
  set(place "${CMAKE_BINARY_DIR}/share/${program}")
  add_custom_command(
    OUTPUT "${place}/man/man1/${program}.1"
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${place}"
    COMMAND ${program} --manual "${place}"
    DEPENDS ${program}
    COMMENT "Writing the manual of ${program}"
    VERBATIM)
  add_custom_target(${program}-manual ALL DEPENDS "${place}/man/man1/${program}.1")
  install(DIRECTORY "${place}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}" COMPONENT ${component})
  foreach(shell bash-completion zsh)
    install(DIRECTORY "${place}/${shell}" DESTINATION "${CMAKE_INSTALL_DATADIR}" COMPONENT ${component})
  endforeach()
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
