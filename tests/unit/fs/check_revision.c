/* Which files stand for an image, whose files may take the place of others, and who may read the result. */
#include "fs/images/catalogue.h"
#include "fs/images/image_find.h"
#include "fs/images/kept.h"
#include "fs/images/retired.h"
#include "fs/images/revision.h"
#include "fs/name/node.h"
#include "fs/sys/notify.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ID "0123456789abcdef"

enum { OWNER = 1000, GROUP = 1000, STRANGER = 2000 };

struct fixture {
	struct images images;
	struct notify notify;
	uint32_t top, pass;
	ino_t ino;
};

static int set_up(void **state)
{
	struct fixture *room = calloc(1, sizeof(*room));
	const struct path_attr attr = {.mode = 0555};
	notify_init(&room->notify);
	images_init(&room->images, &room->notify);
	room->top = images_add_directory(&room->images, PATH_NONE, "", &attr);
	room->pass = 1;
	*state = room;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *room = *state;
	images_deinit(&room->images);
	notify_deinit(&room->notify);
	free(room);
	return 0;
}

/* ---- Files to choose from ---- */

static struct source file(const char *path, enum richness richness)
{
	return (struct source){
		.path = (char *)path,
		.uid = OWNER,
		.gid = GROUP,
		.mode = 0444,
		.richness = richness,
		.kind = IMAGE_ELF,
		.arch = "x86_64",
	};
}

static struct source debug(void)
{
	return file("debug", SOURCE_DWARF);
}

/* With @richness DWARF as it was linked, with symbols only as it is installed. */
static struct source program(enum richness richness)
{
	struct source s = file("program", richness);
	s.has_text = true;
	return s;
}

static struct source beside(void)
{
	struct source s = file("program.gsym", SOURCE_GSYM);
	s.kind = IMAGE_GSYM_FILE;
	s.arch[0] = 0;
	return s;
}

/* The file @base with other attributes: assignments to members of @w. */
#define WITH(base, ...)                 \
	({                              \
		struct source w = base; \
		__VA_ARGS__;            \
		w;                      \
	})

static void put_as(struct fixture *room, const char *id, struct source s)
{
	struct list woken;
	list_init(&woken);
	s.pass = room->pass;
	const struct finding finding = {.id = id, .at = {s.path, room->top, true, room->pass}, .source = s};
	assert_int_equal(images_add(&room->images, &finding, &woken), 0);
}

static void put(struct fixture *room, struct source s)
{
	put_as(room, ID, s);
}

/* A file with an inode of its own. */
static void put_new(struct fixture *room, struct source s)
{
	s.ino = ++room->ino;
	put(room, s);
}

static struct revision *revision_of(struct fixture *room, const char *id)
{
	mutex_lock(&room->images.lock);
	struct image *image = images_find(&room->images, id);
	struct revision *rev = image ? image_revision(&room->images, image) : NULL;
	mutex_unlock(&room->images.lock);
	return rev;
}

static struct revision *current(struct fixture *room)
{
	return revision_of(room, ID);
}

/* The kernel sees the image's directory. */
static struct revision *expose(struct fixture *room)
{
	struct revision *rev = current(room);
	rev->image->exposed = true;
	return rev;
}

static void expect(struct fixture *room, const char *source, const char *binary)
{
	const struct revision *rev = current(room);
	assert_non_null(rev);
	assert_string_equal(rev->source.path, source);
	if (binary)
		assert_string_equal(rev->binary.path ? rev->binary.path : "none", binary);
	else
		assert_null(rev->binary.path);
}

/* What two files make of the image, in either order. */
static void pair(struct source a, struct source b, const char *source, const char *binary)
{
	for (int swapped = 0; swapped < 2; swapped++) {
		void *room = NULL;
		set_up(&room);
		put_new(room, swapped ? b : a);
		put_new(room, swapped ? a : b);
		expect(room, source, binary);
		tear_down(&room);
	}
}

static void scanned(struct fixture *room, int err)
{
	struct list woken;
	list_init(&woken);
	images_scanned(&room->images, room->pass++, &(struct scan_report){.err = err}, &woken);
}

/* ---- A debug file and its program ---- */

static void program_completes(void **state)
{
	(void)state;
	pair(debug(), program(SOURCE_SYMBOLS), "debug", "program");
	pair(debug(), WITH(program(SOURCE_SYMBOLS), w.uid = 0), "debug", "program");
	pair(WITH(debug(), strcpy(w.arch, "")), program(SOURCE_SYMBOLS), "debug", "program");
	pair(debug(), WITH(program(SOURCE_SYMBOLS), w.uid = STRANGER), "debug", NULL);
	pair(WITH(debug(), w.uid = 0), program(SOURCE_SYMBOLS), "debug", NULL);
	pair(debug(), WITH(program(SOURCE_SYMBOLS), w.has_text = false), "debug", NULL);
	pair(debug(), WITH(program(SOURCE_SYMBOLS), strcpy(w.arch, "i386")), "debug", NULL);
	pair(WITH(debug(), w.has_text = true), program(SOURCE_SYMBOLS), "debug", NULL);
}

/* What readers of the debug file learn of the program they may read there, too. */
static void program_that_fewer_may_read(void **state)
{
	(void)state;
	pair(debug(), WITH(program(SOURCE_SYMBOLS), w.mode = 0400), "debug", NULL);
	pair(debug(), WITH(program(SOURCE_SYMBOLS), w.mode = 0440), "debug", NULL);
	pair(debug(), WITH(program(SOURCE_SYMBOLS), w.mode = 0404), "debug", NULL);
	pair(WITH(debug(), w.mode = 0440), WITH(program(SOURCE_SYMBOLS), w.mode = 0440, w.gid = GROUP + 1),
	     "debug", NULL);
	pair(WITH(debug(), w.mode = 0440), WITH(program(SOURCE_SYMBOLS), w.mode = 0440), "debug", "program");
	pair(WITH(debug(), w.mode = 0400), WITH(program(SOURCE_SYMBOLS), w.mode = 0400), "debug", "program");
	pair(WITH(debug(), w.mode = 0400), WITH(program(SOURCE_SYMBOLS), w.mode = 0400, w.uid = 0), "debug",
	     NULL);
}

/* ---- GSYM beside the program ---- */

static void gsym_beside_the_program(void **state)
{
	(void)state;
	pair(program(SOURCE_DWARF), beside(), "program.gsym", "program");
	/* Taken without the program, which belongs to another user than the GSYM. */
	pair(program(SOURCE_DWARF), WITH(beside(), w.uid = 0), "program.gsym", NULL);
	pair(program(SOURCE_DWARF), WITH(beside(), w.uid = STRANGER), "program", NULL);
	pair(WITH(program(SOURCE_DWARF), w.uid = 0), beside(), "program", NULL);
	pair(program(SOURCE_DWARF), WITH(beside(), w.path = (char *)"other.gsym"), "program", NULL);
	pair(program(SOURCE_DWARF), WITH(beside(), w.path = (char *)"program.gsyms"), "program", NULL);
	pair(program(SOURCE_DWARF), WITH(beside(), w.kind = IMAGE_ELF), "program", NULL);
	pair(debug(), WITH(beside(), w.path = (char *)"debug.gsym"), "debug", NULL); /* no program */
}

static void gsym_beside_a_stripped_program(void **state)
{
	struct fixture *room = *state;
	put_new(room, debug());
	put_new(room, program(SOURCE_SYMBOLS));
	put_new(room, beside());
	expect(room, "program.gsym", "program");
}

static void strangers_gsym_beside_a_stripped_program(void **state)
{
	struct fixture *room = *state;
	put_new(room, debug());
	put_new(room, program(SOURCE_SYMBOLS));
	put_new(room, WITH(beside(), w.uid = STRANGER));
	expect(room, "debug", "program");
}

/* ---- Which is best ---- */

static void richest_first(void **state)
{
	(void)state;
	for (int a = SOURCE_BARE; a <= SOURCE_DWARF; a++)
		for (int b = SOURCE_BARE; b < a; b++)
			pair(file("z", (enum richness)a), file("a", (enum richness)b), "z", NULL);
}

static void copies_do_not_replace_each_other(void **state)
{
	struct fixture *room = *state;
	put_new(room, WITH(debug(), w.path = (char *)"m"));
	put_new(room, WITH(debug(), w.path = (char *)"z"));
	put_new(room, WITH(debug(), w.path = (char *)"a"));
	expect(room, "m", NULL);
	scanned(room, 0);
	put(room, WITH(debug(), w.path = (char *)"z", w.ino = 2));
	put(room, WITH(debug(), w.path = (char *)"a", w.ino = 3));
	scanned(room, 0);
	expect(room, "a", NULL);
}

/* ---- Changes ---- */

/* The next scan sees the one file so: whether it is another revision then. */
static bool is_replaced(struct fixture *room, struct source s)
{
	struct revision *old = expose(room);
	uint32_t generation = old->image->generation;
	s.ino = 1;
	put(room, s);
	scanned(room, 0);
	struct revision *now = current(room);
	assert_int_equal(old->stale, old != now);
	assert_int_equal(now->image->generation, generation + (old != now));
	if (old != now)
		assert_string_not_equal(old->key.text, now->key.text);
	return old != now;
}

static void what_makes_another_revision(void **state)
{
	struct fixture *room = *state;
	put_new(room, debug());
	scanned(room, 0);
	assert_false(is_replaced(room, debug()));
	assert_true(is_replaced(room, WITH(debug(), w.mode = 0400)));
	assert_false(is_replaced(room, WITH(debug(), w.mode = 0400)));
	assert_true(is_replaced(room, WITH(debug(), w.mode = 0400, w.uid = 0)));
	assert_true(is_replaced(room, WITH(debug(), w.mode = 0400, w.uid = 0, w.gid = 0)));
	assert_true(is_replaced(room, WITH(debug(), w.size = 1)));
	assert_true(is_replaced(room, WITH(debug(), w.size = 1, w.mtime_ns = 1)));
	assert_true(is_replaced(room, WITH(debug(), w.size = 1, w.mtime_ns = 1, w.ctime_ns = 1)));
	assert_false(is_replaced(room, WITH(debug(), w.size = 1, w.mtime_ns = 1, w.ctime_ns = 1)));
}

static void program_that_changes(void **state)
{
	struct fixture *room = *state;
	put_new(room, debug());
	put_new(room, program(SOURCE_SYMBOLS));
	scanned(room, 0);
	struct revision *old = expose(room);
	put(room, WITH(debug(), w.ino = 1));
	put(room, WITH(program(SOURCE_SYMBOLS), w.ino = 2, w.ctime_ns = 1));
	scanned(room, 0);
	assert_true(old->stale);
	assert_string_not_equal(old->key.text, current(room)->key.text);
}

static size_t revisions(struct fixture *room)
{
	mutex_lock(&room->images.lock);
	size_t n = room->images.revisions.n;
	mutex_unlock(&room->images.lock);
	return n;
}

/* Nothing is made before something is asked, and what the kernel has not seen keeps its number. */
static void revisions_are_made_when_asked_for(void **state)
{
	struct fixture *room = *state;
	put_new(room, program(SOURCE_SYMBOLS));
	put_new(room, debug());
	scanned(room, 0);
	assert_int_equal(revisions(room), 0);
	struct revision *rev = current(room);
	assert_int_equal(revisions(room), 1);
	assert_ptr_equal(current(room), rev);
	put(room, WITH(program(SOURCE_SYMBOLS), w.ino = 1));
	put(room, WITH(debug(), w.ino = 2, w.size = 1));
	scanned(room, 0);
	assert_int_equal(revisions(room), 1);
	assert_true(rev->stale);
	assert_int_equal(rev->image->generation, rev->generation);
	expect(room, "debug", "program");
}

static void files_that_go(void **state)
{
	struct fixture *room = *state;
	put_new(room, debug());
	put_new(room, program(SOURCE_SYMBOLS));
	scanned(room, 0);
	scanned(room, -EIO); /* what an incomplete scan did not see may be there */
	expect(room, "debug", "program");
	put(room, WITH(program(SOURCE_SYMBOLS), w.ino = 2));
	scanned(room, 0);
	expect(room, "program", NULL);
	scanned(room, 0);
	assert_null(current(room));
}

/* What is known of all files and images together. */
static size_t known(struct fixture *room)
{
	mutex_lock(&room->images.lock);
	size_t n = room->images.all.n + room->images.names.n + room->images.paths.files.n +
		   room->images.by_id.n + room->images.by_basename.n + room->images.by_member.n +
		   room->images.paths.by_file.n;
	mutex_unlock(&room->images.lock);
	return n;
}

static void note_gone(void *user, dev_t dev, ino_t ino)
{
	(void)dev;
	*(ino_t *)user = ino;
}

/* A file that comes in scan @room->pass and goes in the next one. */
static void come_and_go(struct fixture *room, unsigned i, bool walk)
{
	char id[24], name[24];
	ino_t gone = 0;
	snprintf(id, sizeof(id), "%016x", i);
	snprintf(name, sizeof(name), "f%u", i % 7);
	put_as(room, id, WITH(program(SOURCE_SYMBOLS), w.path = name, w.ino = 1000 + i));
	if (i % 3 == 0) {
		mutex_lock(&room->images.lock);
		images_has_prefix(&room->images, "f"); /* which sorts them */
		mutex_unlock(&room->images.lock);
	}
	room->pass++;
	put(room, WITH(debug(), w.ino = 1));
	if (walk) {
		scanned(room, 0);
	} else {
		assert_true(images_forget_path(&room->images, name, room->pass, note_gone, &gone));
		assert_int_equal(gone, 1000 + i);
	}
}

static void files_that_come_and_go_leave_nothing(void **state)
{
	struct fixture *room = *state;
	put_new(room, debug());
	scanned(room, 0);
	size_t before = known(room);
	for (unsigned i = 0; i < 2000; i++) {
		come_and_go(room, i, i % 10 == 0);
		assert_int_equal(known(room), before);
	}
	expect(room, "debug", NULL);
}

/* ---- Revisions that are over ---- */

static size_t retired(struct fixture *room)
{
	mutex_lock(&room->images.lock);
	size_t n = list_count(&room->images.retired) + list_count(&room->images.leaving) +
		   room->images.leaving_images.n;
	mutex_unlock(&room->images.lock);
	return n;
}

/* Something is asked of a file, which is gone in the next scan. */
static struct revision *ask_and_go(struct fixture *room, unsigned i)
{
	char id[24], name[24];
	snprintf(id, sizeof(id), "%016x", i);
	snprintf(name, sizeof(name), "f%u", i % 7);
	put_as(room, id, WITH(program(SOURCE_SYMBOLS), w.path = name, w.ino = 1000 + i));
	struct revision *rev = revision_of(room, id);
	rev->image->exposed = true;
	room->pass++;
	put(room, WITH(debug(), w.ino = 1));
	scanned(room, 0);
	assert_null(revision_of(room, id));
	assert_true(rev->stale);
	return rev;
}

static uint64_t ino_of(const struct revision *rev)
{
	return ino_make(NODE_CONTEXT, rev->number, 1);
}

/* The kernel has been told all. */
static void forget_told(struct fixture *room)
{
	mutex_lock(&room->notify.lock);
	while (room->notify.ids.n)
		free(room->notify.ids.v[--room->notify.ids.n]);
	vec_free(&room->notify.ids);
	mutex_unlock(&room->notify.lock);
}

static void files_that_were_asked_leave_nothing(void **state)
{
	struct fixture *room = *state;
	put_new(room, debug());
	scanned(room, 0);
	ask_and_go(room, 0);
	images_free_retired(&room->images);
	forget_told(room);
	const size_t before = known(room), made = revisions(room);
	const size_t bytes = mallinfo2().uordblks;
	for (unsigned i = 1; i <= 4000; i++) {
		ask_and_go(room, i);
		if (i % 100)
			continue;
		images_free_retired(&room->images);
		assert_int_equal(known(room), before);
		assert_int_equal(revisions(room), made);
		assert_int_equal(retired(room), 0);
	}
	forget_told(room);
	const size_t now = mallinfo2().uordblks;
	assert_true(now < bytes + 4000 * 4); /* numbers that are never used again */
	expect(room, "debug", NULL);
}

static void a_reader_keeps_what_it_found(void **state)
{
	struct fixture *room = *state;
	put_new(room, debug());
	unsigned inside = readers_enter(&room->images.readers);
	struct revision *rev = ask_and_go(room, 1);
	for (int i = 0; i < 5; i++) {
		images_free_retired(&room->images);
		unsigned other = readers_enter(&room->images.readers);
		assert_string_equal(rev->source.path, "f1");
		assert_string_equal(rev->image->id, "0000000000000001");
		readers_leave(&room->images.readers, other);
	}
	const uint64_t ino = ino_of(rev);
	readers_leave(&room->images.readers, inside);
	images_free_retired(&room->images);
	assert_int_equal(retired(room), 0);
	assert_null(images_revision(&room->images, ino));
}

static void a_pin_keeps_a_revision(void **state)
{
	struct fixture *room = *state;
	put_new(room, debug());
	struct revision *rev = ask_and_go(room, 1);
	revision_pin(rev);
	images_free_retired(&room->images);
	assert_ptr_equal(images_revision(&room->images, ino_of(rev)), rev);
	struct image *image = rev->image;
	image_pin(&room->images, image);
	revision_unpin(rev);
	images_free_retired(&room->images);
	assert_int_equal(retired(room), 0);
	assert_string_equal(image->id, "0000000000000001");
	image_unpin(&room->images, image);
	images_free_retired(&room->images);
	assert_int_equal(retired(room), 0);
}

/* By a thread that had found it before its number was given up. */
static void pinned_when_it_is_to_be_freed(void **state)
{
	struct fixture *room = *state;
	put_new(room, debug());
	unsigned inside = readers_enter(&room->images.readers);
	struct revision *rev = ask_and_go(room, 1);
	struct image *image = rev->image;
	images_free_retired(&room->images);
	revision_pin(rev);
	image_pin(&room->images, image);
	readers_leave(&room->images.readers, inside);
	images_free_retired(&room->images);
	assert_int_equal(rev->number, 0);
	revision_unpin(rev);
	images_free_retired(&room->images);
	assert_string_equal(image->id, "0000000000000001");
	image_unpin(&room->images, image);
	images_free_retired(&room->images);
	images_free_retired(&room->images);
	assert_int_equal(retired(room), 0);
}

/* A call waits for a scan because the file was replaced while it was converted, and then replaced again. */
static void a_call_forgets_what_it_waited_for(void **state)
{
	struct fixture *room = *state;
	struct call call = {.wait = {.revision = NULL}};
	put_new(room, debug());
	call.wait.revision = ask_and_go(room, 1);
	mutex_lock(&room->images.lock);
	list_append(&room->images.scan_waiters, &call.link);
	mutex_unlock(&room->images.lock);
	images_free_retired(&room->images);
	assert_int_equal(retired(room), 0);
	assert_null(call.wait.revision);
	list_remove(&call.link);
}

/* A thread is at work on it, or calls wait for it. */
static void a_revision_in_use_is_kept(void **state)
{
	struct fixture *room = *state;
	struct list waiter;
	put_new(room, debug());
	struct revision *rev = ask_and_go(room, 1);
	mutex_lock(&room->images.lock);
	revision_set_state(&room->images, rev, STATE_OPENING);
	mutex_unlock(&room->images.lock);
	images_free_retired(&room->images);
	assert_ptr_equal(images_revision(&room->images, ino_of(rev)), rev);
	mutex_lock(&room->images.lock);
	revision_set_state(&room->images, rev, STATE_COLD);
	list_append(&rev->waiters, &waiter);
	mutex_unlock(&room->images.lock);
	images_free_retired(&room->images);
	assert_ptr_equal(images_revision(&room->images, ino_of(rev)), rev);
	list_remove(&waiter);
	images_free_retired(&room->images);
	assert_int_equal(retired(room), 0);
}

/* ---- Hard links ---- */

/* Who reaches the file by one of its paths may read it; known at the end of the scan that saw them all. */
static void permissions_of_all_paths(void **state)
{
	struct fixture *room = *state;
	put_new(room, WITH(debug(), w.mode = 0400));
	put(room, WITH(debug(), w.ino = 1, w.mode = 0444));
	assert_int_equal(current(room)->source.mode, 0400);
	scanned(room, 0);
	assert_int_equal(current(room)->source.mode, 0444);
	put(room, WITH(debug(), w.ino = 1, w.mode = 0400)); /* its other path may be yet to come */
	assert_int_equal(current(room)->source.mode, 0444);
	scanned(room, 0);
	assert_int_equal(current(room)->source.mode, 0400);
}

/* A file that was changed is closed at once, not at the end of the scan. */
static void permissions_of_a_changed_file(void **state)
{
	struct fixture *room = *state;
	put_new(room, debug());
	scanned(room, 0);
	put(room, WITH(debug(), w.ino = 1, w.mode = 0400, w.ctime_ns = 1));
	assert_int_equal(current(room)->source.mode, 0400);
	put(room, WITH(debug(), w.ino = 1, w.mode = 0400, w.ctime_ns = 1));
	scanned(room, -EIO);
	assert_int_equal(current(room)->source.mode, 0400);
}

/* ---- Use ---- */

static int use(struct fixture *room, struct wait *ret_wait)
{
	struct handle *handle;
	*ret_wait = (struct wait){.revision = NULL};
	return revision_use(&room->images, current(room), &handle, ret_wait);
}

static void settle_failed(struct fixture *room, int err, int64_t again)
{
	struct revision *rev = current(room);
	mutex_lock(&room->images.lock);
	revision_set_state(&room->images, rev, STATE_OPENING);
	revision_set_failed(&room->images, rev, err, "reason");
	rev->again = again;
	mutex_unlock(&room->images.lock);
}

static void waits(void **state)
{
	struct fixture *room = *state;
	struct wait wait;
	put_new(room, program(SOURCE_SYMBOLS));
	assert_int_equal(use(room, &wait), -EAGAIN); /* the scan may find its debug file */
	assert_null(wait.revision);
	assert_string_equal(wait.id, ID);
	scanned(room, 0);
	assert_int_equal(use(room, &wait), -EAGAIN);
	assert_ptr_equal(wait.revision, current(room));
}

static void failures(void **state)
{
	struct fixture *room = *state;
	struct wait wait;
	put_new(room, debug());
	settle_failed(room, -EFBIG, 0);
	assert_int_equal(use(room, &wait), -EFBIG);
	assert_string_equal(current(room)->reason, "reason");
	assert_int_equal(current(room)->state, STATE_FAILED);
	current(room)->again = INT64_MAX;
	assert_int_equal(use(room, &wait), -EFBIG);
	current(room)->again = 1;
	assert_int_equal(use(room, &wait), -EAGAIN);
	assert_int_equal(current(room)->state, STATE_COLD);
	settle_failed(room, 0, 0); /* to be tried again at once */
	assert_int_equal(use(room, &wait), -EAGAIN);
	current(room)->stale = true;
	assert_int_equal(use(room, &wait), -ESTALE);
}

enum { SIZE = 12345, OPEN_MAX_IMAGES = 4096 };

static struct handle *new_handle(void)
{
	struct handle *handle = calloc(1, sizeof(*handle));
	atomic_init(&handle->refs, 1);
	handle->gsym.size = SIZE;
	return handle;
}

/* The handle that is to be put. */
static struct handle *make_ready(struct fixture *room, struct revision *rev, struct handle *handle)
{
	mutex_lock(&room->images.lock);
	revision_set_state(&room->images, rev, STATE_OPENING);
	struct handle *unused = revision_set_ready(&room->images, rev, handle);
	mutex_unlock(&room->images.lock);
	return unused;
}

static struct handle *make_cold(struct fixture *room, struct revision *rev)
{
	mutex_lock(&room->images.lock);
	struct handle *handle = revision_set_cold(&room->images, rev);
	mutex_unlock(&room->images.lock);
	return handle;
}

static void open_and_closed(void **state)
{
	struct fixture *room = *state;
	struct handle *handle = new_handle(), *used;
	struct wait wait;
	put_new(room, debug());
	struct revision *rev = current(room);
	assert_int_equal(rev->gsym_size, 0);
	assert_null(make_ready(room, rev, handle));
	rev->used = 0;
	assert_int_equal(revision_use(&room->images, rev, &used, &wait), 0);
	assert_ptr_equal(used, handle);
	assert_true(rev->used > 0);
	assert_ptr_equal(make_cold(room, rev), handle);
	assert_int_equal(rev->state, STATE_COLD);
	assert_int_equal(rev->gsym_size, SIZE);
	assert_null(rev->handle);
	handle_put(handle);
	handle_put(used);
}

static void a_stale_revision_is_not_opened(void **state)
{
	struct fixture *room = *state;
	struct handle *handle = new_handle();
	put_new(room, debug());
	struct revision *rev = current(room);
	rev->stale = true;
	assert_ptr_equal(make_ready(room, rev, handle), handle);
	assert_int_equal(rev->state, STATE_COLD);
	assert_null(rev->handle);
	handle_put(handle);
}

static void replaced_while_open(void **state)
{
	struct fixture *room = *state;
	put_new(room, debug());
	struct revision *rev = current(room);
	assert_null(make_ready(room, rev, new_handle()));
	scanned(room, -EIO);
	put(room, WITH(debug(), w.ino = 1, w.ctime_ns = 1));
	assert_true(rev->stale);
	assert_int_equal(rev->state, STATE_COLD);
	assert_int_equal(current(room)->state, STATE_COLD);
	assert_int_equal(current(room)->gsym_size, 0);
}

/* A reader that finds the cache file damaged closes the image, unless it was opened anew meanwhile. */
static void lost(void **state)
{
	struct fixture *room = *state;
	struct cache cache = {.dir = -1};
	struct handle *handle = new_handle(), *before = new_handle();
	put_new(room, debug());
	struct revision *rev = current(room);
	assert_null(make_ready(room, rev, handle));
	assert_false(revision_lose(&room->images, &cache, rev, before, "reason"));
	assert_int_equal(rev->state, STATE_READY);
	assert_true(revision_lose(&room->images, &cache, rev, handle, "reason"));
	assert_int_equal(rev->state, STATE_COLD);
	assert_string_equal(rev->reason, "reason");
	handle_put(before);
}

static void the_least_used_is_closed(void **state)
{
	struct fixture *room = *state;
	struct revision *all[OPEN_MAX_IMAGES + 1];
	for (int i = 0; i <= OPEN_MAX_IMAGES; i++) {
		char id[24];
		snprintf(id, sizeof(id), "%020d", i);
		put_as(room, id, WITH(debug(), w.ino = ++room->ino));
		all[i] = revision_of(room, id);
		struct handle *evicted = make_ready(room, all[i], new_handle());
		all[i]->used = i == 77 ? 5 : 1000 + i;
		assert_int_equal(evicted != NULL, i == OPEN_MAX_IMAGES);
		handle_put(evicted);
	}
	for (int i = 0; i <= OPEN_MAX_IMAGES; i++)
		assert_int_equal(all[i]->state, i == 77 ? STATE_COLD : STATE_READY);
}

/* What failed images remember is bounded, and given back. */
static void inputs_are_bounded(void **state)
{
	struct fixture *room = *state;
	enum { MANY = 40 << 20 };
	put_new(room, debug());
	struct revision *rev = current(room);
	mutex_lock(&room->images.lock);
	for (int i = 0; i < 3; i++) {
		char *inputs = malloc(MANY + 1);
		memset(inputs, 'x', MANY);
		inputs[MANY] = 0;
		revision_set_inputs(&room->images, rev, inputs);
		assert_non_null(rev->inputs);
		assert_int_equal(room->images.inputs_bytes, MANY);
	}
	struct revision other = {.image = rev->image};
	char *inputs = malloc(MANY + 1);
	memset(inputs, 'x', MANY);
	inputs[MANY] = 0;
	revision_set_inputs(&room->images, &other, inputs);
	assert_null(other.inputs);
	assert_int_equal(room->images.inputs_bytes, MANY);
	revision_set_inputs(&room->images, rev, NULL);
	assert_int_equal(room->images.inputs_bytes, 0);
	mutex_unlock(&room->images.lock);
}

/* ---- Converted files in memory ---- */

/* That of a file of @owner, converted to @size bytes in memory and used at @used. */
static struct revision *keep(struct fixture *room, uid_t owner, size_t size, int64_t used)
{
	static _Atomic uint64_t sum;
	char id[24], name[24];
	unsigned n = (unsigned)++room->ino;
	snprintf(id, sizeof(id), "%016x", n);
	snprintf(name, sizeof(name), "kept%u", n);
	put_as(room, id, WITH(program(SOURCE_DWARF), w.path = name, w.ino = n, w.uid = owner));
	struct revision *rev = revision_of(room, id);
	struct handle *handle = new_handle();
	handle->in_memory = &sum;
	handle->map_size = size;
	assert_null(make_ready(room, rev, handle));
	rev->used = used;
	rev->fresh = false;
	return rev;
}

static bool drop(struct fixture *room, uid_t owner, uint64_t size)
{
	return images_drop_kept(&room->images, owner, size);
}

static void the_least_used_in_memory_goes(void **state)
{
	struct fixture *room = *state;
	struct revision *c = keep(room, OWNER, 10, 3), *a = keep(room, OWNER, 10, 1),
			*b = keep(room, OWNER, 10, 2);
	put_new(room, debug());
	assert_null(make_ready(room, current(room), new_handle())); /* in the cache, and used long ago */
	current(room)->used = 0;
	assert_true(drop(room, OWNER, 1));
	assert_int_equal(a->state, STATE_COLD);
	struct handle *used = handle_get(b->handle);
	assert_true(drop(room, OWNER, 1));
	assert_int_equal(b->state, STATE_READY);
	assert_int_equal(c->state, STATE_COLD);
	assert_false(drop(room, OWNER, 1));
	handle_put(used);
	b->fresh = true; /* for calls that are about to use it */
	assert_false(drop(room, OWNER, 1));
	b->ahead = true;
	assert_true(drop(room, OWNER, 1));
	assert_int_equal(current(room)->state, STATE_READY);
}

static void owners_have_shares_of_memory(void **state)
{
	struct fixture *room = *state;
	struct revision *small = keep(room, STRANGER, 30, 1), *old = keep(room, OWNER, 40, 2);
	struct revision *more = keep(room, OWNER, 40, 3);
	/* The other one has more, also with what room is made for. */
	assert_true(drop(room, STRANGER, 20));
	assert_int_equal(old->state, STATE_COLD);
	/* Who would have the most gives it, whatever others used longer ago. */
	assert_true(drop(room, OWNER, 40));
	assert_int_equal(more->state, STATE_COLD);
	/* And takes nothing from one who has less. */
	assert_false(drop(room, OWNER, 40));
	assert_int_equal(small->state, STATE_READY);
	assert_true(drop(room, OWNER, 20));
	assert_int_equal(small->state, STATE_COLD);
	assert_false(drop(room, OWNER, 1));
}

/* ---- Complaints ---- */

static void one_complaint_a_minute(void **state)
{
	struct fixture *room = *state;
	put_new(room, debug());
	struct revision *rev = current(room);
	assert_true(revision_complain(&room->images, rev, "first"));
	assert_false(revision_complain(&room->images, rev, "second"));
	assert_string_equal(rev->reason, "second");
	rev->complained -= 60;
	assert_true(revision_complain(&room->images, rev, "third"));
	rev->complained = INT64_MAX / 2; /* the clock was set back */
	assert_true(revision_complain(&room->images, rev, "fourth"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(program_completes),
		cmocka_unit_test(program_that_fewer_may_read),
		cmocka_unit_test(gsym_beside_the_program),
		TEST(gsym_beside_a_stripped_program),
		TEST(strangers_gsym_beside_a_stripped_program),
		cmocka_unit_test(richest_first),
		TEST(copies_do_not_replace_each_other),
		TEST(what_makes_another_revision),
		TEST(program_that_changes),
		TEST(revisions_are_made_when_asked_for),
		TEST(files_that_go),
		TEST(files_that_come_and_go_leave_nothing),
		TEST(files_that_were_asked_leave_nothing),
		TEST(a_reader_keeps_what_it_found),
		TEST(a_pin_keeps_a_revision),
		TEST(pinned_when_it_is_to_be_freed),
		TEST(a_call_forgets_what_it_waited_for),
		TEST(a_revision_in_use_is_kept),
		TEST(permissions_of_all_paths),
		TEST(permissions_of_a_changed_file),
		TEST(waits),
		TEST(failures),
		TEST(open_and_closed),
		TEST(a_stale_revision_is_not_opened),
		TEST(replaced_while_open),
		TEST(lost),
		TEST(the_least_used_is_closed),
		TEST(inputs_are_bounded),
		TEST(the_least_used_in_memory_goes),
		TEST(owners_have_shares_of_memory),
		TEST(one_complaint_a_minute),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
