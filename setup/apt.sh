# Sourced by the scripts beside it, which define `complete`: whether what they install is there.

# ensure WHAT HOW_LONG PACKAGE...: nothing if it is complete; else install it if that is possible, or say what to do.
ensure() {
  local what=$1 how_long=$2
  shift 2
  complete && return 0
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "error: $what is missing; install it first (on Debian or Ubuntu: sudo apt-get install --no-install-recommends $*)" >&2
    return 2
  fi
  echo "Installing $what with apt (about $how_long) ..."
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
  complete && return 0
  echo "error: $what is still incomplete after installing $*" >&2
  return 2
}
