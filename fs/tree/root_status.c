#include "fs/tree/root_status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fs/convert/queue.h"
#include "fs/scan/scan_state.h"
#include "fs/sys/key_value.h"

static const char *scan_state(struct images *images)
{
	mutex_lock(&images->lock);
	const char *state = !images->scanned            ? "scanning"
			    : images->absent != -ENOENT ? "incomplete"
			    : images->hashing           ? "hashing"
							: "complete";
	mutex_unlock(&images->lock);
	return state;
}

struct skipped_keys {
	enum skipped_kind kind;
	const char *count, *file, *more;
};

static const struct skipped_keys skipped_keys[] = {
	{FILE_SKIPPED, "skipped", "skipped_file", "skipped_more"},
	{FILE_TRUNCATED, "truncated", "truncated_file", "truncated_more"},
};

static void put_files(struct kv_writer *kv, const struct tree *tree, const struct skipped_keys *keys,
		      const struct skipped_list *list)
{
	kv_number(kv, keys->count, list->all);
	for (size_t i = 0; i < list->n; i++) {
		struct text_buf line = {0};
		text_str(&line, tree->answers->source);
		text_char(&line, '/');
		text_str(&line, list->v[i].path);
		text_lit(&line, ": ");
		text_str(&line, list->v[i].reason);
		kv_item(kv, keys->file, line.v ? line.v : "", line.n);
		kv->out.failed |= line.failed;
		text_deinit(&line);
	}
	if (list->all > list->n)
		kv_number(kv, keys->more, list->all - list->n);
}

static int put_skipped(struct kv_writer *kv, const struct tree *tree, const struct skipped_keys *keys,
		       bool sees_all)
{
	struct skipped_list list;
	int err = skipped_show(tree->skipped, keys->kind, sees_all, &list);
	if (err)
		return err;
	put_files(kv, tree, keys, &list);
	skipped_list_deinit(&list);
	return 0;
}

/* The store that hosts share: where, whether it is asked, and what it permits. */
static void put_shared(struct kv_writer *kv, const struct converter *c)
{
	struct store_status status;
	if (!c->store)
		return;
	c->store->describe(c->share, &status);
	kv_text(kv, "shared", status.address);
	kv_text(kv, "shared_breaker", status.breaker);
	kv_text(kv, "shared_access", status.access);
	kv_text(kv, "shared_leases", status.leases);
	kv_text(kv, "shared_signatures", status.signatures);
}

struct content *root_status_make(struct tree *tree, const struct caller *caller)
{
	struct kv_writer kv = {.json = false};
	int err = 0;
	kv_begin(&kv);
	kv_text(&kv, "state", scan_state(tree->images));
	for (size_t i = 0; i < tree->n_roots; i++)
		kv_item(&kv, "source", tree->roots[i].path, strlen(tree->roots[i].path));
	for (size_t i = 0; i < ARRAY_SIZE(skipped_keys) && !err; i++)
		err = put_skipped(&kv, tree, &skipped_keys[i], caller_sees_all(caller));
	put_shared(&kv, tree->answers->queue->converter);
	kv_end(&kv);
	struct content *content = err || kv.out.failed ? NULL : content_new(kv.out.v, kv.out.n);
	text_deinit(&kv.out);
	return content;
}
