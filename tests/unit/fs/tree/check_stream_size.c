/* Which offsets the kernel is notified of, so that it finds q and log longer than it knows. */
#include "fs/tree/stream_size.h"

#include <errno.h>
#include <string.h>

#include <fuse_lowlevel.h>
#include "fs/tree/open_file.h"
#include "tests/lib/unit.h"

static const uint64_t INO = 5, LARGEST = STREAM_OFFSET_MAX - 1; /* the offset of a byte that may be written */
static const struct stat stream_attr = {.st_mode = S_IFREG | 0644, .st_ino = 5};

static uint64_t notified; /* the last offset; 0: none */
static int outcome;
static char a_session;

int __wrap_fuse_lowlevel_notify_store(struct fuse_session *session, fuse_ino_t ino, off_t offset,
				      struct fuse_bufvec *bytes, enum fuse_buf_copy_flags flags)
{
	assert_int_equal(flags, 0);
	assert_int_equal(*(char *)bytes->buf[0].mem, 0); /* the kernel keeps a page of it */
	assert_ptr_equal(session, &a_session);
	assert_int_equal(ino, INO);
	assert_int_equal(fuse_buf_size(bytes), 1);
	notified = (uint64_t)offset;
	return outcome;
}

struct parts {
	struct tree tree;
	struct open_file file;
};

static int begin(void **state)
{
	static struct parts parts;
	memset(&parts, 0, sizeof(parts));
	parts.tree.session = (struct fuse_session *)&a_session;
	notified = 0;
	outcome = 0;
	*state = &parts;
	return 0;
}

/* What the kernel was notified of since the last call, which is odd and further than @before. */
static uint64_t next_after(uint64_t before)
{
	uint64_t offset = notified;
	notified = 0;
	assert_true(offset > before);
	assert_int_equal(offset % 2, 1);
	return offset;
}

TEST_OF(each_is_further, struct parts, p)
{
	uint64_t last = LARGEST;
	for (int i = 0; i < 3; i++) {
		stream_size_shown(&p->tree, &stream_attr);
		last = next_after(last);
	}
	assert_int_equal(atomic_load(&p->tree.sizes_told), 0);
}

/* A write at the end of the file is at an offset of the last notification, and the next is beyond it. */
TEST_OF(beyond_what_was_appended, struct parts, p)
{
	uint64_t last = LARGEST;
	for (int i = 0; i < 3; i++) {
		uint64_t end = last + 1000 + (uint64_t)i; /* odd and even */
		stream_size_written(&p->tree, INO, &p->file, end);
		last = next_after(end);
	}
	stream_size_shown(&p->tree, &stream_attr);
	next_after(last);
}

/* A write within the file only when the kernel was told another size since. */
TEST_OF(once_for_each_size, struct parts, p)
{
	stream_size_written(&p->tree, INO, &p->file, 0);
	uint64_t last = next_after(LARGEST);
	stream_size_written(&p->tree, INO, &p->file, 0);
	assert_int_equal(notified, 0);
	stream_size_told(&p->tree, &stream_attr);
	stream_size_written(&p->tree, INO, &p->file, 0);
	next_after(last);
}

/* Only of q and log, which can be written; and what cannot be notified is done by the next write. */
TEST_OF(not_done, struct parts, p)
{
	const struct stat others[] = {{.st_mode = S_IFREG | 0444, .st_ino = 5},
				      {.st_mode = S_IFDIR | 0755, .st_ino = 5}};
	for (size_t i = 0; i < 2; i++) {
		stream_size_shown(&p->tree, &others[i]);
		stream_size_told(&p->tree, &others[i]);
	}
	assert_int_equal(notified, 0);
	assert_int_equal(atomic_load(&p->tree.sizes_told), 0);
	outcome = -ENOENT;
	stream_size_shown(&p->tree, &stream_attr);
	uint64_t last = next_after(LARGEST);
	assert_int_equal(atomic_load(&p->tree.sizes_told), 1);
	stream_size_written(&p->tree, INO, &p->file, 0);
	last = next_after(last);
	outcome = 0;
	stream_size_written(&p->tree, INO, &p->file, 0);
	next_after(last);
	p->tree.single_thread = true; /* which could not answer what the notification waits for */
	stream_size_written(&p->tree, INO, &p->file, STREAM_OFFSET_MAX);
	assert_int_equal(notified, 0);
}

EACH_TEST(begin, NULL)
