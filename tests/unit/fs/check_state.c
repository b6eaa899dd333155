/* The daemon's status in the log: what is counted, which images are named, and that no lock is held. */
#include "fs/gsymfs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fs/images/catalogue.h"
#include "fs/images/image_find.h"
#include "fs/images/revision.h"
#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

enum { BUSY_LISTED = 80 };

static struct gsymfs fs;
static struct text_buf logged;

/* A line of the log, which is written while no lock is held. Kept without what all begin with. */
ssize_t __wrap_write(int fd, const void *from, size_t size)
{
	static const char begin[] = "gsymfs: state: ";
	assert_int_equal(fd, STDERR_FILENO);
	assert_int_equal(pthread_mutex_trylock(&fs.images.lock.pthread), 0);
	pthread_mutex_unlock(&fs.images.lock.pthread);
	assert_memory_equal(from, begin, strlen(begin));
	text_bytes(&logged, (const char *)from + strlen(begin), size - strlen(begin));
	return (ssize_t)size;
}

static int set_up(void **state)
{
	(void)state;
	memset(&fs, 0, sizeof(fs));
	fs.log.most = LOG_LEVEL_INFO;
	images_init(&fs.images);
	accounts_init(&fs.answers.accounts);
	fs.tree.answers = &fs.answers;
	fs.tree.images = &fs.images;
	fs.tree.kept_answers = 1000;
	tree_init(&fs.tree);
	fs.cache.path = (char *)"/cache";
	fs.cache.limit = 5000000000;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tree_deinit(&fs.tree);
	accounts_deinit(&fs.answers.accounts);
	images_deinit(&fs.images);
	text_deinit(&logged);
	return 0;
}

/* An image of its own, in that state. */
static struct revision *add(unsigned number, enum revision_state in)
{
	char id[24], name[24];
	struct list woken;
	snprintf(id, sizeof(id), "%016x", number);
	snprintf(name, sizeof(name), "file%u", number);
	const struct finding finding = {
		.id = id,
		.at = {.directory = PATH_NONE, .last = true, .pass = 1},
		.source = {.path = name, .ino = number, .mode = 0444, .richness = SOURCE_DWARF, .pass = 1},
	};
	list_init(&woken);
	assert_int_equal(images_add(&fs.images, &finding, &woken), 0);
	mutex_lock(&fs.images.lock);
	struct revision *rev = image_revision(&fs.images, images_find(&fs.images, id));
	assert_non_null(rev);
	rev->state = in;
	mutex_unlock(&fs.images.lock);
	return rev;
}

/* Nothing of it may be freed as what it seems to be. */
static void settle(struct revision *rev)
{
	rev->state = STATE_COLD;
	list_init(&rev->waiters);
}

static void says(const char *expected)
{
	text_deinit(&logged);
	state_log(&fs);
	text_char(&logged, 0);
	assert_string_equal(logged.v, expected);
}

#define NO_IMAGES "0 images: 0 cold, 0 opening, 0 queued, 0 converting, 0 ready, 0 failed\n"
#define NO_SCAN   "scan: the first one runs, 0 calls wait for it\n"
#define CACHE     "cache '/cache': 0 of 5000000000 bytes\n"
#define NO_NODES  "nodes: 0 in use, 0 since the start, 0 bytes kept\n"
#define NO_FILES  "open files: 0, 0 bytes in answers of q\n"

TEST(nothing)
{
	says(NO_IMAGES NO_SCAN CACHE NO_NODES NO_FILES);
}

TEST(scans)
{
	struct list calls[3];
	mutex_lock(&fs.images.lock);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		list_append(&fs.images.scan_waiters, &calls[i]);
	mutex_unlock(&fs.images.lock);
	says(NO_IMAGES "scan: the first one runs, 3 calls wait for it\n" CACHE NO_NODES NO_FILES);
	mutex_lock(&fs.images.lock);
	list_init(&fs.images.scan_waiters);
	fs.images.scanned = true;
	mutex_unlock(&fs.images.lock);
	says(NO_IMAGES "scan: none was complete yet, 0 calls wait for it\n" CACHE NO_NODES NO_FILES);
	mutex_lock(&fs.images.lock);
	fs.images.complete = true;
	mutex_unlock(&fs.images.lock);
	says(NO_IMAGES "scan: all of the source was seen, 0 calls wait for it\n" CACHE NO_NODES NO_FILES);
	mutex_lock(&fs.images.lock);
	fs.images.scanned = false;
	mutex_unlock(&fs.images.lock);
	says(NO_IMAGES NO_SCAN CACHE NO_NODES NO_FILES);
}

/* Those that convert come first, with their worker; those that are ready, failed or cold are only counted. */
TEST(images)
{
	static const unsigned counts[STATES] = {
		[STATE_COLD] = 3,       [STATE_OPENING] = 1, [STATE_QUEUED] = 2,
		[STATE_CONVERTING] = 2, [STATE_READY] = 4,   [STATE_FAILED] = 5};
	struct revision *all[17];
	struct list calls[2];
	unsigned n = 0;
	for (unsigned in = 0; in < STATES; in++)
		for (unsigned i = 0; i < counts[in]; i++, n++)
			all[n] = add(n + 1, (enum revision_state)in);
	assert_int_equal(n, ARRAY_SIZE(all));
	assert_int_equal(all[6]->state, STATE_CONVERTING);
	atomic_store(&all[6]->progress, 42);
	atomic_store(&all[6]->worker, 4711);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		list_append(&all[4]->waiters, &calls[i]);
	says("17 images: 3 cold, 1 opening, 2 queued, 2 converting, 4 ready, 5 failed\n"
	     "0000000000000007: converting, 42%, worker 4711, 0 calls wait\n"
	     "0000000000000008: converting, 0 calls wait\n"
	     "0000000000000004: opening, 0 calls wait\n"
	     "0000000000000005: queued, 2 calls wait\n"
	     "0000000000000006: queued, 0 calls wait\n" NO_SCAN CACHE NO_NODES NO_FILES);
	for (unsigned i = 0; i < n; i++)
		settle(all[i]);
}

/* A revision that was replaced, and an image that is gone, are not of the daemon's images any more. */
TEST(not_counted)
{
	struct revision *stale = add(1, STATE_QUEUED), *gone = add(2, STATE_CONVERTING);
	stale->stale = true;
	size_t n = gone->image->sources.n;
	gone->image->sources.n = 0;
	says("1 images: 0 cold, 0 opening, 1 queued, 0 converting, 0 ready, 0 failed\n" NO_SCAN CACHE NO_NODES
		     NO_FILES);
	stale->stale = false;
	gone->image->sources.n = n;
	settle(stale);
	settle(gone);
}

static unsigned count(const char *word)
{
	unsigned n = 0;
	for (const char *at = logged.v; (at = strstr(at, word)); at++)
		n++;
	return n;
}

static void named(unsigned converting, unsigned queued)
{
	text_deinit(&logged);
	state_log(&fs);
	text_char(&logged, 0);
	assert_int_equal(count(": converting, "), converting);
	assert_int_equal(count(": queued, "), queued);
}

/* So many are named, those that convert before the others. */
TEST(many_images)
{
	static struct revision *all[BUSY_LISTED + 2];
	unsigned n = 0;
	while (n < BUSY_LISTED - 1)
		all[n] = add(n + 1, STATE_QUEUED), n++;
	named(0, n);
	all[n] = add(n + 1, STATE_QUEUED), n++;
	named(0, n);
	all[n] = add(n + 1, STATE_CONVERTING), n++;
	named(1, BUSY_LISTED - 1);
	all[n] = add(n + 1, STATE_CONVERTING), n++;
	named(2, BUSY_LISTED - 2);
	for (unsigned i = 0; i < n; i++)
		all[i]->state = STATE_CONVERTING;
	named(BUSY_LISTED, 0);
	assert_non_null(strstr(logged.v, "82 images: 0 cold, 0 opening, 0 queued, 82 converting"));
	for (unsigned i = 0; i < n; i++)
		settle(all[i]);
}

/* ---- The rest ---- */

TEST(others)
{
	const struct request request = {.kind = REQUEST_ADDRESS};
	struct node_id first = {.ino = 0}, second = {.ino = 0};
	struct open_file *file;
	atomic_store(&fs.cache.bytes, 123456789012);
	assert_int_equal(nodes_add(&fs.tree.nodes, NULL, &request, content_new("abc", 3), &first), 0);
	assert_int_equal(nodes_add(&fs.tree.nodes, NULL, &request, content_new("abcd", 4), &second), 0);
	nodes_forget(&fs.tree.nodes, first.ino, 1);
	assert_int_equal(open_file_new(&fs.tree.open_files,
				       &(struct open_file){.content = content_new("x", 1)}, 1, &file),
			 0);
	char expected[600];
	snprintf(expected, sizeof(expected),
		 NO_IMAGES NO_SCAN "cache '/cache': 123456789012 of 5000000000 bytes\n"
				   "nodes: 1 in use, 2 since the start, 4 bytes kept\n"
				   "open files: 1, %zu bytes in answers of q\n",
		 sizeof(struct open_file) + 1);
	says(expected);
}

EACH_TEST(set_up, tear_down)
