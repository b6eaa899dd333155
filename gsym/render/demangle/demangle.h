/*
 * demangle.h - stored names as people write them.
 *
 * A name's prefix tells what it is: C++ (_Z), Rust (_R, and _ZN...17h<hash>E), D (_D), OCaml (caml and a
 * capital), Microsoft's (?), which are llvm-undname's: "int __cdecl f(int)". C++ is LLVM's where the build
 * has its demangler; what that does not know, or without it all, is libiberty's, rewritten in
 * llvm-symbolizer's style: ">>" closes nested templates, lambdas are 'lambda', and a clone suffix is
 * " (.cold)". A stub "_Z1fv@plt" is "f()@plt", as objdump prints it. Swift's ($s, _$s, $S, $e, _T0) stay
 * mangled unless the program sets a demangler of them (demangle_set_swift()).
 */
#ifndef GSYM_RENDER_DEMANGLE_DEMANGLE_H
#define GSYM_RENDER_DEMANGLE_DEMANGLE_H

#include "gsym/base/text_buf.h"

enum demangle_mode {
	DEMANGLE_OFF = 0,
	DEMANGLE_AUTO = 1,
	/* Ada as well, whose names have no prefix: only for images known to be written in it. */
	DEMANGLE_ADA = 2,
	/* As DEMANGLE_SYMBOLIZER, with C++ as GNU's tools spell it. */
	DEMANGLE_GNU = 3,
	/* As DEMANGLE_AUTO, with Microsoft's names as llvm-symbolizer shows them: "f(int)". */
	DEMANGLE_SYMBOLIZER = 4,
};

enum {
	/* Longer names are shown as they are stored: no real one comes near. */
	DEMANGLE_INPUT_MAX = 64 * 1024,
	/* A short name can expand without bound, since it may refer back to its own parts. */
	DEMANGLE_OUTPUT_MAX = 64 * 1024,
};

/* A function of Apple's blocks, "___Z1fv_block_invoke". */
static inline bool demangle_is_block(const char *name)
{
	return name[0] == '_' && name[1] == '_' && name[2] == '_' && name[3] == 'Z';
}

/*
 * Returns whether the name has the further underscore in front that Mach-O symbols have: LLVM's tools
 * demangle "__Z1fv" to "f()", GNU's do not.
 */
static inline bool demangle_is_doubled(const char *name, enum demangle_mode mode)
{
	if (mode == DEMANGLE_GNU || name[0] != '_' || name[1] != '_')
		return false;
	return name[2] == 'Z' || (name[2] == '_' && name[3] == '_' && name[4] == 'Z');
}

/* What names of OCaml's native code begin with, and few others. */
static inline bool demangle_is_ocaml(const char *name)
{
	return name[0] == 'c' && name[1] == 'a' && name[2] == 'm' && name[3] == 'l' && name[4] >= 'A' &&
	       name[4] <= 'Z';
}

/* Names of Swift since version 4 begin with one of these. */
static inline bool demangle_is_swift(const char *name)
{
	if (name[0] == '_' && name[1] == 'T')
		return name[2] == '0';
	name += *name == '_';
	return name[0] == '$' && (name[1] == 's' || name[1] == 'S' || name[1] == 'e');
}

/* Whether @name looks mangled. Most names of most images do not, and need no second look. */
static inline bool demangle_applies(const char *name, enum demangle_mode mode)
{
	if (mode == DEMANGLE_AUTO || mode == DEMANGLE_GNU || mode == DEMANGLE_SYMBOLIZER) {
		if (name[0] == '?')
			return true;
		name += *name == '.'; /* PowerPC function entry symbols are the mangled name after a dot */
		if (name[0] == 'c')
			return mode != DEMANGLE_GNU && demangle_is_ocaml(name);
		if (demangle_is_swift(name))
			return mode != DEMANGLE_GNU;
		return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == 'D' ||
					  demangle_is_block(name) || demangle_is_doubled(name, mode));
	}
	return mode == DEMANGLE_ADA;
}

/*
 * Appends @name demangled, or as it is stored when it is not mangled, malformed, or too costly. The text is
 * not escaped: a mangled name can carry any byte. Returns whether it was demangled.
 */
bool demangle_append(struct text_buf *out, const char *name, enum demangle_mode mode);

/*
 * Appends a name demangled if the result is short; else nothing, and returns false.
 *
 * @out:          appended to
 * @name:         as it is stored
 * @mode:         which languages
 * @max:          bytes of the result, approximately
 * @ret_too_long: on false, whether it can be demangled but is longer
 */
bool demangle_append_short(struct text_buf *out, const char *name, enum demangle_mode mode, size_t max,
			   bool *ret_too_long);

/*
 * Appends the function's name alone of a C++ or D name that demangle_append() demangles: no result, no
 * parameters and what follows them; at most about @max bytes. Of a name that is stored as people write it
 * ("ns::f(int) const", in Breakpad's files) what stands before the parameters. False, and nothing, of names
 * that have none, and of clones ("_Z4workv.cold").
 */
bool demangle_append_bare(struct text_buf *out, const char *name, size_t max);

/* Appends what Swift's name @name is, or nothing, and returns false. By any thread. */
typedef bool swift_demangler(struct text_buf *out, const char *name);

/* Sets what demangles Swift's names, before other threads start; NULL, as at first, leaves them mangled. */
void demangle_set_swift(swift_demangler *run);

/* What demangles in this build: "LLVM 22.1.8 and libiberty". */
const char *demangle_libraries(void);

#endif
