#include "convert/cli/lookup/image_name.h"

#include <stdio.h>
#include <string.h>

enum {
	FITS_KERNEL = 1, /* any name */
	FITS_BEGINNING,  /* "example.debug.gsym" for "example" */
	FITS_WHOLE,      /* "example.gsym" */
	FITS_RELEASE = 8 /* added if the path tells the kernel's release */
};

/* Whether the rest of a file's name, after "vmlinux-", is a release and suffixes such as ".debug.gsym". */
static bool is_release(const char *rest, const char *release)
{
	size_t size = strlen(release);
	return strncmp(rest, release, size) == 0 &&
	       (!rest[size] || (rest[size] == '.' && (rest[size + 1] < '0' || rest[size + 1] > '9')));
}

/* What the path tells of the release: FITS_RELEASE it is that, 0 nothing, -1 another. */
static int release_fit(const char *path, const char *file, const char *release)
{
	static const char kernel[] = "vmlinux-";
	size_t size = strlen(release);
	if (strncmp(file, kernel, strlen(kernel)) == 0)
		return is_release(file + strlen(kernel), release) ? FITS_RELEASE : -1;
	for (const char *p = path; (p = strstr(p, release)); p++)
		if ((p == path || p[-1] == '/') && p[size] == '/')
			return FITS_RELEASE;
	return 0;
}

/* The part after the last '/', or '!', which separates libraries in Android packages. */
static const char *last_part(const char *path)
{
	const char *last = path;
	for (; *path; path++)
		if (*path == '/' || *path == '!')
			last = path + 1;
	return last;
}

static char folded(char c, bool is_kernel)
{
	return is_kernel && c == '-' ? '_' : c;
}

/* The rest of the file's name after the wanted one; NULL if it does not begin with that. */
static const char *rest_after(const char *of_file, const char *wanted, bool is_kernel)
{
	for (; *wanted; of_file++, wanted++)
		if (folded(*of_file, is_kernel) != folded(*wanted, is_kernel))
			return NULL;
	return of_file;
}

static unsigned name_fit(const char *path, const struct filter_module *module, bool only)
{
	const char *of_file = last_part(path), *wanted = last_part(module->name);
	const char *rest = *wanted ? rest_after(of_file, wanted, module->is_kernel) : NULL;
	if (rest &&
	    (!*rest || strcmp(rest, ".gsym") == 0 || (module->is_kernel && strcmp(rest, ".ko.gsym") == 0)))
		return FITS_WHOLE;
	if (rest && *rest == '.')
		return FITS_BEGINNING;
	if (!module->is_kernel || strcmp(wanted, "vmlinux") != 0)
		return 0;
	if (rest && *rest == '-')
		return FITS_BEGINNING;
	return only && !strstr(of_file, ".ko.") ? FITS_KERNEL : 0;
}

unsigned image_name_fit(const char *path, const struct filter_module *module, bool only)
{
	unsigned fit = name_fit(path, module, only);
	if (!fit || !module->is_kernel || !module->release[0])
		return fit;
	int release = release_fit(path, last_part(path), module->release);
	return release < 0 ? 0 : fit + (unsigned)release;
}

bool image_name_of(const struct filter_module *module, unsigned i, char ret[static FILTER_NAME_SIZE])
{
	static const char *const endings[] = {".ko", ".ko.debug"};
	const char *name = last_part(module->name);
	bool is_module = module->is_kernel && strcmp(name, "vmlinux") != 0;
	bool has_release = module->is_kernel && !is_module && module->release[0];
	unsigned n = is_module ? 2 * ARRAY_SIZE(endings) : 1 + has_release;
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || i >= n)
		return false;
	if (has_release && !i)
		return snprintf(ret, FILTER_NAME_SIZE, "%s-%s", name, module->release) < FILTER_NAME_SIZE;
	int size = snprintf(ret, FILTER_NAME_SIZE, "%s%s", name, is_module ? endings[i / 2] : "");
	for (char *p = ret; is_module && i % 2 && *p; p++)
		*p = *p == '_' ? '-' : *p;
	return size < FILTER_NAME_SIZE;
}
