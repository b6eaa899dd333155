/*
 * The revision's fields are written under images.lock, which is why lists of files are limited. What comes
 * from the cache file is read afterwards, without the lock, since that may block.
 */
#include "fs/answer/answer_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fs/answer/notes_show.h"
#include "fs/convert/queue.h"
#include "fs/images/fragments.h"
#include "fs/images/image_facts.h"
#include "fs/images/image_find.h"
#include "fs/images/other_ids.h"
#include "fs/images/revision.h"
#include "fs/sys/key_value.h"
#include "work/types/convert_revision.h"

enum { AMBIGUOUS_MAX = 16, ALSO_MAX = 16, OTHER_IDS_MAX = 64 /* listed under the lock */ };

/* Of a conversion on another host nothing is known but that it has the lease. */
static void state(struct kv_writer *kv, const struct answers *answers, const struct revision *rev)
{
	char words[32], share[16] = "";
	unsigned percent = atomic_load(&rev->progress);
	bool converting = rev->state == STATE_CONVERTING, here = !atomic_load(&rev->elsewhere);
	if (converting && here && !kv->json)
		snprintf(share, sizeof(share), " %u%%", percent);
	snprintf(words, sizeof(words), "%s%s", state_words[rev->state], share);
	kv_text(kv, "state", words);
	if (converting && here && kv->json)
		kv_number(kv, "progress", percent);
	if (converting && answers->queue->converter->share)
		kv_text(kv, "converter", here ? "here" : "elsewhere");
}

/* What lookups are answered from now, if anything, and how many functions are there already. */
static void fragments(struct kv_writer *kv, const struct answers *answers, const struct revision *rev)
	REQUIRES(&answers->images->lock)
{
	if (rev->state == STATE_READY || rev->n_fragments)
		kv_text(kv, "tier", rev->state == STATE_READY ? "whole" : "fragments");
	if (rev->n_fragments)
		kv_number(kv, "first_functions", fragments_functions(answers->images, rev));
	if (rev->n_fragments && rev->state == STATE_COLD)
		kv_text(kv, "rest", idle_is_pending(&answers->queue->idle, rev) ? "idle" : "asked");
}

/* The source that decides who may read the image: as it is now, if it is still there. */
static const struct source *readable_source(const struct revision *rev)
{
	for (size_t i = 0; i < rev->image->sources.n; i++)
		if (rev->image->sources.v[i].chosen)
			return &rev->image->sources.v[i];
	return &rev->source;
}

static bool is_known_to_readers(const struct revision *rev, const struct source *source)
{
	return source_is_known(readable_source(rev), source);
}

static bool is_listed(const struct revision *rev, const char *path)
{
	return strcmp(path, rev->source.path) == 0 ||
	       (rev->binary.path && strcmp(path, rev->binary.path) == 0);
}

/* All files with this id; the one that is converted comes first. */
static void sources(struct kv_writer *kv, const struct answers *answers, const struct revision *rev)
{
	const struct image *image = rev->image;
	char path[PATH_MAX];
	answers_path(answers, rev->source.path, path);
	kv_text(kv, "source", path);
	kv_text(kv, "debug", richness_words[rev->source.richness]);
	if (rev->binary.path && is_known_to_readers(rev, &rev->binary)) {
		answers_path(answers, rev->binary.path, path);
		kv_text(kv, "binary", path);
	}
	size_t others = 0, shown = 0;
	for (size_t i = 0; i < image->sources.n; i++) {
		const struct source *other = &image->sources.v[i];
		if (is_listed(rev, other->path))
			continue;
		others++;
		if (shown == ALSO_MAX || !is_known_to_readers(rev, other))
			continue;
		shown++;
		answers_path(answers, other->path, path);
		kv_item(kv, "also", path, strlen(path));
	}
	if (others > shown)
		kv_number(kv, "also_more", others - shown);
}

/* Whether none of the first @n sources that readers may know has the hash, or the Go id, of @source. */
static bool is_first(const struct revision *rev, size_t n, const struct source *source, bool go_id)
{
	for (size_t i = 0; i < n; i++) {
		const struct source *other = &rev->image->sources.v[i];
		bool same = go_id ? other->go_id && strcmp(other->go_id, source->go_id) == 0
				  : memcmp(other->htlhash, source->htlhash, HTLHASH_SIZE) == 0;
		if (same && is_known_to_readers(rev, other))
			return false;
	}
	return true;
}

/* Further ids of those files, each once. */
static void other_ids(struct kv_writer *kv, const struct revision *rev)
{
	size_t n = rev->image->sources.n < OTHER_IDS_MAX ? rev->image->sources.n : OTHER_IDS_MAX;
	char hash[HTLHASH_TEXT_SIZE];
	for (size_t i = 0; i < n; i++) {
		const struct source *source = &rev->image->sources.v[i];
		if (is_known_to_readers(rev, source) && source_htlhash(source, hash) &&
		    is_first(rev, i, source, false))
			kv_item(kv, "htlhash", hash, strlen(hash));
	}
	for (size_t i = 0; i < n; i++) {
		const struct source *source = &rev->image->sources.v[i];
		if (is_known_to_readers(rev, source) && source->go_id && is_first(rev, i, source, true))
			kv_item(kv, "go_build_id", source->go_id, strlen(source->go_id));
	}
}

/* The build ids that the truncated id of text symbols may stand for, when there are several. */
static void ambiguous(struct kv_writer *kv, const struct answers *answers, const struct revision *rev)
	REQUIRES(&answers->images->lock)
{
	struct image *whole[AMBIGUOUS_MAX];
	size_t n = rev->source.id_is_truncated
			   ? images_find_whole(answers->images, rev->image->id, 0, whole, ARRAY_SIZE(whole))
			   : 0;
	for (size_t i = 0; n > 1 && i < n; i++)
		kv_item(kv, "ambiguous", whole[i]->id, strlen(whole[i]->id));
}

static uint64_t seconds_until(int64_t at)
{
	int64_t left = at - time(NULL);
	return left > 0 ? (uint64_t)left : 0;
}

static struct handle *write_locked(struct kv_writer *kv, const struct answers *answers,
				   const struct revision *rev) REQUIRES(&answers->images->lock)
{
	const struct image_facts facts = revision_facts(answers->images, rev);
	char revision[REVISION_TEXT_SIZE];
	state(kv, answers, rev);
	kv_text(kv, "id", facts.id);
	kv_text(kv, "kind", facts.kind);
	kv_text(kv, "arch", facts.arch);
	sources(kv, answers, rev);
	kv_text(kv, "revision", convert_revision(rev->source.kind, rev->binary.kind, revision));
	other_ids(kv, rev);
	ambiguous(kv, answers, rev);
	fragments(kv, answers, rev);
	kv_number(kv, "conversions", rev->image->conversions);
	if (rev->seconds > 0)
		kv_seconds(kv, "seconds", rev->seconds);
	if (rev->reason)
		kv_text(kv, "reason", rev->reason);
	if (rev->state == STATE_FAILED && rev->again)
		kv_number(kv, "retry_seconds", seconds_until(rev->again));
	return rev->handle ? handle_get(rev->handle) : NULL;
}

struct copy {
	struct text_buf *to;
	const struct span *from;
};

static int copy_span(void *arg)
{
	struct copy *copy = arg;
	text_bytes(copy->to, copy->from->data, copy->from->size);
	return 0;
}

/* Whether the notes say where the conversion was made. */
static bool has_origin(const struct text_buf *notes)
{
	static const char origin[] = "\norigin\t";
	return notes->v && memmem(notes->v, notes->n, origin, sizeof(origin) - 1);
}

/* The size and the notes of the conversion, if the image is open or in the cache. */
static void write_converted(struct kv_writer *kv, const struct answers *answers, const struct revision *rev,
			    const struct handle *handle)
{
	struct text_buf notes = {0};
	uint64_t size = 0;
	bool exists = true;
	if (handle) {
		struct copy copy = {&notes, &handle->notes};
		size = handle->gsym.size;
		kv_number(kv, "functions", gsym_reader_info(handle->reader)->num_addresses);
		if (handle_run(handle, copy_span, &copy))
			text_reset(&notes);
	} else {
		exists = cache_peek(answers->cache, &rev->key, &size, &notes);
	}
	if (exists)
		kv_number(kv, "bytes", size);
	bool taken = has_origin(&notes);
	if (exists && answers->queue->converter->share && (!taken || kv->json))
		kv_text(kv, "origin", taken ? "store" : "here");
	if (kv->json)
		notes_to_json(kv, notes.v, notes.n);
	else
		notes_to_lines(kv, notes.v, notes.n);
	kv->out.failed |= notes.failed;
	text_deinit(&notes);
}

struct content *status_make(const struct answers *answers, struct revision *rev, bool json)
{
	struct kv_writer kv = {.json = json};
	kv_begin(&kv);
	mutex_lock(&answers->images->lock);
	struct handle *handle = write_locked(&kv, answers, rev);
	mutex_unlock(&answers->images->lock);
	write_converted(&kv, answers, rev, handle);
	handle_put(handle);
	kv_end(&kv);
	struct content *content = kv.out.failed ? NULL : content_new(kv.out.v, kv.out.n);
	text_deinit(&kv.out);
	return content;
}
