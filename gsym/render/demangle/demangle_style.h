/* demangle_style.h - libiberty's spelling of a C++ name turned into llvm's. */
#ifndef GSYM_RENDER_DEMANGLE_DEMANGLE_STYLE_H
#define GSYM_RENDER_DEMANGLE_DEMANGLE_STYLE_H

#include <stddef.h>

/* Rewrites the @size bytes of @text in place and returns the new size, which is never larger. */
size_t demangle_restyle(char *text, size_t size);

#endif
