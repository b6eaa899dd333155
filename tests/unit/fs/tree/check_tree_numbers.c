/* What is found again by a number alone, which the kernel or a server of NFS has kept. */
#include "tests/unit/fs/tree/tree_lookup_fixture.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/images/catalogue.h"
#include "fs/tree/attr.h"
#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

static int itself(uint64_t ino)
{
	return look(ino, ".");
}

/* What was just found has its number, generation and attributes again, and is in @parent. */
static void known_by_number(uint64_t parent, const char *name)
{
	uint64_t ino = found(parent, name);
	const struct fuse_entry_param before = entry;
	assert_int_not_equal(before.generation, 0);
	assert_int_equal(itself(ino), 0);
	assert_int_equal(entry.ino, ino);
	assert_int_equal(entry.generation, before.generation);
	assert_int_equal(entry.attr.st_ino, before.attr.st_ino);
	assert_int_equal(entry.attr.st_mode, before.attr.st_mode);
	assert_int_equal(entry.attr.st_size, before.attr.st_size);
	assert_true(entry.entry_timeout >= before.entry_timeout);
	assert_int_equal(look(ino, ".."), 0);
	assert_int_equal(entry.ino, parent);
	assert_true(S_ISDIR(entry.attr.st_mode));
	assert_true(entry.entry_timeout == TIMEOUT_FIXED);
}

TEST(everything_by_number)
{
	uint32_t top = t.f->top;
	put_new(t.f, debug_file());
	put_two();
	enter_dir("sub", top, 0555);
	enter_dir("deep", t.f->top, 0555);
	put_as(t.f, SIMILAR, called("similar", 50));
	scan_over();
	uint64_t image = found(INO_ROOT, ID);
	known_by_number(image, "status");
	open_image(ID);
	known_by_number(INO_ROOT, "by-name");
	known_by_number(INO_ROOT, "by-path");
	known_by_number(INO_ROOT, "q");
	known_by_number(INO_ROOT, "log");
	known_by_number(INO_ROOT, "README");
	known_by_number(INO_ROOT, "01");
	known_by_number(INO_ROOT, ID);
	known_by_number(INO_BY_NAME, "debug");
	known_by_number(found(INO_BY_NAME, "debug"), ID);
	known_by_number(INO_BY_PATH, "debug");
	known_by_number(INO_BY_PATH, "sub");
	known_by_number(found(INO_BY_PATH, "sub"), "deep");
	known_by_number(found(found(INO_BY_PATH, "sub"), "deep"), "similar");
	known_by_number(INO_BY_PATH, "fat");
	known_by_number(found(INO_BY_PATH, "fat"), OTHER_ID);
	known_by_number(image, "image.gsym");
	known_by_number(image, "q");
	known_by_number(image, "rva");
	known_by_number(image, "0x1010");
	assert_int_equal(itself(INO_ROOT), 0);
	assert_int_equal(entry.ino, INO_ROOT);
	const uint64_t in_root[] = {INO_ROOT, INO_BY_PATH, ino_make(NODE_PATH_DIR, 77, 0)};
	for (size_t i = 0; i < ARRAY_SIZE(in_root); i++) {
		assert_int_equal(look(in_root[i], ".."), 0);
		assert_int_equal(entry.ino, INO_ROOT);
	}
	/* A load address is below base, but found from there only by name. */
	uint64_t load = found(found(image, "base"), "0x7000");
	assert_int_equal(itself(load), 0);
	assert_int_equal(entry.ino, load);
	assert_int_equal(look(load, ".."), 0);
	assert_int_equal(entry.ino, image);
	uint64_t snapshot = found(INO_ROOT, "status");
	uint32_t generation = (uint32_t)entry.generation;
	assert_int_equal(itself(snapshot), 0);
	assert_int_equal(entry.ino, snapshot);
	assert_int_equal(entry.generation, generation);
	assert_int_equal(look(snapshot, ".."), 0);
	assert_int_equal(entry.ino, INO_ROOT);
}

/* An answer that the kernel has forgotten is made again, and a snapshot. */
TEST(forgotten)
{
	put_new(t.f, program_file(SOURCE_DWARF));
	scan_over();
	struct handle *handle = open_image(ID);
	uint64_t image = found(INO_ROOT, ID), answer = found(image, "0x1010");
	uint32_t generation = (uint32_t)entry.generation;
	uint64_t snapshot = found(INO_ROOT, "status");
	nodes_forget(&t.tree.nodes, answer, 1);
	nodes_forget(&t.tree.nodes, snapshot, 1);
	made.n = 0;
	made.address = 0;
	assert_int_equal(itself(answer), 0);
	assert_int_equal(made.n, 1);
	assert_int_equal(made.address, 0x1010);
	assert_int_equal(entry.ino, answer);
	assert_int_equal(entry.generation, generation);
	assert_int_equal(itself(answer), 0); /* now it is known twice */
	assert_int_equal(made.n, 1);
	nodes_forget(&t.tree.nodes, answer, 1);
	assert_int_equal(nodes_count(&t.tree.nodes).used, 1);
	nodes_forget(&t.tree.nodes, answer, 1);
	assert_int_equal(nodes_count(&t.tree.nodes).used, 0);
	assert_int_equal(itself(snapshot), 0);
	assert_int_equal(entry.ino, snapshot);
	assert_int_equal(look(answer, ".."), -ESTALE);
	made.err = -ENOENT;
	assert_int_equal(itself(answer), -ESTALE);
	made.err = -EIO;
	assert_int_equal(itself(answer), -EIO);
	made.err = 0;
	assert_int_equal(atomic_load(&handle->refs), 1);
	/* Of an image that is closed it can be made when that is open again. */
	struct revision *rev = current(t.f);
	handle_get(handle);
	mutex_lock(&t.f->images.lock);
	struct handle *closed = revision_set_cold(&t.f->images, rev);
	mutex_unlock(&t.f->images.lock);
	handle_put(closed);
	assert_int_equal(itself(answer), -EAGAIN);
	assert_ptr_equal(last_call.wait.revision, rev);
	handle_put(handle);
}

/* What a daemon before this one gave out may be found by the first scan, or never. */
TEST(of_a_former_daemon)
{
	const uint64_t numbers[] = {
		ino_make(NODE_IMAGE, 77, 1 << CODE_BITS),
		ino_make(NODE_IMAGE_FILE, 77, 1 << CODE_BITS),
		ino_make(NODE_CONTEXT, 77, 1 << CODE_BITS),
		ino_make(NODE_BATCH, 77, 1 << CODE_BITS),
		ino_make(NODE_NAME, 77, 0),
		ino_make(NODE_NAME_LINK, 77, 78),
		ino_make(NODE_ALIAS, 77, 0),
		ino_make(NODE_PATH_DIR, 77, 0),
		ino_make(NODE_PATH_LINK, 77, 78),
		ino_make(NODE_PATH_FAT, 77, 0),
		ino_make(NODE_PATH_MEMBER, 77, 78),
		ino_at_distance(INO_PLAIN, 77, 0x10),
	};
	for (int after = 0; after < 2; after++) {
		for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
			assert_int_equal(itself(numbers[i]), after ? -ESTALE : -EAGAIN);
			if (!after)
				assert_non_null(last_call.wait.park);
		}
		assert_int_equal(itself(INO_ADDRESS | 5), -ESTALE); /* no number of an answer */
		scan_over();
	}
	assert_int_equal(look(ino_make(NODE_PATH_LINK, 77, 78), ".."), -ESTALE);
	assert_int_equal(look(ino_make(NODE_IMAGE_FILE, 77, 0), ".."), -ESTALE);
	assert_int_equal(itself(INO_FIXED + 50), -ESTALE);
}

/* A debug file alone may be completed by the first scan, and has other answers then. */
TEST(answers_of_debug_files)
{
	put_new(t.f, debug_file());
	put_as(t.f, OTHER_ID, WITH(program_file(SOURCE_DWARF), w.ino = 50));
	uint64_t debug = ino_a(found(INO_ROOT, ID)), program = ino_a(found(INO_ROOT, OTHER_ID));
	uint64_t of_debug = ino_at_distance(INO_PLAIN, debug, 0x10);
	uint64_t of_program = ino_at_distance(INO_PLAIN, program, 0x10);
	assert_int_equal(itself(of_debug), -EAGAIN);
	assert_null(last_call.wait.revision);
	assert_int_equal(itself(of_program), -EAGAIN);
	scan_over();
	assert_int_equal(itself(of_debug), -EAGAIN);
	assert_ptr_equal(last_call.wait.revision, current(t.f));
	open_image(ID);
	assert_int_equal(itself(of_debug), 0);
	assert_int_equal(entry.ino, of_debug);
	assert_int_equal(made.address, 0x1010);
}

EACH_TEST(tree_set_up, tree_tear_down)
