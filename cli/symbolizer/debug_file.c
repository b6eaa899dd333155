#include "cli/symbolizer/debug_file.h"

#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "convert/object/object_open.h"
#include "gsym/base/cursor.h"
#include "gsym/base/vec.h"
#include "work/cache/image_id.h"

/* ---- Caches of debuginfod's clients ---- */

/* The directory of a client: $DEBUGINFOD_CACHE_PATH, or its own below that of the user's caches. */
static bool client_directory(const char *own, char ret[PATH_MAX])
{
	const char *named = getenv("DEBUGINFOD_CACHE_PATH"), *caches = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	int size = named && *named     ? snprintf(ret, PATH_MAX, "%s", named)
		   : caches && *caches ? snprintf(ret, PATH_MAX, "%s/%s", caches, own)
		   : home && *home     ? snprintf(ret, PATH_MAX, "%s/.cache/%s", home, own)
				       : PATH_MAX;
	return size < PATH_MAX;
}

/* The name of a file in LLVM's cache: a hash of what is asked of the server. */
static int print_hashed(char *ret, size_t size, const char *dir, const char *id)
{
	char url[PATH_MAX];
	int n = snprintf(url, sizeof(url), "buildid/%s/debuginfo", id);
	return snprintf(ret, size, "%s/llvmcache-%llu", dir, (unsigned long long)XXH3_64bits(url, (size_t)n));
}

static int print_plain(char *ret, size_t size, const char *dir, const char *id)
{
	return snprintf(ret, size, "%s/%s/debuginfo", dir, id);
}

bool debug_file_fetched(const char *id, char ret[PATH_MAX])
{
	static const struct {
		const char *directory;
		int (*print)(char *ret, size_t size, const char *dir, const char *id);
	} clients[] = {{"debuginfod_client", print_plain}, {"llvm-debuginfod/client", print_hashed}};
	char dir[PATH_MAX];
	struct stat st;
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		if (client_directory(clients[i].directory, dir) &&
		    clients[i].print(ret, PATH_MAX, dir, id) < PATH_MAX && stat(ret, &st) == 0 &&
		    st.st_size) /* an empty one says that no server has it */
			return true;
	return false;
}

/* ---- One for an object file ---- */

static bool has_id_of(const char *path, const struct object_file *object)
{
	struct object_file *other = NULL;
	bool is_same = object_open(path, NULL, &other, NULL) == 0 && other->id_size == object->id_size &&
		       memcmp(other->id, object->id, object->id_size) == 0;
	object_close(other);
	return is_same;
}

static bool find_hinted(const struct symbolizer_options *options, const struct object_file *object,
			const char *path, char ret[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	for (size_t i = 0; i < options->n_dsym_hints; i++)
		if (snprintf(ret, PATH_MAX, "%s/Contents/Resources/DWARF/%s", options->dsym_hints[i],
			     slash ? slash + 1 : path) < PATH_MAX &&
		    has_id_of(ret, object))
			return true;
	return false;
}

static bool find_fetched(const struct object_file *object, char ret[PATH_MAX])
{
	char id[ID_TEXT_SIZE] = "";
	for (size_t i = 0; i < object->id_size && 2 * i + 2 < sizeof(id); i++)
		snprintf(id + 2 * i, 3, "%02x", object->id[i]);
	return debug_file_fetched(id, ret) && has_id_of(ret, object);
}

/* Returns whether the file at @path has the name and checksum in .gnu_debuglink of @object. */
static bool is_linked(const char *path, const struct object_file *object, uint32_t crc)
{
	struct object_file *other = NULL;
	if (object->id_size)
		return has_id_of(path, object);
	bool is_same = object_open(path, NULL, &other, NULL) == 0 &&
		       libdeflate_crc32(0, other->map, other->map_size) == crc;
	object_close(other);
	return is_same;
}

/* Finds the debug file beside a symbolic link; the converter looks beside the file that it leads to. */
static bool find_beside_link(struct object_file *object, const char *path, char ret[PATH_MAX])
{
	const struct object_section *section = object_section(object, ".gnu_debuglink");
	const char *slash = strrchr(path, '/');
	if (!section)
		return false;
	struct cursor c = cursor_new(section->raw.data, section->raw.size, object->big_endian);
	const char *name = cursor_str(&c);
	cursor_seek(&c, (cursor_off(&c) + 3) & ~(uint64_t)3);
	uint32_t crc = cursor_u32(&c);
	return cursor_ok(&c) && !strchr(name, '/') &&
	       snprintf(ret, PATH_MAX, "%.*s%s", (int)(slash ? slash + 1 - path : 0), path, name) <
		       PATH_MAX &&
	       is_linked(ret, object, crc);
}

static bool uses_fetched(const struct symbolizer_options *options)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	if (options->dialect == DIALECT_BINUTILS)
		return false;
	return options->debuginfod == DEBUGINFOD_YES ||
	       (options->debuginfod == DEBUGINFOD_BY_ENVIRONMENT && servers && *servers);
}

bool debug_file_may_be_elsewhere(const struct symbolizer_options *options, const char *path)
{
	struct stat st;
	return options->n_dsym_hints || uses_fetched(options) ||
	       (lstat(path, &st) == 0 && S_ISLNK(st.st_mode));
}

bool debug_file_find(const struct symbolizer_options *options, struct object_file *object, const char *path,
		     char ret[PATH_MAX])
{
	if (object_section(object, ".debug_info"))
		return false;
	return find_beside_link(object, path, ret) ||
	       (object->id_size && find_hinted(options, object, path, ret)) ||
	       (object->id_size && uses_fetched(options) && find_fetched(object, ret));
}
