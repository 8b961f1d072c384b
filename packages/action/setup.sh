#!/bin/bash
# The step of action.yml: downloads the tarball of a version, checks its SHA-256, unpacks it, and sets
# the variables of the following steps. It needs curl, tar, xz and sha256sum, which runners have.
set -euo pipefail
folder=$RUNNER_TEMP/grus
name=grus-$GRUS_VERSION-$(uname -m)-linux
mkdir -p "$folder"
cd "$folder"
for file in SHA256SUMS "$name.tar.xz"; do
    curl --silent --show-error --fail --location --retry 3 --output "$file" "$GRUS_URL/$file"
done
# A missing line is an error, because --ignore-missing would accept it.
grep "  $name.tar.xz\$" SHA256SUMS >checked || { echo "::error::SHA256SUMS has no $name.tar.xz"; exit 1; }
sha256sum --check --quiet checked
tar -xJf "$name.tar.xz"
home=$folder/$name
{
    echo "VK_DRIVER_FILES=$home/grus_icd.json"
    echo "VK_ICD_FILENAMES=$home/grus_icd.json"
    # Without a Vulkan loader, the driver's library takes its place.
    if ! ldconfig -p | grep -q 'libvulkan\.so\.1 '; then
        echo "LD_LIBRARY_PATH=$home/loader${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    fi
} >>"$GITHUB_ENV"
echo "$home" >>"$GITHUB_PATH"
echo "icd=$home/grus_icd.json" >>"$GITHUB_OUTPUT"
if [ -n "$GRUS_REQUIRE" ]; then
    # The path is relative to the checkout, where the job starts.
    cd "$GITHUB_WORKSPACE"
    "$home/cts-runner" run --require "$GRUS_REQUIRE" -- true
fi
