#!/usr/bin/env bash
# Make sure that the labelling page can be tested in a browser: says what is missing, or installs it when it may.
set -euo pipefail

packages="chromium chromium-driver"

complete() {
  command -v chromedriver >/dev/null && { command -v chromium >/dev/null || command -v google-chrome >/dev/null; }
}

complete && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing Chromium with apt (about a minute) ..."
  apt-get update -qq
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
  complete && exit 0
  echo "error: Chromium is still incomplete after installing $packages" >&2
  exit 2
fi
echo "error: Chromium or its driver is missing; install it first (on Debian or Ubuntu: sudo apt-get install --no-install-recommends $packages)" >&2
exit 2
