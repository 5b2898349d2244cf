#!/usr/bin/env bash
# Make sure that the report can be compiled: says at once what is missing, or installs it when it may.
set -euo pipefail

packages="latexmk biber texlive-luatex texlive-latex-recommended texlive-latex-extra texlive-pictures
  texlive-bibtex-extra texlive-fonts-recommended lmodern fontconfig poppler-utils
  fonts-noto-cjk fonts-noto-core fonts-noto-color-emoji"

complete() {
  for tool in lualatex latexmk biber; do command -v "$tool" >/dev/null || return 1; done
  for file in biblatex.sty beamerthememetropolis.sty luaotfload.sty microtype.sty; do
    [ -n "$(kpsewhich "$file")" ] || return 1
  done
}

complete && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing LaTeX and fonts with apt (about two minutes) ..."
  apt-get update -qq
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
  complete && exit 0
  echo "error: LaTeX is still incomplete after installing $(echo $packages)" >&2
  exit 2
fi
echo "error: LaTeX is missing; install it first (on Debian or Ubuntu: sudo apt-get install --no-install-recommends $(echo $packages))" >&2
exit 2
