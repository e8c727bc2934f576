#!/bin/sh
# Builds the C guests. Needs clang, lld, wasi-libc and libclang-rt-dev-wasm32 (the names of the Debian packages).
set -eu
cd "$(dirname "$0")"
for name in guest misbehave; do
  clang --target=wasm32-wasi -O2 -Wall -Wextra -Wno-unused-function -Wl,--strip-all -o "$name.wasm" "$name.c"
done
