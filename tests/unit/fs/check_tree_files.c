/*
 * Reading and writing files of the tree: which bytes are replied with, what is made again, what a write is
 * passed on as, and what the kernel is told of sizes.
 */
#include "tree_files_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/answer/tsv_file.h"
#include "fs/tree/attr.h"
#include "fs/tree/stream_size.h"
#include "gsym/base/text_buf.h"
#include "tests/lib/unit.h"

/* ---- In place of what is read and written ---- */

/* What streams and tables were asked, and what they answer. */
static struct {
	int err; /* to be returned */
	unsigned reads, table_reads, writes, sizes;
	void (*during)(const struct call *call); /* a read */
	uint64_t off;
	bool append;
	char bytes[16];
	size_t size;
	uint64_t ino, appended;
	const struct open_file *file;
} asked;

int __wrap_stream_read(struct stream *stream, struct call *call);
int __wrap_stream_write(struct stream *stream, uint64_t off, bool append, const void *bytes, size_t size);
int __wrap_tsv_file_read(struct tsv_file *file, struct call *call);
void __wrap_tsv_file_free(struct tsv_file *file);
void __wrap_stream_size_written(struct tree *tree, uint64_t ino, struct open_file *file, uint64_t appended);
int __wrap_handle_check(const struct handle *handle);
void __wrap_answers_report_corrupt(const struct answers *answers, struct revision *rev,
				   const struct handle *handle, int err, const char *text);

static int answer_read(struct call *call)
{
	if (asked.during)
		asked.during(call);
	if (!asked.err)
		fuse_reply_buf(call->req, "answers", strlen("answers"));
	else if (asked.err == -EAGAIN)
		call->wait = (struct wait){.park = t.f->images.open};
	return asked.err;
}

int __wrap_stream_read(struct stream *stream, struct call *call)
{
	assert_ptr_equal(stream, ((struct open_file *)(uintptr_t)call->info.fh)->stream);
	asked.reads++;
	return answer_read(call);
}

int __wrap_tsv_file_read(struct tsv_file *file, struct call *call)
{
	assert_ptr_equal(file, ((struct open_file *)(uintptr_t)call->info.fh)->table);
	asked.table_reads++;
	return answer_read(call);
}

void __wrap_tsv_file_free(struct tsv_file *file)
{
	(void)file;
}

int __wrap_stream_write(struct stream *stream, uint64_t off, bool append, const void *bytes, size_t size)
{
	assert_non_null(stream);
	assert_true(size <= sizeof(asked.bytes));
	asked.writes++;
	asked.off = off;
	asked.append = append;
	asked.size = size;
	memcpy(asked.bytes, bytes, size);
	return asked.err;
}

void __wrap_stream_size_written(struct tree *tree, uint64_t ino, struct open_file *file, uint64_t appended)
{
	assert_ptr_equal(tree, &t.tree);
	assert_int_equal(replies.n, 0); /* the reply comes after it */
	asked.sizes++;
	asked.ino = ino;
	asked.file = file;
	asked.appended = appended;
}

/* Of an image that is read. */
static struct {
	int check;
	unsigned n;
	const struct revision *rev;
	const struct handle *handle;
	int err;
} corrupt;

int __wrap_handle_check(const struct handle *handle)
{
	(void)handle;
	return corrupt.check;
}

void __wrap_answers_report_corrupt(const struct answers *answers, struct revision *rev,
				   const struct handle *handle, int err, const char *text)
{
	assert_ptr_equal(answers, &t.answers);
	assert_null(text);
	corrupt.n++;
	corrupt.rev = rev;
	corrupt.handle = handle;
	corrupt.err = err;
}

static int set_up(void **state)
{
	memset(&asked, 0, sizeof(asked));
	memset(&corrupt, 0, sizeof(corrupt));
	return files_set_up(state);
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
		assert_int_equal(asked.reads, 0);
		close_last(ino);
	}
}

/* The client may close the file before the read is over on this thread. */
static void release_meanwhile(const struct call *call)
{
	struct fuse_file_info info = call->info;
	struct open_file *file = (struct open_file *)(uintptr_t)info.fh;
	assert_int_equal(atomic_load(&file->refs), 2);
	ops_release(NULL, call->ino, &info);
	replies.n = 0;
	assert_int_equal(atomic_load(&file->refs), 1);
}

TEST(streams)
{
	open_ino(INO_BATCH, O_RDWR);
	read_at(INO_BATCH, 100, 0);
	replied_with("answers");
	assert_int_equal(asked.reads, 1);
	asked.err = -EIO;
	read_at(INO_BATCH, 100, 0);
	failed_with(EIO);
	asked.err = -EAGAIN;
	read_at(INO_BATCH, 100, 0);
	assert_int_equal(replies.n, 0);
	assert_int_equal(atomic_load(&last_file()->refs), 1);
	asked.err = 0;
	asked.during = release_meanwhile;
	go_on();
	replied_with("answers");
	assert_int_equal(asked.reads, 4);
	assert_int_equal(open_files_count(&t.tree.open_files), 0);
}

TEST(tables)
{
	static char table;
	struct open_file *file;
	assert_int_equal(open_file_new(&t.tree.open_files,
				       &(struct open_file){.table = (struct tsv_file *)&table}, OWNER, &file),
			 0);
	replies.as.fh = (uintptr_t)file;
	read_at(INO_BATCH, 100, 0);
	replied_with("answers");
	assert_int_equal(asked.table_reads, 1);
	asked.err = -ENOMEM;
	read_at(INO_BATCH, 100, 0);
	failed_with(ENOMEM);
	assert_int_equal(asked.table_reads, 2);
	close_last(INO_BATCH);
}

/* Of an image.gsym whose file was cut short the reader gets an error, and it is reported. */
TEST(image_files)
{
	uint64_t image = found(INO_ROOT, ID);
	struct revision *rev = current(t.f);
	struct handle *handle = open_image(ID);
	handle->gsym.data = (const void *)"answer";
	handle->gsym.size = 6;
	uint64_t gsym = found(image, "image.gsym");
	open_ino(gsym, O_RDONLY);
	read_windows(gsym);
	assert_int_equal(corrupt.n, 0);
	corrupt.check = -EFAULT;
	data_size = SIZE_MAX;
	read_at(gsym, 100, 0);
	failed_with(EIO);
	assert_int_equal(data_size, SIZE_MAX);
	assert_int_equal(corrupt.n, 1);
	assert_ptr_equal(corrupt.rev, rev);
	assert_ptr_equal(corrupt.handle, handle);
	assert_int_equal(corrupt.err, -EFAULT);
	/* Or the kernel meets the fault. */
	corrupt.check = 0;
	reply_outcome = -EFAULT;
	read_at(gsym, 100, 0);
	assert_int_equal(corrupt.n, 2);
	assert_int_equal(corrupt.err, -EFAULT);
	reply_outcome = -ENOENT;
	read_at(gsym, 100, 0);
	assert_int_equal(corrupt.n, 2);
	/* Of an image that is gone there is nothing to report. */
	reply_outcome = -EFAULT;
	read_at(ino_make(NODE_IMAGE_FILE, 12345, 0), 100, 0);
	assert_int_equal(corrupt.n, 2);
	reply_outcome = 0;
	close_last(gsym);
	assert_int_equal(atomic_load(&handle->refs), 1);
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
		uint64_t appended;
	} rows[] = {
		{"0x10\n", 0, O_WRONLY, 0},
		{"0x20\n", 7, O_RDWR, 0},
		{"0x30\n", 7, O_RDWR | O_APPEND, 12},
		{"0x1\n", 0, O_WRONLY | O_APPEND, 4},
		{"", 9, O_WRONLY, 0},
		{"0", INT64_MAX, O_WRONLY, 0},
	};
	open_ino(INO_BATCH, O_RDWR);
	struct open_file *file = last_file();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		write_at(INO_BATCH, rows[i].bytes, rows[i].off, rows[i].flags);
		failed_with(0);
		assert_int_equal(replies.written, strlen(rows[i].bytes));
		assert_int_equal(asked.writes, i + 1);
		assert_int_equal(asked.sizes, i + 1);
		assert_int_equal(asked.off, rows[i].off);
		assert_int_equal(asked.append, (rows[i].flags & O_APPEND) != 0);
		assert_int_equal(asked.size, strlen(rows[i].bytes));
		assert_memory_equal(asked.bytes, rows[i].bytes, asked.size);
		assert_int_equal(asked.ino, INO_BATCH);
		assert_ptr_equal(asked.file, file);
		assert_int_equal(asked.appended, rows[i].appended);
		assert_int_equal(atomic_load(&file->refs), 1);
	}
	close_last(INO_BATCH);
}

/* A write that fails tells nothing of sizes. */
TEST(failed_writes)
{
	uint64_t readme = found(INO_ROOT, "README");
	open_ino(INO_BATCH, O_RDWR);
	write_at(INO_BATCH, "0x10\n", -1, O_WRONLY);
	failed_with(EINVAL);
	assert_int_equal(asked.writes, 0);
	asked.err = -ENOSPC;
	write_at(INO_BATCH, "0x10\n", 0, O_WRONLY);
	failed_with(ENOSPC);
	assert_int_equal(asked.writes, 1);
	assert_int_equal(atomic_load(&last_file()->refs), 1);
	close_last(INO_BATCH);
	/* What is no stream, and what is not open. */
	asked.err = 0;
	open_ino(readme, O_RDONLY);
	write_at(readme, "0x10\n", 0, O_WRONLY);
	failed_with(EROFS);
	close_last(readme);
	replies.as.fh = 0;
	write_at(readme, "0x10\n", 0, O_WRONLY);
	failed_with(EROFS);
	assert_int_equal(asked.writes, 1);
	assert_int_equal(asked.sizes, 0);
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
