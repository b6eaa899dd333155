#include "convert/os/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "gsym/base/diag.h"

/* A name that exists tells more about a failure than those that do not. */
static void *open_any(const struct library *library, struct gsym_diag *diag)
{
	diag_set(diag, -ELIBACC, "the package %s is not installed", library->package);
	for (const char *const *soname = library->sonames; *soname; soname++) {
		void *opened = dlopen(*soname, RTLD_NOW | RTLD_LOCAL);
		if (opened)
			return opened;
		const char *why = dlerror();
		if (why && !strstr(why, strerror(ENOENT)))
			diag_set(diag, -ELIBACC, "cannot load %s", why);
	}
	return NULL;
}

static bool fill(const struct library *library, void *opened, struct gsym_diag *diag)
{
	for (size_t i = 0; i < library->n_symbols; i++) {
		const struct library_symbol *symbol = &library->symbols[i];
		void *function = dlsym(opened, symbol->name);
		if (!function) {
			diag_set(diag, -ELIBACC, "%s lacks %s()", library->package, symbol->name);
			return false;
		}
		*(void **)((char *)library->functions + symbol->member) = function;
	}
	return true;
}

static bool load(const struct library *library, struct gsym_diag *diag)
{
	void *opened = open_any(library, diag);
	if (!opened)
		return false;
	if (fill(library, opened, diag)) {
		if (library->initialize(opened))
			return true;
		diag_set(diag, -ELIBACC, "%s cannot be initialized", library->package);
	}
	dlclose(opened);
	return false;
}

bool library_load(struct library *library, struct gsym_diag *diag)
{
	if (atomic_load_explicit(&library->is_loaded, memory_order_acquire))
		return true;
	pthread_mutex_lock(&library->lock);
	bool is_loaded =
		atomic_load_explicit(&library->is_loaded, memory_order_relaxed) || load(library, diag);
	atomic_store_explicit(&library->is_loaded, is_loaded, memory_order_release);
	pthread_mutex_unlock(&library->lock);
	return is_loaded;
}
