#!/usr/bin/env bash
# Builds the very Dockerfile without a Docker engine: buildah, over a base made by debootstrap.
# $1: work folder, kept between calls, so that the base is made once. Prints times and sizes. Needs root and a Debian.
#   TORCH_INDEX     index with torch's CPU wheels; empty where pip finds one by itself
#   DEBIAN_MIRROR   where debootstrap looks; empty for its own default
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$1
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
buildah=(buildah --root "$work/storage" --runroot "$work/run")

[ "$(id -u)" = 0 ] || { echo "Building needs root." >&2; exit 1; }
missing=()
for program in buildah debootstrap strace; do command -v "$program" >/dev/null || missing+=("$program"); done
if [ "${#missing[@]}" != 0 ]; then
    apt-get update -q >&2
    apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
fi
mkdir -p "$work"

seconds() { awk -v from="$1" -v to="$(date +%s.%N)" 'BEGIN { printf "%.1f", to - from }'; }
base=localhost/python-base
if ! "${buildah[@]}" inspect --type image "$base" >/dev/null 2>&1; then
    started=$(date +%s.%N)
    rm -rf "$work/base"
    debootstrap --variant=minbase --include=python3,python3-pip,python3-venv,ca-certificates \
        bookworm "$work/base" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$work/debootstrap.log"
    rm -rf "$work"/base/usr/lib/python3*/EXTERNALLY-MANAGED "$work"/base/var/cache/apt/archives/*.deb \
        "$work"/base/var/lib/apt/lists/*
    container=$("${buildah[@]}" from scratch)
    "${buildah[@]}" copy --quiet "$container" "$work/base" / >/dev/null
    "${buildah[@]}" commit --quiet "$container" "$base" >/dev/null
    "${buildah[@]}" rm "$container" >/dev/null
    du -sm "$work/base" | awk '{ print $1 }' >"$work/base_mb"
    rm -rf "$work/base"
    echo "base    $base made in $(seconds "$started") s, $(cat "$work/base_mb") MB"
fi

# What this machine tells pip: its settings, the folders that they name, and the certificates that it trusts.
python3 "$here/pip_settings.py" "$work/pip.conf" >"$work/places"
volumes=(--volume "$work/pip.conf:/etc/pip.conf:ro")
for certificates in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt; do
    [ -f "$certificates" ] && volumes+=(--volume "$certificates:/etc/ssl/certs/ca-certificates.crt:ro") && break
done
while read -r place; do
    [ "$place" = /etc/ssl/certs/ca-certificates.crt ] || volumes+=(--volume "$place:$place:ro")
done <"$work/places"

started=$(date +%s.%N)
"${buildah[@]}" bud --pull=never --network host --format docker "${volumes[@]}" \
    --build-arg "PYTHON_IMAGE=$base" --build-arg "TORCH_INDEX=${TORCH_INDEX-}" --build-arg "SIGN_IN=${SIGN_IN-}" \
    --tag inside-bert "$here/../.." >"$work/build.log" 2>&1 || { tail -40 "$work/build.log" >&2; exit 1; }
"${buildah[@]}" rmi --prune >/dev/null
echo "build   inside-bert built in $(seconds "$started") s"
