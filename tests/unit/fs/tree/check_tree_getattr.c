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
#include "fs/tree/tree.h"
#include "tests/lib/unit.h"

static struct stat st;
static double timeout;

static void attr_of(uint64_t ino)
{
	memset(&st, 0, sizeof(st));
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

/* The number of a path; its entry is in @entry. */
static uint64_t at_path(const char *path)
{
	char names[128], *rest = names;
	uint64_t ino = INO_ROOT;
	strcpy(names, path);
	for (const char *name; (name = strsep(&rest, "/"));)
		ino = found(ino, name);
	return ino;
}

/* ---- What is there ---- */

/* By number each node has what the lookup of its name told, and for how long. */
TEST(nodes)
{
	static const struct {
		const char *path;
		mode_t mode;
		double timeout;
		const char *content; /* of that size; NULL: none, or any */
		bool of_image;
	} rows[] = {
		{"01", S_IFDIR | 0555, TIMEOUT_LISTING},
		{"q", S_IFREG | 0666, TIMEOUT_FIXED},
		{"q.json", S_IFREG | 0666, TIMEOUT_FIXED},
		{"log", S_IFREG | 0666, TIMEOUT_FIXED},
		{"README", S_IFREG | 0444, TIMEOUT_FIXED},
		{ID, S_IFDIR | 0550, TIMEOUT_FIXED, .of_image = true},
		{ID "/rva", S_IFDIR | 0550, TIMEOUT_FIXED, .of_image = true},
		{ID "/base/0x7000", S_IFDIR | 0550, TIMEOUT_FIXED, .of_image = true},
		{ID "/q", S_IFREG | 0660, TIMEOUT_FIXED, .of_image = true},
		{ID "/base/0x7000/q", S_IFREG | 0660, TIMEOUT_FIXED, .of_image = true},
		{ID "/status", S_IFREG | 0440, 0, "status", .of_image = true},
		{ID "/0x1010", S_IFREG | 0440, TIMEOUT_FIXED, "answer", .of_image = true},
		{"0123456789ABCDEF", S_IFLNK | 0777, TIMEOUT_FIXED, ID},
		{"01/23456789abcdef", S_IFLNK | 0777, TIMEOUT_FIXED, "../" ID},
		{"by-name/debug", S_IFDIR | 0555, TIMEOUT_LISTING},
		{"by-name/debug/" ID, S_IFLNK | 0777, TIMEOUT_FIXED, "../../" ID},
		{"by-path/debug", S_IFLNK | 0777, TIMEOUT_FIXED, "../" ID},
		{"by-path/fat", S_IFDIR | 0555, TIMEOUT_LISTING},
		{"by-path/fat/" OTHER_ID, S_IFLNK | 0777, TIMEOUT_FIXED, "../../" OTHER_ID},
	};
	put_new(t.f, mirrored());
	put_two();
	scan_over();
	open_image(ID);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ino = at_path(rows[i].path);
		attr_of(ino);
		assert_int_equal(st.st_ino, ino);
		assert_int_equal(st.st_size, entry.attr.st_size);
		assert_true(timeout == rows[i].timeout);
		(rows[i].of_image ? is_of_image : is_own)(rows[i].mode);
		if (rows[i].content)
			assert_int_equal(st.st_size, strlen(rows[i].content));
	}
	attr_of(at_path("README"));
	assert_true(st.st_size > 0);
	attr_of(at_path(ID "/image.gsym"));
	is_of_image(S_IFREG | 0440);
	assert_int_equal(st.st_size, GSYM_SIZE);
	assert_true(timeout == TIMEOUT_FIXED);
	/* The time of these is that of the last name. */
	for (uint64_t ino = INO_ROOT; ino; ino = ino == INO_ROOT ? INO_BY_NAME : 0) {
		attr_of(ino);
		assert_int_equal(st.st_mode, S_IFDIR | 0555);
		assert_int_equal(st.st_ino, ino);
		assert_true(timeout == TIMEOUT_LISTING);
	}
	uint64_t answer = at_path(ID "/0x1010"); /* the second time */
	nodes_forget(&t.tree.nodes, answer, 2);
	stale(answer);
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

/* A directory of SOURCE has its own attributes. */
TEST(directories_of_source)
{
	enter_dir("sub", t.f->top, 0510);
	put_as(t.f, SIMILAR, called("similar", 50));
	scan_over();
	uint64_t sub = at_path("by-path/sub");
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
		INO_BUILD_ID + 256,
		INO_BUILD_ID - 1,
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
		allowed = 0;
		assert_int_equal(node_attr(&t.tree, inos[i], &st, &timeout), -ENOMEM);
		allowed = -1;
		attr_of(inos[i]);
	}
}

EACH_TEST(tree_set_up, tree_tear_down)
