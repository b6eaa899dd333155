/* Whether an open file is still the one that was scanned, and who may read it. */
#include "work/cache/file_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/unit.h"

enum { FIELDS = 6 };

static struct file_state scan(int fd, bool open_to_all)
{
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	return file_state_of(fd, &st, open_to_all);
}

static int new_file(void)
{
	char name[] = "/tmp/gsymfs-state-XXXXXX";
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(write(fd, "text", 4), 4);
	return fd;
}

TEST(every_field_counts)
{
	int fd = new_file();
	for (int field = 0; field <= FIELDS; field++) {
		struct file_state s = scan(fd, true);
		switch (field) {
		case 1: s.dev++; break;
		case 2: s.ino++; break;
		case 3: s.size++; break;
		case 4: s.mtime_ns++; break;
		case 5: s.ctime_ns++; break;
		case FIELDS: s.uid++; break;
		}
		assert_int_equal(file_state_check(fd, &s), field == 0 ? 0 : -ESTALE);
	}
	struct file_state s = scan(fd, true);
	s.mode = 0; /* permissions aside */
	assert_int_equal(file_state_check(fd, &s), 0);
	close(fd);
	assert_int_equal(file_state_check(fd, &s), -EBADF); /* which is no change */
}

TEST(only_regular_files)
{
	int fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct file_state s = scan(fd, true);
	assert_int_equal(file_state_check(fd, &s), -ESTALE);
	close(fd);
}

TEST(readers)
{
	static const struct {
		mode_t mode, all, owner;
	} table[] = {{0644, 0444, 0400}, {0777, 0444, 0400}, {0640, 0440, 0400}, {0604, 0404, 0400},
		     {0600, 0400, 0400}, {0044, 0044, 0},    {0311, 0, 0}};
	int fd = new_file();
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		assert_int_equal(fchmod(fd, table[i].mode), 0);
		assert_int_equal(scan(fd, true).mode, table[i].all);
		assert_int_equal(scan(fd, false).mode, table[i].owner);
	}
	close(fd);
}
