#!/bin/sh
# Builds the Rust guest. Needs rustc with the target wasm32-wasip1 (`rustup target add wasm32-wasip1`), or the Debian packages
# rustc and libstd-rust-dev-wasm32, where the target is still called wasm32-wasi.
set -eu
cd "$(dirname "$0")"
target=${TARGET:-wasm32-wasip1}
"${RUSTC:-rustc}" --target "$target" --edition 2021 -C opt-level=s -C lto -C strip=symbols -C panic=abort -o guest.wasm guest.rs
