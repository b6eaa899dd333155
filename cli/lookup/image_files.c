#include "cli/lookup/image_files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "work/cache/context.h"
#include "work/cache/notes.h"
#include "cli/command/bundle.h"
#include "cli/command/commands.h"
#include "cli/lookup/image_name.h"
#include "cli/command/message.h"
#include "gsym/render/shown_names.h"

enum {
	IMAGES_MAX = 4096, /* open at the same time */
	PAGE_SIZE_MIN = 4096,
	ID_PREFIX_MIN = 16, /* digits of a unique prefix */
	GUID_SIZE = 16,
};

/* The bytes of @root that are a directory of @dir, too. */
static size_t shared_directory(const char *root, size_t size, const char *dir)
{
	size_t n = 0, last = 0;
	for (; n < size && dir[n] == root[n]; n++)
		last = root[n] == '/' ? n : last;
	bool whole = (n == size || root[n] == '/') && (!dir[n] || dir[n] == '/');
	return whole ? n : last;
}

/*
 * The longest directory that all source files are in, without a slash at its end; those below /usr, headers
 * of the system, do not count. *ret is allocated, or NULL if they share none. 0 or -ENOMEM.
 */
static int source_root_find(const struct gsym_reader *reader, char **ret)
{
	const char *root = NULL, *dir, *base;
	size_t size = 0;
	for (uint32_t i = 1; i < gsym_reader_info(reader)->num_files; i++) {
		if (gsym_reader_file(reader, i, &dir, &base) || dir[0] != '/' ||
		    strncmp(dir, "/usr/", 5) == 0)
			continue;
		size = root ? shared_directory(root, size, dir) : strlen(dir);
		root = root ? root : dir;
	}
	*ret = size > 1 ? strndup(root, size) : NULL;
	return size > 1 && !*ret ? -ENOMEM : 0;
}

/* ---- Ids ---- */

/* Whether the text is @size bytes in hexadecimal, or begins so with enough of them. */
static bool is_hex_of(const char *text, const uint8_t *bytes, size_t size)
{
	size_t n = strlen(text);
	if (n > 2 * size || (n < 2 * size && n < ID_PREFIX_MIN))
		return false;
	for (size_t i = 0; i < n; i++)
		if (text[i] != "0123456789abcdef"[i % 2 ? bytes[i / 2] & 15 : bytes[i / 2] >> 4])
			return false;
	return n > 0;
}

/* The Breakpad debug id of an ELF file: its build id read as a GUID in memory, and an age. */
static bool is_breakpad_id(const char *text, const uint8_t *uuid, size_t size)
{
	static const uint8_t order[GUID_SIZE] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	uint8_t bytes[GUID_SIZE];
	char digits[2 * GUID_SIZE + 1];
	if (strlen(text) <= 2 * GUID_SIZE || strlen(text) > 2 * GUID_SIZE + 8)
		return false;
	memcpy(digits, text, 2 * GUID_SIZE);
	digits[2 * GUID_SIZE] = 0;
	for (size_t i = 0; i < GUID_SIZE; i++)
		bytes[i] = order[i] < size ? uuid[order[i]] : 0;
	return is_hex_of(digits, bytes, GUID_SIZE) || (size == GUID_SIZE && is_hex_of(digits, uuid, size));
}

static bool has_id(const struct image_file *file, const char *id)
{
	const struct gsym_info *info = gsym_reader_info(file->reader);
	return info->uuid_size && (is_hex_of(id, info->uuid, info->uuid_size) ||
				   is_breakpad_id(id, info->uuid, info->uuid_size));
}

/* ---- Files of the command line ---- */

static bool is_same_build(const struct image_file *a, const struct image_file *b)
{
	const struct gsym_info *x = gsym_reader_info(a->reader), *y = gsym_reader_info(b->reader);
	return x->uuid_size && x->uuid_size == y->uuid_size && memcmp(x->uuid, y->uuid, x->uuid_size) == 0;
}

/* How well the file matches: by id if both have one, else by name. */
static unsigned fit_of(const struct image_files *images, const struct image_file *file,
		       const struct filter_module *module)
{
	if (module->id[0] && gsym_reader_info(file->reader)->uuid_size)
		return has_id(file, module->id) ? UINT_MAX : 0;
	return image_name_fit(file->name, module, images->n_given == 1);
}

/* The file that matches best. -ENOENT; -ENOTUNIQ when several builds match equally well. */
static int find_given(const struct image_files *images, const struct filter_module *module,
		      const struct image_file **ret)
{
	const struct image_file *best = NULL;
	unsigned most = 0;
	bool several = false;
	for (size_t i = 0; i < images->n_given; i++) {
		const struct image_file *file = &images->list.v[i];
		unsigned fit = fit_of(images, file, module);
		if (fit && fit == most && !is_same_build(file, best))
			several = true;
		if (fit <= most)
			continue;
		best = file;
		most = fit;
		several = false;
	}
	if (!best || several)
		return several ? -ENOTUNIQ : -ENOENT;
	*ret = best;
	return 0;
}

/* ---- The mount ---- */

/* Uses the image of an object file, which has segments if it is in the cache. */
static void use_object(struct image_file *file)
{
	file->reader = file->object.reader;
	file->base = file->object.base;
	if (file->object.handle)
		file->map = &file->object.handle->addresses;
}

/* A GSYM file, or an object file, which is converted. After -EIO without a diagnosis a signal ended that. */
static int open_image(const char *path, const char *arch, struct object_arches *choices,
		      struct image_file *file, struct gsym_diag *diag)
{
	const struct object_options options = {.arch = arch, .choices = choices};
	struct gsym_diag why = {""};
	int err = gsym_reader_open(path, &file->opened, diag);
	if (!err) {
		file->reader = file->opened;
		file->base = gsym_reader_info(file->reader)->base_address & ~(uint64_t)(PAGE_SIZE_MIN - 1);
		return 0;
	}
	int object_err = err == -EBADMSG ? object_lookup_open(path, &options, &file->object, &why) : -ENOEXEC;
	if (object_err == -ENOEXEC) {
		if (err == -EBADMSG)
			object_lookup_explain(path, diag);
		return err;
	}
	if (object_err) {
		*diag = why;
		return why.text[0] ? object_err : -EIO;
	}
	use_object(file);
	return 0;
}

static int add_image(struct image_files *images, const char *path, const char *name, const char *arch,
		     struct object_arches *choices, struct gsym_diag *diag)
{
	struct image_file file = {.name = strdup(name)};
	int err = file.name && !vec_reserve(&images->list, 1) ? 0 : -ENOMEM;
	if (!err)
		err = open_image(path, arch, choices, &file, diag);
	if (err) {
		free(file.name);
		return err;
	}
	images->list.v[images->list.n++] = file;
	return 0;
}

/* Adds the image of @path, or all that it has: lines of a log choose one by its UUID. */
static int add_file(struct image_files *images, const char *path, struct gsym_diag *diag)
{
	struct object_arches choices = {.n = 0};
	int err = add_image(images, path, path, NULL, &choices, diag);
	if (!choices.n)
		return err;
	err = 0;
	for (size_t i = 0; i < choices.n && !err; i++)
		err = add_image(images, path, path, choices.name[i], NULL, diag);
	return err;
}

int images_open_all(const struct command *command, struct image_files *images, int argc, char **argv)
{
	struct stat st;
	if (images->mount && stat(images->mount, &st))
		return fail(images->mount, -errno, NULL);
	if (images->mount && !S_ISDIR(st.st_mode))
		return fail(images->mount, -ENOTDIR, NULL);
	if (argc == 1 && !images->mount)
		return options_error(command, "missing operand 'FILE' or option '--mount=DIR'");
	for (int i = 1; i < argc; i++) {
		struct gsym_diag diag = {""};
		char file[PATH_MAX];
		int err = bundle_resolve(argv[i], file, &diag); /* logs have the name of what is in it */
		if (!err)
			err = add_file(images, file, &diag);
		if (err == -EIO && !diag.text[0])
			return STATUS_FAILED;
		if (err)
			return fail(argv[i], err, &diag);
	}
	images->n_given = images->list.n;
	return STATUS_OK;
}

static void close_image(struct image_file *file)
{
	if (file->object.reader) {
		lookup_image_close(&file->object);
	} else {
		gsym_reader_close(file->opened);
		free(file->map);
	}
	name_table_free(file->shown);
	free(file->name);
	free(file->by_name);
	free(file->root);
}

void images_deinit(struct image_files *images)
{
	for (size_t i = 0; i < images->list.n; i++) {
		close_image(&images->list.v[i]);
	}
	vec_free(&images->list);
	for (size_t i = 0; i < images->refused.n; i++)
		free(images->refused.v[i]);
	vec_free(&images->refused);
}

/*
 * Prints once why a file of the mount cannot be used, for which there is no image then; passes -ENOMEM on.
 * The next frame reads it again: the fault may be over.
 */
static int refuse_path(struct image_files *images, const char *path, int err, const struct gsym_diag *diag)
{
	if (err == -ENOMEM)
		return err;
	for (size_t i = 0; i < images->refused.n; i++)
		if (strcmp(images->refused.v[i], path) == 0)
			return -ENOENT;
	fail(path, err, diag);
	if (images->refused.n >= IMAGES_MAX)
		return -ENOENT;
	char *copy = strdup(path);
	if (copy && vec_push(&images->refused, copy) == 0)
		return -ENOENT;
	free(copy);
	return -ENOMEM;
}

/*
 * Reads the image base and the segments from the file "status": in GSYM the base is known only if no function
 * precedes it, and segments are not. 0, also without the file, or the error of reading it.
 */
static int read_map(const char *path, struct image_file *file)
{
	struct text_buf text = {0};
	FILE *status = fopen(path, "re");
	if (!status)
		return errno == ENOENT ? 0 : -errno;
	file->map = malloc(sizeof(*file->map));
	int err = file->map && text_reserve(&text, NOTES_MAX) ? 0 : -ENOMEM;
	if (!err) {
		errno = 0;
		text.n = fread(text.v, 1, NOTES_MAX, status);
		err = ferror(status) ? -(errno ? errno : EIO) : 0;
	}
	if (!err) {
		notes_read_map((struct span){(const uint8_t *)text.v, text.n}, file->map);
		file->base = file->map->base;
	}
	text_deinit(&text);
	fclose(status);
	return err;
}

static int open_mounted(struct image_files *images, const char *id, struct image_file **ret)
{
	char directory[PATH_MAX - 16], path[PATH_MAX];
	for (size_t i = images->n_given; i < images->list.n; i++) {
		if (strcmp(images->list.v[i].name, id) == 0) {
			*ret = &images->list.v[i];
			return 0;
		}
	}
	if (images->list.n >= IMAGES_MAX ||
	    snprintf(directory, sizeof(directory), "%s/%s", images->mount, id) >= (int)sizeof(directory))
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/image.gsym", directory);
	struct gsym_diag diag = {""};
	int err = add_image(images, path, id, NULL, NULL, &diag);
	if (err)
		return err == -ENOENT ? err : refuse_path(images, path, err, &diag);
	*ret = &images->list.v[images->list.n - 1];
	snprintf(path, sizeof(path), "%s/status", directory);
	err = read_map(path, *ret);
	if (err) {
		close_image(*ret);
		images->list.n--;
		return refuse_path(images, path, err, NULL);
	}
	return 0;
}

/*
 * Copies the only name in the directory to @id unless it is there already. -ENOTUNIQ when there is another
 * name; the error of reading the directory, if there is one.
 */
static int read_single_name(const char *directory, char id[static FILTER_ID_SIZE])
{
	DIR *names = opendir(directory);
	const struct dirent *entry;
	bool one = true;
	if (!names)
		return errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG ? 0 : -errno;
	while (one && (errno = 0, entry = readdir(names))) {
		if (entry->d_name[0] == '.')
			continue;
		if (!id[0] && strlen(entry->d_name) < FILTER_ID_SIZE)
			strcpy(id, entry->d_name);
		one = strcmp(id, entry->d_name) == 0;
	}
	int err = !one ? -ENOTUNIQ : -errno;
	closedir(names);
	return err;
}

/* The image of the mount with a file of the module's name, if it is the only one. */
static int open_by_name(struct image_files *images, const struct filter_module *module,
			struct image_file **ret)
{
	char first[FILTER_NAME_SIZE], name[FILTER_NAME_SIZE], path[PATH_MAX], id[FILTER_ID_SIZE] = "";
	int err = image_name_of(module, 0, first) ? 0 : -ENOENT;
	for (size_t i = images->n_given; !err && i < images->list.n; i++) {
		if (images->list.v[i].by_name && strcmp(images->list.v[i].by_name, first) == 0) {
			*ret = &images->list.v[i];
			return 0;
		}
	}
	bool has_release = module->is_kernel && module->release[0] && strcmp(module->name, "vmlinux") == 0;
	for (unsigned i = 0; !err && !(has_release && id[0]) && image_name_of(module, i, name); i++) {
		err = snprintf(path, sizeof(path), "%s/by-name/%s", images->mount, name) < (int)sizeof(path)
			      ? read_single_name(path, id)
			      : -ENOENT;
		if (err && err != -ENOENT && err != -ENOTUNIQ)
			err = refuse_path(images, path, err, NULL);
	}
	if (!err)
		err = id[0] ? open_mounted(images, id, ret) : -ENOENT;
	if (!err && !(*ret)->by_name && !((*ret)->by_name = strdup(first)))
		err = -ENOMEM;
	return err;
}

int images_find(struct image_files *images, const struct filter_module *module, const struct image_file **ret)
{
	struct image_file *mounted;
	int err = find_given(images, module, ret);
	if (!err || !images->mount || module->is_word)
		return err;
	if (!module->id[0] && !images->by_name)
		return err == -ENOTUNIQ ? err : -ENODATA;
	err = module->id[0] ? open_mounted(images, module->id, &mounted)
			    : open_by_name(images, module, &mounted);
	if (!err)
		*ret = mounted;
	return err;
}

/* Its files are read once. 0 or -ENOMEM. */
static int find_root(struct image_files *images, const struct image_file *found)
{
	struct image_file *file = &images->list.v[found - images->list.v];
	if (file->has_root || !images->wants_root)
		return 0;
	file->has_root = true;
	return source_root_find(file->reader, &file->root);
}

/* Its demangled names are indexed once. 0 or -ENOMEM. */
static int index_shown(struct image_files *images, const struct image_file *found)
{
	struct image_file *file = &images->list.v[found - images->list.v];
	bool has_ada = file->map && file->map->has_ada;
	struct shown_builder builder = {.shown.mode = has_ada ? DEMANGLE_ADA : DEMANGLE_AUTO};
	if (file->shown)
		return 0;
	int err = shown_builder_run(&builder, file->reader);
	if (!err)
		file->shown = TAKE(builder.names.table);
	shown_builder_deinit(&builder);
	return err;
}

int images_find_for_filter(void *user, const struct filter_module *module, struct filter_image *ret)
{
	const struct image_file *file;
	int err = images_find(user, module, &file);
	if (!err)
		err = find_root(user, file);
	if (!err && module->needs_shown)
		err = index_shown(user, file);
	if (err)
		return err;
	*ret = (struct filter_image){.reader = file->reader,
				     .base = file->base,
				     .has_ada = file->map && file->map->has_ada,
				     .shown = file->shown,
				     .segments = file->map,
				     .root = file->root};
	return 0;
}

bool images_segment(void *user, const struct filter_image *image, size_t i, struct filter_segment *ret)
{
	const struct address_map *map = image->segments;
	(void)user;
	if (!map || i >= map->n)
		return false;
	*ret = (struct filter_segment){map->segments[i].off, map->segments[i].addr, map->segments[i].size};
	return true;
}
