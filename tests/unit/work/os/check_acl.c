/* Access control lists: they take away what they deny to any named user or group, and never add. */
#include "work/os/acl.h"

#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "gsym/base/bytes.h"
#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

/* acl_e_tag of linux/posix_acl.h. */
enum { USER_OBJ = 1, USER = 2, GROUP_OBJ = 4, GROUP = 8, MASK = 0x10, OTHER = 0x20 };
enum { NAMED = 12345, HEAD = 4, ENTRY = 8, ENTRIES = 6 };

struct entry {
	uint16_t kind, permissions; /* kind 0: the end */
};

static size_t encode(const struct entry *entries, uint8_t *list)
{
	size_t n = 0;
	store32(list, 2, false);
	for (; n < ENTRIES && entries[n].kind; n++) {
		uint8_t *at = list + HEAD + n * ENTRY;
		store16(at, entries[n].kind, false);
		store16(at + 2, entries[n].permissions, false);
		store32(at + 4, NAMED, false);
	}
	return HEAD + n * ENTRY;
}

static const struct {
	mode_t mode;
	struct entry list[ENTRIES];
	mode_t want;
} table[] = {
	/* As the mode says it. */
	{0644, {{USER_OBJ, 6}, {GROUP_OBJ, 4}, {OTHER, 4}}, 0644},
	{0755, {{USER_OBJ, 7}, {GROUP_OBJ, 5}, {OTHER, 5}}, 0755},
	/* The group's bits of the mode are the mask: the group itself may have less. */
	{0640, {{USER_OBJ, 6}, {USER, 4}, {GROUP_OBJ, 0}, {MASK, 4}, {OTHER, 0}}, 0600},
	{0640, {{USER_OBJ, 6}, {GROUP, 4}, {GROUP_OBJ, 0}, {MASK, 4}, {OTHER, 0}}, 0600},
	{0664, {{USER_OBJ, 6}, {USER, 6}, {GROUP_OBJ, 4}, {MASK, 6}, {OTHER, 4}}, 0644},
	{0604, {{USER_OBJ, 6}, {GROUP_OBJ, 4}, {MASK, 0}, {OTHER, 4}}, 0604},
	/* A user or group that is denied closes it to all but the owner. */
	{0644, {{USER_OBJ, 6}, {USER, 0}, {GROUP_OBJ, 4}, {MASK, 4}, {OTHER, 4}}, 0600},
	{0644, {{USER_OBJ, 6}, {GROUP_OBJ, 4}, {GROUP, 0}, {MASK, 4}, {OTHER, 4}}, 0600},
	{0644, {{USER_OBJ, 6}, {USER, 4}, {USER, 0}, {GROUP_OBJ, 4}, {MASK, 4}, {OTHER, 4}}, 0600},
	{0644, {{USER_OBJ, 6}, {USER, 0}, {USER, 4}, {GROUP_OBJ, 4}, {MASK, 4}, {OTHER, 4}}, 0600},
	{0755, {{USER_OBJ, 7}, {USER, 4}, {GROUP_OBJ, 5}, {MASK, 5}, {OTHER, 5}}, 0744},
	/* The mask reduces those who are named, too. */
	{0604, {{USER_OBJ, 6}, {USER, 4}, {GROUP_OBJ, 4}, {MASK, 0}, {OTHER, 4}}, 0600},
	/* Named, and denied nothing. */
	{0644, {{USER_OBJ, 6}, {USER, 4}, {GROUP_OBJ, 4}, {MASK, 4}, {OTHER, 4}}, 0644},
	{0644, {{USER_OBJ, 6}, {USER, 7}, {GROUP_OBJ, 7}, {MASK, 4}, {OTHER, 4}}, 0644},
};

TEST(lists)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		uint8_t list[HEAD + ENTRIES * ENTRY];
		size_t size = encode(table[i].list, list);
		mode_t got = acl_reduced_by(list, size, table[i].mode);
		if (got != table[i].want)
			fail_msg("list %zu: %o becomes %o, not %o", i, table[i].mode, got, table[i].want);
		assert_int_equal(acl_reduced_by(list, size + 7, table[i].mode),
				 got); /* no whole entry more */
		assert_int_equal(acl_reduced_by(list, size, S_IFREG | table[i].mode), S_IFREG | got);
	}
}

TEST(unknown_lists_close)
{
	uint8_t list[HEAD + ENTRIES * ENTRY];
	size_t size = encode(table[0].list, list);
	for (size_t n = 0; n < HEAD; n++)
		assert_int_equal(acl_reduced_by(list, n, 0644), 0600);
	assert_int_equal(acl_reduced_by(list, HEAD, 0644), 0604); /* no entry for the group */
	list[0] = 3;
	assert_int_equal(acl_reduced_by(list, size, 0644), 0600);
}

/* A file without a name in @dir. */
static int new_file(const char *dir)
{
	char name[64];
	snprintf(name, sizeof(name), "%s/gsymfs-acl-XXXXXX", dir);
	int fd = mkstemp(name);
	if (fd >= 0)
		unlink(name);
	return fd;
}

/* A list that is longer than what is read denies all but the owner. */
TEST(long_list)
{
	enum { USERS = 600 };
	static uint8_t list[HEAD + (USERS + 4) * ENTRY];
	static const struct entry before = {USER_OBJ, 6}, after[] = {{GROUP_OBJ, 4}, {MASK, 4}, {OTHER, 4}};
	int fd = new_file("/dev/shm"); /* tmpfs has room for it, most others have not */
	store32(list, 2, false);
	for (size_t i = 0; i < USERS + 4; i++) {
		uint8_t *at = list + HEAD + i * ENTRY;
		struct entry e = i == 0 ? before : i > USERS ? after[i - USERS - 1] : (struct entry){USER, 4};
		store16(at, e.kind, false);
		store16(at + 2, e.permissions, false);
		store32(at + 4, e.kind == USER ? NAMED + (uint32_t)i : UINT32_MAX, false);
	}
	if (fd < 0 || fsetxattr(fd, "system.posix_acl_access", list, sizeof(list), 0))
		skip();
	assert_int_equal(acl_reduced(fd, 0644), 0600);
	close(fd);
}

TEST(no_list)
{
	int fd = new_file("/tmp");
	assert_true(fd >= 0);
	assert_int_equal(acl_reduced(fd, 0644), 0644);
	assert_int_equal(acl_reduced(fd, 0600), 0600);
	close(fd);
}
