#include "convert/os/library.h"

#include <dlfcn.h>

void *library_load(const char *const *sonames, const struct library_symbol *symbols, size_t n,
		   void *functions)
{
	void *library = NULL;
	for (; *sonames && !library; sonames++)
		library = dlopen(*sonames, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; i < n && library; i++) {
		void *function = dlsym(library, symbols[i].name);
		if (!function)
			return NULL;
		*(void **)((char *)functions + symbols[i].member) = function;
	}
	return library;
}
