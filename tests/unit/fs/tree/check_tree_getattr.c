/* stat(2) by number alone: attributes of every kind of node, for how long they hold, and stale numbers. */
#include "tests/unit/fs/tree/tree_lookup_fixture.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/images/catalogue.h"
#include "fs/images/image_release.h"
#include "fs/images/inode_numbers.h"
#include "fs/tree/attr.h"
#include "fs/tree/getattr.h"
#include "tests/lib/unit.h"

static struct stat st;
static double timeout;

static void attr_of(uint64_t ino)
{
	memset(&st, 0xff, sizeof(st));
	timeout = -1;
	assert_int_equal(node_attr(&t.tree, ino, &st, &timeout), 0);
	assert_int_equal(st.st_nlink, 1);
}

static void stale(uint64_t ino)
{
	int err = node_attr(&t.tree, ino, &st, &timeout);
	if (err != -ESTALE)
		fail_msg("%#lx: %d", (unsigned long)ino, err);
}

/* What the image's files and directories have from its source. */
enum { MODE = 0440, SECONDS = 77 };

static struct source mirrored(void)
{
	return WITH(debug_file(), w.mode = MODE; w.mtime_ns = SECONDS * INT64_C(1000000000));
}

static void is_own(mode_t mode)
{
	assert_int_equal(st.st_mode, mode);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(st.st_gid, getegid());
	assert_int_equal(st.st_mtim.tv_sec, 5); /* when it was mounted */
}

static void is_of_image(mode_t mode)
{
	assert_int_equal(st.st_mode, mode);
	assert_int_equal(st.st_uid, OWNER);
	assert_int_equal(st.st_gid, GROUP);
	assert_int_equal(st.st_mtim.tv_sec, SECONDS);
}

/* ---- The root ---- */

TEST(root)
{
	static const struct {
		const char *name;
		uint64_t ino; /* 0: any */
		mode_t mode;
		double timeout;
	} rows[] = {
		{"by-name", INO_BY_NAME, S_IFDIR | 0555, TIMEOUT_LISTING},
		{"q", INO_BATCH, S_IFREG | 0666, TIMEOUT_FIXED},
		{"q.json", 0, S_IFREG | 0666, TIMEOUT_FIXED},
		{"log", 0, S_IFREG | 0666, TIMEOUT_FIXED},
		{"README", 0, S_IFREG | 0444, TIMEOUT_FIXED},
	};
	attr_of(INO_ROOT);
	is_own(S_IFDIR | 0555);
	assert_int_equal(st.st_ino, INO_ROOT);
	assert_true(timeout == TIMEOUT_LISTING);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ino = found(INO_ROOT, rows[i].name);
		assert_true(!rows[i].ino || rows[i].ino == ino);
		attr_of(ino);
		is_own(rows[i].mode);
		assert_int_equal(st.st_ino, ino);
		assert_int_equal(st.st_size, entry.attr.st_size);
		assert_true(timeout == rows[i].timeout);
	}
	assert_true(st.st_size > 0); /* README */
}

/* Directories of divided ids, for every first byte. */
TEST(divided_ids)
{
	for (unsigned i = 0; i < 256; i++) {
		attr_of(INO_BUILD_ID + i);
		is_own(S_IFDIR | 0555);
		assert_int_equal(st.st_ino, INO_BUILD_ID + i);
		assert_true(timeout == TIMEOUT_LISTING);
	}
	stale(INO_BUILD_ID + 256);
	stale(INO_BUILD_ID - 1);
}

/* A snapshot has the size of its content, and the number of the file that it is of. */
TEST(snapshots)
{
	uint64_t status = found(INO_ROOT, "status"), shown = entry.attr.st_ino;
	off_t size = entry.attr.st_size;
	assert_int_not_equal(status, shown);
	attr_of(status);
	is_own(S_IFREG | 0444);
	assert_int_equal(st.st_ino, shown);
	assert_int_equal(st.st_size, size);
	assert_true(timeout == TIMEOUT_FIXED);
	nodes_forget(&t.tree.nodes, status, 1);
	stale(status);
}

/* ---- Images ---- */

TEST(image)
{
	put_new(t.f, mirrored());
	scan_over();
	uint64_t dir = found(INO_ROOT, ID);
	attr_of(dir);
	is_of_image(S_IFDIR | 0550);
	assert_int_equal(st.st_ino, dir);
	assert_true(timeout == TIMEOUT_FIXED);
	const uint64_t rva = found(dir, "rva"), q = found(dir, "q"), status = found(dir, "status");
	attr_of(rva);
	is_of_image(S_IFDIR | 0550);
	assert_int_equal(st.st_ino, rva);
	assert_true(timeout == TIMEOUT_FIXED);
	attr_of(q);
	is_of_image(S_IFREG | 0660);
	assert_int_equal(st.st_ino, q);
	assert_true(timeout == TIMEOUT_FIXED);
	attr_of(status);
	is_of_image(S_IFREG | 0440);
	assert_int_equal(st.st_ino, status);
	assert_int_equal(st.st_size, strlen("status"));
	assert_true(timeout == 0);
	open_image(ID);
	attr_of(found(dir, "image.gsym"));
	is_of_image(S_IFREG | 0440);
	assert_int_equal(st.st_size, GSYM_SIZE);
	assert_true(timeout == TIMEOUT_FIXED);
}

/* What the table of nodes has. */
TEST(looked_up)
{
	put_new(t.f, mirrored());
	scan_over();
	uint64_t dir = found(INO_ROOT, ID);
	open_image(ID);
	const uint64_t answer = found(dir, "0x1010"), load = found(found(dir, "base"), "0x7000"),
		       q = found(load, "q");
	attr_of(answer);
	is_of_image(S_IFREG | 0440);
	assert_int_equal(st.st_ino, answer);
	assert_int_equal(st.st_size, strlen("answer"));
	assert_true(timeout == TIMEOUT_FIXED);
	attr_of(load);
	is_of_image(S_IFDIR | 0550);
	assert_int_equal(st.st_ino, load);
	assert_true(timeout == TIMEOUT_FIXED);
	attr_of(q);
	is_of_image(S_IFREG | 0660);
	assert_int_equal(st.st_ino, q);
	assert_int_equal(st.st_size, 0);
	nodes_forget(&t.tree.nodes, answer, 1);
	stale(answer);
}

/* ---- Names and paths ---- */

static void is_link(uint64_t ino, const char *text)
{
	attr_of(ino);
	is_own(S_IFLNK | 0777);
	assert_int_equal(st.st_ino, ino);
	assert_int_equal(st.st_size, strlen(text));
	assert_true(timeout == TIMEOUT_FIXED);
}

TEST(links)
{
	put_new(t.f, mirrored());
	put_two();
	scan_over();
	is_link(found(INO_ROOT, "0123456789ABCDEF"), ID);
	is_link(found(found(INO_ROOT, "01"), "23456789abcdef"), "../" ID);
	is_link(found(found(INO_BY_NAME, "debug"), ID), "../../" ID);
	is_link(found(INO_BY_PATH, "debug"), "../" ID);
	is_link(found(found(INO_BY_PATH, "fat"), OTHER_ID), "../../" OTHER_ID);
}

TEST(directories)
{
	put_new(t.f, mirrored());
	put_two();
	enter_dir("sub", t.f->top, 0510);
	put_as(t.f, SIMILAR, called("similar", 50));
	scan_over();
	const uint64_t own[] = {found(INO_BY_NAME, "debug"), found(INO_BY_PATH, "fat")};
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		attr_of(own[i]);
		is_own(S_IFDIR | 0555);
		assert_int_equal(st.st_ino, own[i]);
		assert_true(timeout == TIMEOUT_LISTING);
	}
	uint64_t sub = found(INO_BY_PATH, "sub");
	attr_of(sub);
	assert_int_equal(st.st_mode, S_IFDIR | 0510);
	assert_int_equal(st.st_uid, OWNER);
	assert_int_equal(st.st_ino, sub);
	assert_true(timeout == TIMEOUT_LISTING);
	attr_of(INO_BY_PATH);
	assert_int_equal(st.st_mode, S_IFDIR | 0555); /* as SOURCE */
	assert_int_equal(st.st_ino, INO_BY_PATH);
	assert_true(timeout == TIMEOUT_LISTING);
}

/* Before SOURCE was looked at, by-path is there, closed to others. */
TEST(before_the_scan)
{
	struct images images, *before = t.tree.images;
	images_init(&images);
	t.tree.images = &images;
	attr_of(INO_BY_PATH);
	is_own(S_IFDIR | 0500);
	assert_int_equal(st.st_ino, INO_BY_PATH);
	assert_true(timeout == TIMEOUT_LISTING);
	stale(ino_make(NODE_PATH_DIR, 1, 0));
	t.tree.images = before;
	images_deinit(&images);
}

/* ---- What is not there ---- */

TEST(unknown)
{
	put_new(t.f, mirrored());
	scan_over();
	const uint64_t inos[] = {
		0,
		INO_FIXED + 50,
		INO_BATCH + BATCH_CODES,
		UINT64_C(1) << 40,
		ino_make(NODE_IMAGE, 12345, 0),
		ino_make(NODE_IMAGE_FILE, 12345, 0),
		ino_make(NODE_CONTEXT, 12345, 1),
		ino_make(NODE_BATCH, 12345, 0),
		ino_make(NODE_NAME_LINK, 12345, 12345),
		ino_make(NODE_ALIAS, 12345, 0),
		ino_make(NODE_PATH_DIR, 12345, 0),
		ino_make(NODE_PATH_LINK, 12345, 12345),
		ino_make(NODE_PATH_MEMBER, 12345, 12345),
		INO_ADDRESS | 77,
	};
	for (size_t i = 0; i < ARRAY_SIZE(inos); i++)
		stale(inos[i]);
}

/* Of another version of the image than the present one. */
TEST(replaced)
{
	put_new(t.f, mirrored());
	scan_over();
	uint64_t dir = found(INO_ROOT, ID), q = found(dir, "q"), rva = found(dir, "rva");
	put_new(t.f, mirrored());
	scan_over();
	stale(dir);
	assert_int_not_equal(found(INO_ROOT, ID), dir);
	for (int i = 0; i < 3; i++) /* until nothing can use it any more */
		images_free_retired(&t.f->images);
	stale(q);
	stale(rva);
}

/* Attributes of a file that is made for each stat need memory. */
TEST(without_memory)
{
	put_new(t.f, mirrored());
	scan_over();
	const uint64_t inos[] = {found(INO_ROOT, "README"), found(found(INO_ROOT, ID), "status")};
	for (size_t i = 0; i < ARRAY_SIZE(inos); i++) {
		fail_allocation(0);
		assert_int_equal(node_attr(&t.tree, inos[i], &st, &timeout), -ENOMEM);
		fail_allocation(-1);
		attr_of(inos[i]);
	}
}

EACH_TEST(tree_set_up, tree_tear_down)
