#!/bin/sh
# Builds the C guests. Needs clang, lld, wasi-libc and libclang-rt-dev-wasm32 (the names of the Debian packages).
set -eu
cd "$(dirname "$0")"
build() { clang --target=wasm32-wasi -O2 -Wall -Wextra -Wno-unused-function -Wl,--strip-all "$@"; }
build -o guest.wasm guest.c
build -o misbehave.wasm misbehave.c
# The same guest with input that does not block, as the runtime of Go reads it.
build -DDX_NONBLOCK -o nonblocking.wasm guest.c
