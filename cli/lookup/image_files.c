#include "cli/lookup/image_files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work/cache/context.h"
#include "work/cache/image_id.h"
#include "work/cache/notes.h"
#include "cli/command/commands.h"
#include "cli/lookup/image_mount.h"
#include "cli/lookup/image_name.h"
#include "cli/command/message.h"
#include "gsym/read/reader.h"
#include "gsym/render/shown_names.h"
#include "log/engine/symbol_match.h"

enum {
	IMAGES_MAX = 4096,  /* open at the same time */
	ID_PREFIX_MIN = 16, /* digits of a unique prefix */
	GUID_SIZE = 16,
};

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

static int name_fit_of(const struct image_files *images, const struct image_file *file,
		       const struct filter_module *module)
{
	return image_fit(file->name, file->real ? file->real : "", module, images->n_given == 1);
}

/* How well the file matches: by id if both have one, else by name. */
static int fit_of(const struct image_files *images, const struct image_file *file,
		  const struct filter_module *module)
{
	if (module->id[0] && gsym_reader_info(file->reader)->uuid_size)
		return has_id(file, module->id) ? INT_MAX : 0;
	return name_fit_of(images, file, module);
}

/* The file that matches best. -ENOENT; -ENOTUNIQ when several builds match equally well; -ESTALE. */
static int find_given(const struct image_files *images, const struct filter_module *module,
		      const struct image_file **ret)
{
	const struct image_file *best = NULL;
	int most = 0;
	bool several = false, other = false;
	for (size_t i = 0; i < images->n_given; i++) {
		const struct image_file *file = &images->list.v[i];
		int fit = fit_of(images, file, module);
		other |= fit == IMAGE_OTHER_RELEASE;
		if (fit > 0 && fit == most && !is_same_build(file, best))
			several = true;
		if (fit <= most)
			continue;
		best = file;
		most = fit;
		several = false;
	}
	if (!best || several)
		return several ? -ENOTUNIQ : other ? -ESTALE : -ENOENT;
	*ret = best;
	return 0;
}

/* ---- The mount ---- */

/* @id: of an image of the mount; else NULL. After -EIO without a diagnosis a signal ended the conversion. */
static int open_image(const char *operand, const char *id, const struct object_options *options,
		      struct image_file *file, struct gsym_diag *diag)
{
	struct image_operand found;
	int err = image_find(operand, options, &found, &file->object, diag);
	if (err == -EBADMSG && (err = image_convert(&found, options, &file->object, diag)))
		return diag->text[0] ? err : -EIO;
	if (err)
		return err;
	file->reader = file->object.reader;
	file->base = file->object.base;
	if (file->object.handle) /* GSYM has no segments */
		file->map = &file->object.handle->addresses;
	/* Logs have the name of what is in a bundle. */
	file->name = strdup(id ? id : found.is_mounted ? operand : found.path);
	file->real = id || found.is_mounted ? NULL : realpath(found.path, NULL);
	return file->name ? 0 : -ENOMEM;
}

static void close_image(struct image_file *file)
{
	if (!file->object.handle)
		free(file->map);
	lookup_image_close(&file->object);
	name_table_free(file->shown);
	free(file->name);
	free(file->real);
	for (size_t i = 0; i < SOURCE_ROOTS; i++)
		free(file->roots[i]);
}

static int add_image(struct image_files *images, const char *operand, const char *id,
		     const struct object_options *options, struct gsym_diag *diag)
{
	struct image_file file = {.name = NULL};
	int err = vec_reserve(&images->list, 1) ? -ENOMEM : open_image(operand, id, options, &file, diag);
	if (err)
		close_image(&file);
	else
		images->list.v[images->list.n++] = file;
	return err;
}

/* Adds the image of an operand, or all that it has: lines of a log choose one by its UUID. */
static int add_operand(struct image_files *images, const char *operand, struct gsym_diag *diag)
{
	struct object_arches choices = {.n = 0};
	struct object_options options = images->options;
	options.choices = options.arch ? NULL : &choices;
	int err = add_image(images, operand, NULL, &options, diag);
	if (!choices.n)
		return err;
	err = 0;
	options.choices = NULL;
	for (size_t i = 0; i < choices.n && !err; i++) {
		options.arch = choices.name[i];
		err = add_image(images, operand, NULL, &options, diag);
	}
	return err;
}

int images_open_all(const struct command *command, struct image_files *images, int argc, char **argv)
{
	int status = images->options.mount ? image_mount_check(images->options.mount) : STATUS_OK;
	if (status != STATUS_OK)
		return status;
	if (argc == 1 && !images->options.mount)
		return options_error(command, "missing operand 'FILE' or option '--mount=DIR'");
	for (int i = 1; i < argc; i++) {
		struct gsym_diag diag = {""};
		int err = add_operand(images, argv[i], &diag);
		if (err == -EIO && !diag.text[0])
			return STATUS_FAILED;
		if (err)
			return fail(argv[i], err, &diag);
	}
	images->n_given = images->list.n;
	return STATUS_OK;
}

void images_deinit(struct image_files *images)
{
	for (size_t i = 0; i < images->list.n; i++) {
		close_image(&images->list.v[i]);
	}
	vec_free(&images->list);
	vec_free(&images->asked);
	vec_free(&images->modules.images);
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
	if (err == -ENOMEM || images->modules.opening)
		return err == -ENOMEM ? err : -ENOENT;
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
		file->map->relative_end = file->map->is_relative ? reader_code_end(file->reader) : 0;
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
	if (images->list.n >= IMAGES_MAX || snprintf(directory, sizeof(directory), "%s/%s",
						     images->options.mount, id) >= (int)sizeof(directory))
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/image.gsym", directory);
	struct gsym_diag diag = {""};
	int err = add_image(images, path, id, &images->options, &diag);
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

/* ---- Names in the mount ---- */

enum {
	BUILDS_MAX = 64, /* of one name that are compared */
	ASKED_MAX = 4096,
	ASK_AGAIN = 2, /* seconds: the build may have been added */
};

/* The images of a name, compared with a module. */
struct named_builds {
	const struct filter_module *module;
	const char *mount;
	unsigned n;
	struct {
		char id[FILTER_ID_SIZE];
		int fit; /* of image_place_fit() */
	} v[BUILDS_MAX];
	char release[FILTER_RELEASE_SIZE]; /* that the last source tells */
};

/* Reads of the sources of build @i how well they fit. A status that cannot be read tells nothing. */
static void compare_sources(struct named_builds *builds, unsigned i)
{
	static const char key[] = "source\t";
	char path[PATH_MAX], *line = NULL;
	size_t room = 0;
	ssize_t n;
	snprintf(path, sizeof(path), "%s/%s/status", builds->mount, builds->v[i].id);
	FILE *status = fopen(path, "re");
	while (status && (n = getline(&line, &room, status)) > 0) {
		line[n - (line[n - 1] == '\n')] = 0;
		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		builds->v[i].fit = image_place_fit(builds->v[i].fit, line + strlen(key), builds->module);
		image_release_of(line + strlen(key), builds->release);
	}
	free(line);
	if (status)
		fclose(status);
}

/* Returns whether an entry of by-name/NAME is an id; else it is what the only image has. */
static bool is_id(const char *name)
{
	uint8_t id[IMAGE_ID_MAX];
	return strlen(name) < FILTER_ID_SIZE && (id_parse(name, id) || strncmp(name, "xxh3-", 5) == 0);
}

/* Adds the images of a name. -ENOTUNIQ beyond BUILDS_MAX, or the error of reading the directory. */
static int list_builds(struct named_builds *builds, const char *directory, int fit)
{
	DIR *names = opendir(directory);
	const struct dirent *entry;
	int err = 0;
	if (!names)
		return errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG ? 0 : -errno;
	while (!err && (errno = 0, entry = readdir(names))) {
		unsigned i = 0;
		while (i < builds->n && strcmp(builds->v[i].id, entry->d_name) != 0)
			i++;
		if (!is_id(entry->d_name) || i < builds->n)
			continue;
		if (i == BUILDS_MAX) {
			err = -ENOTUNIQ;
			break;
		}
		strcpy(builds->v[i].id, entry->d_name);
		builds->v[i].fit = fit;
		builds->n++;
	}
	err = err ? err : -errno;
	closedir(names);
	return err;
}

/* Lists the images that have any of the module's names. 0, -ENOTUNIQ, or an error that was printed. */
static int find_builds(struct image_files *images, struct named_builds *builds)
{
	const struct filter_module *module = builds->module;
	char path[PATH_MAX], name[FILTER_NAME_SIZE];
	int err = 0;
	for (unsigned i = 0; !err && image_name_of(module, i, name); i++) {
		if (snprintf(path, sizeof(path), "%s/by-name/%s", images->options.mount, name) >=
		    (int)sizeof(path))
			return -ENOENT;
		err = list_builds(builds, path, image_place_fit(0, name, module));
		if (err && err != -ENOTUNIQ)
			err = refuse_path(images, path, err, NULL);
	}
	bool chooses = builds->n > 1 || (module->is_kernel && module->release[0]);
	for (unsigned i = 0; !err && chooses && i < builds->n; i++)
		compare_sources(builds, i);
	return err;
}

/* The build that fits best. -ENOENT, -ENOTUNIQ, -ESTALE, or an error that was printed. */
static int choose_build(struct image_files *images, struct named_builds *builds, const char **ret)
{
	int err = find_builds(images, builds), most = IMAGE_OTHER_RELEASE;
	unsigned n = 0;
	for (unsigned i = 0; i < builds->n; i++) {
		if (builds->v[i].fit > most)
			n = 0;
		if (builds->v[i].fit < most)
			continue;
		most = builds->v[i].fit;
		*ret = builds->v[i].id;
		n++;
	}
	if (err || !n)
		return err ? err : -ENOENT;
	return most == IMAGE_OTHER_RELEASE ? -ESTALE : n > 1 ? -ENOTUNIQ : 0;
}

/* Returns what came of the same question before, or NULL: the file may be there by now. */
static struct asked_module *find_asked(const struct image_files *images, const struct filter_module *module)
{
	for (size_t i = 0; i < images->asked.n; i++) {
		struct asked_module *asked = &images->asked.v[i];
		if (strcmp(asked->name, module->name) == 0 && strcmp(asked->release, module->release) == 0)
			return asked;
	}
	return NULL;
}

/* Keeps an answer for the next question. 0 or -ENOMEM. */
static int keep_asked(struct image_files *images, struct asked_module *there,
		      const struct filter_module *module, int err, const struct image_file *found)
{
	if (!there && (images->asked.n >= ASKED_MAX || vec_reserve(&images->asked, 1)))
		return images->asked.n >= ASKED_MAX ? 0 : -ENOMEM;
	there = there ? there : &images->asked.v[images->asked.n++];
	*there = (struct asked_module){.err = err, .time = time(NULL)};
	there->image = err ? 0 : (size_t)(found - images->list.v);
	strcpy(there->name, module->name);
	strcpy(there->release, module->release);
	return 0;
}

/* The image of the mount with a file of the module's name, if it is the only one, or fits best. */
static int open_by_name(struct image_files *images, const struct filter_module *module,
			struct image_file **ret)
{
	struct named_builds builds = {.module = module, .mount = images->options.mount};
	struct asked_module *asked = find_asked(images, module);
	const char *id;
	if (asked && !asked->err)
		*ret = &images->list.v[asked->image];
	if (asked && (!asked->err || time(NULL) < asked->time + ASK_AGAIN))
		return asked->err;
	int err = choose_build(images, &builds, &id);
	if (!err)
		err = open_mounted(images, id, ret);
	if (!err || err == -ENOTUNIQ || err == -ESTALE)
		err = keep_asked(images, asked, module, err, *ret) ? -ENOMEM : err;
	return err;
}

int images_find(struct image_files *images, const struct filter_module *module, const struct image_file **ret)
{
	struct image_file *mounted;
	int err = find_given(images, module, ret);
	if (!err || !images->options.mount || module->is_word)
		return err;
	if (!module->id[0] && !images->by_name)
		return err == -ENOENT ? -ENODATA : err;
	err = module->id[0] ? open_mounted(images, module->id, &mounted)
			    : open_by_name(images, module, &mounted);
	if (!err)
		*ret = mounted;
	return err;
}

/* Returns whether the file is a kernel, by its name or by the first function in C that each has. */
static bool is_kernel_file(const struct image_files *images, const struct image_file *file)
{
	static const char first[] = "start_kernel";
	const struct filter_module kernel = {.name = "vmlinux", .is_kernel = true};
	const struct kernel_symbol symbol = {.name = first, .name_size = strlen(first)};
	struct symbol_match match;
	return name_fit_of(images, file, &kernel) > IMAGE_STANDS_IN ||
	       symbol_match(file->reader, &symbol, &match) == 0;
}

/* Writes the id of a file of the module, if both have one. */
static bool tell_other_id(const struct image_files *images, const struct image_file *file,
			  const struct filter_module *module, char ret[static FILTER_ID_SIZE])
{
	const struct gsym_info *info = gsym_reader_info(file->reader);
	int fit = name_fit_of(images, file, module);
	bool is_its = fit > IMAGE_STANDS_IN || fit == IMAGE_OTHER_RELEASE ||
		      (fit == IMAGE_STANDS_IN && is_kernel_file(images, file));
	if (!module->id[0] || !is_its || !info->uuid_size || info->uuid_size >= FILTER_ID_SIZE / 2)
		return false;
	for (size_t k = 0; k < info->uuid_size; k++)
		snprintf(ret + 2 * k, 3, "%02x", info->uuid[k]);
	return true;
}

bool images_tell_other(struct image_files *images, const struct filter_module *module,
		       char ret[static FILTER_ID_SIZE])
{
	struct named_builds builds = {.module = module, .mount = images->options.mount};
	const char *id;
	for (size_t i = 0; i < images->n_given; i++) {
		const struct image_file *file = &images->list.v[i];
		if (tell_other_id(images, file, module, ret))
			return true;
		if (name_fit_of(images, file, module) == IMAGE_OTHER_RELEASE &&
		    (image_release_of(file->name, ret) || (file->real && image_release_of(file->real, ret))))
			return true;
	}
	if (!images->options.mount || module->id[0] || choose_build(images, &builds, &id) != -ESTALE)
		return false;
	strcpy(ret, builds.release);
	return true;
}

bool images_lack_kernel(const struct image_files *images)
{
	bool has = images->options.mount;
	for (size_t i = 0; i < images->n_given && !has; i++)
		has = is_kernel_file(images, &images->list.v[i]);
	return !has;
}

int images_find_roots(struct image_files *images, struct image_file *file)
{
	if (file->has_roots || images->strip.roots == STRIP_NONE)
		return 0;
	file->has_roots = true;
	return source_roots_find(file->reader, file->roots);
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

/* 0 or -ENOMEM. */
static int fill_image(struct image_files *images, const struct image_file *file,
		      const struct filter_module *module, struct filter_image *ret)
{
	bool strips = images->strip.roots == STRIP_ROOTS ||
		      (images->strip.roots == STRIP_KERNEL && module->is_kernel);
	int err = strips ? images_find_roots(images, &images->list.v[file - images->list.v]) : 0;
	if (!err && module->needs_shown)
		err = index_shown(images, file);
	*ret = (struct filter_image){.reader = file->reader,
				     .base = file->base,
				     .relative_end = file->map ? file->map->relative_end : 0,
				     .has_ada = file->map && file->map->has_ada,
				     .shown = file->shown,
				     .segments = file->map};
	for (size_t i = 0; strips && i < SOURCE_ROOTS; i++)
		ret->roots[i] = file->roots[i];
	return err;
}

int images_find_for_filter(void *user, const struct filter_module *module, struct filter_image *ret)
{
	const struct image_file *file;
	int err = images_find(user, module, &file);
	return err ? err : fill_image(user, file, module, ret);
}

/* Returns whether the file is named like a module, perhaps with suffixes: "ext4.ko.debug". */
static bool is_ko(const char *path)
{
	const char *slash = strrchr(path, '/'), *dot = strstr(slash ? slash : path, ".ko");
	return dot && (!dot[3] || dot[3] == '.');
}

/* Opens the image of a row of images.tsv if it is a module of the kernel's release. 0, -ENOMEM or -ENFILE. */
static int add_module(struct image_files *images, const struct filter_module *kernel, char *row)
{
	const char *path = strrchr(row, '\t');
	struct named_builds build = {.module = kernel, .mount = images->options.mount};
	size_t size = strcspn(row, "\t");
	struct image_file *file;
	if (!path || !is_ko(path + 1) || size >= FILTER_ID_SIZE)
		return 0;
	memcpy(build.v[0].id, row, size);
	build.v[0].fit = image_place_fit(0, path + 1, kernel);
	if (!build.v[0].fit)
		compare_sources(&build, 0);
	if (build.v[0].fit <= 0)
		return 0;
	int err = images->list.n < IMAGES_MAX ? open_mounted(images, build.v[0].id, &file) : -ENFILE;
	if (err)
		return err == -ENOENT ? 0 : err;
	return vec_push(&images->modules.images, (size_t)(file - images->list.v));
}

/* The release of a kernel of which a log has none is that of its image. */
static void complete_release(struct image_files *images, struct filter_module *kernel)
{
	struct named_builds build = {.module = kernel, .mount = images->options.mount};
	const struct image_file *file;
	if (kernel->release[0] || images_find(images, kernel, &file))
		return;
	if (file < images->list.v + images->n_given) {
		if (!image_release_of(file->name, kernel->release) && file->real)
			image_release_of(file->real, kernel->release);
		return;
	}
	snprintf(build.v[0].id, sizeof(build.v[0].id), "%s", file->name);
	compare_sources(&build, 0);
	strcpy(kernel->release, build.release);
}

/* Opens the modules of the kernel in the mount, which are converted if necessary; once. 0 or -ENOMEM. */
static int list_modules(struct image_files *images, const struct filter_module *of)
{
	struct kernel_modules *modules = &images->modules;
	struct filter_module kernel = *of;
	char path[PATH_MAX], *row = NULL;
	size_t room = 0;
	ssize_t n;
	int err = 0;
	if (modules->listed && strcmp(modules->kernel.release, of->release) == 0 &&
	    strcmp(modules->kernel.id, of->id) == 0)
		return 0;
	modules->images.n = 0;
	modules->listed = true;
	modules->kernel = kernel;
	complete_release(images, &kernel);
	if (!kernel.release[0])
		return 0;
	modules->opening = true;
	snprintf(path, sizeof(path), "%s/images.tsv", images->options.mount);
	FILE *list = fopen(path, "re");
	while (list && !err && (n = getline(&row, &room, list)) > 0) {
		row[n - (row[n - 1] == '\n')] = 0;
		err = add_module(images, &kernel, row);
	}
	modules->opening = false;
	free(row);
	if (list)
		fclose(list);
	return err == -ENOMEM ? err : 0;
}

int images_module(void *user, const struct filter_module *kernel, size_t i, struct filter_image *ret)
{
	struct image_files *images = user;
	for (size_t k = 0; k < images->n_given; k++) {
		const struct image_file *file = &images->list.v[k];
		int place = image_place_fit(0, file->name, kernel);
		place = image_place_fit(place, file->real ? file->real : "", kernel);
		if (is_ko(file->name) && place >= 0 && !i--)
			return fill_image(images, file, kernel, ret);
	}
	if (!images->options.mount || !(images->by_name || kernel->id[0]))
		return -ENOENT;
	int err = list_modules(images, kernel);
	if (err || i >= images->modules.images.n)
		return err ? err : -ENOENT;
	return fill_image(images, &images->list.v[images->modules.images.v[i]], kernel, ret);
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
