#include "fs/tree/root_status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

static void put_skipped(struct kv_writer *kv, const struct tree *tree, const struct skipped_list *list)
{
	kv_number(kv, "skipped", list->all);
	for (size_t i = 0; i < list->n; i++) {
		struct text_buf line = {0};
		text_str(&line, tree->answers->source);
		text_char(&line, '/');
		text_str(&line, list->v[i].path);
		text_lit(&line, ": ");
		text_str(&line, list->v[i].reason);
		kv_item(kv, "skipped_file", line.v ? line.v : "", line.n);
		kv->out.failed |= line.failed;
		text_deinit(&line);
	}
	if (list->all > list->n)
		kv_number(kv, "skipped_more", list->all - list->n);
}

struct content *root_status_make(struct tree *tree, const struct caller *caller)
{
	struct kv_writer kv = {.json = false};
	struct skipped_list list;
	if (skipped_show(tree->skipped, caller_sees_all(caller), &list))
		return NULL;
	kv_begin(&kv);
	kv_text(&kv, "state", scan_state(tree->images));
	for (size_t i = 0; i < tree->n_roots; i++)
		kv_item(&kv, "source", tree->roots[i].path, strlen(tree->roots[i].path));
	put_skipped(&kv, tree, &list);
	kv_end(&kv);
	skipped_list_deinit(&list);
	struct content *content = kv.out.failed ? NULL : content_new(kv.out.v, kv.out.n);
	text_deinit(&kv.out);
	return content;
}
