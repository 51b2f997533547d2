#!/usr/bin/env bash
# Builds the image and checks it, the proxy's configuration and the sign-in, all without a Docker engine
# (docs/deployment.md). $1: a Python with what the tests need. Needs root and a Debian; installs what is missing of it.
#   IMAGE_TEST_DIR  where the image and its base are kept between calls, about 10 GB
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$1
work=${IMAGE_TEST_DIR:-/var/tmp/inside-bert-image}

"$here/build.sh" "$work"
"$python" "$here/check_image.py" "$work"
command -v nginx >/dev/null || apt-get install -y -q --no-install-recommends nginx-light >&2
"$python" "$here/check_proxy.py"
"$python" "$here/check_sign_in.py"
