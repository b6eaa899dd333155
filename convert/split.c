#include "split.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 4096 };

/* One opened .dwo, or one unit's share of the package. */
struct split_file {
	struct image *image; /* NULL: the package's */
	struct dwarf dwarf;
};

struct split_files {
	const char *const *debug_dirs;
	char dir[PATH_SIZE]; /* of the main file */
	struct dwp *dwp;
	pthread_mutex_t lock;
	VEC(struct split_file *) opened; /* under the lock; what it points to does not change */
};

/* "prog.dwp", and for "prog.debug" both "prog.dwp" and "prog.debug.dwp". */
static struct dwp *open_package(const char *main)
{
	char path[PATH_SIZE];
	size_t n = strlen(main);
	struct dwp *dwp = NULL;
	if (snprintf(path, sizeof(path), "%s.dwp", main) < PATH_SIZE)
		dwp = dwp_open(path);
	if (!dwp && n > 6 && !strcmp(main + n - 6, ".debug") &&
	    snprintf(path, sizeof(path), "%.*s.dwp", (int)(n - 6), main) < PATH_SIZE)
		dwp = dwp_open(path);
	if (!dwp && snprintf(path, sizeof(path), "%s.debug.dwp", main) < PATH_SIZE)
		dwp = dwp_open(path);
	return dwp;
}

int split_open(const struct image *main, const struct image *debug, const char *const *debug_dirs,
	       struct split_files **ret)
{
	struct split_files *files = calloc(1, sizeof(*files));
	if (!files)
		return -ENOMEM;
	files->debug_dirs = debug_dirs;
	const char *slash = strrchr(main->path, '/');
	snprintf(files->dir, sizeof(files->dir), "%.*s", slash ? (int)(slash - main->path) : 1, slash ? main->path : ".");
	files->dwp = open_package(main->path);
	if (!files->dwp && debug != main)
		files->dwp = open_package(debug->path);
	pthread_mutex_init(&files->lock, NULL);
	*ret = files;
	return 0;
}

static void split_file_close(struct split_file *file)
{
	dwarf_close(&file->dwarf);
	image_close(file->image);
	free(file);
}

void split_close(struct split_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->opened.n; i++)
		split_file_close(files->opened.v[i]);
	vec_free(&files->opened);
	dwp_close(files->dwp);
	pthread_mutex_destroy(&files->lock);
	free(files);
}

/* ---- Finding a .dwo ---- */

/* Opens @path if it is an object file with split units. */
static struct split_file *open_dwo(const char *path, struct oddities *odd)
{
	struct split_file *file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	if (image_open(path, &file->image, NULL) || dwarf_open(&file->dwarf, file->image, true, 1, odd) ||
	    !file->dwarf.n_units) {
		split_file_close(file);
		return NULL;
	}
	return file;
}

static struct split_file *open_joined(const char *a, const char *b, const char *c, struct oddities *odd)
{
	char path[PATH_SIZE];
	int n = snprintf(path, sizeof(path), "%s%s%s%s%s", a, *a && *b ? "/" : "", b, *a || *b ? "/" : "", c);
	return n < PATH_SIZE ? open_dwo(path, odd) : NULL;
}

/*
 * Where the compiler put it, beside the main file under its whole or its last name, and both below the
 * directories of debug files.
 */
static struct split_file *search_dwo(const struct split_files *files, const struct unit *skeleton,
				     struct oddities *odd)
{
	const char *name = skeleton->dwo_name, *slash = strrchr(name, '/');
	const char *comp = name[0] == '/' ? "" : skeleton->comp_dir;
	struct split_file *file = name[0] == '/' ? open_dwo(name, odd) : open_joined(comp, "", name, odd);
	if (!file && name[0] != '/')
		file = open_joined(files->dir, "", name, odd);
	if (!file)
		file = open_joined(files->dir, "", slash ? slash + 1 : name, odd);
	for (const char *const *dir = files->debug_dirs; dir && *dir && !file; dir++) {
		file = open_joined(*dir, *comp == '/' ? comp + 1 : comp, name[0] == '/' ? name + 1 : name, odd);
	}
	return file;
}

/* The unit with that id. Version 4 has it only in the unit entry. */
static const struct unit_header *unit_of_id(const struct dwarf *dwarf, uint64_t id, struct oddities *odd)
{
	for (size_t i = 0; i < dwarf->n_units; i++) {
		const struct unit_header *header = &dwarf->units[i];
		struct unit unit = {0};
		bool same = header->version >= 5 ? header->dwo_id == id
						 : !unit_load(&unit, dwarf, header, odd) && unit.dwo_id == id;
		unit_deinit(&unit);
		if (same)
			return header;
	}
	return NULL;
}

static struct split_file *take_from_package(const struct split_files *files, uint64_t id, struct oddities *odd)
{
	struct split_file *file = files->dwp ? calloc(1, sizeof(*file)) : NULL;
	if (!file)
		return NULL;
	int err = dwp_find(files->dwp, id, &file->dwarf);
	if (!err)
		err = dwarf_find_units(&file->dwarf, odd);
	if (!err)
		return file;
	free(file);
	return NULL;
}

int split_find(struct split_files *files, const struct unit *skeleton, struct oddities *odd,
	       const struct dwarf **ret_dwarf, const struct unit_header **ret_header)
{
	struct split_file *file = take_from_package(files, skeleton->dwo_id, odd);
	if (!file)
		file = search_dwo(files, skeleton, odd);
	if (!file)
		return -ENOENT;
	pthread_mutex_lock(&files->lock);
	int err = vec_push(&files->opened, file);
	pthread_mutex_unlock(&files->lock);
	const struct unit_header *header = err ? NULL : unit_of_id(&file->dwarf, skeleton->dwo_id, odd);
	if (err) {
		split_file_close(file);
		return err;
	}
	if (!header)
		return -ENOENT;
	*ret_dwarf = &file->dwarf;
	*ret_header = header;
	return 0;
}
