/* The table of fixed nodes: names, order, numbers, and that a number leads back to its row. */
#include "fs/tree/fixed.h"

#include <errno.h>
#include <string.h>

#include "fs/sys/metrics.h"
#include "fs/tree/entry.h"
#include "tests/lib/root_names.h"
#include "tests/lib/unit.h"

#define ELEMENT(name) name,
static const char *const root_names[] = {ROOT_NAMES(ELEMENT)};
enum { ROOT_ROWS = sizeof(root_names) / sizeof(root_names[0]) };

struct parts {
	struct images images;
	struct metrics metrics;
	struct answers answers;
	struct tree tree;
};

static void begin(struct parts *parts)
{
	memset(parts, 0, sizeof(*parts));
	mutex_init(&parts->images.lock, LOCK_IMAGES);
	parts->tree.images = &parts->images;
	parts->tree.metrics = &parts->metrics;
	parts->tree.answers = &parts->answers;
	parts->images.salt = UINT64_C(1234) << 32;
}

static bool is_snapshot(const char *name)
{
	return strcmp(name, "metrics") == 0 || strcmp(name, "status") == 0 || strcmp(name, "images.tsv") == 0;
}

TEST(lists_the_root)
{
	static struct parts parts;
	const char *name;
	struct fuse_entry_param e;
	begin(&parts);
	assert_int_equal(fixed_count(false), ROOT_ROWS);
	for (size_t i = 0; i < ROOT_ROWS; i++) {
		print_message("%s\n", root_names[i]);
		assert_int_equal(fixed_list(&parts.tree, NULL, i, &name, &e), 0);
		assert_string_equal(name, root_names[i]);
		assert_int_equal(e.generation, fixed_generation(&parts.tree));
		/* A snapshot comes without a number: each lookup gives it another. */
		assert_int_equal(e.ino, is_snapshot(name) ? 0 : e.attr.st_ino);
		assert_ptr_equal(fixed_find(NULL, name), fixed_find(NULL, root_names[i]));
	}
	assert_int_equal(fixed_list(&parts.tree, NULL, ROOT_ROWS, &name, &e), -ERANGE);
}

TEST(finds_by_number)
{
	static struct parts parts;
	const char *name;
	struct fuse_entry_param e;
	struct stat st;
	double timeout;
	begin(&parts);
	for (size_t i = 0; i < ROOT_ROWS; i++) {
		assert_int_equal(fixed_list(&parts.tree, NULL, i, &name, &e), 0);
		bool by_row = strcmp(name, "q") != 0 && strcmp(name, "by-path") != 0;
		assert_int_equal(fixed_attr(&parts.tree, e.attr.st_ino, &st, &timeout), by_row ? 0 : -ESTALE);
		if (by_row)
			assert_int_equal(st.st_mode, e.attr.st_mode);
		assert_int_equal(fixed_is_stream(&parts.tree, e.attr.st_ino), strcmp(name, "log") == 0);
	}
	assert_int_equal(fixed_attr(&parts.tree, INO_ROOT, &st, &timeout), -ESTALE);
	assert_int_equal(fixed_attr(&parts.tree, INO_FIXED + ROOT_ROWS, &st, &timeout), -ESTALE);
	assert_int_equal(fixed_attr(&parts.tree, ino_make(NODE_IMAGE_FILE, 0, 0), &st, &timeout), -ESTALE);
}

TEST(names_of_an_image)
{
	static const char *const names[] = {"status",        "info.json", "q",        "image.gsym",
					    "functions.tsv", "lines.tsv", "files.tsv"};
	static struct revision rev;
	assert_int_equal(fixed_count(true), 7);
	for (size_t i = 0; i < 7; i++) {
		assert_non_null(fixed_find(&rev, names[i]));
	}
	assert_null(fixed_find(&rev, "by-name"));
	assert_null(fixed_find(&rev, "status.json"));
	assert_null(fixed_find(NULL, "info.json"));
	assert_null(fixed_find(NULL, ""));
}

/* Names of fixed nodes have no other meaning: only q has, with a format after it. */
TEST(no_other_meaning)
{
	static const char *const image_names[] = {"status",        "info.json", "q",        "image.gsym",
						  "functions.tsv", "lines.tsv", "files.tsv"};
	const struct context none = {0};
	struct request r;
	for (size_t i = 0; i < ROOT_ROWS; i++) {
		name_parse(PLACE_ROOT, NULL, root_names[i], &r);
		assert_int_equal(r.kind, strcmp(root_names[i], "q") == 0 ? REQUEST_BATCH : REQUEST_NONE);
	}
	for (size_t i = 0; i < sizeof(image_names) / sizeof(image_names[0]); i++) {
		name_parse(PLACE_IMAGE, &none, image_names[i], &r);
		assert_int_equal(r.kind, strcmp(image_names[i], "q") == 0 ? REQUEST_BATCH : REQUEST_NONE);
	}
}
