/* What symbolic links lead to: how many directories up, to which image, and numbers that are no link's. */
#include "tests/unit/fs/images/images_fixture.h"

#include "fs/images/basename.h"
#include "fs/images/catalogue.h"
#include "fs/images/image_find.h"
#include "fs/images/inode_numbers.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <string.h>

#define LONG_ID                                                            \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int text_of(struct images_fixture *f, uint64_t ino, char text[static LINK_TEXT_SIZE])
{
	memset(text, 'x', LINK_TEXT_SIZE);
	mutex_lock(&f->images.lock);
	int size = link_text(&f->images, ino, text);
	mutex_unlock(&f->images.lock);
	return size;
}

static void says(struct images_fixture *f, uint64_t ino, const char *expected)
{
	char text[LINK_TEXT_SIZE];
	assert_int_equal(text_of(f, ino, text), strlen(expected));
	assert_string_equal(text, expected);
}

static void fails(struct images_fixture *f, uint64_t ino, int err)
{
	char text[LINK_TEXT_SIZE];
	assert_int_equal(text_of(f, ino, text), err);
	assert_int_equal(text[0], 'x');
}

static uint32_t key_of(struct images_fixture *f, const char *id)
{
	mutex_lock(&f->images.lock);
	uint32_t key = image_key(images_find(&f->images, id));
	mutex_unlock(&f->images.lock);
	return key;
}

/* The link to the first image of a file of by-path, if it has one, or several. */
static uint64_t path_ino(struct images_fixture *f, uint32_t dir, const char *name, enum node_kind kind)
{
	mutex_lock(&f->images.lock);
	const struct path_file *file = path_tree_find(&f->images.paths, dir, name);
	assert_non_null(file);
	uint64_t ino = path_link_ino(&f->images, file, kind);
	mutex_unlock(&f->images.lock);
	return ino;
}

TEST_OF(aliases, struct images_fixture, f)
{
	put_new(f, debug_file());
	put_as(f, LONG_ID, source_file("long", SOURCE_DWARF));
	says(f, ino_make(NODE_ALIAS, key_of(f, ID), 0), ID);
	says(f, ino_make(NODE_ALIAS, key_of(f, ID), 1), "../" ID);
	says(f, ino_make(NODE_ALIAS, key_of(f, LONG_ID), 2), "../../" LONG_ID);
	for (unsigned i = 0; i < NAMED_CONTEXTS; i++) {
		char expected[LINK_TEXT_SIZE];
		snprintf(expected, sizeof(expected), "../../%s/%s", ID, named_contexts[i].name);
		assert_true(strlen(named_contexts[i].name) < LINK_INSIDE_SIZE);
		says(f, ino_make(NODE_ALIAS, key_of(f, ID), alias_code((struct alias){2, i + 1})), expected);
	}
	fails(f, ino_make(NODE_ALIAS, key_of(f, ID), alias_code((struct alias){2, NAMED_CONTEXTS + 1})),
	      -ESTALE);
	fails(f, ino_make(NODE_ALIAS, 12345, 0), -ESTALE);
}

TEST_OF(names, struct images_fixture, f)
{
	put_new(f, debug_file());
	mutex_lock(&f->images.lock);
	const struct basename *name = images_find_basename(&f->images, "debug");
	uint64_t ino = name_link_ino(images_find_member(&f->images, name, images_find(&f->images, ID)));
	mutex_unlock(&f->images.lock);
	says(f, ino, "../../" ID);
	fails(f, ino_make(NODE_NAME_LINK, 1, 12345), -ESTALE);
}

/* As far from the root as the directory is; an image of a file with several is one further. */
TEST_OF(paths, struct images_fixture, f)
{
	enum { DEPTH = 5 };
	const struct path_attr attr = {.mode = 0555};
	char expected[LINK_TEXT_SIZE] = "../", name[] = "file0";
	for (int depth = 0; depth < DEPTH; depth++) {
		name[4] = (char)('0' + depth);
		put_as(f, ID, WITH(source_file(name, SOURCE_DWARF), w.ino = 10 + (ino_t)depth));
		strcat(expected, ID);
		says(f, path_ino(f, f->top, name, NODE_PATH_LINK), expected);
		memmove(expected + 3, expected, strlen(expected) + 1);
		memcpy(expected, "../", 3);
		says(f, path_ino(f, f->top, name, NODE_PATH_MEMBER), expected);
		expected[strlen(expected) - strlen(ID)] = 0;
		f->top = images_add_directory(&f->images, f->top, "sub", &attr);
	}
	fails(f, ino_make(NODE_PATH_LINK, 12345, 1), -ESTALE);
	fails(f, ino_make(NODE_PATH_MEMBER, 12345, 1), -ESTALE);
}

/* The deepest directory, and the longest id, make the longest text. */
TEST_OF(longest, struct images_fixture, f)
{
	static char expected[LINK_TEXT_SIZE];
	const struct path_attr attr = {.mode = 0555};
	for (int depth = 0; depth < PATH_DEPTH_MAX; depth++) {
		f->top = images_add_directory(&f->images, f->top, "d", &attr);
		assert_int_not_equal(f->top, PATH_NONE);
		memcpy(expected + 3 * depth, "../", 3);
	}
	assert_int_equal(images_add_directory(&f->images, f->top, "d", &attr), PATH_NONE);
	put_as(f, LONG_ID, source_file("long", SOURCE_DWARF));
	strcat(expected, "../../" LONG_ID);
	says(f, path_ino(f, f->top, "long", NODE_PATH_MEMBER), expected);
	assert_int_equal(strlen(expected), LINK_TEXT_SIZE - 1 - LINK_INSIDE_SIZE);
}

TEST_OF(no_links, struct images_fixture, f)
{
	static const enum node_kind kinds[] = {NODE_FIXED,    NODE_IMAGE,    NODE_IMAGE_FILE,
					       NODE_CONTEXT,  NODE_BATCH,    NODE_NAME,
					       NODE_PATH_DIR, NODE_PATH_FAT, NODE_ADDRESS};
	put_new(f, debug_file());
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		fails(f, ino_make(kinds[i], key_of(f, ID), 0), -EINVAL);
}

/* A link stays what it was while its image is there, and is stale when that is gone. */
TEST_OF(gone, struct images_fixture, f)
{
	put_new(f, debug_file());
	put_as(f, "fedcba9876543210", WITH(source_file("other", SOURCE_DWARF), w.ino = 77));
	uint32_t top = f->top;
	const uint64_t alias = ino_make(NODE_ALIAS, key_of(f, ID), 0),
		       path = path_ino(f, top, "debug", NODE_PATH_LINK);
	says(f, alias, ID);
	says(f, path, "../" ID);
	scanned(f, 0);
	put_as(f, "fedcba9876543210", WITH(source_file("other", SOURCE_DWARF), w.ino = 77));
	scanned(f, 0);
	fails(f, alias, -ESTALE);
	fails(f, path, -ESTALE);
	says(f, path_ino(f, top, "other", NODE_PATH_LINK), "../fedcba9876543210");
}

EACH_TEST(images_fixture_set_up, images_fixture_tear_down)
