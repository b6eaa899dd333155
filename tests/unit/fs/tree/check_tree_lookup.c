/*
 * Lookups of names in a small tree: which numbers names have, for how long the kernel may keep them, and what
 * has to wait.
 */
#include "tests/unit/fs/tree/tree_lookup_fixture.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/images/catalogue.h"
#include "fs/tree/attr.h"
#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

/* ---- The root ---- */

TEST(names_of_the_root)
{
	put_new(t.f, debug_file());
	assert_int_equal(found(INO_ROOT, "by-name"), INO_BY_NAME);
	found(INO_ROOT, "README");
	assert_int_equal(atomic_load(&t.tree.sizes_told), 0);
	assert_int_equal(found(INO_ROOT, "q"), INO_BATCH);
	assert_true(entry.entry_timeout == TIMEOUT_FIXED);
	assert_int_equal(atomic_load(&t.tree.sizes_told), 1);
	assert_true(ino_is_root_batch(found(INO_ROOT, "q.json")));
	assert_int_equal(found(INO_ROOT, "by-path"), INO_BY_PATH);
	missing(INO_ROOT, "other");
	missing(INO_ROOT, "0x10");
	uint64_t image = found(INO_ROOT, ID);
	assert_int_equal(ino_kind(image), NODE_IMAGE);
	assert_true(S_ISDIR(entry.attr.st_mode));
	assert_true(entry.entry_timeout == TIMEOUT_IMAGE); /* a better file may come */
	waits(INO_ROOT, OTHER_ID);
	assert_string_equal(last_call.wait.id, OTHER_ID);
	scan_over();
	missing(INO_ROOT, OTHER_ID);
	assert_int_equal(found(INO_ROOT, ID), image);
	assert_true(entry.entry_timeout == TIMEOUT_IMAGE); /* now and later */
}

TEST(other_spellings)
{
	put_new(t.f, debug_file());
	scan_over();
	uint64_t upper = found(INO_ROOT, "0123456789ABCDEF");
	assert_int_equal(ino_kind(upper), NODE_ALIAS);
	assert_true(S_ISLNK(entry.attr.st_mode));
	assert_int_equal(entry.attr.st_size, strlen(ID));
	assert_true(entry.entry_timeout == TIMEOUT_ALIAS);
	assert_int_equal(found(INO_ROOT, "0123456789"), upper);
	missing(INO_ROOT, "0123456780");
	put_as(t.f, SIMILAR, called("similar", 50));
	missing(INO_ROOT, "0123456789");
	assert_int_equal(ino_kind(found(INO_ROOT, ID)), NODE_IMAGE);
}

/* As .build-id has them: the first byte, then the rest. */
TEST(divided_ids)
{
	put_new(t.f, debug_file());
	waits(INO_ROOT, "01");
	waits(INO_ROOT, "02");
	waits(INO_BUILD_ID + 1, "23456789abcdee");
	scan_over();
	uint64_t first = found(INO_ROOT, "01");
	assert_int_equal(first, INO_BUILD_ID + 1);
	assert_true(entry.entry_timeout == TIMEOUT_LISTING);
	missing(INO_ROOT, "02");
	missing(INO_ROOT, "0A");
	missing(INO_ROOT, "012");
	assert_int_equal(found(INO_ROOT, "01"), first);
	uint64_t rest = found(first, "23456789abcdef");
	assert_int_equal(ino_kind(rest), NODE_ALIAS);
	assert_int_equal(entry.attr.st_size, strlen("../" ID));
	assert_int_equal(found(first, "23456789abcdef.debug"), rest);
	missing(first, "23456789abcdef.debug.debug");
	missing(first, "23456789abcde");  /* not all of it */
	missing(first, "23456789ABCDEF"); /* not spelled so */
	missing(first, ".debug");
	missing(first, "2");
	missing(first, "status");
	missing(INO_BUILD_ID + 2, "23456789abcdef");
	/* Of the shortest id the rest is one byte. */
	put_as(t.f, "0203", called("short", 51));
	assert_int_equal(ino_kind(found(INO_BUILD_ID + 2, "03")), NODE_ALIAS);
	found(INO_BUILD_ID + 2, "03.debug");
	/* Of one byte nothing is left. */
	put_as(t.f, "05", called("byte", 52));
	missing(INO_BUILD_ID + 5, ".debug");
	missing(INO_BUILD_ID + 5, "debug");
	/* Servers may have any. */
	t.tree.remote = &t.remote;
	missing(INO_ROOT, "77");
	t.remote.n_threads = 1;
	assert_int_equal(found(INO_ROOT, "77"), INO_BUILD_ID + 0x77);
	missing(INO_ROOT, "7");
	missing(INO_ROOT, "7F");
}

TEST(impossible_names)
{
	char name[NAME_BYTES_MAX + 2];
	scan_over();
	memset(name, 'a', sizeof(name));
	name[NAME_BYTES_MAX + 1] = 0;
	assert_int_equal(look(INO_ROOT, name), -ENAMETOOLONG);
	name[NAME_BYTES_MAX] = 0;
	missing(INO_ROOT, name);
	missing_for(INO_BY_NAME, name, 0);
	assert_int_equal(look(INO_BATCH, "x"), -ENOTDIR);
	assert_int_equal(look(ino_make(NODE_ALIAS, 1, 0), "x"), -ENOTDIR);
	assert_int_equal(look(ino_make(NODE_IMAGE, 1, 0), "x"), -ESTALE);
	assert_int_equal(look(ino_make(NODE_IMAGE, 1, 0), "status"), -ESTALE);
	assert_int_equal(look(ino_make(NODE_CONTEXT, 1, 1), "x"), -ESTALE);
	assert_int_equal(look(INO_ADDRESS | 77, "x"), -ESTALE);
}

/* ---- by-name ---- */

TEST(by_name)
{
	put_new(t.f, debug_file());
	waits(INO_BY_NAME, "other");
	uint64_t name = found(INO_BY_NAME, "debug");
	assert_int_equal(ino_kind(name), NODE_NAME);
	assert_true(entry.entry_timeout == TIMEOUT_LISTING);
	waits(name, OTHER_ID);
	scan_over();
	missing_for(INO_BY_NAME, "other", 0); /* others may know more */
	uint64_t member = found(name, ID);
	assert_int_equal(ino_kind(member), NODE_NAME_LINK);
	assert_int_equal(entry.attr.st_size, strlen("../../" ID));
	assert_true(entry.entry_timeout == TIMEOUT_LISTING);
	put_as(t.f, OTHER_ID, called("other", 50));
	missing_for(name, OTHER_ID, 0);
	missing_for(name, "nothing", 0);
	missing_for(ino_make(NODE_NAME, 12345, 0), ID, 0);
}

/* Of a file in a directory that only its owner may search. */
TEST(hidden_names)
{
	enter_dir("private", t.f->top, 0500);
	put_new(t.f, debug_file());
	scan_over();
	uint64_t name = found(INO_BY_NAME, "debug");
	assert_true(entry.entry_timeout == 0);
	assert_true(entry.attr_timeout == TIMEOUT_LISTING);
	found(name, ID);
	assert_true(entry.entry_timeout == 0);
	t.caller = (struct fuse_ctx){.uid = STRANGER, .gid = STRANGER};
	missing_for(INO_BY_NAME, "debug", 0);
	missing_for(name, ID, 0);
	missing_for(name, "0x10", 0);
	assert_int_equal(made.n, 0);
}

/* Of one that others may search but not list, who knows the name finds it. */
TEST(unlisted_names)
{
	enter_dir("searched", t.f->top, 0511);
	put_new(t.f, debug_file());
	scan_over();
	t.caller = (struct fuse_ctx){.uid = STRANGER, .gid = STRANGER};
	uint64_t name = found(INO_BY_NAME, "debug");
	assert_true(entry.entry_timeout == TIMEOUT_LISTING);
	found(name, ID);
	lists(INO_BY_NAME, ". .. ");
	lists(name, ". .. ");
}

/* An address below a name means the only file of that name. */
TEST(addresses_of_names)
{
	put_new(t.f, debug_file());
	scan_over();
	uint64_t name = found(INO_BY_NAME, "debug");
	waits(name, "0x1010");
	assert_ptr_equal(last_call.wait.revision, current(t.f));
	open_image(ID);
	uint64_t answer = found(name, "0x1010");
	assert_int_equal(ino_kind(answer), NODE_ADDRESS);
	assert_true(entry.entry_timeout == 0); /* another file of that name may come */
	assert_int_equal(entry.attr.st_size, 6);
	assert_int_equal(made.address, 0x1010);
	assert_int_equal(atomic_load(&t.metrics.lookups[LOOKUP_FOUND]), 1);
	assert_int_equal(ino_kind(found(name, "sym")), NODE_ALIAS);
	assert_int_equal(entry.attr.st_size, strlen("../../" ID "/sym"));
	assert_true(entry.entry_timeout == 0);
	assert_int_equal(ino_kind(found(name, "info.json")), NODE_IMAGE_FILE);
	assert_true(entry.entry_timeout == 0);
	assert_int_equal(ino_kind(found(name, "q.json")), NODE_BATCH);
	made.err = -ENOENT;
	missing_for(name, "0x1020", 0);
	made.err = -EIO;
	assert_int_equal(look(name, "0x1020"), -EIO);
	assert_int_equal(look(name, "0x1030"), -EIO);
	assert_int_equal(atomic_load(&t.metrics.lookups[LOOKUP_UNKNOWN]), 1);
	assert_int_equal(atomic_load(&t.metrics.lookups[LOOKUP_ERROR]), 2);
	made.err = 0;
	enter_dir("sub", t.f->top, 0555);
	put_as(t.f, OTHER_ID, WITH(debug_file(), w.ino = 50));
	missing_for(name, "0x1010", 0);
	missing_for(name, "sym", 0);
	missing_for(name, "info.json", 0);
	missing_for(ino_make(NODE_NAME, 12345, 0), "0x1010", 0);
}

/* ---- by-path ---- */

TEST(by_path)
{
	waits(INO_BY_PATH, "sub");
	uint32_t top = t.f->top;
	put_new(t.f, debug_file());
	enter_dir("sub", top, 0510);
	put_as(t.f, OTHER_ID, called("other", 50));
	uint64_t sub = found(INO_BY_PATH, "sub");
	assert_int_equal(entry.attr.st_mode, S_IFDIR | 0510);
	assert_true(entry.entry_timeout == TIMEOUT_LISTING);
	uint64_t file = found(INO_BY_PATH, "debug");
	assert_int_equal(ino_kind(file), NODE_PATH_LINK);
	assert_int_equal(entry.attr.st_size, strlen("../" ID));
	waits(sub, "debug");
	scan_over();
	missing(sub, "debug");
	missing(INO_BY_PATH, "other");
	missing(ino_make(NODE_PATH_DIR, 12345, 0), "other");
	missing(ino_make(NODE_PATH_DIR, 12345, 0), "sub");
}

/* A file with two images is a directory. */
TEST(files_of_two_images)
{
	put_two();
	uint64_t fat = found(INO_BY_PATH, "fat");
	assert_int_equal(ino_kind(fat), NODE_PATH_FAT);
	uint64_t one = found(fat, ID), two = found(fat, OTHER_ID);
	assert_int_equal(entry.attr.st_size, strlen("../../" OTHER_ID));
	assert_int_equal(ino_kind(one), NODE_PATH_MEMBER);
	assert_int_not_equal(one, two);
	waits(fat, SIMILAR);
	scan_over();
	missing(fat, SIMILAR);
	assert_int_equal(found(fat, ID), one);
	missing(ino_make(NODE_PATH_FAT, 12345, 0), ID);
}

/* ---- In an image ---- */

TEST(answers_of_an_image)
{
	put_new(t.f, debug_file());
	scan_over();
	uint64_t image = found(INO_ROOT, ID);
	waits(image, "0x1010");
	assert_int_equal(atomic_load(&t.metrics.lookups[LOOKUP_ERROR]), 0); /* it is not over */
	open_image(ID);
	uint64_t answer = found(image, "0x1010");
	assert_int_equal(ino_kind(answer), NODE_ADDRESS);
	assert_true(entry.entry_timeout == TIMEOUT_FIXED);
	assert_int_equal(entry.attr.st_mode, S_IFREG | 0444);
	assert_int_equal(entry.attr.st_size, 6);
	assert_int_equal(found(image, "0x1010"), answer);
	assert_int_equal(nodes_count(&t.tree.nodes).used, 1);
	assert_int_equal(look(answer, "x"), -ENOTDIR);
	made.known = false;
	assert_int_not_equal(found(image, "0x1011"), answer);
	assert_int_not_equal(found(image, "0x1010.json"), answer);
	made.err = -ENOENT;
	missing(image, "0x1012");
	missing(image, "symbol");
	missing(image, "something else");
	made.err = -EIO;
	assert_int_equal(look(image, "0x1012"), -EIO);
	assert_int_equal(look(image, "0x1013"), -EIO);
	assert_int_equal(atomic_load(&t.metrics.lookups[LOOKUP_FOUND]), 2);
	assert_int_equal(atomic_load(&t.metrics.lookups[LOOKUP_UNKNOWN]), 3);
	assert_int_equal(atomic_load(&t.metrics.lookups[LOOKUP_ERROR]), 2);
	/* The kernel has given up: it will not forget it. */
	made.err = 0;
	size_t used = nodes_count(&t.tree.nodes).used;
	reply_outcome = -ENOENT;
	look(image, "0x1013");
	assert_int_equal(nodes_count(&t.tree.nodes).used, used);
	reply_outcome = -EINVAL;
	look(image, "0x1013");
	assert_int_equal(nodes_count(&t.tree.nodes).used, used + 1);
}

TEST(contexts)
{
	put_new(t.f, debug_file());
	scan_over();
	uint64_t image = found(INO_ROOT, ID);
	uint64_t rva = found(image, "rva");
	assert_int_equal(ino_kind(rva), NODE_CONTEXT);
	assert_int_equal(entry.attr.st_mode, S_IFDIR | 0555);
	uint64_t batch = found(rva, "q");
	assert_int_equal(ino_kind(batch), NODE_BATCH);
	assert_int_not_equal(found(image, "q"), batch);
	waits(rva, "0x10");
	uint64_t base = found(image, "base");
	assert_int_equal(ino_kind(base), NODE_CONTEXT);
	missing(base, "nothing");
	uint64_t load = found(base, "0x7f0000000000");
	assert_int_equal(ino_kind(load), NODE_ADDRESS);
	assert_true(S_ISDIR(entry.attr.st_mode));
	uint64_t q = found(load, "q");
	assert_int_equal(ino_kind(q), NODE_ADDRESS);
	assert_int_equal(entry.attr.st_mode, S_IFREG | 0666);
	assert_true(entry.entry_timeout == TIMEOUT_FIXED);
	waits(load, "0x7f0000000010");
	missing(load, "nothing");
	assert_int_equal(look(q, "0x10"), -ENOTDIR);
	open_image(ID);
	assert_int_equal(ino_kind(found(load, "0x7f0000000010")), NODE_ADDRESS);
	assert_int_equal(made.address, 0x7f0000000010);
	found(rva, "0x20");
	assert_int_equal(made.address, 0x20);
}

/* Before an image is converted, its fragments may have the answer. */
TEST(early_answers)
{
	struct handle *fragments[3];
	put_new(t.f, debug_file());
	scan_over();
	uint64_t image = found(INO_ROOT, ID);
	struct revision *rev = current(t.f);
	waits(image, "0x1010");
	assert_int_equal(last_call.wait.n_addresses, 1);
	assert_int_equal(made.early, 0);
	for (size_t i = 0; i < ARRAY_SIZE(fragments); i++)
		give_fragment(t.f, rev, fragments[i] = new_handle());
	waits(image, "0x1010");
	assert_int_equal(made.early, 3);
	assert_int_equal(last_call.wait.fragments_seen, 3);
	made.early = 0;
	made.from = fragments[1];
	uint64_t early = found(image, "0x1010");
	assert_int_equal(atomic_load(&t.metrics.lookups[LOOKUP_FOUND]), 1);
	assert_true(entry.entry_timeout == TIMEOUT_FRAGMENT);
	assert_int_equal(entry.attr.st_size, 5);
	assert_int_equal(made.early, 2); /* the newest first, and none after it */
	assert_int_equal(ino_table(early), INO_COUNTED);
	for (size_t i = 0; i < ARRAY_SIZE(fragments); i++)
		assert_int_equal(atomic_load(&fragments[i]->refs), 1);
	made.early = 0;
	waits(found(image, "sym"), "f");
	assert_int_equal(made.early, 0);
	assert_int_equal(last_call.wait.n_addresses, 0);
}

/* Each allocation of a lookup fails in turn. */
static void fails_without_memory(uint64_t in, const char *name)
{
	int err = -ENOMEM;
	for (long n = 0; err; n++) {
		allowed = n;
		err = look(in, name);
		allowed = -1;
		assert_true(!err || err == -ENOMEM);
		assert_in_range(n, 0, 100);
	}
	if (!entry.ino)
		fail_msg("'%s' is not there", name);
}

TEST(without_memory)
{
	put_new(t.f, debug_file());
	scan_over();
	uint64_t image = found(INO_ROOT, ID), base = found(image, "base"), name = found(INO_BY_NAME, "debug");
	fails_without_memory(INO_ROOT, "images.tsv");
	open_image(ID);
	fails_without_memory(base, "0x7000");
	fails_without_memory(found(base, "0x7000"), "q");
	fails_without_memory(image, "0x1010");
	fails_without_memory(image, "status");
	fails_without_memory(name, "0x1020");
	fails_without_memory(INO_ROOT, "status");
}

EACH_TEST(tree_set_up, tree_tear_down)
