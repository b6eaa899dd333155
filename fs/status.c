/*
 * The file status of an image. What is counted under the lock is copied there and written down without it.
 */
#include "answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../gsym/render/escape.h"
#include "guard.h"

enum { ALSO_MAX = 16 /* other files named; they are copied with everybody waiting */ };

static const char *const state_words[] = {
	[STATE_COLD] = "cold",     [STATE_OPENING] = "opening",
	[STATE_QUEUED] = "queued", [STATE_CONVERTING] = "converting",
	[STATE_READY] = "ready",   [STATE_FAILED] = "failed",
};

static const char *const kind_words[] = {
	[IMAGE_OTHER] = "other",
	[IMAGE_ELF] = "elf",
};

static void key(struct text_buf *out, const char *name)
{
	text_str(out, name);
	text_char(out, '\t');
}

static void line(struct text_buf *out, const char *name, const char *value)
{
	key(out, name);
	escape_str(out, value, ESCAPE_TSV);
	text_char(out, '\n');
}

static void number(struct text_buf *out, const char *name, uint64_t value)
{
	key(out, name);
	text_dec(out, value);
	text_char(out, '\n');
}

static void state(struct text_buf *out, const struct revision *rev)
{
	key(out, "state");
	text_str(out, state_words[rev->state]);
	if (rev->state == STATE_CONVERTING) {
		text_char(out, ' ');
		text_dec(out, atomic_load(&rev->progress));
		text_char(out, '%');
	}
	text_char(out, '\n');
}

/* All files with this id, the one that is converted first. */
static void sources(struct text_buf *out, const struct gsymfs *fs, const struct revision *rev)
{
	static const char *const words[] = {
		[SOURCE_BARE] = "none",
		[SOURCE_SYMBOLS] = "symbols",
		[SOURCE_DWARF] = "dwarf",
	};
	const struct image *image = rev->image;
	char path[4200];
	snprintf(path, sizeof(path), "%s/%s", fs->source, rev->source.path);
	line(out, "source", path);
	line(out, "debug", words[rev->source.richness]);
	if (rev->binary.path) {
		snprintf(path, sizeof(path), "%s/%s", fs->source, rev->binary.path);
		line(out, "binary", path);
	}
	size_t others = 0;
	for (size_t i = 0; i < image->sources.n; i++) {
		const char *other = image->sources.v[i].path;
		if (strcmp(other, rev->source.path) == 0 || (rev->binary.path && strcmp(other, rev->binary.path) == 0) ||
		    others++ >= ALSO_MAX)
			continue;
		snprintf(path, sizeof(path), "%s/%s", fs->source, image->sources.v[i].path);
		line(out, "also", path);
	}
	if (others > ALSO_MAX)
		number(out, "also_more", others - ALSO_MAX);
}

static struct handle *write_locked(struct text_buf *out, const struct gsymfs *fs, const struct revision *rev)
{
	state(out, rev);
	line(out, "id", rev->image->id);
	line(out, "kind", kind_words[rev->source.kind]);
	line(out, "arch", rev->source.arch);
	sources(out, fs, rev);
	number(out, "conversions", rev->image->conversions);
	if (rev->seconds > 0) {
		char seconds[32];
		snprintf(seconds, sizeof(seconds), "%.2f", rev->seconds);
		line(out, "seconds", seconds);
	}
	if (rev->reason)
		line(out, "reason", rev->reason);
	return rev->handle ? handle_get(rev->handle) : NULL;
}

struct notes {
	struct text_buf *out;
	const struct handle *handle;
};

/* The converter's notes are escaped by whoever wrote them; a cache file can say anything. */
static int write_notes(void *arg)
{
	struct notes *n = arg;
	const struct span *notes = &n->handle->notes;
	for (size_t i = 0; i < notes->size; i++) {
		uint8_t c = notes->data[i];
		text_char(n->out, c == '\t' || c == '\n' || (c >= 0x20 && c < 0x7f) ? (char)c : '?');
	}
	return 0;
}

static void write_open(struct text_buf *out, const struct handle *handle)
{
	struct notes notes = {out, handle};
	number(out, "functions", gsym_reader_info(handle->reader)->num_addresses);
	number(out, "bytes", handle->gsym.size);
	guard_run(write_notes, &notes);
}

struct content *status_make(struct gsymfs *fs, struct revision *rev)
{
	struct text_buf out = {0};
	uint64_t size;
	pthread_mutex_lock(&fs->images.lock);
	struct handle *handle = write_locked(&out, fs, rev);
	pthread_mutex_unlock(&fs->images.lock);
	if (handle)
		write_open(&out, handle);
	else if (cache_has(&fs->cache, &rev->key, &size))
		number(&out, "bytes", size);
	handle_put(handle);
	struct content *content = out.failed ? NULL : content_new(out.v, out.n);
	text_deinit(&out);
	return content;
}
