#include "work/os/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "gsym/base/diag.h"

/* Not that one of the libraries that it needs is missing: dlerror(3) names that one first. */
static bool is_missing(const char *soname, const char *why)
{
	return strncmp(why, soname, strlen(soname)) == 0 && strstr(why, strerror(ENOENT));
}

/* The first reason tells most: without descriptors names that do not exist fail for the same. */
static void *open_any(const struct shared_library *library, struct gsym_diag *diag)
{
	bool has_reason = false;
	diag_set(diag, -ELIBACC, "the package %s is not installed", library->package);
	for (const char *const *soname = library->sonames; *soname; soname++) {
		void *opened = dlopen(*soname, RTLD_NOW | RTLD_LOCAL);
		if (opened)
			return opened;
		const char *why = dlerror();
		if (has_reason || !why || is_missing(*soname, why))
			continue;
		diag_set(diag, -ELIBACC, "cannot load %s", why);
		has_reason = true;
	}
	return NULL;
}

static bool fill_symbols(const struct shared_library *library, void *opened, struct gsym_diag *diag)
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

static bool load_library(const struct shared_library *library, struct gsym_diag *diag)
{
	void *opened = open_any(library, diag);
	if (!opened)
		return false;
	if (!fill_symbols(library, opened, diag)) {
		dlclose(opened);
		return false;
	}
	/* It stays loaded if this fails: what it has registered meanwhile must not point to unmapped code. */
	if (library->initialize(opened))
		return true;
	diag_set(diag, -ELIBACC, "%s cannot be initialized", library->package);
	return false;
}

bool library_load(struct shared_library *library, struct gsym_diag *diag)
{
	if (atomic_load_explicit(&library->is_loaded, memory_order_acquire))
		return true;
	pthread_mutex_lock(&library->lock);
	bool is_loaded = atomic_load_explicit(&library->is_loaded, memory_order_relaxed) ||
			 load_library(library, diag);
	atomic_store_explicit(&library->is_loaded, is_loaded, memory_order_release);
	pthread_mutex_unlock(&library->lock);
	return is_loaded;
}
