#!/bin/sh
# reencode.sh PROGRAM: lets LLVM convert the program, which has debug data, and reencode compare every byte.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for tool in llvm-gsymutil-22 llvm-gsymutil; do
	if command -v "$tool" >/dev/null; then
		"$tool" --quiet --convert="$1" --out-file="$dir/out.gsym" >/dev/null
		"$1" "$dir/out.gsym"
		exit
	fi
done
echo "SKIP: llvm-gsymutil is not installed"
exit 77
