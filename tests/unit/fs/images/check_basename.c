/* Who may know of a name: of the directory by-name, and of the names that files tell of themselves. */
#include "tests/unit/fs/images/images_fixture.h"

#include "fs/images/basename.h"
#include "fs/images/catalogue.h"
#include "tests/lib/unit.h"

#include <errno.h>

#define TITLE "libtitle.so"

static const struct caller owner = {.uid = OWNER, .gid = GROUP},
			   stranger = {.uid = STRANGER, .gid = STRANGER};
static const struct caller root = {.uid = 0};

static uint32_t add_dir(struct images_fixture *f, const char *name, mode_t mode)
{
	const struct path_attr attr = {.uid = OWNER, .gid = GROUP, .mode = mode};
	uint32_t dir = images_add_directory(&f->images, f->top, name, &attr);
	assert_int_not_equal(dir, PATH_NONE);
	return dir;
}

/* The scan meets a file of the image ID in @dir, whose title is TITLE. */
static void put_in(struct images_fixture *f, uint32_t dir, const char *path, bool titled)
{
	struct list woken;
	list_init(&woken);
	struct source s = source_file(path, SOURCE_DWARF);
	s.ino = ++f->ino;
	s.pass = f->pass;
	const struct finding finding = {.id = ID, .at = {path, dir, true, f->pass}, .source = s};
	assert_int_equal(images_add(&f->images, &finding, &woken), 0);
	if (titled)
		assert_int_equal(images_add_title(&f->images, ID, TITLE, dir, f->pass), 0);
}

static bool sees(struct images_fixture *f, const struct caller *caller, const char *name, bool listed)
{
	mutex_lock(&f->images.lock);
	const struct basename *b = images_find_basename(&f->images, name);
	bool visible = b && basename_is_visible(&f->images, b, caller, listed);
	mutex_unlock(&f->images.lock);
	return visible;
}

TEST_OF(file_in_a_private_directory, struct images_fixture, f)
{
	put_in(f, add_dir(f, "private", 0700), "program", false);
	assert_true(sees(f, &root, "program", true));
	assert_true(sees(f, &owner, "program", true));
	assert_false(sees(f, &stranger, "program", false));
	assert_false(sees(f, NULL, "program", false));
	put_in(f, add_dir(f, "hidden", 0711), "program", false);
	assert_true(sees(f, &stranger, "program", false));
	assert_false(sees(f, &stranger, "program", true));
	put_in(f, add_dir(f, "public", 0755), "program", false);
	assert_true(sees(f, &stranger, "program", true));
	scanned(f, 0);
	/* The next scan finds the private one only. */
	put_in(f, add_dir(f, "private", 0700), "program", false);
	scanned(f, 0);
	assert_true(sees(f, &owner, "program", true));
	assert_false(sees(f, &stranger, "program", false));
}

/* Of several directories that tell a title the one that most may search counts, in whatever order. */
TEST_OF(title_of_several_directories, struct images_fixture, f)
{
	put_in(f, add_dir(f, "private", 0700), "a", true);
	assert_true(sees(f, &owner, TITLE, true));
	assert_false(sees(f, &stranger, TITLE, false));
	put_in(f, add_dir(f, "hidden", 0711), "b", true);
	assert_true(sees(f, &stranger, TITLE, false));
	assert_false(sees(f, &stranger, TITLE, true));
	put_in(f, add_dir(f, "private", 0700), "c", true);
	assert_true(sees(f, &stranger, TITLE, false));
}

TEST_OF(title_of_the_last_scan, struct images_fixture, f)
{
	put_in(f, add_dir(f, "public", 0755), "a", true);
	scanned(f, 0);
	assert_true(sees(f, &stranger, TITLE, true));
	put_in(f, add_dir(f, "private", 0700), "b", true);
	scanned(f, 0);
	assert_true(sees(f, &owner, TITLE, true));
	assert_true(sees(f, &root, TITLE, true));
	assert_false(sees(f, &stranger, TITLE, false));
}

/* One image of that name among those which the caller may know. */
TEST_OF(the_only_one, struct images_fixture, f)
{
	struct image *found = NULL;
	put_in(f, add_dir(f, "private", 0700), "program", false);
	put_as(f, "fedcba9876543210", WITH(source_file("program", SOURCE_DWARF), w.ino = ++f->ino));
	scanned(f, 0);
	mutex_lock(&f->images.lock);
	assert_int_equal(images_find_only(&f->images, "program", &owner, &found), -ENOTUNIQ);
	assert_int_equal(images_find_only(&f->images, "nothing", &owner, &found), -ENOENT);
	assert_null(found);
	assert_int_equal(images_find_only(&f->images, "program", &stranger, &found), 0);
	mutex_unlock(&f->images.lock);
	assert_string_equal(found->id, "fedcba9876543210");
}

static void note_gone(void *user, dev_t dev, ino_t ino)
{
	(void)user;
	(void)dev;
	(void)ino;
}

/* Whether nothing but the path can have gone with it. */
static bool forget(struct images_fixture *f, const char *path)
{
	return images_forget_path(&f->images, path, f->pass, note_gone, NULL);
}

/* A title is of a file's content: whether another file still tells it, a walk has to find out. */
TEST_OF(forgotten_with_a_title, struct images_fixture, f)
{
	put_in(f, f->top, "program", false);
	scanned(f, 0);
	assert_true(forget(f, "program"));
	put_in(f, f->top, "program", true);
	scanned(f, 0);
	assert_false(forget(f, "program"));
}

/* A name lasts as long as one of the image's files in the tree has it. */
TEST_OF(forgotten, struct images_fixture, f)
{
	put_in(f, add_dir(f, "a", 0755), "program", false);
	put_in(f, add_dir(f, "b", 0755), "program", false);
	put_in(f, add_dir(f, "c", 0755), "other", false);
	scanned(f, 0);
	forget(f, "a/unknown");
	forget(f, "a/program");
	assert_true(sees(f, &stranger, "program", true));
	assert_true(sees(f, &stranger, "other", true));
	forget(f, "a/program"); /* it is not there any more */
	assert_true(sees(f, &stranger, "program", true));
	forget(f, "b/program");
	assert_false(sees(f, &root, "program", false));
	assert_true(sees(f, &stranger, "other", true));
	/* What has no such name, or no such image, is not forgotten. */
	const struct image *image = revision_of(f, ID)->image;
	mutex_lock(&f->images.lock);
	basename_forget(&f->images, "nothing", image);
	basename_forget(&f->images, "other", NULL);
	basename_forget(&f->images, "other", image); /* it has a file yet */
	mutex_unlock(&f->images.lock);
	assert_true(sees(f, &stranger, "other", true));
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)
