#!/usr/bin/env bash
# Run a tool of the environment that make uses: the active conda one, else .venv. Usage: setup/tool.sh TOOL ARGUMENTS...
if [ -n "${CONDA_PREFIX:-}" ] && [ "${CONDA_DEFAULT_ENV:-base}" != base ]; then
  bin=$CONDA_PREFIX/bin
else
  bin=$(dirname "$0")/../.venv/bin
fi
exec "$bin/$1" "${@:2}"
