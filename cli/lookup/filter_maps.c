#include "cli/lookup/filter_maps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/lookup/core_maps.h"
#include "cli/command/message.h"

#define LOADED_MAX (UINT64_C(4) << 30) /* bytes of memory that a module is taken to have */

/* The range of a module from @start on ends where the next one begins. */
struct loaded {
	const char *name;
	size_t size;
	uint64_t start;
};

static int out_of_memory(void)
{
	return fail("mappings", -ENOMEM, NULL);
}

/* ---- Lists of mappings ---- */

static int read_lines(const char *path, struct filter *filter)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int err = 0;
	if (!file)
		return fail(path, -errno, NULL);
	while (!err && (n = getline(&line, &room, file)) >= 0)
		err = filter_add_mapping(filter, line, (size_t)n);
	int status = err ? out_of_memory() : feof(file) ? STATUS_OK : fail(path, -errno, NULL);
	free(line);
	fclose(file);
	return status;
}

static int read_process(const struct command *command, const char *pid, struct filter *filter)
{
	char path[64];
	if (!*pid || pid[strspn(pid, "0123456789")] ||
	    snprintf(path, sizeof(path), "/proc/%s/maps", pid) >= (int)sizeof(path))
		return options_error(command, "option '--pid': invalid value '%s'; allowed is a process ID",
				     pid);
	return read_lines(path, filter);
}

static int read_core(const char *path, struct filter *filter)
{
	struct text_buf lines = {0};
	struct gsym_diag diag = {""};
	int err = core_maps_read(path, &lines, &diag);
	int status = err ? fail(path, err, &diag) : STATUS_OK;
	for (size_t at = 0, size; status == STATUS_OK && at < lines.n; at += size) {
		size = (size_t)((char *)memchr(lines.v + at, '\n', lines.n - at) + 1 - (lines.v + at));
		if (filter_add_mapping(filter, lines.v + at, size))
			status = out_of_memory();
	}
	text_deinit(&lines);
	return status;
}

/* ---- Load addresses ---- */

static bool parse_address(const char *text, uint64_t *ret)
{
	char *end;
	errno = 0;
	*ret = strtoull(text, &end, 16);
	return !errno && *text && !*end && *text != '-' && *text != '+' && *text != ' ';
}

static int parse_base(const struct command *command, const char *text, struct loaded *ret)
{
	const char *equals = strrchr(text, '=');
	if (!equals || equals == text || !parse_address(equals + 1, &ret->start) ||
	    equals - text >= FILTER_NAME_SIZE)
		return options_error(command, "option '--base': invalid value '%s'; allowed is NAME=ADDRESS",
				     text);
	ret->name = text;
	ret->size = (size_t)(equals - text);
	return STATUS_OK;
}

static int add_loaded(const struct loaded *all, size_t n, size_t i, struct filter *filter)
{
	struct filter_module module = {.is_kernel =
					       all[i].size == 7 && memcmp(all[i].name, "vmlinux", 7) == 0};
	uint64_t end = all[i].start;
	if (__builtin_add_overflow(end, LOADED_MAX, &end))
		end = UINT64_MAX;
	for (size_t k = 0; k < n; k++)
		if (all[k].start > all[i].start && all[k].start < end)
			end = all[k].start;
	memcpy(module.name, all[i].name, all[i].size);
	return filter_add_module(filter, &module, all[i].start, end, 0, false) ? out_of_memory() : STATUS_OK;
}

static int add_bases(const struct command *command, const struct filter_maps *maps, struct filter *filter)
{
	struct loaded all[OPTION_LIST_MAX + 1];
	int status = STATUS_OK;
	for (size_t i = 0; status == STATUS_OK && i < maps->bases.n; i++)
		status = parse_base(command, maps->bases.v[i], &all[i]);
	for (size_t i = 0; status == STATUS_OK && i < maps->bases.n; i++)
		status = add_loaded(all, maps->bases.n, i, filter);
	return status;
}

/* The only file is where it was linked to, but for the slide. */
static int add_slide(const struct command *command, const char *text, const struct image_files *images,
		     struct filter *filter)
{
	struct filter_module module = {.is_kernel = false};
	uint64_t slide;
	if (!parse_address(text, &slide))
		return options_error(command, "option '--slide': invalid value '%s'; allowed is an address",
				     text);
	if (images->n_given != 1)
		return options_error(command, "option '--slide': needs one FILE");
	const char *name = strrchr(images->list.v[0].name, '/');
	name = name ? name + 1 : images->list.v[0].name;
	size_t size = strlen(name), suffix = strlen(".gsym");
	size -= size > suffix && strcmp(name + size - suffix, ".gsym") == 0 ? suffix : 0;
	snprintf(module.name, sizeof(module.name), "%.*s", (int)size, name);
	return filter_add_module(filter, &module, slide, UINT64_MAX, 0, true) ? out_of_memory() : STATUS_OK;
}

int filter_maps_read(const struct command *command, const struct filter_maps *maps,
		     const struct image_files *images, struct filter *filter)
{
	int status = STATUS_OK;
	for (size_t i = 0; status == STATUS_OK && i < maps->maps.n; i++)
		status = read_lines(maps->maps.v[i], filter);
	for (size_t i = 0; status == STATUS_OK && i < maps->pids.n; i++)
		status = read_process(command, maps->pids.v[i], filter);
	for (size_t i = 0; status == STATUS_OK && i < maps->cores.n; i++)
		status = read_core(maps->cores.v[i], filter);
	if (status == STATUS_OK)
		status = add_bases(command, maps, filter);
	return status == STATUS_OK && maps->slide ? add_slide(command, maps->slide, images, filter) : status;
}
