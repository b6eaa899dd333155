#!/bin/sh
# Makes an object file of LLVM's demangler of Microsoft's names, of which nothing else can be seen from outside, and which
# calls our demangle_NAME() where it would call what takes memory or ends the process (demangle_llvm.cc has them).
#
#     microsoft.sh OUT LD OBJCOPY ARCHIVE
set -eu
out=$1 ld=$2 objcopy=$3 archive=$4
entry=_ZN4llvm17microsoftDemangleESt17basic_string_viewIcSt11char_traitsIcEEPmPiNS_15MSDemangleFlagsE
string=_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE
"$ld" -r --gc-sections --force-group-allocation -u $entry "$archive" -o "$out"
set -- --keep-global-symbol=$entry
for name in malloc realloc free _Znwm _Znam _ZdlPv _ZdaPv _ZdlPvm abort _ZSt9terminatev _ZSt24__throw_out_of_range_fmtPKcz \
	${string}9_M_createERmm printf putchar _ZTVN10__cxxabiv117__class_type_infoE _ZTVN10__cxxabiv120__si_class_type_infoE; do
	set -- "$@" --redefine-sym $name=demangle_$name
done
exec "$objcopy" "$@" "$out"
