/* Which permissions the files of an image show: to read, for those who may read its source. */
#include "fs/tree/attr.h"

#include "tests/lib/unit.h"

enum { OWNER = 1000, GROUP = 1001 };

static void expect(const struct stat *st, mode_t type, mode_t mode)
{
	assert_int_equal(st->st_mode, type | mode);
	assert_int_equal(st->st_uid, OWNER);
	assert_int_equal(st->st_gid, GROUP);
	assert_int_equal(st->st_mtim.tv_sec, -2);
	assert_int_equal(st->st_mtim.tv_nsec, 500000000);
}

TEST(every_mode)
{
	for (mode_t mode = 0; mode <= 07777; mode++) {
		struct revision rev = {
			.source = {.uid = OWNER, .gid = GROUP, .mode = mode, .mtime_ns = -1500000000}};
		const mode_t read = mode & 0444;
		struct stat st;
		attr_image_file(&rev, 7, 123, &st);
		expect(&st, S_IFREG, read);
		assert_int_equal(st.st_size, 123);
		assert_int_equal(st.st_ino, 7);
		attr_image(&rev.source, 8, &st);
		expect(&st, S_IFDIR, read | read >> 2); /* to search it, too */
		attr_batch(&rev, 9, &st);
		expect(&st, S_IFREG, read | read >> 1); /* queries are written to it */
	}
}
