#include "convert/run/inputs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "convert/cache/handle.h"
#include "convert/os/guard.h"

enum {
	DIGITS = 16,
};

/* No path begins so: they are absolute. */
#define ASKED "debuginfod "

static const char absent[DIGITS + 1] = "----------------";

/* The file, the state it is in, and who may read it. */
static void fingerprint(const struct neighbour *file, char ret[static DIGITS + 1])
{
	const struct stat *st = &file->st;
	uint8_t fields[56];
	store64(fields, st->st_dev, false);
	store64(fields + 8, st->st_ino, false);
	store64(fields + 16, (uint64_t)st->st_size, false);
	store64(fields + 24, (uint64_t)st->st_mtim.tv_sec * 1000000000ULL + (uint64_t)st->st_mtim.tv_nsec,
		false);
	store64(fields + 32, (uint64_t)st->st_ctim.tv_sec * 1000000000ULL + (uint64_t)st->st_ctim.tv_nsec,
		false);
	store32(fields + 40, st->st_uid, false);
	store32(fields + 44, st->st_gid, false);
	store32(fields + 48, st->st_mode, false);
	store32(fields + 52, file->open_to_all, false);
	snprintf(ret, DIGITS + 1, "%016llx", (unsigned long long)XXH3_64bits(fields, sizeof(fields)));
}

bool inputs_add(struct text_buf *inputs, const char *path, const struct neighbour *file)
{
	char print[DIGITS + 1];
	size_t length = strlen(path);
	if (strchr(path, '\n') || inputs->n + length + DIGITS + 2 > INPUTS_MAX)
		return false;
	memcpy(print, absent, sizeof(print));
	if (file)
		fingerprint(file, print);
	text_str(inputs, print);
	text_char(inputs, ' ');
	text_str(inputs, path);
	text_char(inputs, '\n');
	return !inputs->failed;
}

void inputs_add_asked(struct text_buf *inputs, const struct search_path *search, int64_t again)
{
	char line[DIGITS + sizeof(ASKED) + 32];
	snprintf(line, sizeof(line), "%016llx " ASKED "%lld\n", (unsigned long long)search->servers,
		 (long long)again);
	text_str(inputs, line);
}

/* @line is about servers; @what follows its fingerprint. */
static bool asked_unchanged(const char *line, const char *what, const struct search_path *search)
{
	char servers[DIGITS + 1];
	long long again, now = time(NULL);
	snprintf(servers, sizeof(servers), "%016llx", (unsigned long long)search->servers);
	return sscanf(what, ASKED "%lld", &again) == 1 && memcmp(line, servers, DIGITS) == 0 && now < again &&
	       again <= now + ASKED_SECONDS_MAX; /* a later time: the clock was set back */
}

static bool line_unchanged(const char *line, size_t size, const struct search_path *search)
{
	char path[4096], now[DIGITS + 1];
	struct neighbour file;
	if (size < DIGITS + 2 || line[DIGITS] != ' ' || size - DIGITS - 1 >= sizeof(path))
		return false;
	snprintf(path, sizeof(path), "%.*s", (int)(size - DIGITS - 1), line + DIGITS + 1);
	if (strncmp(path, ASKED, sizeof(ASKED) - 1) == 0)
		return asked_unchanged(line, path, search);
	memcpy(now, absent, sizeof(now));
	if (neighbour_stat(search, path, &file) == 0)
		fingerprint(&file, now);
	return memcmp(line, now, DIGITS) == 0;
}

struct check {
	struct span inputs;
	const struct search_path *search;
};

static int check_all(void *arg)
{
	const struct check *c = arg;
	const char *at = (const char *)c->inputs.data, *end = at + c->inputs.size;
	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		if (!line_end || !line_unchanged(at, (size_t)(line_end - at), c->search))
			return -ESTALE;
		at = line_end + 1;
	}
	return 0;
}

bool inputs_unchanged(struct span inputs, const struct search_path *search)
{
	return guard_run(check_all, &(struct check){inputs, search}) == 0;
}
