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
#include "gsym/base/fault.h"

enum {
	LOCAL_DIGITS = 16,    /* of a fingerprint of inputs.h */
	NEIGHBOURS_MAX = 256, /* that there are: every host opens each of them to compare it */
};

#define SERVERS "debuginfod "

/* ---- What was found ---- */

/*
 * @fd: what neighbour_open() gave. 0, or a negative errno: it must not be shared, as where this host could
 * not look for the file: what it makes without it may be less than what others make.
 */
static int print_file(int fd, const struct neighbour *file, char ret[static FILE_PRINT_SIZE])
{
	if (fd >= 0)
		return file_print(fd, (uint64_t)file->st.st_size, ret);
	if (fd != -EPERM && fault_of(fd) != FAULT_ABSENT)
		return -EPERM;
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

/*
 * Finds the part of @path that is the directory of the object file, perhaps below a directory of debug files,
 * where debug files lie as their object files do below the root; else a source. Returns its size, or 0 if
 * there is none.
 *
 * @ret_at:   where it begins
 * @ret_name: what stands for it
 */
static size_t find_place(const struct share_facts *facts, const char *path, size_t *ret_at,
			 char ret_name[static 24])
{
	const struct search_path *search = &facts->search;
	const size_t n_debug = count_debug_dirs(search);
	size_t n = prefix_of(path, facts->directory);
	*ret_at = 0;
	snprintf(ret_name, 24, "*");
	for (size_t i = 0; i < n_debug && !n; i++) {
		*ret_at = prefix_of(path, search->dirs[i]);
		n = *ret_at ? prefix_of(path + *ret_at, facts->directory) : 0;
	}
	for (size_t i = 0; i < search->n_sources && !n; i++) {
		*ret_at = 0;
		n = prefix_of(path, search->dirs[n_debug + i]);
		snprintf(ret_name, 24, "*%zu", i);
	}
	return n;
}

/* The length of what stands before the path in @name. */
static size_t packed_size(const char *name)
{
	return strncmp(name, PACKED, sizeof(PACKED) - 1) == 0 ? sizeof(PACKED) - 1 : 0;
}

static void write_path(const struct share_facts *facts, const char *name, struct text_buf *out)
{
	char stands[24];
	size_t at, packed = packed_size(name), n = find_place(facts, name + packed, &at, stands);
	at += packed;
	text_bytes(out, name, n ? at : 0);
	text_str(out, n ? stands : "");
	text_str(out, name + (n ? at + n : 0));
}

/* The path that @name means here. False if it means none. */
static bool read_path(const struct share_facts *facts, const char *name, char *ret, size_t size)
{
	const struct search_path *search = &facts->search;
	const char *star = strchr(name, '*'), *directory = facts->directory, *rest = star ? star + 1 : "";
	char *end = NULL;
	if (star && is_digit(*rest)) {
		size_t i = strtoul(rest, &end, 10);
		rest = end;
		directory = i < search->n_sources ? search->dirs[count_debug_dirs(search) + i] : NULL;
	}
	if (!directory || (star && *rest != '/'))
		return false;
	int n = snprintf(ret, size, "%.*s%.*s%s", star ? (int)(star - name) : INT_MAX, name,
			 star ? (int)trimmed(directory) : 0, directory, rest);
	return n > 0 && (size_t)n < size && ret[packed_size(ret)] == '/';
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

static int write_neighbour(const struct share_facts *facts, const char *path, size_t *n, struct text_buf *out)
{
	char print[FILE_PRINT_SIZE];
	struct neighbour file;
	if (strpbrk(path, "\n*"))
		return -EPERM; /* other hosts read lines, and places */
	int fd = neighbour_open(&facts->search, &facts->files[SHARE_SOURCE].state, path, &file);
	*n += fd >= 0;
	int err = *n > NEIGHBOURS_MAX ? -EPERM : print_file(fd, &file, print);
	if (fd >= 0)
		close(fd);
	if (err)
		return err;
	text_str(out, print);
	text_char(out, ' ');
	write_path(facts, path, out);
	text_char(out, '\n');
	return 0;
}

int share_inputs_write(const struct share_facts *facts, struct span local, struct text_buf *ret)
{
	char line[INPUTS_LINE_SIZE];
	const char *at = (const char *)local.data, *end = at + local.size;
	size_t n = 0;
	int err = 0;
	if (local.size)
		write_search(&facts->search, ret);
	while (at < end && !err) {
		at = inputs_next(at, end, line);
		if (!at || strlen(line) < LOCAL_DIGITS + 2)
			return -EBADMSG;
		const char *name = line + LOCAL_DIGITS + 1;
		err = strncmp(name, SERVERS, sizeof(SERVERS) - 1) == 0
			      ? write_servers(name + sizeof(SERVERS) - 1, ret)
			      : write_neighbour(facts, name, &n, ret);
	}
	return err ? err : ret->failed ? -ENOMEM : 0;
}

/* ---- Taking ---- */

struct inputs_reading {
	const struct share_facts *facts;
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
	inputs_add_asked(r->inputs, &r->facts->search, time(NULL) + left);
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
	int fd = neighbour_open(&r->facts->search, &r->facts->files[SHARE_SOURCE].state, path, &file);
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
	if (!read_path(r->facts, name, path, sizeof(path)))
		return -EBADMSG;
	return compare(r, line, path);
}

/* Whether the first line is that of this host. */
static int check_search(const struct share_facts *facts, const char *line)
{
	struct text_buf own = {0};
	write_search(&facts->search, &own);
	int err = own.failed                                                            ? -ENOMEM
		  : strncmp(line, "search ", 7) != 0                                    ? -EBADMSG
		  : strlen(line) + 1 != own.n || memcmp(line, own.v, strlen(line)) != 0 ? -EXDEV
											: 0;
	text_deinit(&own);
	return err;
}

int share_inputs_read(const struct share_facts *facts, struct span portable, int64_t age,
		      struct text_buf *ret_inputs, struct text_buf *ret_notes)
{
	char line[FILE_PRINT_SIZE + 32 + PATH_MAX];
	const char *at = (const char *)portable.data, *end = at + portable.size;
	struct inputs_reading r = {.facts = facts, .age = age, .inputs = ret_inputs, .notes = ret_notes};
	int err = 0;
	for (bool first = true; at < end && !err; first = false) {
		at = next_line(at, end, line, sizeof(line));
		if (!at)
			return -EBADMSG;
		err = first ? check_search(facts, line) : read_line(&r, line);
	}
	return err ? err : ret_inputs->failed || ret_notes->failed ? -ENOMEM : 0;
}
