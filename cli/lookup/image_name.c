#include "cli/lookup/image_name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "log/line/text_scan.h"

enum {
	FITS_BEGINNING = IMAGE_STANDS_IN + 1, /* "example.debug.gsym" for "example" */
	FITS_WHOLE,                           /* "example.gsym" */
	/* Added for what the path tells besides. */
	FITS_RELEASE = 8, /* the kernel's release */
	FITS_END = 16,    /* it ends with the path of the module: the file of another root directory */
	FITS_PATH = 32,   /* it is that path */
};

bool image_release_of(const char *path, char ret[static FILTER_RELEASE_SIZE])
{
	static const char kernel[] = "vmlinux-", modules[] = "modules/";
	static const char *const suffixes[] = {".gsym", ".debug"};
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path, *from = NULL;
	if (strncmp(file, kernel, strlen(kernel)) == 0)
		from = file + strlen(kernel);
	for (const char *p = path; !from && (p = strstr(p, modules)); p++)
		if ((p == path || p[-1] == '/') && strchr(p + strlen(modules), '/'))
			from = p + strlen(modules);
	size_t size = from ? strcspn(from, "/") : 0;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		size_t n = strlen(suffixes[i]);
		size -= size > n && memcmp(from + size - n, suffixes[i], n) == 0 ? n : 0;
	}
	if (!size || size >= FILTER_RELEASE_SIZE || !is_digit(*from))
		return false;
	memcpy(ret, from, size);
	ret[size] = 0;
	return true;
}

/* Returns whether @text is the release, perhaps with suffixes such as ".debug.gsym". */
static bool is_release(const char *text, const char *release)
{
	size_t size = strlen(release);
	return strncmp(text, release, size) == 0 &&
	       (!text[size] || (text[size] == '.' && !is_digit(text[size + 1])));
}

static int release_fit(const char *path, const char *release)
{
	char told[FILTER_RELEASE_SIZE];
	size_t size = strlen(release);
	if (image_release_of(path, told))
		return is_release(told, release) ? FITS_RELEASE : IMAGE_OTHER_RELEASE;
	for (const char *p = path; (p = strstr(p, release)); p++)
		if ((p == path || p[-1] == '/') && p[size] == '/')
			return FITS_RELEASE;
	return 0;
}

static int path_fit(const char *path, const char *wanted)
{
	size_t size = strlen(path), n = strlen(wanted);
	if (wanted[0] != '/' || n > size || strcmp(path + size - n, wanted) != 0)
		return 0;
	return n == size ? FITS_PATH : FITS_END;
}

int image_place_fit(int before, const char *path, const struct filter_module *module)
{
	int fit = module->is_kernel && module->release[0] ? release_fit(path, module->release) : 0;
	if (fit >= 0)
		fit += path_fit(path, module->name);
	return fit > 0 && fit > before ? fit : before ? before : fit;
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

/* ---- Windows ---- */

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* The size of a name before such an ending, after which other suffixes may follow; 0: it has none. */
static size_t windows_stem(const char *name)
{
	for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.'))
		for (size_t i = 0; i < WINDOWS_ENDINGS; i++)
			if (!strncasecmp(dot, windows_endings[i], WINDOWS_ENDING_SIZE) &&
			    (!dot[WINDOWS_ENDING_SIZE] || dot[WINDOWS_ENDING_SIZE] == '.'))
				return (size_t)(dot - name);
	return 0;
}

/* WinDbg has '_' for what is no letter or digit. */
static char windows_folded(char c)
{
	return is_word(c) ? lower(c) : '_';
}

/*
 * "app.exe.gsym" for "app" and "APP.EXE", "libstdc++-6.dll" for "libstdc___6", "app.gsym" for "app.exe". Of
 * endings that both have, the kind counts.
 */
static bool windows_fits(const char *of_file, const char *wanted)
{
	size_t stem = windows_stem(of_file), wanted_stem = windows_stem(wanted);
	size_t size = wanted_stem ? wanted_stem : strlen(wanted);
	if (!stem && !wanted_stem)
		return false;
	if (stem && wanted_stem &&
	    strncasecmp(of_file + stem, wanted + wanted_stem, WINDOWS_ENDING_SIZE) != 0)
		return false;
	if (stem ? stem != size : strlen(of_file) < size || (of_file[size] && of_file[size] != '.'))
		return false;
	for (size_t i = 0; i < size; i++)
		if (windows_folded(of_file[i]) != windows_folded(wanted[i]))
			return false;
	return true;
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
	if (!module->is_kernel && *wanted && !module->is_word && windows_fits(of_file, wanted))
		return FITS_BEGINNING;
	if (!module->is_kernel || strcmp(wanted, "vmlinux") != 0)
		return 0;
	if (rest && *rest == '-')
		return FITS_BEGINNING;
	return only && !strstr(of_file, ".ko.") ? IMAGE_STANDS_IN : 0;
}

int image_fit(const char *path, const char *real, const struct filter_module *module, bool only)
{
	int fit = (int)name_fit(path, module, only), place = image_place_fit(0, path, module);
	place = fit ? image_place_fit(place, real, module) : 0;
	return place < 0 ? place : fit + place;
}

bool image_name_of(const struct filter_module *module, unsigned i, char ret[static FILTER_NAME_SIZE])
{
	static const char *const endings[] = {".ko", ".ko.debug"};
	const char *name = last_part(module->name);
	bool is_module = module->is_kernel && strcmp(name, "vmlinux") != 0;
	bool has_release = module->is_kernel && !is_module && module->release[0];
	bool is_cut = module->is_windows && !windows_stem(name);
	unsigned n = is_module ? 2 * ARRAY_SIZE(endings) : is_cut ? 1 + WINDOWS_ENDINGS : 1 + has_release;
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || i >= n)
		return false;
	if (has_release && !i)
		return snprintf(ret, FILTER_NAME_SIZE, "%s-%s", name, module->release) < FILTER_NAME_SIZE;
	int size = snprintf(ret, FILTER_NAME_SIZE, "%s%s", name,
			    is_module     ? endings[i / 2]
			    : is_cut && i ? windows_endings[i - 1]
					  : "");
	for (char *p = ret; is_module && i % 2 && *p; p++)
		*p = *p == '_' ? '-' : *p;
	return size < FILTER_NAME_SIZE;
}
