/* Which files stand for an image, whose files may take the place of others, and who may read the result. */
#include "tests/unit/fs/images/images_fixture.h"

#include <string.h>

#include "tests/lib/unit.h"

static struct source beside(void)
{
	struct source s = source_file("program.gsym", SOURCE_GSYM);
	s.kind = IMAGE_GSYM_FILE;
	s.arch[0] = 0;
	return s;
}

/* What two files make of the image, in either order. */
static void pair(struct source a, struct source b, const char *source, const char *binary)
{
	for (int swapped = 0; swapped < 2; swapped++) {
		void *f = NULL;
		images_fixture_set_up(&f);
		put_new(f, swapped ? b : a);
		put_new(f, swapped ? a : b);
		expect(f, source, binary);
		images_fixture_tear_down(&f);
	}
}

/* ---- A debug file and its program ---- */

TEST(program_completes)
{
	pair(debug_file(), program_file(SOURCE_SYMBOLS), "debug", "program");
	pair(debug_file(), WITH(program_file(SOURCE_SYMBOLS), w.uid = 0), "debug", "program");
	pair(WITH(debug_file(), strcpy(w.arch, "")), program_file(SOURCE_SYMBOLS), "debug", "program");
	pair(debug_file(), WITH(program_file(SOURCE_SYMBOLS), w.uid = STRANGER), "debug", NULL);
	pair(WITH(debug_file(), w.uid = 0), program_file(SOURCE_SYMBOLS), "debug", NULL);
	pair(debug_file(), WITH(program_file(SOURCE_SYMBOLS), w.has_text = false), "debug", NULL);
	pair(debug_file(), WITH(program_file(SOURCE_SYMBOLS), strcpy(w.arch, "i386")), "debug", NULL);
	pair(WITH(debug_file(), w.has_text = true), program_file(SOURCE_SYMBOLS), "debug", NULL);
}

/* What readers of the debug file learn of the program they may read there, too. */
TEST(program_that_fewer_may_read)
{
	pair(debug_file(), WITH(program_file(SOURCE_SYMBOLS), w.mode = 0400), "debug", NULL);
	pair(debug_file(), WITH(program_file(SOURCE_SYMBOLS), w.mode = 0440), "debug", NULL);
	pair(debug_file(), WITH(program_file(SOURCE_SYMBOLS), w.mode = 0404), "debug", NULL);
	pair(WITH(debug_file(), w.mode = 0440),
	     WITH(program_file(SOURCE_SYMBOLS), w.mode = 0440, w.gid = GROUP + 1), "debug", NULL);
	pair(WITH(debug_file(), w.mode = 0440), WITH(program_file(SOURCE_SYMBOLS), w.mode = 0440), "debug",
	     "program");
	pair(WITH(debug_file(), w.mode = 0400), WITH(program_file(SOURCE_SYMBOLS), w.mode = 0400), "debug",
	     "program");
	pair(WITH(debug_file(), w.mode = 0400), WITH(program_file(SOURCE_SYMBOLS), w.mode = 0400, w.uid = 0),
	     "debug", NULL);
}

/* ---- GSYM beside the program ---- */

TEST(gsym_beside_the_program)
{
	pair(program_file(SOURCE_DWARF), beside(), "program.gsym", "program");
	/* Taken without the program, which belongs to another user than the GSYM. */
	pair(program_file(SOURCE_DWARF), WITH(beside(), w.uid = 0), "program.gsym", NULL);
	pair(program_file(SOURCE_DWARF), WITH(beside(), w.uid = STRANGER), "program", NULL);
	pair(WITH(program_file(SOURCE_DWARF), w.uid = 0), beside(), "program", NULL);
	pair(program_file(SOURCE_DWARF), WITH(beside(), w.path = (char *)"other.gsym"), "program", NULL);
	pair(program_file(SOURCE_DWARF), WITH(beside(), w.path = (char *)"program.gsyms"), "program", NULL);
	pair(program_file(SOURCE_DWARF), WITH(beside(), w.kind = IMAGE_ELF), "program", NULL);
	pair(debug_file(), WITH(beside(), w.path = (char *)"debug.gsym"), "debug", NULL); /* no program */
}

TEST_OF(gsym_beside_a_stripped_program, struct images_fixture, f)
{
	put_new(f, debug_file());
	put_new(f, program_file(SOURCE_SYMBOLS));
	put_new(f, beside());
	expect(f, "program.gsym", "program");
}

TEST_OF(strangers_gsym_beside_a_stripped_program, struct images_fixture, f)
{
	put_new(f, debug_file());
	put_new(f, program_file(SOURCE_SYMBOLS));
	put_new(f, WITH(beside(), w.uid = STRANGER));
	expect(f, "debug", "program");
}

/* ---- Which is best ---- */

TEST(richest_first)
{
	for (int a = SOURCE_BARE; a <= SOURCE_PDB; a++)
		for (int b = SOURCE_BARE; b < a; b++)
			pair(source_file("z", (enum richness)a), source_file("a", (enum richness)b), "z",
			     NULL);
}

TEST_OF(copies_do_not_replace_each_other, struct images_fixture, f)
{
	put_new(f, WITH(debug_file(), w.path = (char *)"m"));
	put_new(f, WITH(debug_file(), w.path = (char *)"z"));
	put_new(f, WITH(debug_file(), w.path = (char *)"a"));
	expect(f, "m", NULL);
	scanned(f, 0);
	put(f, WITH(debug_file(), w.path = (char *)"z", w.ino = 2));
	put(f, WITH(debug_file(), w.path = (char *)"a", w.ino = 3));
	scanned(f, 0);
	expect(f, "a", NULL);
}

/* ---- Hard links ---- */

/* Who reaches the file by one of its paths may read it; known at the end of the scan that saw them all. */
TEST_OF(permissions_of_all_paths, struct images_fixture, f)
{
	put_new(f, WITH(debug_file(), w.mode = 0400));
	put(f, WITH(debug_file(), w.ino = 1, w.mode = 0444));
	assert_int_equal(current(f)->source.mode, 0400);
	scanned(f, 0);
	assert_int_equal(current(f)->source.mode, 0444);
	put(f, WITH(debug_file(), w.ino = 1, w.mode = 0400)); /* its other path may be yet to come */
	assert_int_equal(current(f)->source.mode, 0444);
	scanned(f, 0);
	assert_int_equal(current(f)->source.mode, 0400);
}

/* A file that was changed is closed at once, not at the end of the scan. */
TEST_OF(permissions_of_a_changed_file, struct images_fixture, f)
{
	put_new(f, debug_file());
	scanned(f, 0);
	put(f, WITH(debug_file(), w.ino = 1, w.mode = 0400, w.ctime_ns = 1));
	assert_int_equal(current(f)->source.mode, 0400);
	put(f, WITH(debug_file(), w.ino = 1, w.mode = 0400, w.ctime_ns = 1));
	scanned(f, -EIO);
	assert_int_equal(current(f)->source.mode, 0400);
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)
