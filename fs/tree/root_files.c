#include "fs/tree/root_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fs/convert/queue.h"
#include "fs/images/image_facts.h"
#include "fs/images/revision.h"
#include "fs/scan/scan_state.h"
#include "fs/sys/key_value.h"
#include "work/os/beneath.h"
#include "work/sandbox/sandbox.h"
#include "work/worker/child.h"

/* ---- README ---- */

static const char readme[] =
	"This directory answers symbol lookups. ID is a build ID or UUID, or its first 8 digits (readelf -n "
	"FILE).\n"
	"\n"
	"cat ID/0x1170                    function, file and line of an address; 0x1170.json and .tsv for "
	"programs\n"
	"cat ID/base/0x55d0f000/0x55d10170   the same of a process, with the address where the file was "
	"loaded\n"
	"cat ID/sym/main+0x10             a place in a function; ID/off/, ID/rva/, ID/ra/: other kinds of "
	"addresses\n"
	"ls by-name/FILE; ls by-path/     images by the name and by the path of their file\n"
	"cat by-name/FILE/0x1170          of the only build of that name; by-name/FILE has all of ID/ then,\n"
	"                                 and of several builds their IDs alone\n"
	"exec 3<>ID/q; echo 0x1170 >&3; cat <&3    many addresses through one file; 'ID 0x1170' through q\n"
	"exec 3<>log; cat crash.txt >&3; cat <&3   a program's log with its frames explained\n"
	"dmesg | gsym filter --mount=. --by-name   a kernel's, which has no ids\n"
	"cat ID/functions.tsv             all functions; also lines.tsv, files.tsv\n"
	"cat ID/why/0x1170; cat why/ID    why an answer is ??; why there is no such id\n"
	"cat ID/status; cat status metrics   the state of an image, of the daemon; gsymfs(1) has the "
	"details\n";

struct content *root_readme(struct tree *tree, struct revision *dir, const struct caller *caller)
{
	(void)tree, (void)dir, (void)caller;
	return content_new(readme, sizeof(readme) - 1);
}

/* ---- status ---- */

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

/* The second line: gsymfs --check reads the first two. */
static void put_worker(struct kv_writer *kv)
{
	int err = child_start_error();
	char text[128] = "starts";
	if (err)
		snprintf(text, sizeof(text), "cannot be started: %s",
			 err == -ECHILD ? "no answer" : strerror(-err));
	kv_text(kv, "worker", text);
	*text = 0;
	for (unsigned i = 0; i < SANDBOX_LAYERS; i++)
		if (child_layers() & 1U << i)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", *text ? ", " : "",
				 sandbox_layer_words[i]);
	kv_text(kv, "sandbox", *text ? text : "none");
}

struct skipped_keys {
	enum skipped_kind kind;
	const char *count, *file, *more;
};

static const struct skipped_keys skipped_keys[] = {
	{FILE_SKIPPED, "skipped", "skipped_file", "skipped_more"},
	{FILE_TRUNCATED, "truncated", "truncated_file", "truncated_more"},
	{DIR_NOT_ENTERED, "not_entered", "not_entered_directory", "not_entered_more"},
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

/* Images that cannot be converted, as far as the caller may read them. */
static void put_failed(struct kv_writer *kv, struct images *images, const struct caller *caller)
{
	size_t n = 0;
	mutex_lock(&images->lock);
	const struct image *image;
	for (uint32_t i = 0; (image = slots_from(&images->all, &i)); i++) {
		if (!image_is_there(image) || image_state(image) != STATE_FAILED ||
		    !image_facts(images, image, caller).readable || n++ >= SKIPPED_LISTED)
			continue;
		char line[ID_TEXT_SIZE + 512];
		const char *reason = image->revision->reason;
		snprintf(line, sizeof(line), "%s: %s", image->id, reason ? reason : "see its status");
		kv_text(kv, "failed_image", line);
	}
	mutex_unlock(&images->lock);
	if (n > SKIPPED_LISTED)
		kv_number(kv, "failed_more", n - SKIPPED_LISTED);
}

struct content *root_status(struct tree *tree, struct revision *dir, const struct caller *caller)
{
	(void)dir;
	struct kv_writer kv = {.json = false};
	int err = 0, refused = beneath_refused();
	kv_begin(&kv);
	kv_text(&kv, "state", scan_state(tree->images));
	put_worker(&kv);
	for (size_t i = 0; i < tree->n_roots; i++)
		kv_item(&kv, "source", tree->roots[i].path, strlen(tree->roots[i].path));
	for (size_t i = 0; i < ARRAY_SIZE(skipped_keys) && !err; i++)
		err = put_skipped(&kv, tree, &skipped_keys[i], caller_sees_all(caller));
	put_failed(&kv, tree->images, caller);
	if (refused)
		kv_text(&kv, "openat2_refused", strerror(-refused));
	put_shared(&kv, tree->answers->queue->converter);
	kv_end(&kv);
	struct content *content = err || kv.out.failed ? NULL : content_new(kv.out.v, kv.out.n);
	text_deinit(&kv.out);
	return content;
}
