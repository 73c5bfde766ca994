# Starts an agent on a host for `plimsoll --launch ssh`, and cleans up after it. Plain POSIX sh: whatever the user's shell is, ssh
# starts `sh` there, and the controller sends it this text, with lines before it that set
#   version   the agent's version
#   sum       the SHA-256 of the agent that the controller has, in hexadecimal digits; empty where it has none
#   size      its bytes; empty where none may be copied
#   machine   what it runs on, as `uname -m` prints it
#   cache     the directory that keeps it; empty: the user's own. Nobody else may change it, nor what is above it
#   run       the root of an agent that is given no other: a directory that is made, with a name of its own
# and a line after it that calls `main` with the agent's arguments. Nothing may be sent before this asks for it: sh reads ahead.
#
# It prints lines that begin with "plimsoll-launch":
#   need                  send `size` bytes of the agent
#   ready                 send "go", or "clean", or end the input
#   fail KIND TEXT        it ends
#   ended CODE            the agent has ended; send "clean" on a line of its own, which removes it from the cache, or end the input
# After "go" input and output are the agent's (--stdio), up to its last frame.
LC_ALL=C
export LC_ALL
mask=$(umask)
umask 077
home=
agent=
part=
copied=
made=

tell() { printf 'plimsoll-launch %s\n' "$*"; }

# Of several lines of text, the last.
fail() {
  tell fail "$1" "$(printf '%s\n' "$2" | tail -n 1)"
  exit 1
}

tidy() {
  trap '' HUP INT PIPE TERM
  [ -z "$part" ] || rm -f "$part"
  [ -z "$made" ] || rmdir "$run"
} 2>/dev/null

clean() {
  rm -f ./plimsoll-agent
  rmdir "$home/$version" "$home"
} 2>/dev/null

# The SHA-256 of a file.
sum_of() {
  line=$(sha256sum <"$1" 2>/dev/null || openssl dgst -sha256 -r <"$1" 2>/dev/null) || return 1
  printf '%s\n' "${line%% *}"
}

# Whether a directory or file is this user's, and nobody else may write there.
private() {
  [ -n "$(find "$1" -prune -user "$(id -u)" ! -perm -020 ! -perm -002 2>/dev/null)" ]
}

# Whether nobody but this user and the system can put something else in the place of what is in a directory.
steady() {
  [ -n "$(find "$1" -prune \( -user 0 -o -user "$system" -o -user "$(id -u)" \) \
    \( ! -perm -020 ! -perm -002 -o -perm -1000 \) 2>/dev/null)" ]
}

# Goes into the agent's directory, to stay: what is checked, copied, hashed and started there is one file, whatever the path leads
# to meanwhile.
enter() {
  cd -P "$home/$version" 2>/dev/null || return 1
  here=$(pwd -P) || return 1
  private . || fail private "$here"
  above=..
  while [ "$here" != / ]; do
    here=${here%/*}
    here=${here:-/}
    steady "$above" || fail above "$here"
    above=$above/..
  done
}

# A directory that this user can enter; what is wrong with it otherwise, in the system's words.
usable() {
  text=$(find "$1/." -prune 2>&1 >/dev/null) || fail directory "$1: ${text##*: }"
}

# Whether the directory, entered, has the agent.
cached() {
  [ -f ./plimsoll-agent ] && [ ! -L ./plimsoll-agent ] && private ./plimsoll-agent || return 1
  [ -z "$sum" ] || [ "$(sum_of ./plimsoll-agent)" = "$sum" ]
}

copy() {
  made_it=$(mkdir -p "$home/$version" 2>&1) || fail write "$made_it"
  enter || fail write "$home/$version"
  # What a host that crashed could not remove.
  find . -name '.part-*' -mtime +1 -exec rm -f {} + 2>/dev/null
  # Hosts may share the directory, and process ids repeat.
  part=./.part-${run##*/}
  tell need
  # head takes no more than the agent. dd, the last of the two, reports what it could not write.
  written=$({ head -c "$size" | dd of="$part" bs=65536 conv=fsync; } 2>&1) ||
    fail write "$(printf '%s\n' "$written" | grep -E ': .*: ')"
  [ "$(sum_of "$part")" = "$sum" ] || fail sum "$part"
  chmod 0700 "$part"
  # Another host that shares the directory may run it already: it is replaced only where it is another one.
  ln "$part" ./plimsoll-agent 2>/dev/null || cached || mv -f "$part" ./plimsoll-agent || fail write "$agent"
  rm -f "$part"
  part=
  copied=1
}

main() {
  trap tidy EXIT
  trap 'exit 1' HUP INT PIPE TERM
  [ "$(uname -s)" = Linux ] || fail system "$(uname -s)"
  home=$cache
  if [ -z "$home" ]; then
    case ${XDG_CACHE_HOME:-} in
    /*) home=$XDG_CACHE_HOME/plimsoll ;;
    *) home=${HOME:-}/.cache/plimsoll ;;
    esac
  fi
  agent=$home/$version/plimsoll-agent
  # One for another machine: what was put there by hand will do.
  [ "$(uname -m)" = "$machine" ] || sum=
  # Whose / is: root, or who stands for it where the users of a container are not those of the host.
  system=$(ls -nd / | { read -r _ _ owner _; printf '%s' "$owner"; })
  if ! { enter && cached; }; then
    [ -n "$size" ] || fail missing "$agent"
    [ -n "$sum" ] || fail machine "$(uname -m) $agent"
    copy
  fi
  runs=$(./plimsoll-agent --version 2>&1 </dev/null) || {
    [ -z "$copied" ] || clean
    fail run "$runs"
  }
  [ "$runs" = "plimsoll-agent $version" ] || fail other "$runs"
  before=
  for argument; do
    if [ "$before $argument" = "--root $run" ]; then
      text=$(mkdir "$run" 2>&1) || fail tmp "$text"
      made=1
    fi
    [ "$before" != --root ] || usable "$argument"
    before=$argument
  done
  tell ready
  IFS= read -r word || exit 0
  if [ "$word" = go ]; then
    umask "$mask"
    ./plimsoll-agent "$@"
    code=$?
    # Killed: the next one removes its files, and ends with its input.
    [ "$code" -le 128 ] || ./plimsoll-agent "$@" </dev/null >/dev/null 2>&1
    tell ended "$code"
    # No session came: the controller may be out of reach.
    [ "$code" -ne 3 ] || exit 0
    # Frames for an agent that was killed may come first.
    while IFS= read -r word && [ "$word" != clean ]; do :; done
  fi
  [ "$word" != clean ] || clean
  exit 0
}
