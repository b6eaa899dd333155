#include "tests/unit/fs/tree/tree_lookup_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/fuse.h>

#include "fs/images/catalogue.h"
#include "fs/tree/attr.h"
#include "fs/tree/ops.h"
#include "tests/lib/unit.h"

enum { OTHER_GROUP = 5000 /* of every caller */ };

struct looked_into t;

/* ---- In place of libfuse ---- */

struct fuse_entry_param entry;
int reply_outcome;
char data[1 << 16];
size_t data_size;

void *__wrap_fuse_req_userdata(fuse_req_t req)
{
	(void)req;
	return &t.tree;
}

const struct fuse_ctx *__wrap_fuse_req_ctx(fuse_req_t req)
{
	(void)req;
	return &t.caller;
}

int __wrap_fuse_req_getgroups(fuse_req_t req, int size, gid_t list[])
{
	(void)req;
	for (int i = 0; i < size; i++)
		list[i] = OTHER_GROUP;
	return 1;
}

int __wrap_fuse_reply_entry(fuse_req_t req, const struct fuse_entry_param *e)
{
	(void)req;
	entry = *e;
	return reply_outcome;
}

int __wrap_fuse_reply_buf(fuse_req_t req, const char *from, size_t size)
{
	(void)req;
	assert_true(size <= sizeof(data));
	memcpy(data, from, size);
	data_size = size;
	return reply_outcome;
}

/* ---- In place of answers ---- */

struct made made;

static struct content *make_status(const struct answers *answers, struct revision *rev, bool json)
{
	(void)answers, (void)rev;
	return json ? content_new("{}", 2) : content_new("status", 6);
}

static int make_answer(struct answers *answers, struct revision *rev, struct handle *handle,
		       const struct request *request, struct wait *ret_wait, struct content **ret,
		       bool *ret_known)
{
	(void)answers, (void)rev, (void)handle, (void)ret_wait;
	made.n++;
	made.address = request->address;
	if (made.err)
		return made.err;
	if (ret_known)
		*ret_known = made.known;
	*ret = content_new("answer", 6);
	return *ret ? 0 : -ENOMEM;
}

static int make_early(struct answers *answers, struct revision *rev, struct handle *fragment,
		      const struct request *request, struct content **ret)
{
	(void)answers, (void)rev, (void)request;
	made.early++;
	if (fragment != made.from)
		return -ENOENT;
	*ret = content_new("early", 5);
	return *ret ? 0 : -ENOMEM;
}

struct tree_content content_of_test = {.answer = make_answer, .early = make_early, .status = make_status};

/* ---- A tree ---- */

static int never_opened(void *opener, struct call *parked)
{
	(void)opener, (void)parked;
	return 0;
}

int tree_set_up(void **state)
{
	void *fixture;
	(void)state;
	memset(&t, 0, sizeof(t));
	t.n_live = live;
	images_fixture_set_up(&fixture);
	t.f = fixture;
	t.f->images.salt = UINT64_C(1234) << 32;
	t.f->images.open = never_opened;
	t.queue.converter = &t.converter;
	t.answers.images = &t.f->images;
	t.answers.queue = &t.queue;
	t.answers.cache = &t.cache;
	t.answers.source = "/src";
	accounts_init(&t.answers.accounts);
	skipped_init(&t.skipped, NULL);
	t.cache.dir = -1;
	t.tree.images = &t.f->images;
	t.tree.cache = &t.cache;
	t.tree.metrics = &t.metrics;
	t.tree.counters = &t.counters;
	t.tree.answers = &t.answers;
	t.tree.content = &content_of_test;
	t.tree.skipped = &t.skipped;
	t.tree.mountpoint = "/m";
	t.tree.mounted_at = (struct timespec){5, 7};
	t.tree.kept_answers = 1 << 20;
	t.remote.images = &t.f->images;
	tree_init(&t.tree);
	t.caller = (struct fuse_ctx){.uid = OWNER, .gid = GROUP};
	made = (struct made){.known = true};
	reply_outcome = 0;
	return 0;
}

int tree_tear_down(void **state)
{
	void *fixture = t.f;
	(void)state;
	tree_deinit(&t.tree);
	accounts_deinit(&t.answers.accounts);
	skipped_deinit(&t.skipped);
	images_fixture_tear_down(&fixture);
	assert_int_equal(live, t.n_live);
	return 0;
}

struct call last_call;

int look(uint64_t in, const char *name)
{
	free(last_call.addresses);
	last_call = (struct call){.ino = in, .name = name, .attempt = lookup_attempt, .on_runner = true};
	memset(&entry, 0xff, sizeof(entry));
	int err = lookup_attempt(&last_call);
	free(last_call.addresses);
	last_call.addresses = NULL;
	return err;
}

uint64_t found(uint64_t in, const char *name)
{
	assert_int_equal(look(in, name), 0);
	if (!entry.ino)
		fail_msg("'%s' is not there", name);
	return entry.ino;
}

void missing_for(uint64_t in, const char *name, double seconds)
{
	int err = look(in, name);
	if (err || entry.ino)
		fail_msg("'%s' is there: %d", name, err);
	assert_true(entry.entry_timeout == seconds);
}

void missing(uint64_t in, const char *name)
{
	bool is_id = in == INO_ROOT || ino_is_build_id(in);
	missing_for(in, name, is_id ? TIMEOUT_IMAGE : TIMEOUT_NEGATIVE);
}

void waits(uint64_t in, const char *name)
{
	assert_int_equal(look(in, name), -EAGAIN);
	assert_non_null(last_call.wait.park);
}

void scan_over(void)
{
	scanned(t.f, 0);
}

struct source called(const char *path, ino_t ino)
{
	return WITH(debug_file(), w.path = (char *)path; w.ino = ino);
}

void enter_dir(const char *name, uint32_t parent, mode_t mode)
{
	const struct path_attr attr = {.mode = mode, .uid = OWNER, .gid = GROUP};
	t.f->top = images_add_directory(&t.f->images, parent, name, &attr);
	assert_int_not_equal(t.f->top, PATH_NONE);
}

struct handle *open_image(const char *id)
{
	struct handle *handle = new_handle();
	handle->stamp = 9;
	handle->addresses.base = 0x1000;
	assert_null(make_ready(t.f, revision_of(t.f, id), handle));
	return handle;
}

void put_two(void)
{
	struct list woken;
	for (int i = 0; i < 2; i++) {
		const struct finding finding = {.id = i ? OTHER_ID : ID,
						.at = {"fat", t.f->top, i == 1, t.f->pass},
						.source = WITH(called("fat", 60), w.pass = t.f->pass)};
		list_init(&woken);
		assert_int_equal(images_add(&t.f->images, &finding, &woken), 0);
	}
}

/* ---- Listings ---- */

void read_entries(struct shown *ret, bool plus)
{
	for (size_t at = 0; at < data_size;) {
		const struct fuse_dirent *dirent = (const void *)(data + at);
		if (plus)
			dirent = &((const struct fuse_direntplus *)(const void *)(data + at))->dirent;
		size_t n = strlen(ret->names);
		snprintf(ret->names + n, sizeof(ret->names) - n, "%.*s ", (int)dirent->namelen, dirent->name);
		ret->next = dirent->off;
		ret->n++;
		at += plus ? FUSE_DIRENTPLUS_SIZE((const struct fuse_direntplus *)(const void *)(data + at))
			   : FUSE_DIRENT_SIZE(dirent);
	}
}

/* All of @ino, in replies of @size bytes. */
static void list_all(uint64_t ino, size_t size, bool plus, struct shown *ret)
{
	struct fuse_file_info info = {0};
	*ret = (struct shown){.n = 0};
	do {
		data_size = SIZE_MAX;
		(plus ? ops_readdirplus : ops_readdir)(NULL, ino, size, (off_t)ret->next, &info);
		assert_true(data_size <= size);
		read_entries(ret, plus);
	} while (data_size);
}

void lists(uint64_t ino, const char *names)
{
	for (int plus = 0; plus < 2; plus++)
		for (size_t size = 200; size <= 8192; size += size < 700 ? 8 : 700) {
			struct shown shown;
			list_all(ino, size, plus, &shown);
			assert_string_equal(shown.names, names);
		}
}
