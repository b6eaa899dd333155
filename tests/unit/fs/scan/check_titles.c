/* Paths that are ids, and names in links that are called so. */
#include "fs/scan/titles.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

#define ID "66b3aabbccddeeff00112233445566778899aabb"

TEST(paths)
{
	static const char *const yes[] = {
		ID,
		ID ".debug",
		".build-id/66/b3aabbccddeeff00112233445566778899aabb.debug",
		"66/b3aabbccddeeff00112233445566778899aabb",
		"cache/" ID "/debuginfo",
		"66B3AABB-CCDD-EEFF-0011-2233-445566778899AABB",
		"uuids/66B3/AABB/CCDD/EEFF/00112233445566778899AABB",
	};
	static const char *const no[] = {
		"",
		"/",
		"libfoo.so",
		"x" ID,
		"x/0" ID,
		ID "0",
		ID "/a/b",
		ID ".debug/a/b",
		"b3aabbccddeeff00112233445566778899aabb.debug",
		"67/b3aabbccddeeff00112233445566778899aabb.debug",
	};
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		print_message("%s\n", yes[i]);
		assert_true(path_is_called_by_id(yes[i], ID));
	}
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		print_message("%s\n", no[i]);
		assert_false(path_is_called_by_id(no[i], ID));
	}
	assert_false(path_is_called_by_id("cafe", "cafe"));
	assert_false(path_is_called_by_id("xxh3-0011223344556677", "xxh3-0011223344556677"));
}

TEST(build_ids)
{
	char id[ID_TEXT_SIZE], text[2 * ID_TEXT_SIZE];
	assert_true(path_build_id(".build-id/66/b3aabbccddeeff00112233445566778899aabb", id));
	assert_string_equal(id, ID);
	assert_true(path_build_id("66/b3aabbccddeeff00112233445566778899aabb.debug", id));
	assert_string_equal(id, ID);
	assert_false(path_build_id("", id));
	assert_false(path_build_id("/", id));
	assert_false(path_build_id("6/b3aabbccddeeff00112233445566778899aabb", id));
	assert_false(path_build_id("066/b3aabbccddeeff00112233445566778899aabb", id));
	assert_false(path_build_id("66/b3", id));
	assert_false(path_build_id("66/B3aabbccddeeff00112233445566778899aabb", id));
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	text[2] = '/';
	assert_false(path_build_id(text, id));
}

TEST(links)
{
	static const char *const rows[][2] = {
		{"../../../../../usr/bin/ls", "ls"},
		{"/usr/lib/debug/usr/bin/ls.debug", "ls"},
		{"ls", "ls"},
		{"../../.build-id/66/b3aabbccddeeff00112233445566778899aabb", NULL},
		{ID ".debug", NULL},
		{"/usr/bin/", NULL},
		{"..", NULL},
		{"/usr/bin/a\nb", NULL},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char target[128];
		snprintf(target, sizeof(target), "%s", rows[i][0]);
		const char *title = title_of_link(target);
		print_message("%s\n", rows[i][0]);
		if (rows[i][1])
			assert_string_equal(title, rows[i][1]);
		else
			assert_null(title);
	}
}
