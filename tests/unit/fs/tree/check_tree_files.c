/*
 * Reading and writing files of the tree: which bytes are replied with, what is made again, and what a write
 * adds to the input of a q.
 */
#include "tests/unit/fs/tree/tree_files_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/answer/stream.h"
#include "fs/tree/attr.h"
#include "tests/lib/unit.h"
#include "work/cache/handle.h"
#include "work/os/guard.h"

/* ---- What the kernel is told of sizes ---- */

static unsigned notified;

int __wrap_fuse_lowlevel_notify_store(struct fuse_session *session, fuse_ino_t ino, off_t offset,
				      struct fuse_bufvec *bytes, enum fuse_buf_copy_flags flags)
{
	(void)session, (void)offset, (void)bytes, (void)flags;
	assert_int_equal(ino, INO_BATCH);
	assert_int_equal(replies.n, 0); /* the reply comes after it */
	notified++;
	return 0;
}

static int set_up(void **state)
{
	static const struct log quiet;
	int err = files_set_up(state);
	notified = 0;
	t.answers.cache = &t.cache;
	t.answers.log = &quiet;
	return err;
}

/* ---- Reading ---- */

static const struct window {
	size_t size;
	off_t off;
	const char *bytes; /* of "answer" */
} windows[] = {
	{100, 0, "answer"}, {6, 0, "answer"},     {5, 0, "answe"},      {1, 0, "a"},
	{0, 0, ""},         {100, 1, "nswer"},    {2, 3, "we"},         {1, 5, "r"},
	{2, 5, "r"},        {100, 6, ""},         {100, 7, ""},         {0, 6, ""},
	{100, -1, ""},      {100, INT64_MIN, ""}, {100, INT64_MAX, ""}, {100, INT64_C(1) << 32, ""},
};

static void read_windows(uint64_t ino)
{
	for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
		read_at(ino, windows[i].size, windows[i].off);
		replied_with(windows[i].bytes);
	}
}

TEST(answers_of_addresses)
{
	uint64_t image = found(INO_ROOT, ID);
	open_image(ID);
	uint64_t answer = found(image, "0x1010");
	unsigned n = made.n;
	open_ino(answer, O_RDONLY);
	read_windows(answer);
	assert_int_equal(made.n, n); /* it was kept */
	nodes_forget(&t.tree.nodes, answer, 1);
	read_at(answer, 100, 0);
	failed_with(ESTALE);
}

/* Content that was dropped is made again, for the same request. */
TEST(answers_made_again)
{
	static const struct {
		int err;
		int reply;
	} rows[] = {{-ENOENT, EIO}, {-EIO, EIO}, {-ENOMEM, ENOMEM}};
	uint64_t image = found(INO_ROOT, ID);
	t.tree.nodes.content_max = 0;
	struct handle *handle = open_image(ID);
	uint64_t answer = found(image, "0x1010");
	for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
		made.n = 0;
		made.address = 0;
		read_at(answer, windows[i].size, windows[i].off);
		replied_with(windows[i].bytes);
		assert_int_equal(made.n, 1);
		assert_int_equal(made.address, 0x1010);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		made.err = rows[i].err;
		read_at(answer, 100, 0);
		failed_with(rows[i].reply);
	}
	made.err = 0;
	assert_int_equal(atomic_load(&handle->refs), 1);
}

/* An image that was closed meanwhile is waited for, and may fail. */
TEST(answers_of_closed_images)
{
	uint64_t image = found(INO_ROOT, ID);
	struct revision *rev = current(t.f);
	t.tree.nodes.content_max = 0;
	struct handle *handle = open_image(ID);
	uint64_t answer = found(image, "0x1010");
	mutex_lock(&t.f->images.lock);
	assert_ptr_equal(revision_set_cold(&t.f->images, rev), handle);
	mutex_unlock(&t.f->images.lock);
	read_at(answer, 3, 1);
	assert_int_equal(replies.n, 0);
	assert_int_equal(data_size, SIZE_MAX);
	assert_null(make_ready(t.f, rev, handle));
	go_on();
	replied_with("nsw");
	mutex_lock(&t.f->images.lock);
	assert_ptr_equal(revision_set_cold(&t.f->images, rev), handle);
	revision_set_state(&t.f->images, rev, STATE_OPENING);
	revision_set_failed(&t.f->images, rev, -EACCES, "closed");
	mutex_unlock(&t.f->images.lock);
	handle_put(handle);
	made.n = 0;
	read_at(answer, 3, 1);
	failed_with(EACCES);
	assert_int_equal(made.n, 0);
}

TEST(no_files)
{
	uint64_t image = found(INO_ROOT, ID);
	uint64_t load = found(found(image, "base"), "0x7000");
	open_image(ID);
	const struct {
		uint64_t ino;
		int err;
	} rows[] = {
		{INO_ROOT, EISDIR},         {image, EISDIR}, {load, EISDIR},
		{found(load, "q"), EISDIR}, /* without a file that is open */
		{INO_ADDRESS | 77, ESTALE},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		read_at(rows[i].ino, 100, 0);
		failed_with(rows[i].err);
	}
}

/* An open file keeps what it had, however it came to it. */
TEST(kept_content)
{
	struct content *content = content_new("answer", 6);
	uint64_t status = found(INO_ROOT, "status");
	struct open_file *file;
	assert_int_equal(
		open_file_new(&t.tree.open_files, &(struct open_file){.content = content}, OWNER, &file), 0);
	replies.as.fh = (uintptr_t)file;
	read_windows(INO_BATCH);
	/* Through the page cache, too: it is not opened for direct I/O. */
	struct fuse_file_info info = {.fh = (uintptr_t)file};
	ops_read(NULL, INO_BATCH, 2, 1, &info);
	replied_with("ns");
	close_last(INO_BATCH);
	open_ino(status, O_RDONLY);
	nodes_forget(&t.tree.nodes, status, 1);
	read_at(status, 5, 0);
	assert_int_equal(data_size, 5);
	assert_memory_equal(data, "state", 5);
	close_last(status);
}

/* What a file holds that is opened for direct I/O never gets into the page cache, which all share. */
TEST(pages)
{
	static const char *const names[] = {"q", "log", "README"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint64_t ino = found(INO_ROOT, names[i]);
		open_ino(ino, O_RDONLY);
		struct fuse_file_info info = replies.as;
		replies.n = 0;
		data_size = SIZE_MAX;
		ops_read(NULL, ino, 100, 0, &info);
		failed_with(EINVAL);
		assert_int_equal(data_size, SIZE_MAX);
		close_last(ino);
	}
}

/* The image is open, from a file of the cache with the text "answer". */
static struct handle *open_file_of_cache(const struct revision *rev, FILE *file)
{
	int fd = fileno(file);
	assert_int_equal(write(fd, "answer", 6), 6);
	assert_int_equal(trailer_write(fd, rev->key.text, 6, (struct span){0}, (struct span){0}), 0);
	struct handle *handle = open_image(ID);
	handle->map_size = (size_t)lseek(fd, 0, SEEK_END);
	handle->map = mmap(NULL, handle->map_size, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(handle->map, MAP_FAILED);
	handle->gsym = (struct span){handle->map, 6};
	return handle;
}

/* Of an image.gsym whose file was cut short the reader gets an error, and the image is made again. */
TEST(image_files)
{
	uint64_t image = found(INO_ROOT, ID);
	struct revision *rev = current(t.f);
	assert_int_equal(guard_install(), 0); /* cmocka has handlers of its own for the time of a test */
	for (int by_kernel = 0; by_kernel < 2; by_kernel++) {
		FILE *file = tmpfile();
		assert_non_null(file);
		const struct handle *handle = open_file_of_cache(rev, file);
		uint64_t gsym = found(image, "image.gsym");
		open_ino(gsym, O_RDONLY);
		read_windows(gsym);
		reply_outcome = -ENOENT;
		read_at(gsym, 100, 0);
		assert_ptr_equal(rev->handle, handle);
		/* Of an image that is gone nothing is lost. */
		reply_outcome = -EFAULT;
		read_at(ino_make(NODE_IMAGE_FILE, 12345, 0), 100, 0);
		assert_ptr_equal(rev->handle, handle);
		reply_outcome = by_kernel ? -EFAULT : 0;
		if (!by_kernel)
			assert_int_equal(ftruncate(fileno(file), 0), 0);
		data_size = SIZE_MAX;
		read_at(gsym, 100, 0);
		if (!by_kernel) {
			failed_with(EIO);
			assert_int_equal(data_size, SIZE_MAX);
		}
		assert_null(rev->handle);
		assert_int_equal(rev->state, STATE_COLD);
		assert_non_null(strstr(rev->reason, "truncated"));
		assert_int_equal(atomic_load(&handle->refs), 1);
		reply_outcome = 0;
		close_last(gsym);
		fclose(file);
	}
}

/* ---- Writing ---- */

static void write_at(uint64_t ino, const char *bytes, off_t off, int flags)
{
	struct fuse_file_info info = replies.as;
	info.flags = flags;
	replies.n = 0;
	replies.err = NEVER_REPLIED;
	replies.written = 12345;
	ops_write(NULL, ino, bytes, strlen(bytes), off, &info);
	assert_int_equal(replies.n, 1);
}

TEST(writes)
{
	static const struct {
		const char *bytes;
		off_t off;
		int flags;
		size_t input;
		unsigned notified; /* once, and of each end that the kernel found */
	} rows[] = {
		{"0x10\n", 0, O_WRONLY, 5, 1},
		{"0x20\n", 5, O_RDWR, 10, 1},
		{"0x1\n", 7, O_RDWR | O_APPEND, 14, 2},
		{"", 9, O_WRONLY, 14, 2},
	};
	open_ino(INO_BATCH, O_RDWR);
	struct open_file *file = last_file();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		write_at(INO_BATCH, rows[i].bytes, rows[i].off, rows[i].flags);
		failed_with(0);
		assert_int_equal(replies.written, strlen(rows[i].bytes));
		assert_int_equal(notified, rows[i].notified);
		assert_int_equal(stream_buf_input(&file->stream->buf).size, rows[i].input);
		assert_int_equal(atomic_load(&file->refs), 1);
	}
	assert_memory_equal(stream_buf_input(&file->stream->buf).data, "0x10\n0x20\n0x1\n", 14);
	close_last(INO_BATCH);
}

/* A write that fails tells nothing of sizes. */
TEST(failed_writes)
{
	uint64_t readme = found(INO_ROOT, "README");
	open_ino(INO_BATCH, O_RDWR);
	write_at(INO_BATCH, "0x10\n", -1, O_WRONLY);
	failed_with(EINVAL);
	write_at(INO_BATCH, "0x10\n", INT64_MAX, O_WRONLY);
	failed_with(EFBIG);
	assert_int_equal(atomic_load(&last_file()->refs), 1);
	close_last(INO_BATCH);
	/* What is no stream, and what is not open. */
	open_ino(readme, O_RDONLY);
	write_at(readme, "0x10\n", 0, O_WRONLY);
	failed_with(EROFS);
	close_last(readme);
	replies.as.fh = 0;
	write_at(readme, "0x10\n", 0, O_WRONLY);
	failed_with(EROFS);
	assert_int_equal(notified, 0);
}

/* ---- Attributes that are set ---- */

static void set_attributes(uint64_t ino, int which)
{
	struct stat attr = {.st_size = 5};
	replies = (struct kernel_replies){.err = NEVER_REPLIED};
	ops_setattr(NULL, ino, &attr, which, NULL);
	assert_int_equal(replies.n, 1);
}

/* A shell may empty what is written to, which is always empty. */
TEST(emptied)
{
	uint64_t image = found(INO_ROOT, ID);
	uint64_t load = found(found(image, "base"), "0x7000");
	const uint64_t streams[] = {INO_BATCH, found(INO_ROOT, "q.json"), found(INO_ROOT, "log"),
				    found(image, "q"), found(load, "q")};
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
		uint64_t told = atomic_load(&t.tree.sizes_told);
		set_attributes(streams[i], FUSE_SET_ATTR_SIZE);
		failed_with(0);
		assert_int_equal(replies.attr.st_ino, streams[i]);
		assert_int_equal(replies.attr.st_mode, S_IFREG | 0666);
		assert_int_equal(replies.attr.st_size, 0);
		assert_true(replies.timeout == TIMEOUT_FIXED);
		assert_int_equal(atomic_load(&t.tree.sizes_told), told + 1); /* the kernel believes it */
	}
}

TEST(not_set)
{
	uint64_t image = found(INO_ROOT, ID);
	open_image(ID);
	const struct {
		uint64_t ino;
		int which;
	} rows[] = {
		{INO_BATCH, FUSE_SET_ATTR_MODE},
		{INO_BATCH, FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_MODE},
		{INO_BATCH, FUSE_SET_ATTR_MTIME},
		{INO_BATCH, 0},
		{found(INO_ROOT, "README"), FUSE_SET_ATTR_SIZE},
		{found(INO_ROOT, "status"), FUSE_SET_ATTR_SIZE},
		{found(image, "status"), FUSE_SET_ATTR_SIZE},
		{found(image, "0x1010"), FUSE_SET_ATTR_SIZE},
		{image, FUSE_SET_ATTR_SIZE},
		{INO_ADDRESS | 77, FUSE_SET_ATTR_SIZE},
	};
	uint64_t told = atomic_load(&t.tree.sizes_told);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_attributes(rows[i].ino, rows[i].which);
		failed_with(EROFS);
	}
	set_attributes(ino_make(NODE_BATCH, 12345, 0), FUSE_SET_ATTR_SIZE); /* of a revision that is gone */
	failed_with(ESTALE);
	assert_int_equal(atomic_load(&t.tree.sizes_told), told);
}

EACH_TEST(set_up, files_tear_down)
