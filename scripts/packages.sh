# Debian packages that Plimsoll needs, how to get those that are missing, and how tests are run. Sourced by the other scripts.

plimsoll_build_packages=(
  g++ cmake ninja-build pkg-config git
  libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libabsl-dev zlib1g-dev
  libspdlog-dev libcli11-dev libyaml-cpp-dev libboost-dev libblkid-dev libelf-dev libssl-dev libjs-dygraphs nlohmann-json3-dev
)
plimsoll_test_packages=(
  locales tzdata zsh libgtest-dev libgmock-dev python3 python3-jsonschema python3-yaml strace tmux iproute2 util-linux mount e2fsprogs
  libfuse3-dev fuse3 openssh-client openssh-server nftables faketime openssl systemd python3-seccomp python3-pip chromium chromium-driver fio gnuplot-nox python3-six default-jdk-headless libhdrhistogram-java ctdb
  prometheus
)
plimsoll_check_packages=(clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev llvm-19)
plimsoll_portable_packages=(binutils rpm)
plimsoll_cross_packages=(g++-powerpc64le-linux-gnu g++-s390x-linux-gnu qemu-user)
plimsoll_portable_test_packages=(rpmlint rpm2cpio cpio)
plimsoll_lab_packages=(qemu-system-x86 cpio kmod e2fsprogs iproute2 tshark mmdebstrap)
plimsoll_bench_packages=(libbenchmark-dev)

# install_missing PACKAGE...: installs what is not there, as root or through sudo; without either, prints the command and fails.
# No service is started: tests start the programs that they need. A machine's own policy-rc.d is left in place.
install_missing() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      as_root=(sudo)
    elif command -v sudo >/dev/null && [ -t 0 ]; then
      as_root=(sudo)
    else
      echo "Packages are missing. As root, run:" >&2
      echo "  apt-get update && apt-get install --no-install-recommends -y ${missing[*]}" >&2
      return 1
    fi
  fi
  echo "Installing ${missing[*]}" >&2
  "${as_root[@]}" apt-get update -q >&2 &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive sh -c '
      policy=/usr/sbin/policy-rc.d
      if [ ! -e "$policy" ]; then
        trap "rm -f $policy" EXIT
        trap "exit 1" HUP INT TERM
        printf "#!/bin/sh\nexit 101\n" >"$policy" && chmod 755 "$policy"
      fi
      apt-get -o DPkg::Lock::Timeout=300 install --no-install-recommends -y -q "$@"' sh "${missing[@]}" >&2
}

# run_tests PRESET [ARGUMENT...]: ctest with that preset. Tests of the programs wait more than they compute, so five for each
# processor run at once, four of the slow ones; two of all others, which compute more. ctest counts as passed what was
# skipped: each is listed, with its reason, as `skipped: ...`, in PLIMSOLL_SKIPPED_LOG too, and their number is in
# plimsoll_skipped.
run_tests() {
  local status=0 directory=dev per_processor=2 skipped
  case "$1" in
    asan | tsan) directory=$1 ;;
    arch-*) directory=portable-${1#arch-} ;;
    dev) per_processor=5 ;;
    slow) per_processor=4 ;;
  esac
  ctest --preset "$1" -j "$((per_processor * $(nproc)))" "${@:2}" || status=$?
  skipped=$(sed -nE '/ listed below:$/d; s/ \([0-9]+ ms\)$//; s/^(\[  SKIPPED \]|NOT TESTED:) /skipped: /p' \
    "build/$directory/Testing/Temporary/LastTest.log" | sort -u)
  plimsoll_skipped=0
  if [ -n "$skipped" ]; then
    plimsoll_skipped=$(wc -l <<<"$skipped")
    printf '%s\n' "$skipped" | tee -a "${PLIMSOLL_SKIPPED_LOG:-/dev/null}"
  fi
  return "$status"
}
