#include "store/share/share_inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "work/cache/notes.h"
#include "work/types/packed_name.h"
#include "work/run/inputs.h"
#include "store/client/file_print.h"
#include "gsym/base/ascii.h"

enum {
	LOCAL_DIGITS = 16,    /* of a fingerprint of inputs.h */
	NEIGHBOURS_MAX = 256, /* that there are: every host opens each of them to compare it */
};

#define SERVERS "debuginfod "

/* ---- What was found ---- */

/* @fd: what neighbour_open() gave. 0, or a negative errno: it must not be shared. */
static int print_file(int fd, const struct neighbour *file, char ret[static FILE_PRINT_SIZE])
{
	if (fd >= 0)
		return file_print(fd, (uint64_t)file->st.st_size, ret);
	snprintf(ret, FILE_PRINT_SIZE, "%c", fd == -EPERM ? '+' : '-');
	return 0;
}

/* ---- Places ---- */

/* The length of a directory's path without slashes at its end. */
static size_t trimmed(const char *directory)
{
	size_t n = strlen(directory);
	while (n && directory[n - 1] == '/')
		n--;
	return n;
}

/* The length of @prefix if @path is below it, else 0. */
static size_t prefix_of(const char *path, const char *prefix)
{
	size_t n = trimmed(prefix);
	return strncmp(path, prefix, n) == 0 && path[n] == '/' ? n : 0;
}

static size_t count_dirs(const struct search_path *search)
{
	size_t n = 0;
	while (search->dirs[n])
		n++;
	return n;
}

/* Directories that are no sources; the sources follow them. */
static size_t count_debug_dirs(const struct search_path *search)
{
	return count_dirs(search) - search->n_sources;
}

static void write_search(const struct search_path *search, struct text_buf *out)
{
	char line[96];
	uint64_t sum = search->all;
	size_t n = count_debug_dirs(search);
	for (size_t i = 0; i < n; i++)
		sum = XXH3_64bits_withSeed(search->dirs[i], strlen(search->dirs[i]), sum);
	snprintf(line, sizeof(line), "search %zu %zu %016" PRIx64 "\n", n, search->n_sources, sum);
	text_str(out, line);
}

/* The longest beginning of @path that has a name, with that name in @ret; 0, and "a", if none has. */
static size_t find_place(const struct share_place *place, const char *path, char ret[static 24])
{
	const struct search_path *search = place->search;
	size_t n_debug = count_debug_dirs(search), n_dirs = count_dirs(search);
	size_t longest = prefix_of(path, place->directory);
	snprintf(ret, 24, longest ? "s" : "a");
	for (size_t i = 0; i < n_dirs; i++) {
		size_t n = prefix_of(path, search->dirs[i]);
		size_t more = i < n_debug && n ? prefix_of(path + n, place->directory) : 0;
		if (n + more <= longest)
			continue;
		longest = n + more;
		snprintf(ret, 24, "%c%zu",
			 i >= n_debug ? 'r'
			 : more       ? 'e'
				      : 'd',
			 i >= n_debug ? i - n_debug : i);
	}
	return longest;
}

static void write_path(const struct share_place *place, const char *name, struct text_buf *out)
{
	char where[24];
	bool packed = strncmp(name, PACKED, sizeof(PACKED) - 1) == 0;
	const char *path = packed ? name + sizeof(PACKED) - 1 : name;
	size_t n = find_place(place, path, where);
	if (packed)
		text_char(out, 'p');
	text_str(out, where);
	text_char(out, ':');
	text_str(out, path + n);
}

/* The directory that the name of a place stands for here, in two parts; false if there is no such place. */
static bool place_directory(const struct share_place *place, const char *name, const char *ret[static 2])
{
	const struct search_path *search = place->search;
	char *end;
	size_t n_debug = count_debug_dirs(search), n = strtoul(name + 1, &end, 10);
	ret[0] = ret[1] = "";
	if (*end != ':' || ((*name == 's' || *name == 'a') != (end == name + 1)))
		return false;
	switch (*name) {
	case 'a': return true;
	case 's': ret[0] = place->directory; return true;
	case 'r': ret[0] = n < search->n_sources ? search->dirs[n_debug + n] : NULL; return ret[0];
	case 'e': ret[1] = place->directory; break;
	case 'd': break;
	default: return false;
	}
	ret[0] = n < n_debug ? search->dirs[n] : NULL;
	return ret[0];
}

/* The path that @name means here. False if it means none. */
static bool read_path(const struct share_place *place, const char *name, char *ret, size_t size)
{
	const char *parts[2], *rest = strchr(name, ':');
	bool packed = *name == 'p';
	if (!rest || rest[1] != '/' || !place_directory(place, name + packed, parts))
		return false;
	int n = snprintf(ret, size, "%s%.*s%s%s", packed ? PACKED : "", (int)trimmed(parts[0]), parts[0],
			 parts[1], rest + 1);
	return n > 0 && (size_t)n < size;
}

/* ---- Giving ---- */

/* The next line of @at, without its end, in @ret; what follows it. NULL if it is none, or too long. */
static const char *next_line(const char *at, const char *end, char *ret, size_t size)
{
	const char *stop = memchr(at, '\n', (size_t)(end - at));
	if (!stop || (size_t)(stop - at) >= size)
		return NULL;
	memcpy(ret, at, (size_t)(stop - at));
	ret[stop - at] = 0;
	return stop + 1;
}

static int write_servers(const char *again, struct text_buf *out)
{
	long long left = strtoll(again, NULL, 10) - time(NULL);
	if (left <= 0)
		return -ESTALE;
	text_lit(out, "? ");
	text_dec(out, (uint64_t)left);
	text_char(out, '\n');
	return 0;
}

static int write_neighbour(const struct share_place *place, const char *path, size_t *n, struct text_buf *out)
{
	char print[FILE_PRINT_SIZE];
	struct neighbour file;
	if (strchr(path, '\n'))
		return -EPERM; /* other hosts read lines */
	int fd = neighbour_open(place->search, place->source, path, &file);
	*n += fd >= 0;
	int err = *n > NEIGHBOURS_MAX ? -EPERM : print_file(fd, &file, print);
	if (fd >= 0)
		close(fd);
	if (err)
		return err;
	text_str(out, print);
	text_char(out, ' ');
	write_path(place, path, out);
	text_char(out, '\n');
	return 0;
}

int share_inputs_write(const struct share_place *place, struct span local, struct text_buf *ret)
{
	char line[INPUTS_LINE_SIZE];
	const char *at = (const char *)local.data, *end = at + local.size;
	size_t n = 0;
	int err = 0;
	if (local.size)
		write_search(place->search, ret);
	while (at < end && !err) {
		at = inputs_next(at, end, line);
		if (!at || strlen(line) < LOCAL_DIGITS + 2)
			return -EBADMSG;
		const char *name = line + LOCAL_DIGITS + 1;
		err = strncmp(name, SERVERS, sizeof(SERVERS) - 1) == 0
			      ? write_servers(name + sizeof(SERVERS) - 1, ret)
			      : write_neighbour(place, name, &n, ret);
	}
	return err ? err : ret->failed ? -ENOMEM : 0;
}

/* ---- Taking ---- */

struct inputs_reading {
	const struct share_place *place;
	int64_t age;
	struct text_buf *inputs, *notes;
	unsigned used;
	size_t n; /* neighbours that are there */
};

static int read_servers(struct inputs_reading *r, const char *seconds)
{
	char *end;
	unsigned long long whole = strtoull(seconds, &end, 10);
	if (!is_digit(*seconds) || *end || whole > ASKED_SECONDS_MAX)
		return -EBADMSG;
	int64_t left = (int64_t)whole - r->age;
	if (left <= 0)
		return -ESTALE;
	inputs_add_asked(r->inputs, r->place->search, time(NULL) + left);
	return 0;
}

static void note_used(struct inputs_reading *r, const struct neighbour *file)
{
	char path[sizeof(PACKED) + PATH_MAX + PACKED_ENDING_SIZE];
	snprintf(path, sizeof(path), "%s%s", file->path, file->ending);
	note_neighbour(r->notes, r->used++, path);
}

/* Whether what is at @path is what @print says. */
static int compare(struct inputs_reading *r, const char *print, const char *path)
{
	char here[FILE_PRINT_SIZE];
	struct neighbour file;
	int fd = neighbour_open(r->place->search, r->place->source, path, &file);
	bool seen = fd >= 0 || fd == -EPERM;
	r->n += fd >= 0;
	int err = r->n > NEIGHBOURS_MAX ? -EBADMSG : print_file(fd, &file, here);
	if (!err && strcmp(print, here) != 0)
		err = -ESTALE;
	if (!err && !inputs_add(r->inputs, path, seen ? &file : NULL))
		err = -ENOMEM;
	if (!err && fd >= 0)
		note_used(r, &file);
	if (fd >= 0)
		close(fd);
	return err == -EPERM ? -ESTALE : err;
}

static int read_line(struct inputs_reading *r, char *line)
{
	char path[sizeof(PACKED) + PATH_MAX];
	char *name = strchr(line, ' ');
	if (!name)
		return -EBADMSG;
	*name++ = 0;
	if (strcmp(line, "?") == 0)
		return read_servers(r, name);
	if (!read_path(r->place, name, path, sizeof(path)))
		return -EBADMSG;
	return compare(r, line, path);
}

/* Whether the first line is that of this host. */
static int check_search(const struct share_place *place, const char *line)
{
	struct text_buf own = {0};
	write_search(place->search, &own);
	int err = own.failed                                                            ? -ENOMEM
		  : strncmp(line, "search ", 7) != 0                                    ? -EBADMSG
		  : strlen(line) + 1 != own.n || memcmp(line, own.v, strlen(line)) != 0 ? -EXDEV
											: 0;
	text_deinit(&own);
	return err;
}

int share_inputs_read(const struct share_place *place, struct span portable, int64_t age,
		      struct text_buf *ret_inputs, struct text_buf *ret_notes)
{
	char line[FILE_PRINT_SIZE + 32 + PATH_MAX];
	const char *at = (const char *)portable.data, *end = at + portable.size;
	struct inputs_reading r = {.place = place, .age = age, .inputs = ret_inputs, .notes = ret_notes};
	int err = 0;
	for (bool first = true; at < end && !err; first = false) {
		at = next_line(at, end, line, sizeof(line));
		if (!at)
			return -EBADMSG;
		err = first ? check_search(place, line) : read_line(&r, line);
	}
	return err ? err : ret_inputs->failed || ret_notes->failed ? -ENOMEM : 0;
}
