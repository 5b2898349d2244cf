#!/usr/bin/env bash
# Fill .venv, which it makes, or an active conda environment with the exact versions of requirements.lock, each file
# checked by its SHA-256. Usage: setup/environment.sh .venv|FOLDER [python]
set -euo pipefail
cd "$(dirname "$0")/.."

fits() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; }

environment=$1
python=${2:-}
[ "$environment" = .venv ] || python=$environment/bin/python
if [ -z "$python" ]; then
  for candidate in python3 python3.13 python3.12 python3.11; do
    if fits "$candidate"; then python=$candidate; break; fi
  done
fi
if [ -z "$python" ] || ! fits "$python"; then
  echo "error: Python 3.11, 3.12 or 3.13 is needed (found: ${python:-$(python3 --version 2>&1 || echo none)}); install it or name it: make PYTHON=/path/to/python3.12 ..." >&2
  exit 2
fi

if [ "$environment" = .venv ] && ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then # Debian keeps them in a package of their own
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
  else
    echo "error: Python's venv module is missing; install it first (on Debian or Ubuntu: sudo apt-get install python3-venv)" >&2
    exit 2
  fi
fi

echo "Filling $environment with $("$python" --version) and the packages of requirements.lock (a few minutes the first time) ..."
rm -f "$environment/ready"
[ "$environment" != .venv ] || "$python" -m venv .venv
pip() { "$environment/bin/python" -m pip --disable-pip-version-check "$@"; }
pip install --quiet --require-hashes --no-deps -r requirements.lock
pip install --quiet -r requirements-torch.lock
pip install --quiet --no-deps --no-build-isolation -e .
pip check
touch "$environment/ready"
