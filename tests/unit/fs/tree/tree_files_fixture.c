#include "tests/unit/fs/tree/tree_files_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"

struct kernel_replies replies;
struct opened_stream opened_stream;
int open_outcome;
struct list parked;
static struct runners runners;

/* ---- In place of libfuse ---- */

int __wrap_fuse_reply_err(fuse_req_t req, int err)
{
	(void)req;
	replies.n++;
	replies.err = err;
	return 0;
}

int __wrap_fuse_reply_open(fuse_req_t req, const struct fuse_file_info *info)
{
	(void)req;
	replies.n++;
	replies.err = 0;
	replies.as = *info;
	return open_outcome;
}

int __wrap_fuse_reply_write(fuse_req_t req, size_t count)
{
	(void)req;
	replies.n++;
	replies.err = 0;
	replies.written = count;
	return 0;
}

int __wrap_fuse_reply_attr(fuse_req_t req, const struct stat *attr, double timeout)
{
	(void)req;
	replies.n++;
	replies.err = 0;
	replies.attr = *attr;
	replies.timeout = timeout;
	return 0;
}

void __wrap_fuse_req_interrupt_func(fuse_req_t req, fuse_interrupt_func_t function, void *user)
{
	(void)req, (void)function, (void)user;
}

/* ---- In place of q and log ---- */

static void free_stream(struct stream *stream)
{
	free(stream);
}

static const struct stream_kind stream_kind = {.free = free_stream};

static struct stream *new_stream(struct answers *answers, struct caller *caller)
{
	struct stream *stream = NULL;
	opened_stream.n++;
	opened_stream.uid = caller->uid;
	if (!opened_stream.fails) {
		stream = calloc(1, sizeof(*stream));
		assert_non_null(stream);
		assert_int_equal(stream_init(stream, &stream_kind, answers, caller->uid), 0);
	}
	caller_deinit(caller);
	return stream;
}

static struct stream *new_batch(struct answers *answers, struct image *image, const struct request *request,
				struct caller caller)
{
	opened_stream.is_log = false;
	opened_stream.image = image;
	opened_stream.request = *request;
	return new_stream(answers, &caller);
}

static struct stream *new_log(struct answers *answers, struct caller caller)
{
	opened_stream.is_log = true;
	return new_stream(answers, &caller);
}

/* ---- Files ---- */

static int park(void *opener, struct call *call)
{
	(void)opener;
	list_append(&parked, &call->link);
	return 0;
}

int files_set_up(void **state)
{
	tree_set_up(state);
	content_of_test.batch = new_batch;
	content_of_test.log = new_log;
	runners_init(&runners, &t.f->images.lock, &call_runner_kind, &t.f->images.readers);
	list_init(&parked);
	list_init(&t.answers.streams);
	t.tree.runners = &runners;
	t.f->images.open = park;
	opened_stream = (struct opened_stream){.n = 0};
	replies = (struct kernel_replies){.err = NEVER_REPLIED};
	open_outcome = 0;
	put_new(t.f, debug_file());
	scan_over();
	return 0;
}

int files_tear_down(void **state)
{
	assert_true(list_empty(&parked));
	runners_deinit(&runners);
	return tree_tear_down(state);
}

struct open_file *last_file(void)
{
	return (struct open_file *)(uintptr_t)replies.as.fh;
}

void open_ino(uint64_t ino, int flags)
{
	struct fuse_file_info info = {.flags = flags};
	replies = (struct kernel_replies){.err = NEVER_REPLIED};
	ops_open(NULL, ino, &info);
}

void failed_with(int err)
{
	assert_int_equal(replies.err, err);
	assert_int_equal(replies.n, 1);
}

void open_fails(uint64_t ino, int flags, int err)
{
	size_t n = open_files_count(&t.tree.open_files);
	open_ino(ino, flags);
	failed_with(err);
	assert_int_equal(open_files_count(&t.tree.open_files), n);
}

void read_at(uint64_t ino, size_t size, off_t off)
{
	struct fuse_file_info info = replies.as;
	info.lock_owner = 1;
	replies.n = 0;
	replies.err = NEVER_REPLIED;
	data_size = SIZE_MAX;
	ops_read(NULL, ino, size, off, &info);
}

void replied_with(const char *bytes)
{
	assert_int_equal(replies.n, 0);
	assert_int_equal(data_size, strlen(bytes));
	assert_memory_equal(data, bytes, data_size);
}

void close_last(uint64_t ino)
{
	struct fuse_file_info info = replies.as;
	assert_int_equal(open_files_count(&t.tree.open_files), 1);
	replies = (struct kernel_replies){.err = NEVER_REPLIED};
	ops_release(NULL, ino, &info);
	failed_with(0);
	assert_int_equal(open_files_count(&t.tree.open_files), 0);
}

void go_on(void)
{
	struct list woken;
	list_init(&woken);
	mutex_lock(&t.f->images.lock);
	calls_wake_all(&parked, &woken);
	mutex_unlock(&t.f->images.lock);
	struct list *at = list_take(&woken);
	assert_non_null(at);
	assert_true(list_empty(&woken));
	call_runner_kind.run(at);
}

size_t held_by(uid_t uid)
{
	struct account *account = account_get(&t.answers.accounts, uid);
	size_t n = atomic_load(&account->charged[ACCOUNT_FILES]);
	account_put(account);
	return n;
}
