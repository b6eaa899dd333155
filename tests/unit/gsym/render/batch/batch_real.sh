#!/bin/sh
# batch_real.sh GSYM CHECK_BATCH: lets CHECK_BATCH compare answers of its own debug data and of GSYM's.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$1" convert --quiet "$2" -o "$dir/check.1"
"$1" convert --quiet --output-version=2 "$2" -o "$dir/check.2"
"$1" convert --quiet "$1" -o "$dir/gsym"
"$2" "$dir"/*
