#!/bin/sh
# Builds the Go guest. Needs Go 1.21 or later; TinyGo builds it as well: tinygo build -target wasip1 -o guest.wasm .
set -eu
cd "$(dirname "$0")"
GOOS=wasip1 GOARCH=wasm "${GO:-go}" build -trimpath -buildvcs=false -ldflags='-s -w' -o guest.wasm .
