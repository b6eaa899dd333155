/* Opening files of the tree: what the kernel is told of each kind, what is kept and for whom, what fails. */
#include "tests/unit/fs/tree/tree_files_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tests/lib/unit.h"

/* Of files that keep nothing themselves, or what lies in the page cache. */
static void opened_kept(bool keeps_file)
{
	assert_int_equal(replies.n, 1);
	assert_int_equal(replies.err, 0);
	assert_true(replies.as.keep_cache);
	assert_false(replies.as.direct_io);
	assert_true(keeps_file == (replies.as.fh != 0));
	if (keeps_file)
		assert_false(last_file()->direct);
}

static void opened_direct(void)
{
	assert_int_equal(replies.n, 1);
	assert_int_equal(replies.err, 0);
	assert_true(replies.as.direct_io);
	assert_false(replies.as.keep_cache);
	assert_true(last_file()->direct);
}

/* ---- q and log ---- */

/* Opens what is written to; its image is @image, NULL: the root's. */
static void opens_stream(uint64_t ino, struct image *image, const struct request *request)
{
	static const int flags[] = {O_WRONLY, O_RDWR, O_RDWR | O_TRUNC, O_WRONLY | O_APPEND};
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		opened_stream = (struct opened_stream){.image = (struct image *)-1};
		open_ino(ino, flags[i]);
		opened_direct();
		assert_int_equal(replies.as.flags, flags[i]);
		assert_non_null(last_file()->stream);
		assert_int_equal(opened_stream.n, 1);
		assert_int_equal(opened_stream.uid, OWNER);
		assert_true(opened_stream.is_log == !request);
		if (request) {
			assert_ptr_equal(opened_stream.image, image);
			assert_int_equal(opened_stream.request.kind, REQUEST_BATCH);
			assert_int_equal(opened_stream.request.format, request->format);
			assert_memory_equal(&opened_stream.request.context, &request->context,
					    sizeof(request->context));
		}
		close_last(ino);
	}
	open_ino(ino, O_RDONLY); /* a line of how it is used */
	opened_direct();
	assert_null(last_file()->stream);
	assert_non_null(last_file()->content);
	close_last(ino);
	opened_stream.fails = true;
	open_fails(ino, O_RDWR, ENOMEM);
	opened_stream.fails = false;
}

TEST(streams_of_the_root)
{
	const struct request q = batch_of((uint32_t)(found(INO_ROOT, "q") - INO_BATCH));
	const struct request json = batch_of((uint32_t)(found(INO_ROOT, "q.json") - INO_BATCH));
	assert_int_not_equal(q.format, json.format);
	opens_stream(INO_BATCH, NULL, &q);
	opens_stream(found(INO_ROOT, "q.json"), NULL, &json);
	opens_stream(found(INO_ROOT, "log"), NULL, NULL);
	/* Beyond the last q there is nothing. */
	open_fails(INO_BATCH + BATCH_CODES, O_RDONLY, ESTALE);
}

TEST(streams_of_an_image)
{
	uint64_t dir = found(INO_ROOT, ID), rva = found(dir, "rva");
	struct image *image = current(t.f)->image;
	struct request request;
	name_parse(PLACE_IMAGE, &(struct context){.space = SPACE_LINK}, "q.json", &request);
	opens_stream(found(dir, "q.json"), image, &request);
	name_parse(PLACE_IMAGE, &(struct context){.space = SPACE_RVA}, "q", &request);
	opens_stream(found(rva, "q"), image, &request);
}

/* Below base/<load>, where the table of nodes knows it. */
TEST(streams_of_a_load_address)
{
	uint64_t load = found(found(found(INO_ROOT, ID), "base"), "0x7000");
	uint64_t q = found(load, "q");
	open_ino(q, O_RDWR);
	opened_direct();
	assert_ptr_equal(opened_stream.image, current(t.f)->image);
	assert_int_equal(opened_stream.request.kind, REQUEST_BATCH);
	assert_int_equal(opened_stream.request.context.space, SPACE_RUNTIME);
	assert_int_equal(opened_stream.request.context.load, 0x7000);
	close_last(q);
}

/* O_TRUNC has the kernel believe in a size, which is counted, whatever the file is. */
TEST(truncated)
{
	found(INO_ROOT, "q");
	uint64_t told = atomic_load(&t.tree.sizes_told);
	open_ino(INO_BATCH, O_RDWR);
	close_last(INO_BATCH);
	assert_int_equal(atomic_load(&t.tree.sizes_told), told);
	open_ino(INO_BATCH, O_RDWR | O_TRUNC);
	close_last(INO_BATCH);
	assert_int_equal(atomic_load(&t.tree.sizes_told), told + 1);
}

/* ---- Other files ---- */

/* Nothing but q and log is written to. */
static void written(uint64_t ino)
{
	static const int flags[] = {O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC, O_WRONLY | O_TRUNC};
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		open_fails(ino, flags[i], EROFS);
}

TEST(answers_of_addresses)
{
	uint64_t image = found(INO_ROOT, ID);
	open_image(ID);
	uint64_t answer = found(image, "0x1010");
	open_ino(answer, O_RDONLY);
	opened_kept(false);
	assert_int_equal(open_files_count(&t.tree.open_files), 0);
	struct fuse_file_info info = replies.as;
	replies.n = 0;
	ops_release(NULL, answer, &info);
	failed_with(0);
	written(answer);
	nodes_forget(&t.tree.nodes, answer, 1);
	open_fails(answer, O_RDONLY, ESTALE);
}

/* What is no file, or no longer one. */
TEST(no_files)
{
	uint64_t image = found(INO_ROOT, ID);
	open_fails(INO_ROOT, O_RDONLY, ESTALE);
	open_fails(INO_BY_NAME, O_RDONLY, EISDIR);
	open_fails(INO_BY_PATH, O_RDONLY, EISDIR);
	open_fails(image, O_RDONLY, EISDIR);
	open_fails(found(image, "rva"), O_RDONLY, EISDIR);
	written(image);
	open_fails(INO_ADDRESS | 77, O_RDONLY, ESTALE);
	open_fails(ino_make(NODE_IMAGE_FILE, 12345, 0), O_RDONLY, ESTALE);
	open_fails(ino_make(NODE_BATCH, 12345, 0), O_RDONLY, ESTALE);
	open_fails(ino_make(NODE_BATCH, 12345, 0), O_RDWR, ESTALE);
}

/* Files that are made when they are opened. */
TEST(made_files)
{
	uint64_t image = found(INO_ROOT, ID), readme = found(INO_ROOT, "README"),
		 status = found(image, "status");
	open_ino(readme, O_RDONLY);
	opened_direct();
	assert_non_null(last_file()->content);
	close_last(readme);
	written(readme);
	open_ino(status, O_RDONLY);
	opened_direct();
	assert_int_equal(last_file()->content->size, strlen("status"));
	close_last(status);
	written(status);
}

TEST(snapshots)
{
	uint64_t status = found(INO_ROOT, "status");
	open_ino(status, O_RDONLY);
	opened_kept(true);
	assert_int_equal(last_file()->content->size, entry.attr.st_size);
	struct content *content = last_file()->content;
	assert_int_equal(atomic_load(&content->refs), 2); /* with that of its node */
	nodes_forget(&t.tree.nodes, status, 1);
	assert_int_equal(atomic_load(&content->refs), 1);
	close_last(status);
	open_fails(status, O_RDONLY, ESTALE);
	/* The last one stays; one whose content was dropped is looked up again. */
	t.tree.nodes.content_max = 0;
	status = found(INO_ROOT, "status");
	open_ino(status, O_RDONLY);
	close_last(status);
	found(INO_ROOT, "status");
	open_fails(status, O_RDONLY, ESTALE);
}

TEST(image_files)
{
	uint64_t image = found(INO_ROOT, ID);
	struct handle *handle = open_image(ID);
	uint64_t gsym = found(image, "image.gsym");
	open_ino(gsym, O_RDONLY);
	opened_kept(true);
	assert_ptr_equal(last_file()->handle, handle);
	assert_int_equal(atomic_load(&handle->refs), 2);
	close_last(gsym);
	assert_int_equal(atomic_load(&handle->refs), 1);
	written(gsym);
}

/* An image that is not open yet is waited for; what it fails with is the answer. */
TEST(opened_later)
{
	uint64_t image = found(INO_ROOT, ID);
	struct revision *rev = current(t.f);
	struct handle *handle = open_image(ID);
	uint64_t gsym = found(image, "image.gsym");
	mutex_lock(&t.f->images.lock);
	assert_ptr_equal(revision_set_cold(&t.f->images, rev), handle);
	mutex_unlock(&t.f->images.lock);
	open_ino(gsym, O_RDONLY);
	assert_int_equal(replies.n, 0);
	assert_null(make_ready(t.f, rev, handle));
	go_on();
	opened_kept(true);
	assert_ptr_equal(last_file()->handle, handle);
	close_last(gsym);
	mutex_lock(&t.f->images.lock);
	assert_ptr_equal(revision_set_cold(&t.f->images, rev), handle);
	revision_set_state(&t.f->images, rev, STATE_OPENING);
	revision_set_failed(&t.f->images, rev, -EIO, "damaged");
	mutex_unlock(&t.f->images.lock);
	handle_put(handle);
	open_fails(gsym, O_RDONLY, EIO);
}

/* ---- What is kept ---- */

/* A client that was interrupted never releases what it does not know to be open. */
TEST(interrupted)
{
	static const struct {
		const char *name;
		int outcome;
		unsigned n;
	} rows[] = {
		{"q", -ENOENT, 0},
		{"status", -ENOENT, 0},
		{"README", -ENOENT, 0},
		{"q", -EINVAL, 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ino = found(INO_ROOT, rows[i].name);
		open_outcome = rows[i].outcome;
		open_ino(ino, O_RDONLY);
		assert_int_equal(replies.n, 1);
		assert_int_equal(open_files_count(&t.tree.open_files), rows[i].n);
		if (rows[i].n)
			close_last(ino);
	}
}

/* What is open is counted for the user who opened it, who may hold only so much. */
TEST(accounts)
{
	static const char *const names[] = {"q", "log", "README", "status"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		t.caller = (struct fuse_ctx){.uid = STRANGER, .gid = STRANGER};
		uint64_t ino = found(INO_ROOT, names[i]);
		open_ino(ino, O_RDONLY);
		assert_int_equal(replies.err, 0);
		assert_true(held_by(STRANGER) >= sizeof(struct open_file));
		assert_int_equal(held_by(OWNER), 0);
		close_last(ino);
		assert_int_equal(held_by(STRANGER), 0);
		struct account *account = account_get(&t.answers.accounts, STRANGER);
		size_t charged = 0;
		account_charge(account, ACCOUNT_FILES, ACCOUNT_FILES_MAX, &charged);
		open_fails(ino, O_RDONLY, ENFILE);
		t.caller = (struct fuse_ctx){.uid = OWNER, .gid = GROUP};
		open_ino(ino, O_RDONLY);
		assert_int_equal(replies.err, 0);
		close_last(ino);
		account_charge(account, ACCOUNT_FILES, 0, &charged);
		account_put(account);
	}
}

/* Each allocation of an OPEN fails in turn. */
TEST(without_memory)
{
	uint64_t image = found(INO_ROOT, ID);
	open_image(ID);
	const uint64_t inos[] = {found(INO_ROOT, "README"), found(INO_ROOT, "status"), found(image, "status"),
				 found(image, "image.gsym")};
	for (size_t i = 0; i < ARRAY_SIZE(inos); i++) {
		long n = 0;
		do {
			allowed = n++;
			open_ino(inos[i], O_RDONLY);
			allowed = -1;
			assert_int_equal(replies.n, 1);
			assert_true(!replies.err || replies.err == ENOMEM);
			assert_int_equal(open_files_count(&t.tree.open_files), replies.err == 0);
		} while (replies.err);
		assert_true(n > 2);
		close_last(inos[i]);
	}
}

/* What cannot be made is out of memory. */
TEST(not_made)
{
	struct call call = {.ino = INO_BATCH};
	assert_int_equal(open_reply_content(&call, NULL), -ENOMEM);
	assert_int_equal(open_reply_stream(&call, NULL), -ENOMEM);
	assert_int_equal(replies.n, 0);
	assert_int_equal(open_files_count(&t.tree.open_files), 0);
}

EACH_TEST(files_set_up, files_tear_down)
