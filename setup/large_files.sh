#!/usr/bin/env bash
# No tracked file is over 1 MB, the shipped judge's weights apart. Called by `make lint` and before a commit.
set -uo pipefail
# A file that is deleted and not yet staged cannot be large: find's word about it is not heard.
large=$(git ls-files -z | xargs -0 sh -c 'find "$@" -maxdepth 0 -type f -size +1000000c' _ 2>/dev/null |
  grep -v '^judgekit/pretrained/.*\.safetensors$')
if [ -n "$large" ]; then
  echo "error: over 1 MB, keep it out of git: $large" >&2
  exit 1
fi
