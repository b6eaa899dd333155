#include "work/run/inputs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "work/cache/handle.h"
#include "work/os/guard.h"
#include "gsym/base/fault.h"

enum {
	DIGITS = 16,
};

/* No path begins so: they are absolute. */
#define ASKED "debuginfod "

static const char absent[DIGITS + 1] = "----------------", denied[DIGITS + 1] = "!!!!!!!!!!!!!!!!";

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

static bool add_line(struct text_buf *inputs, const char *print, const char *path)
{
	size_t before = inputs->n;
	text_str(inputs, print);
	text_char(inputs, ' ');
	for (; *path; path++) {
		if (*path == '\n' || *path == '\\')
			text_char(inputs, '\\');
		text_char(inputs, *path == '\n' ? 'n' : *path);
	}
	text_char(inputs, '\n');
	if (!inputs->failed && inputs->n <= INPUTS_MAX)
		return true;
	inputs->n = before;
	return false;
}

const char *inputs_next(const char *at, const char *end, char ret[static INPUTS_LINE_SIZE])
{
	size_t n = 0;
	while (at < end && *at != '\n' && n + 1 < INPUTS_LINE_SIZE) {
		bool escaped = *at == '\\' && at + 1 < end;
		at += escaped;
		ret[n++] = escaped && *at == 'n' ? '\n' : *at;
		at++;
	}
	ret[n] = 0;
	return at < end && *at == '\n' && strlen(ret) == n ? at + 1 : NULL;
}

bool inputs_add(struct text_buf *inputs, const char *path, const struct neighbour *file)
{
	char print[DIGITS + 1];
	memcpy(print, absent, sizeof(print));
	if (file)
		fingerprint(file, print);
	return add_line(inputs, print, path);
}

bool inputs_add_denied(struct text_buf *inputs, const char *path)
{
	return add_line(inputs, denied, path);
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

/* Whether the file is not there, or cannot be reached, whatever the machine does. */
static bool is_absent(int err)
{
	const enum fault fault = fault_of(err);
	return fault == FAULT_ABSENT || fault == FAULT_DENIED;
}

/* As of inputs_check(). */
static int check_line(const char *line, const struct search_path *search)
{
	char now[DIGITS + 1];
	struct neighbour file;
	if (strlen(line) < DIGITS + 2 || line[DIGITS] != ' ')
		return -ESTALE;
	const char *path = line + DIGITS + 1;
	if (strncmp(path, ASKED, sizeof(ASKED) - 1) == 0)
		return asked_unchanged(line, path, search) ? 0 : -ESTALE;
	if (memcmp(line, denied, DIGITS) == 0) {
		int tried = neighbour_try(search, path);
		return !tried ? -ESTALE : is_absent(tried) ? 0 : tried;
	}
	int err = neighbour_stat(search, path, &file);
	memcpy(now, absent, sizeof(now));
	if (!err)
		fingerprint(&file, now);
	else if (!is_absent(err))
		return err;
	return memcmp(line, now, DIGITS) == 0 ? 0 : -ESTALE;
}

struct check {
	struct span inputs;
	const struct search_path *search;
};

static int check_all(void *arg)
{
	const struct check *c = arg;
	const char *at = (const char *)c->inputs.data, *end = at + c->inputs.size;
	char line[INPUTS_LINE_SIZE];
	int ret = 0;
	while (at < end) {
		at = inputs_next(at, end, line);
		int err = at ? check_line(line, c->search) : -ESTALE;
		if (err == -ESTALE)
			return err;
		ret = ret ? ret : err;
	}
	return ret;
}

int inputs_check(struct span inputs, const struct search_path *search)
{
	int err = guard_run(check_all, &(struct check){inputs, search});
	return err == -EFAULT ? -ESTALE : err;
}
