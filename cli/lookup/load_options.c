#include "cli/lookup/load_options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gsym/base/diag.h"
#include "log/line/filter_types.h"

static bool parse_hex_address(const char *text, uint64_t *ret)
{
	char *end;
	errno = 0;
	*ret = strtoull(text, &end, 16);
	return !errno && *text && !*end && *text != '-' && *text != '+' && *text != ' ';
}

int load_base_parse(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	struct load_options *load = to;
	const char *equals = strrchr(value, '=');
	struct load_base base = {.name = equals ? value : NULL,
				 .size = equals ? (size_t)(equals - value) : 0};
	(void)row;
	if (load->n == OPTION_LIST_MAX)
		return diag_set(diag, -E2BIG, "given more than %d times", OPTION_LIST_MAX);
	if (equals == value || base.size >= FILTER_NAME_SIZE ||
	    !parse_hex_address(equals ? equals + 1 : value, &base.addr))
		return diag_set(diag, -EDOM, "ADDRESS or NAME=ADDRESS");
	load->bases[load->n++] = base;
	return 0;
}

int load_slide_parse(const struct option_row *row, const char *value, void *to, struct gsym_diag *diag)
{
	struct load_options *load = to;
	(void)row;
	load->has_slide = true;
	return parse_hex_address(value, &load->slide) ? 0 : diag_set(diag, -EDOM, "an address");
}

const char *load_options_fault(const struct load_options *load, size_t n_files)
{
	if (load->has_slide && n_files != 1)
		return "option '--slide': needs one FILE";
	for (size_t i = 0; i < load->n && n_files != 1; i++)
		if (!load->bases[i].name)
			return "option '--base': needs one FILE, or NAME=ADDRESS";
	return NULL;
}

void load_module_name(const char *path, char *ret, size_t size)
{
	static const char suffix[] = ".gsym";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strlen(name), cut = sizeof(suffix) - 1;
	n -= n > cut && strcmp(name + n - cut, suffix) == 0 ? cut : 0;
	snprintf(ret, size, "%.*s", (int)n, name);
}

bool load_slide_of(const struct load_options *load, const char *path, bool is_only, uint64_t base,
		   uint64_t *ret)
{
	char name[FILTER_NAME_SIZE];
	load_module_name(path, name, sizeof(name));
	*ret = load->has_slide ? load->slide : 0;
	for (size_t i = 0; i < load->n; i++) {
		const struct load_base *b = &load->bases[i];
		bool is_it = b->name ? strncmp(name, b->name, b->size) == 0 && !name[b->size] : is_only;
		if (!is_it)
			continue;
		*ret = b->addr - base;
		return true;
	}
	return load->has_slide;
}
