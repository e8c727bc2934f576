#!/bin/sh
# Builds the AssemblyScript guest. Needs `asc` (npm install assemblyscript).
set -eu
cd "$(dirname "$0")"
"${ASC:-asc}" guest.ts --outFile guest.wasm --optimizeLevel 3 --runtime incremental --exportStart _start --use abort=duplex/abort
