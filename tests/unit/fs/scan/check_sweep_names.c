/*
 * The names and ids that walks give to images: links, files that are called by their id, PROGRAM.gsym, ids
 * that are cut short; and that a walk without memory leaves nothing out for the next.
 */
#include "tests/unit/fs/scan/sweep_fixture.h"

#include <string.h>
#include <unistd.h>

#include "tests/lib/unit.h"

#define CUT_ID "00112233445566778899aabbccddeeff"

/* ---- Names ---- */

TEST_OF(links_to_files, struct scanned_source, s)
{
	make_dir(s, "lib", 0755);
	make_file(s, "lib/file.so.1.2", "01 Ed\n02 Ed");
	make_file(s, "lib/other", "");
	make_link(s, "lib/file.so.1.2", "file.so");
	make_link(s, "lib/other", "other.so");
	make_link(s, "lib/nothing", "nothing.so");
	walk_all(s, 0);
	assert_true(is_called(s, "01", "file.so") && is_called(s, "02", "file.so"));
	assert_true(is_called(s, "01", "file.so.1.2"));
	assert_false(is_called(s, "01", "other.so") || is_called(s, "01", "nothing.so"));
	drop_file(s, "file.so");
	walk_all(s, 0);
	assert_false(is_called(s, "01", "file.so"));
	assert_true(is_called(s, "01", "file.so.1.2"));
}

/* Files that are called by their id have the name that they tell, compressed ones that without the suffix. */
TEST_OF(titles_of_files, struct scanned_source, s)
{
	make_dir(s, "00", 0755);
	make_file(s, "00/112233445566778899aabbccddeeff00112233.debug", LONG_ID " Ed libtold.so");
	make_file(s, "plain", "0102 Ed libuntold.so");
	make_file(s, "hashed", "0103 Eh libhash.so");
	make_file(s, "prog.xz", "0104 Ed");
	walk_all(s, 0);
	assert_true(is_called(s, LONG_ID, "libtold.so"));
	assert_true(is_called(s, LONG_ID, "112233445566778899aabbccddeeff00112233.debug"));
	assert_false(is_called(s, "0102", "libuntold.so"));
	assert_true(is_called(s, "0104", "prog"));
	assert_true(is_called(s, "0104", "prog.xz"));
	assert_false(is_called(s, "0102", "plai"));
}

/* In a source alone the text of such links says the name of a program that is elsewhere. */
TEST_OF(titles_of_links, struct scanned_source, s)
{
	make_dir(s, ".build-id", 0755);
	make_dir(s, ".build-id/00", 0755);
	make_dir(s, ".build-id/01", 0755);
	make_link(s, "/usr/lib/libaway.so", ".build-id/00/112233445566778899aabbccddeeff00112233");
	make_link(s, "/usr/lib/", ".build-id/00/112233445566778899aabbccddeeff00112234");
	make_link(s, "/usr/lib/libno.so", "00112233");
	make_file(s, "debug", LONG_ID " Ed");
	walk_all(s, 0);
	assert_true(is_called(s, LONG_ID, "libaway.so"));
	assert_true(is_called(s, LONG_ID, "debug"));
	assert_false(is_called(s, LONG_ID, "libno.so"));
	drop_file(s, ".build-id/00/112233445566778899aabbccddeeff00112233");
	walk_all(s, 0);
	assert_false(is_called(s, LONG_ID, "libaway.so"));
}

/* PROGRAM.gsym of another build than PROGRAM is told of once, when it is new. */
TEST_OF(gsym_beside_programs, struct scanned_source, s)
{
	make_file(s, "foreign", "02 Ed");
	walk_all(s, 0);
	make_file(s, "fits", "01 Ed");
	make_file(s, "fits.gsym", "01 Gg");
	make_file(s, "foreign.gsym", "03 Gg");
	make_file(s, "several", "05 Ed\n06 Ed");
	make_file(s, "several.gsym", "06 Gg");
	make_file(s, "alone.gsym", "07 Gg");
	make_file(s, ".gsym", "08 Gg");
	make_file(s, "elf", "09 Ed");
	make_file(s, "elf.gsym", "0a Ed");
	walk_all(s, 0);
	expect_log("W scan: foreign.gsym: its UUID is not the id of 'foreign'; converting the latter\n");
	walk_all(s, 0);
	expect_log("");
	make_file(s, "fits.gsym", "0102 Gg");
	look_at(s, "fits.gsym", 0);
	expect_log("W scan: fits.gsym: its UUID is not the id of 'fits'; converting the latter\n");
	drop_file(s, "elf"); /* what is gone is none's program */
	make_file(s, "elf.gsym", "0b Gg");
	make_file(s, "foreign", "03 Edtt");
	make_file(s, "foreign.gsym", "03 Ggg");
	walk_all(s, 0);
	expect_log("");
}

/* ---- Truncated ids ---- */

TEST_OF(truncated_ids, struct scanned_source, s)
{
	make_file(s, "a.sym", CUT_ID " Bc");
	make_link(s, "a.sym", "link.sym");
	walk_all(s, 0);
	expect_files(s, CUT_ID " a.sym text+cut 444\n");
	assert_int_equal(s->scan.n_truncated, 1);
	make_file(s, "whole", CUT_ID "0001 Ed");
	walk_all(s, 0);
	expect_files(s, CUT_ID "0001 a.sym text+cut 444\n" CUT_ID "0001 whole dwrf 444\n");
	assert_true(is_called(s, CUT_ID "0001", "link.sym"));
	/* Of two it may belong to either. */
	make_file(s, "other", CUT_ID "0002 Ed");
	walk_all(s, 0);
	expect_files(s, CUT_ID " a.sym text+cut 444\n" CUT_ID "0001 whole dwrf 444\n" CUT_ID
			       "0002 other dwrf 444\n");
	assert_true(is_called(s, CUT_ID, "link.sym"));
	drop_file(s, "whole");
	walk_all(s, 0);
	expect_files(s, CUT_ID "0002 a.sym text+cut 444\n" CUT_ID "0002 other dwrf 444\n");
	/* With such files a look at others is not enough. */
	make_file(s, "new", "01 Ed");
	look_at(s, "new", -EAGAIN);
	expect_files(s, CUT_ID "0002 a.sym text+cut 444\n" CUT_ID "0002 other dwrf 444\n01 new dwrf 444\n");
	drop_file(s, "a.sym");
	look_at(s, "a.sym", -EAGAIN);
	walk_all(s, 0);
	assert_int_equal(s->scan.n_truncated, 0);
	make_file(s, "b", "02 Ed");
	look_at(s, "b", 0);
}

/* ---- Without memory ---- */

static void known_again(struct scanned_source *s)
{
	walk_all(s, 0);
	expect_files(s, CUT_ID "0001 a.sym text+cut 444\n" CUT_ID
			       "0001 whole dwrf 444\n01 one bare 444\n02 sub/two bare+lost 444\n"
			       "03 sub/two dwrf 444\n");
	assert_true(is_called(s, "01", "link") && is_called(s, CUT_ID "0001", "libaway.so"));
	expect_skipped(s, FILE_SKIPPED, true, "bad: damaged\n");
	expect_skipped(s, FILE_TRUNCATED, true, "sub/two: cut short\n");
	*logged = 0;
}

/* Each allocation of a walk fails in turn: the next walk knows everything, and nothing is leaked. */
TEST_OF(without_memory, struct scanned_source, s)
{
	make_dir(s, "sub", 0755);
	make_dir(s, "00", 0755);
	make_file(s, "one", "01 E");
	make_file(s, "sub/two", "02 El\n03 Ed\n~cut short");
	make_file(s, "bad", "!bad damaged");
	make_file(s, "a.sym", CUT_ID " Bc");
	make_file(s, "whole", CUT_ID "0001 Ed");
	make_link(s, "one", "link");
	make_link(s, "/lib/libaway.so", "00/112233445566778899aabbccddeeff0001");
	bool failed = true;
	for (long n = 0; failed; n++) {
		end_scan(s); /* nothing is known of files */
		begin_scan(s);
		failed = walk_without(s, n);
		known_again(s);
		assert_in_range(n, 0, 10000);
	}
}

EACH_TEST(sweep_set_up, sweep_tear_down)
