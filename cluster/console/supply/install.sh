#!/bin/sh
# Installs AOS from this folder alone, without an index and without a network.
#   ./install.sh [--dry-run] [FOLDER]      FOLDER: of the new environment, ./aos-venv by default; PYTHON: python3.11
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dry=
case "${1:-}" in
  --dry-run) dry=--dry-run; shift;;
  -h|--help) sed -n '2,3s/^# *//p' "$0"; exit 0;;
esac
venv=${1:-./aos-venv}
cd_from=$(pwd)
cd "$here" && sha256sum --check --quiet --strict SHA256SUMS || { echo "the bundle is not whole: copy it again" >&2; exit 1; }
cd "$cd_from"
while read -r program package; do
  command -v "$program" >/dev/null || echo "missing: $program. From your own mirror: apt-get install $package" >&2
done < "$here/apt-packages.txt"
tell_models() {
  [ -d "$here/models" ] || return 0
  echo "models stay where they are: move them first if this folder is to go, and set in .env of what is to use one"
  for one in "$here/models" "$here/models"/*; do
    [ ! -f "$one/config.json" ] || echo "  AOS_EMBEDDING_MODEL, AOS_RERANK_MODEL or AOS_VLLM_MODEL=$one"
  done
}
if [ -n "$dry" ]; then venv=$(mktemp -d); trap 'rm -rf "$venv"' EXIT; fi
"${PYTHON:-python3.11}" -m venv "$venv"
PIP_CONFIG_FILE=/dev/null "$venv/bin/pip" install --quiet --disable-pip-version-check $dry --no-index --no-deps \
  --only-binary :all: --find-links "$here/wheels" --require-hashes -r "$here/requirements.txt"
if [ -n "$dry" ]; then echo "would install $(grep -c == "$here/requirements.txt") packages"; tell_models; exit 0; fi
"$venv/bin/pip" check --disable-pip-version-check
echo "installed: $venv/bin/aos up"
tell_models
