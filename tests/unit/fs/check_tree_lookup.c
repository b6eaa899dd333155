/*
 * Lookups and listings of a small tree: which numbers names have, for how long the kernel may keep them, what
 * is found again by a number alone, and where a listing goes on. Answers are made by the test.
 */
#include "images_fixture.h"

#include "fs/tree/tree_lookup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/fuse.h>
#include <cmocka.h>

#include "fs/answer/answer.h"
#include "fs/call/call.h"
#include "fs/call/runners.h"
#include "fs/convert/queue.h"
#include "fs/images/catalogue.h"
#include "fs/images/fragments.h"
#include "fs/images/image_find.h"
#include "fs/scan/remote.h"
#include "fs/scan/skipped.h"
#include "fs/sys/metrics.h"
#include "fs/tree/attr.h"
#include "fs/tree/by_handle.h"
#include "fs/tree/ops.h"
#include "gsym/base/vec.h"
#include "tests/unit/wrap_malloc.h"

#define OTHER_ID "fedcba98765432100123456789abcdef" /* no address, unlike others */
#define SIMILAR  "0123456789abcdee"                 /* as ID, but for the last digit */

enum { OTHER_GROUP = 5000 /* of every caller */ };

static struct looked_into {
	struct images_fixture *f;
	struct metrics metrics;
	struct run_counters counters;
	struct cache cache;
	struct converter converter;
	struct queue queue;
	struct answers answers;
	struct skipped skipped;
	struct remote remote;
	struct tree tree;
	struct fuse_ctx caller;
	long n_live; /* allocations before */
} t;

/* ---- In place of libfuse ---- */

static struct fuse_entry_param entry; /* of the last reply */
static int reply_outcome;
static char data[1 << 16];
static size_t data_size;

void *__wrap_fuse_req_userdata(fuse_req_t req);
const struct fuse_ctx *__wrap_fuse_req_ctx(fuse_req_t req);
int __wrap_fuse_req_getgroups(fuse_req_t req, int size, gid_t list[]);
int __wrap_fuse_reply_entry(fuse_req_t req, const struct fuse_entry_param *e);
int __wrap_fuse_reply_buf(fuse_req_t req, const char *from, size_t size);

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
	return 0;
}

/* ---- In place of answers ---- */

static struct made {
	int err;
	bool known;
	unsigned n, early;
	uint64_t address;    /* that was asked last */
	struct handle *from; /* the fragment that has the answer; NULL: none */
} made;

struct content *__wrap_status_make(const struct answers *answers, struct revision *rev, bool json);
int __wrap_answer_make(struct answers *answers, struct revision *rev, struct handle *handle,
		       const struct request *request, struct wait *ret_wait, struct content **ret,
		       bool *ret_known);
int __wrap_answer_make_early(struct answers *answers, struct revision *rev, struct handle *fragment,
			     const struct request *request, struct content **ret);

struct content *__wrap_status_make(const struct answers *answers, struct revision *rev, bool json)
{
	(void)answers, (void)rev;
	return json ? content_new("{}", 2) : content_new("status", 6);
}

int __wrap_answer_make(struct answers *answers, struct revision *rev, struct handle *handle,
		       const struct request *request, struct wait *ret_wait, struct content **ret,
		       bool *ret_known)
{
	(void)answers, (void)rev, (void)handle, (void)ret_wait;
	made.n++;
	made.address = request->address;
	if (made.err)
		return made.err;
	*ret_known = made.known;
	*ret = content_new("answer", 6);
	return *ret ? 0 : -ENOMEM;
}

int __wrap_answer_make_early(struct answers *answers, struct revision *rev, struct handle *fragment,
			     const struct request *request, struct content **ret)
{
	(void)answers, (void)rev, (void)request;
	made.early++;
	if (fragment != made.from)
		return -ENOENT;
	*ret = content_new("early", 5);
	return *ret ? 0 : -ENOMEM;
}

/* ---- A tree ---- */

static int never_opened(void *opener, struct call *parked)
{
	(void)opener, (void)parked;
	return 0;
}

static int set_up(void **state)
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

static int tear_down(void **state)
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

static struct call call;

static int look(uint64_t in, const char *name)
{
	free(call.addresses);
	call = (struct call){.ino = in, .name = name, .attempt = lookup_attempt};
	memset(&entry, 0xff, sizeof(entry));
	int err = lookup_attempt(&call);
	free(call.addresses);
	call.addresses = NULL;
	return err;
}

/* There is such a name: its number. */
static uint64_t found(uint64_t in, const char *name)
{
	assert_int_equal(look(in, name), 0);
	if (!entry.ino)
		fail_msg("'%s' is not there", name);
	return entry.ino;
}

/* The kernel may say for so long that there is none. */
static void missing_for(uint64_t in, const char *name, double seconds)
{
	int err = look(in, name);
	if (err || entry.ino)
		fail_msg("'%s' is there: %d", name, err);
	assert_true(entry.entry_timeout == seconds);
}

static void missing(uint64_t in, const char *name)
{
	missing_for(in, name, TIMEOUT_NEGATIVE);
}

/* A name whose lookup has to wait. */
static void waits(uint64_t in, const char *name)
{
	assert_int_equal(look(in, name), -EAGAIN);
	assert_non_null(call.wait.park);
}

static void scan_over(void)
{
	scanned(t.f, 0);
}

static struct source called(const char *path, ino_t ino)
{
	return WITH(debug_file(), w.path = (char *)path; w.ino = ino);
}

/* A directory of SOURCE, in which the next files are. */
static void enter_dir(const char *name, uint32_t parent, mode_t mode)
{
	const struct path_attr attr = {.mode = mode, .uid = OWNER, .gid = GROUP};
	t.f->top = images_add_directory(&t.f->images, parent, name, &attr);
	assert_int_not_equal(t.f->top, PATH_NONE);
}

static struct handle *open_image(const char *id)
{
	struct handle *handle = new_handle();
	handle->stamp = 9;
	handle->addresses.base = 0x1000;
	assert_null(make_ready(t.f, revision_of(t.f, id), handle));
	return handle;
}

/* ---- The root ---- */

static void names_of_the_root(void **state)
{
	(void)state;
	put_new(t.f, debug_file());
	assert_int_equal(found(INO_ROOT, "by-name"), INO_BY_NAME);
	found(INO_ROOT, "README");
	assert_int_equal(atomic_load(&t.tree.sizes_told), 0);
	assert_int_equal(found(INO_ROOT, "q"), INO_BATCH);
	assert_true(entry.entry_timeout == TIMEOUT_FIXED);
	assert_int_equal(atomic_load(&t.tree.sizes_told), 1);
	assert_true(ino_is_root_batch(found(INO_ROOT, "q.json")));
	assert_int_equal(found(INO_ROOT, "by-path"), INO_BY_PATH);
	missing(INO_ROOT, "other");
	missing(INO_ROOT, "0x10");
	uint64_t image = found(INO_ROOT, ID);
	assert_int_equal(ino_kind(image), NODE_IMAGE);
	assert_true(S_ISDIR(entry.attr.st_mode));
	assert_true(entry.entry_timeout == TIMEOUT_LISTING); /* a better file may come */
	assert_true(current(t.f)->image->exposed);
	waits(INO_ROOT, OTHER_ID);
	assert_string_equal(call.wait.id, OTHER_ID);
	scan_over();
	missing(INO_ROOT, OTHER_ID);
	assert_int_equal(found(INO_ROOT, ID), image);
	assert_true(entry.entry_timeout == TIMEOUT_FIXED);
}

static void other_spellings(void **state)
{
	(void)state;
	put_new(t.f, debug_file());
	scan_over();
	uint64_t upper = found(INO_ROOT, "0123456789ABCDEF");
	assert_int_equal(ino_kind(upper), NODE_ALIAS);
	assert_true(S_ISLNK(entry.attr.st_mode));
	assert_int_equal(entry.attr.st_size, strlen(ID));
	assert_true(entry.entry_timeout == TIMEOUT_ALIAS);
	assert_int_equal(found(INO_ROOT, "0123456789"), upper);
	missing(INO_ROOT, "0123456780");
	put_as(t.f, SIMILAR, called("similar", 50));
	missing(INO_ROOT, "0123456789");
	assert_int_equal(ino_kind(found(INO_ROOT, ID)), NODE_IMAGE);
}

/* As .build-id has them: the first byte, then the rest. */
static void divided_ids(void **state)
{
	(void)state;
	put_new(t.f, debug_file());
	waits(INO_ROOT, "01");
	waits(INO_ROOT, "02");
	waits(INO_BUILD_ID + 1, "23456789abcdee");
	scan_over();
	uint64_t first = found(INO_ROOT, "01");
	assert_int_equal(first, INO_BUILD_ID + 1);
	assert_true(entry.entry_timeout == TIMEOUT_LISTING);
	missing(INO_ROOT, "02");
	missing(INO_ROOT, "0A");
	missing(INO_ROOT, "012");
	assert_int_equal(found(INO_ROOT, "01"), first);
	uint64_t rest = found(first, "23456789abcdef");
	assert_int_equal(ino_kind(rest), NODE_ALIAS);
	assert_int_equal(entry.attr.st_size, strlen("../" ID));
	assert_int_equal(found(first, "23456789abcdef.debug"), rest);
	missing(first, "23456789abcdef.debug.debug");
	missing(first, "23456789abcde");  /* not all of it */
	missing(first, "23456789ABCDEF"); /* not spelled so */
	missing(first, ".debug");
	missing(first, "2");
	missing(first, "status");
	missing(INO_BUILD_ID + 2, "23456789abcdef");
	/* Of the shortest id the rest is one byte. */
	put_as(t.f, "0203", called("short", 51));
	assert_int_equal(ino_kind(found(INO_BUILD_ID + 2, "03")), NODE_ALIAS);
	found(INO_BUILD_ID + 2, "03.debug");
	/* Of one byte nothing is left. */
	put_as(t.f, "05", called("byte", 52));
	missing(INO_BUILD_ID + 5, ".debug");
	missing(INO_BUILD_ID + 5, "debug");
	/* Servers may have any. */
	t.tree.remote = &t.remote;
	missing(INO_ROOT, "77");
	t.remote.n_threads = 1;
	assert_int_equal(found(INO_ROOT, "77"), INO_BUILD_ID + 0x77);
	missing(INO_ROOT, "7");
	missing(INO_ROOT, "7F");
}

static void impossible_names(void **state)
{
	char name[NAME_BYTES_MAX + 2];
	(void)state;
	scan_over();
	memset(name, 'a', sizeof(name));
	name[NAME_BYTES_MAX + 1] = 0;
	assert_int_equal(look(INO_ROOT, name), -ENAMETOOLONG);
	name[NAME_BYTES_MAX] = 0;
	missing(INO_ROOT, name);
	missing_for(INO_BY_NAME, name, 0);
	assert_int_equal(look(INO_BATCH, "x"), -ENOTDIR);
	assert_int_equal(look(ino_make(NODE_ALIAS, 1, 0), "x"), -ENOTDIR);
	assert_int_equal(look(ino_make(NODE_IMAGE, 1, 0), "x"), -ESTALE);
	assert_int_equal(look(ino_make(NODE_IMAGE, 1, 0), "status"), -ESTALE);
	assert_int_equal(look(ino_make(NODE_CONTEXT, 1, 1), "x"), -ESTALE);
	assert_int_equal(look(INO_ADDRESS | 77, "x"), -ESTALE);
}

static void lists(uint64_t ino, const char *names);

/* ---- by-name ---- */

static void by_name(void **state)
{
	(void)state;
	put_new(t.f, debug_file());
	waits(INO_BY_NAME, "other");
	uint64_t name = found(INO_BY_NAME, "debug");
	assert_int_equal(ino_kind(name), NODE_NAME);
	assert_true(entry.entry_timeout == TIMEOUT_LISTING);
	waits(name, OTHER_ID);
	scan_over();
	missing_for(INO_BY_NAME, "other", 0); /* others may know more */
	uint64_t member = found(name, ID);
	assert_int_equal(ino_kind(member), NODE_NAME_LINK);
	assert_int_equal(entry.attr.st_size, strlen("../../" ID));
	assert_true(entry.entry_timeout == TIMEOUT_LISTING);
	put_as(t.f, OTHER_ID, called("other", 50));
	missing_for(name, OTHER_ID, 0);
	missing_for(name, "status", 0);
	missing_for(ino_make(NODE_NAME, 12345, 0), ID, 0);
}

/* Of a file in a directory that only its owner may search. */
static void hidden_names(void **state)
{
	(void)state;
	enter_dir("private", t.f->top, 0500);
	put_new(t.f, debug_file());
	scan_over();
	uint64_t name = found(INO_BY_NAME, "debug");
	assert_true(entry.entry_timeout == 0);
	assert_true(entry.attr_timeout == TIMEOUT_LISTING);
	found(name, ID);
	assert_true(entry.entry_timeout == 0);
	t.caller = (struct fuse_ctx){.uid = STRANGER, .gid = STRANGER};
	missing_for(INO_BY_NAME, "debug", 0);
	missing_for(name, ID, 0);
	missing_for(name, "0x10", 0);
	assert_int_equal(made.n, 0);
}

/* Of one that others may search but not list, who knows the name finds it. */
static void unlisted_names(void **state)
{
	(void)state;
	enter_dir("searched", t.f->top, 0511);
	put_new(t.f, debug_file());
	scan_over();
	t.caller = (struct fuse_ctx){.uid = STRANGER, .gid = STRANGER};
	uint64_t name = found(INO_BY_NAME, "debug");
	assert_true(entry.entry_timeout == TIMEOUT_LISTING);
	found(name, ID);
	lists(INO_BY_NAME, ". .. ");
	lists(name, ". .. ");
}

/* An address below a name means the only file of that name. */
static void addresses_of_names(void **state)
{
	(void)state;
	put_new(t.f, debug_file());
	scan_over();
	uint64_t name = found(INO_BY_NAME, "debug");
	waits(name, "0x1010");
	assert_ptr_equal(call.wait.revision, current(t.f));
	open_image(ID);
	uint64_t answer = found(name, "0x1010");
	assert_int_equal(ino_kind(answer), NODE_ADDRESS);
	assert_true(entry.entry_timeout == 0); /* another file of that name may come */
	assert_int_equal(entry.attr.st_size, 6);
	assert_int_equal(made.address, 0x1010);
	assert_int_equal(atomic_load(&t.metrics.lookups[LOOKUP_FOUND]), 1);
	missing_for(name, "sym", 0);
	missing_for(name, "status", 0);
	made.err = -ENOENT;
	missing(name, "0x1020");
	made.err = -EIO;
	assert_int_equal(look(name, "0x1020"), -EIO);
	assert_int_equal(look(name, "0x1030"), -EIO);
	assert_int_equal(atomic_load(&t.metrics.lookups[LOOKUP_UNKNOWN]), 1);
	assert_int_equal(atomic_load(&t.metrics.lookups[LOOKUP_ERROR]), 2);
	made.err = 0;
	enter_dir("sub", t.f->top, 0555);
	put_as(t.f, OTHER_ID, WITH(debug_file(), w.ino = 50));
	missing_for(name, "0x1010", 0);
	missing_for(ino_make(NODE_NAME, 12345, 0), "0x1010", 0);
}

/* ---- by-path ---- */

static void by_path(void **state)
{
	(void)state;
	waits(INO_BY_PATH, "sub");
	uint32_t top = t.f->top;
	put_new(t.f, debug_file());
	enter_dir("sub", top, 0510);
	put_as(t.f, OTHER_ID, called("other", 50));
	uint64_t sub = found(INO_BY_PATH, "sub");
	assert_int_equal(entry.attr.st_mode, S_IFDIR | 0510);
	assert_true(entry.entry_timeout == TIMEOUT_LISTING);
	uint64_t file = found(INO_BY_PATH, "debug");
	assert_int_equal(ino_kind(file), NODE_PATH_LINK);
	assert_int_equal(entry.attr.st_size, strlen("../" ID));
	waits(sub, "debug");
	scan_over();
	missing(sub, "debug");
	missing(INO_BY_PATH, "other");
	missing(ino_make(NODE_PATH_DIR, 12345, 0), "other");
	missing(ino_make(NODE_PATH_DIR, 12345, 0), "sub");
}

/* A file with two images is a directory. */
static void put_two(void)
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

static void files_of_two_images(void **state)
{
	(void)state;
	put_two();
	uint64_t fat = found(INO_BY_PATH, "fat");
	assert_int_equal(ino_kind(fat), NODE_PATH_FAT);
	uint64_t one = found(fat, ID), two = found(fat, OTHER_ID);
	assert_int_equal(entry.attr.st_size, strlen("../../" OTHER_ID));
	assert_int_equal(ino_kind(one), NODE_PATH_MEMBER);
	assert_int_not_equal(one, two);
	waits(fat, SIMILAR);
	scan_over();
	missing(fat, SIMILAR);
	assert_int_equal(found(fat, ID), one);
	missing(ino_make(NODE_PATH_FAT, 12345, 0), ID);
}

/* ---- In an image ---- */

static void answers_of_an_image(void **state)
{
	(void)state;
	put_new(t.f, debug_file());
	scan_over();
	uint64_t image = found(INO_ROOT, ID);
	waits(image, "0x1010");
	assert_int_equal(atomic_load(&t.metrics.lookups[LOOKUP_ERROR]), 0); /* it is not over */
	open_image(ID);
	uint64_t answer = found(image, "0x1010");
	assert_int_equal(ino_kind(answer), NODE_ADDRESS);
	assert_true(entry.entry_timeout == TIMEOUT_FIXED);
	assert_int_equal(entry.attr.st_mode, S_IFREG | 0444);
	assert_int_equal(entry.attr.st_size, 6);
	assert_int_equal(found(image, "0x1010"), answer);
	assert_int_equal(nodes_count(&t.tree.nodes).used, 1);
	assert_int_equal(look(answer, "x"), -ENOTDIR);
	made.known = false;
	assert_int_not_equal(found(image, "0x1011"), answer);
	assert_int_not_equal(found(image, "0x1010.json"), answer);
	made.err = -ENOENT;
	missing(image, "0x1012");
	missing(image, "symbol");
	missing(image, "something else");
	made.err = -EIO;
	assert_int_equal(look(image, "0x1012"), -EIO);
	assert_int_equal(look(image, "0x1013"), -EIO);
	assert_int_equal(atomic_load(&t.metrics.lookups[LOOKUP_FOUND]), 2);
	assert_int_equal(atomic_load(&t.metrics.lookups[LOOKUP_UNKNOWN]), 3);
	assert_int_equal(atomic_load(&t.metrics.lookups[LOOKUP_ERROR]), 2);
	/* The kernel has given up: it will not forget it. */
	made.err = 0;
	size_t used = nodes_count(&t.tree.nodes).used;
	reply_outcome = -ENOENT;
	look(image, "0x1013");
	assert_int_equal(nodes_count(&t.tree.nodes).used, used);
	reply_outcome = -EINVAL;
	look(image, "0x1013");
	assert_int_equal(nodes_count(&t.tree.nodes).used, used + 1);
}

static void contexts(void **state)
{
	(void)state;
	put_new(t.f, debug_file());
	scan_over();
	uint64_t image = found(INO_ROOT, ID);
	uint64_t rva = found(image, "rva");
	assert_int_equal(ino_kind(rva), NODE_CONTEXT);
	assert_int_equal(entry.attr.st_mode, S_IFDIR | 0555);
	uint64_t batch = found(rva, "q");
	assert_int_equal(ino_kind(batch), NODE_BATCH);
	assert_int_not_equal(found(image, "q"), batch);
	waits(rva, "0x10");
	uint64_t base = found(image, "base");
	assert_int_equal(ino_kind(base), NODE_CONTEXT);
	missing(base, "nothing");
	uint64_t load = found(base, "0x7f0000000000");
	assert_int_equal(ino_kind(load), NODE_ADDRESS);
	assert_true(S_ISDIR(entry.attr.st_mode));
	uint64_t q = found(load, "q");
	assert_int_equal(ino_kind(q), NODE_ADDRESS);
	assert_int_equal(entry.attr.st_mode, S_IFREG | 0666);
	assert_true(entry.entry_timeout == TIMEOUT_FIXED);
	waits(load, "0x7f0000000010");
	missing(load, "nothing");
	assert_int_equal(look(q, "0x10"), -ENOTDIR);
	open_image(ID);
	assert_int_equal(ino_kind(found(load, "0x7f0000000010")), NODE_ADDRESS);
	assert_int_equal(made.address, 0x7f0000000010);
	found(rva, "0x20");
	assert_int_equal(made.address, 0x20);
}

/* Before an image is converted, its fragments may have the answer. */
static void early_answers(void **state)
{
	struct handle *fragments[3];
	struct list dropped;
	(void)state;
	put_new(t.f, debug_file());
	scan_over();
	uint64_t image = found(INO_ROOT, ID);
	struct revision *rev = current(t.f);
	list_init(&dropped);
	waits(image, "0x1010");
	assert_int_equal(call.wait.n_addresses, 1);
	assert_int_equal(made.early, 0);
	for (size_t i = 0; i < ARRAY_SIZE(fragments); i++) {
		fragments[i] = new_handle();
		mutex_lock(&t.f->images.lock);
		fragments_add(&t.f->images, rev, fragments[i], &dropped);
		mutex_unlock(&t.f->images.lock);
	}
	waits(image, "0x1010");
	assert_int_equal(made.early, 3);
	assert_int_equal(call.wait.fragments_seen, 3);
	made.early = 0;
	made.from = fragments[1];
	uint64_t early = found(image, "0x1010");
	assert_int_equal(atomic_load(&t.metrics.lookups[LOOKUP_FOUND]), 1);
	assert_true(entry.entry_timeout == TIMEOUT_FRAGMENT);
	assert_int_equal(entry.attr.st_size, 5);
	assert_int_equal(made.early, 2); /* the newest first, and none after it */
	assert_int_equal(ino_table(early), INO_COUNTED);
	for (size_t i = 0; i < ARRAY_SIZE(fragments); i++)
		assert_int_equal(atomic_load(&fragments[i]->refs), 1);
	made.early = 0;
	waits(found(image, "sym"), "f");
	assert_int_equal(made.early, 0);
	assert_int_equal(call.wait.n_addresses, 0);
}

/* Each allocation of a lookup fails in turn. */
static void fails_without_memory(uint64_t in, const char *name)
{
	int err = -ENOMEM;
	for (long n = 0; err; n++) {
		allowed = n;
		err = look(in, name);
		allowed = -1;
		assert_true(!err || err == -ENOMEM);
		assert_in_range(n, 0, 100);
	}
	if (!entry.ino)
		fail_msg("'%s' is not there", name);
}

static void without_memory(void **state)
{
	(void)state;
	put_new(t.f, debug_file());
	scan_over();
	uint64_t image = found(INO_ROOT, ID), base = found(image, "base"), name = found(INO_BY_NAME, "debug");
	open_image(ID);
	fails_without_memory(base, "0x7000");
	fails_without_memory(found(base, "0x7000"), "q");
	fails_without_memory(image, "0x1010");
	fails_without_memory(image, "status");
	fails_without_memory(name, "0x1020");
	fails_without_memory(INO_ROOT, "status");
}

/* ---- By numbers alone ---- */

static int itself(uint64_t ino)
{
	return look(ino, ".");
}

/* What was just found has its number, generation and attributes again, and is in @parent. */
static void known_by_number(uint64_t parent, const char *name)
{
	uint64_t ino = found(parent, name);
	const struct fuse_entry_param before = entry;
	assert_int_not_equal(before.generation, 0);
	assert_int_equal(itself(ino), 0);
	assert_int_equal(entry.ino, ino);
	assert_int_equal(entry.generation, before.generation);
	assert_int_equal(entry.attr.st_ino, before.attr.st_ino);
	assert_int_equal(entry.attr.st_mode, before.attr.st_mode);
	assert_int_equal(entry.attr.st_size, before.attr.st_size);
	assert_true(entry.entry_timeout >= before.entry_timeout);
	assert_int_equal(look(ino, ".."), 0);
	assert_int_equal(entry.ino, parent);
	assert_true(S_ISDIR(entry.attr.st_mode));
	assert_true(entry.entry_timeout == TIMEOUT_FIXED);
}

static void everything_by_number(void **state)
{
	uint32_t top = t.f->top;
	(void)state;
	put_new(t.f, debug_file());
	put_two();
	enter_dir("sub", top, 0555);
	enter_dir("deep", t.f->top, 0555);
	put_as(t.f, SIMILAR, called("similar", 50));
	scan_over();
	uint64_t image = found(INO_ROOT, ID);
	known_by_number(image, "status");
	open_image(ID);
	known_by_number(INO_ROOT, "by-name");
	known_by_number(INO_ROOT, "by-path");
	known_by_number(INO_ROOT, "q");
	known_by_number(INO_ROOT, "log");
	known_by_number(INO_ROOT, "README");
	known_by_number(INO_ROOT, "01");
	known_by_number(INO_ROOT, ID);
	known_by_number(INO_BY_NAME, "debug");
	known_by_number(found(INO_BY_NAME, "debug"), ID);
	known_by_number(INO_BY_PATH, "debug");
	known_by_number(INO_BY_PATH, "sub");
	known_by_number(found(INO_BY_PATH, "sub"), "deep");
	known_by_number(found(found(INO_BY_PATH, "sub"), "deep"), "similar");
	known_by_number(INO_BY_PATH, "fat");
	known_by_number(found(INO_BY_PATH, "fat"), OTHER_ID);
	known_by_number(image, "image.gsym");
	known_by_number(image, "q");
	known_by_number(image, "rva");
	known_by_number(image, "0x1010");
	assert_int_equal(itself(INO_ROOT), 0);
	assert_int_equal(entry.ino, INO_ROOT);
	const uint64_t in_root[] = {INO_ROOT, INO_BY_PATH, ino_make(NODE_PATH_DIR, 77, 0)};
	for (size_t i = 0; i < ARRAY_SIZE(in_root); i++) {
		assert_int_equal(look(in_root[i], ".."), 0);
		assert_int_equal(entry.ino, INO_ROOT);
	}
	/* A load address is below base, but found from there only by name. */
	uint64_t load = found(found(image, "base"), "0x7000");
	assert_int_equal(itself(load), 0);
	assert_int_equal(entry.ino, load);
	assert_int_equal(look(load, ".."), 0);
	assert_int_equal(entry.ino, image);
	uint64_t snapshot = found(INO_ROOT, "status");
	uint32_t generation = (uint32_t)entry.generation;
	assert_int_equal(itself(snapshot), 0);
	assert_int_equal(entry.ino, snapshot);
	assert_int_equal(entry.generation, generation);
	assert_int_equal(look(snapshot, ".."), 0);
	assert_int_equal(entry.ino, INO_ROOT);
}

/* An answer that the kernel has forgotten is made again, and a snapshot. */
static void forgotten(void **state)
{
	(void)state;
	put_new(t.f, program_file(SOURCE_DWARF));
	scan_over();
	struct handle *handle = open_image(ID);
	uint64_t image = found(INO_ROOT, ID), answer = found(image, "0x1010");
	uint32_t generation = (uint32_t)entry.generation;
	uint64_t snapshot = found(INO_ROOT, "status");
	nodes_forget(&t.tree.nodes, answer, 1);
	nodes_forget(&t.tree.nodes, snapshot, 1);
	made.n = 0;
	made.address = 0;
	assert_int_equal(itself(answer), 0);
	assert_int_equal(made.n, 1);
	assert_int_equal(made.address, 0x1010);
	assert_int_equal(entry.ino, answer);
	assert_int_equal(entry.generation, generation);
	assert_int_equal(itself(answer), 0); /* now it is known twice */
	assert_int_equal(made.n, 1);
	nodes_forget(&t.tree.nodes, answer, 1);
	assert_int_equal(nodes_count(&t.tree.nodes).used, 1);
	nodes_forget(&t.tree.nodes, answer, 1);
	assert_int_equal(nodes_count(&t.tree.nodes).used, 0);
	assert_int_equal(itself(snapshot), 0);
	assert_int_equal(entry.ino, snapshot);
	assert_int_equal(look(answer, ".."), -ESTALE);
	made.err = -ENOENT;
	assert_int_equal(itself(answer), -ESTALE);
	made.err = -EIO;
	assert_int_equal(itself(answer), -EIO);
	made.err = 0;
	assert_int_equal(atomic_load(&handle->refs), 1);
	/* Of an image that is closed it can be made when that is open again. */
	struct revision *rev = current(t.f);
	handle_get(handle);
	mutex_lock(&t.f->images.lock);
	struct handle *closed = revision_set_cold(&t.f->images, rev);
	mutex_unlock(&t.f->images.lock);
	handle_put(closed);
	assert_int_equal(itself(answer), -EAGAIN);
	assert_ptr_equal(call.wait.revision, rev);
	handle_put(handle);
}

/* What a daemon before this one gave out may be found by the first scan, or never. */
static void of_a_former_daemon(void **state)
{
	(void)state;
	const uint64_t numbers[] = {
		ino_make(NODE_IMAGE, 77, 1 << CODE_BITS),
		ino_make(NODE_IMAGE_FILE, 77, 1 << CODE_BITS),
		ino_make(NODE_CONTEXT, 77, 1 << CODE_BITS),
		ino_make(NODE_BATCH, 77, 1 << CODE_BITS),
		ino_make(NODE_NAME, 77, 0),
		ino_make(NODE_NAME_LINK, 77, 78),
		ino_make(NODE_ALIAS, 77, 0),
		ino_make(NODE_PATH_DIR, 77, 0),
		ino_make(NODE_PATH_LINK, 77, 78),
		ino_make(NODE_PATH_FAT, 77, 0),
		ino_make(NODE_PATH_MEMBER, 77, 78),
		ino_at_distance(INO_PLAIN, 77, 0x10),
	};
	for (int after = 0; after < 2; after++) {
		for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
			assert_int_equal(itself(numbers[i]), after ? -ESTALE : -EAGAIN);
			if (!after)
				assert_non_null(call.wait.park);
		}
		assert_int_equal(itself(INO_ADDRESS | 5), -ESTALE); /* no number of an answer */
		scan_over();
	}
	assert_int_equal(look(ino_make(NODE_PATH_LINK, 77, 78), ".."), -ESTALE);
	assert_int_equal(look(ino_make(NODE_IMAGE_FILE, 77, 0), ".."), -ESTALE);
	assert_int_equal(itself(INO_FIXED + 50), -ESTALE);
}

/* A debug file alone may be completed by the first scan, and has other answers then. */
static void answers_of_debug_files(void **state)
{
	(void)state;
	put_new(t.f, debug_file());
	put_as(t.f, OTHER_ID, WITH(program_file(SOURCE_DWARF), w.ino = 50));
	uint64_t debug = ino_a(found(INO_ROOT, ID)), program = ino_a(found(INO_ROOT, OTHER_ID));
	uint64_t of_debug = ino_at_distance(INO_PLAIN, debug, 0x10);
	uint64_t of_program = ino_at_distance(INO_PLAIN, program, 0x10);
	assert_int_equal(itself(of_debug), -EAGAIN);
	assert_null(call.wait.revision);
	assert_int_equal(itself(of_program), -EAGAIN);
	scan_over();
	assert_int_equal(itself(of_debug), -EAGAIN);
	assert_ptr_equal(call.wait.revision, current(t.f));
	open_image(ID);
	assert_int_equal(itself(of_debug), 0);
	assert_int_equal(entry.ino, of_debug);
	assert_int_equal(made.address, 0x1010);
}

/* ---- Listings ---- */

struct shown {
	char names[1024]; /* each followed by a space */
	uint64_t next;
	unsigned n;
};

/* Adds the entries of the last reply. */
static void read_entries(struct shown *ret, bool plus)
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

/* It has these names, however small the replies are. */
static void lists(uint64_t ino, const char *names)
{
	for (int plus = 0; plus < 2; plus++)
		for (size_t size = 200; size <= 8192; size += size < 700 ? 8 : 700) {
			struct shown shown;
			list_all(ino, size, plus, &shown);
			assert_string_equal(shown.names, names);
		}
}

static void listings(void **state)
{
	uint32_t top = t.f->top;
	(void)state;
	lists(INO_ROOT, ". .. by-name q log metrics status README by-path ");
	lists(INO_BY_NAME, ". .. ");
	lists(INO_BY_PATH, ". .. ");
	put_new(t.f, debug_file());
	put_two();
	enter_dir("sub", top, 0555);
	put_as(t.f, SIMILAR, called("similar", 50));
	scan_over();
	lists(INO_ROOT, ". .. by-name q log metrics status README by-path " ID " " OTHER_ID " " SIMILAR " ");
	lists(INO_BY_NAME, ". .. debug fat similar ");
	lists(found(INO_BY_NAME, "debug"), ". .. " ID " ");
	lists(found(INO_BY_NAME, "fat"), ". .. " ID " " OTHER_ID " ");
	lists(INO_BY_PATH, ". .. debug fat sub ");
	lists(found(INO_BY_PATH, "sub"), ". .. similar ");
	lists(found(INO_BY_PATH, "fat"), ". .. " ID " " OTHER_ID " ");
	uint64_t image = found(INO_ROOT, ID);
	lists(image, ". .. status info.json q approximate base off ra rva sym ");
	open_image(ID);
	lists(image, ". .. status info.json q image.gsym functions.tsv lines.tsv files.tsv "
		     "approximate base off ra rva sym ");
	lists(found(image, "rva"), ". .. ");
	/* Nothing is listed again from behind the last one. */
	struct shown shown = {.n = 0};
	struct fuse_file_info info = {0};
	ops_readdir(NULL, image, 8192, 1000, &info);
	read_entries(&shown, false);
	assert_int_equal(shown.n, 0);
	ops_readdir(NULL, image, 8192, -1, &info);
	read_entries(&shown, false);
	assert_int_equal(shown.n, 15);
}

/* A reply that all entries just fit into has them; with attributes it tells the kernel sizes of q and log. */
static void exact_replies(void **state)
{
	struct fuse_file_info info = {0};
	(void)state;
	for (int plus = 0; plus < 2; plus++) {
		void (*list)(fuse_req_t, fuse_ino_t, size_t, off_t, struct fuse_file_info *) =
			plus ? ops_readdirplus : ops_readdir;
		struct shown all = {.n = 0}, less = {.n = 0};
		atomic_store(&t.tree.sizes_told, 0);
		list(NULL, INO_ROOT, 8192, 0, &info);
		assert_int_equal(atomic_load(&t.tree.sizes_told), plus ? 2 : 0);
		size_t size = data_size;
		list(NULL, INO_ROOT, size, 0, &info);
		assert_int_equal(data_size, size);
		read_entries(&all, plus);
		assert_int_equal(all.n, 9);
		list(NULL, INO_ROOT, size - 1, 0, &info);
		read_entries(&less, plus);
		assert_int_equal(less.n, 8);
	}
}

/* What is gone is not listed any more, and what is hidden not for others. */
static void changed_listings(void **state)
{
	uint32_t top = t.f->top;
	(void)state;
	put_new(t.f, debug_file());
	put_two();
	enter_dir("private", top, 0500);
	put_as(t.f, SIMILAR, called("secret", 50));
	scan_over();
	lists(INO_BY_NAME, ". .. debug fat secret ");
	uint64_t secret = found(INO_BY_NAME, "secret"), fat = found(INO_BY_PATH, "fat");
	t.caller = (struct fuse_ctx){.uid = STRANGER, .gid = STRANGER};
	lists(INO_BY_NAME, ". .. debug fat ");
	lists(secret, ". .. ");
	t.caller = (struct fuse_ctx){.uid = OWNER, .gid = GROUP};
	lists(secret, ". .. " SIMILAR " ");
	/* The next scan meets one image of two, and not the others. */
	t.f->top = top;
	put_as(t.f, OTHER_ID, called("fat", 60));
	scanned(t.f, 0);
	lists(INO_ROOT, ". .. by-name q log metrics status README by-path " OTHER_ID " ");
	lists(INO_BY_NAME, ". .. fat ");
	lists(INO_BY_PATH, ". .. fat ");
	lists(fat, ". .. " OTHER_ID " ");
	assert_int_equal(ino_kind(found(INO_BY_PATH, "fat")), NODE_PATH_LINK);
	missing(fat, ID);
	missing(INO_BY_PATH, "debug");
	missing(INO_BY_PATH, "private");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_of_the_root),
		TEST(other_spellings),
		TEST(divided_ids),
		TEST(impossible_names),
		TEST(by_name),
		TEST(hidden_names),
		TEST(unlisted_names),
		TEST(addresses_of_names),
		TEST(by_path),
		TEST(files_of_two_images),
		TEST(answers_of_an_image),
		TEST(contexts),
		TEST(early_answers),
		TEST(without_memory),
		TEST(everything_by_number),
		TEST(forgotten),
		TEST(of_a_former_daemon),
		TEST(answers_of_debug_files),
		TEST(listings),
		TEST(exact_replies),
		TEST(changed_listings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
