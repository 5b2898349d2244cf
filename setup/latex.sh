#!/usr/bin/env bash
# Make sure that the report can be compiled: says at once what is missing, or installs it when it may.
set -euo pipefail
. "$(dirname "$0")/apt.sh"

complete() {
  for tool in lualatex latexmk biber; do command -v "$tool" >/dev/null || return 1; done
  for file in biblatex.sty beamerthememetropolis.sty luaotfload.sty microtype.sty; do
    [ -n "$(kpsewhich "$file")" ] || return 1
  done
  # The Chinese edition is set in these; a font that is not there is found out only after minutes of searching.
  for font in "Noto Serif CJK SC" "Noto Sans CJK SC"; do
    fc-list "$font" 2>/dev/null | grep -q . || return 1
  done
}

ensure "LaTeX with its fonts" "two minutes" latexmk biber \
  texlive-luatex texlive-latex-recommended texlive-latex-extra texlive-pictures texlive-bibtex-extra \
  texlive-fonts-recommended lmodern fontconfig poppler-utils fonts-noto-cjk fonts-noto-core fonts-noto-color-emoji
