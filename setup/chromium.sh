#!/usr/bin/env bash
# Make sure that the labelling page can be tested in a browser: says what is missing, or installs it when it may.
set -euo pipefail
. "$(dirname "$0")/apt.sh"

complete() {
  command -v chromedriver >/dev/null && { command -v chromium >/dev/null || command -v google-chrome >/dev/null; }
}

ensure "Chromium with its driver" "a minute" chromium chromium-driver
