/*
 * demangle_llvm.h - names of C++ by the demangler of LLVM, where the build has it.
 */
#ifndef GSYM_RENDER_DEMANGLE_DEMANGLE_LLVM_H
#define GSYM_RENDER_DEMANGLE_DEMANGLE_LLVM_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum demangle_llvm_result {
	DEMANGLE_LLVM_OK,
	DEMANGLE_LLVM_UNKNOWN,  /* it is no such name */
	DEMANGLE_LLVM_TOO_LONG, /* the text is */
	DEMANGLE_LLVM_REFUSED,  /* it is nested too deep or takes too many steps */
	DEMANGLE_LLVM_NO_MEMORY,
};

enum demangle_llvm_scheme {
	DEMANGLE_ITANIUM,
	DEMANGLE_ITANIUM_BARE, /* without result, parameters and what follows them */
	DEMANGLE_MICROSOFT,    /* as llvm-undname */
	/* As llvm-symbolizer: without result, access and calling convention */
	DEMANGLE_MICROSOFT_SHORT,
};

#if defined(HAVE_LLVM_DEMANGLE) || defined(__cplusplus)

/*
 * Makes text of a name of C++, in time and memory that its size bounds, with at most 512 KiB of stack.
 *
 * @name, @size: the name, bytes
 * @scheme:      how it was mangled
 * @max:         bytes of text
 * @put, @user:  get the text, once, on DEMANGLE_LLVM_OK
 */
enum demangle_llvm_result demangle_llvm(const char *name, size_t size, enum demangle_llvm_scheme scheme,
					size_t max, void (*put)(const char *text, size_t size, void *user),
					void *user);

#else

static inline enum demangle_llvm_result demangle_llvm(const char *name, size_t size,
						      enum demangle_llvm_scheme scheme, size_t max,
						      void (*put)(const char *text, size_t size, void *user),
						      void *user)
{
	(void)name, (void)size, (void)scheme, (void)max, (void)put, (void)user;
	return DEMANGLE_LLVM_UNKNOWN;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
