/* Which code is at an address, after mappings over one another, and more of them than there is room for. */
#include "log/maps/memory_map.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

static struct text_scan scan_of(const char *text)
{
	return scan_from(text, text + strlen(text));
}

static void add(struct memory_map *map, uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
	const struct map_line line = {.start = start,
				      .end = end,
				      .offset = offset,
				      .executable = true,
				      .path = scan_of(path),
				      .id = scan_of("")};
	assert_int_equal(memory_map_add_line(map, &line), 0);
}

/* The module at @address and the address in it, or "none". */
static void expect(const struct memory_map *map, uint64_t address, const char *module, uint64_t relative)
{
	struct log_frame frame = {.address = 0};
	if (!memory_map_find(map, address, &frame)) {
		assert_string_equal(module, "none");
		return;
	}
	assert_string_equal(frame.module.name, module);
	assert_int_equal(frame.address, relative);
}

TEST(over_one_another)
{
	struct memory_map map = {.ranges = {0}};
	add(&map, 0x1000, 0x5000, 0, "/a");
	add(&map, 0x2000, 0x3000, 0, "/b");
	expect(&map, 0xfff, "none", 0);
	expect(&map, 0x1000, "/a", 0);
	expect(&map, 0x1fff, "/a", 0xfff);
	expect(&map, 0x2000, "/b", 0);
	expect(&map, 0x2fff, "/b", 0xfff);
	expect(&map, 0x3000, "/a", 0x2000);
	expect(&map, 0x4fff, "/a", 0x3fff);
	expect(&map, 0x5000, "none", 0);
	add(&map, 0x2800, 0x4000, 0, "anonymous memory");
	expect(&map, 0x27ff, "/b", 0x7ff);
	expect(&map, 0x2800, "none", 0);
	expect(&map, 0x4000, "/a", 0x3000);
	memory_map_deinit(&map);
}

/* Ends before or at its start: damaged text. */
TEST(empty_range)
{
	struct memory_map map = {.ranges = {0}};
	add(&map, 0x1000, 0x1000, 0, "/a");
	add(&map, 0x2000, 0x1000, 0, "/a");
	assert_int_equal(map.ranges.n, 0);
	expect(&map, 0x1000, "none", 0);
	memory_map_deinit(&map);
}

TEST(no_more_room)
{
	struct memory_map map = {.ranges = {0}};
	for (uint64_t i = 0; i < RANGES_MAX + 100; i++)
		add(&map, 0x1000 * i, 0x1000 * i + 0x800, 0, "/a");
	assert_int_equal(map.ranges.n, RANGES_MAX);
	expect(&map, 0x1000 * (uint64_t)(RANGES_MAX - 1), "/a", 0);
	expect(&map, 0x1000 * (uint64_t)RANGES_MAX, "none", 0);
	memory_map_deinit(&map);
}

/* What a further module covers is not of those before it. */
TEST(no_more_modules)
{
	struct memory_map map = {.ranges = {0}};
	char path[16];
	for (uint64_t i = 0; i < MODULES_MAX; i++) {
		snprintf(path, sizeof(path), "/%u", (unsigned)i);
		add(&map, 0x1000 * i, 0x1000 * i + 0x1000, 0, path);
	}
	expect(&map, 0x1000 * (MODULES_MAX - UINT64_C(1)), path, 0);
	add(&map, 0x1000, 0x2000, 0, "/more");
	expect(&map, 0x1000, "none", 0);
	add(&map, 0x2000, 0x3000, 0, "/1");
	expect(&map, 0x2000, "/1", 0);
	memory_map_deinit(&map);
}

/*
 * Random mappings over one another, beside an array of pages: whatever lies before, between, in or after
 * those that a new one meets. No offset is 0, after which the next mappings of a file would follow its
 * beginning.
 */
TEST(as_pages_are)
{
	enum { PAGES = 24, PAGE = 0x1000, ROUNDS = 300, MAPPINGS = 30 };
	static const char *const paths[] = {"/a", "/b", "/c", "anonymous memory"};
	uint32_t random = 1;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct memory_map map = {.ranges = {0}};
		const char *owner[PAGES] = {NULL};
		uint64_t offset[PAGES] = {0};
		for (unsigned i = 0; i < MAPPINGS; i++) {
			random = random * 1664525 + 1013904223;
			unsigned first = random / 0x1000 % PAGES, n = 1 + (random >> 24) % (PAGES - first);
			const char *path = paths[random >> 18 & 3];
			add(&map, first * PAGE, (first + n) * PAGE, (i + 1) * PAGE, path);
			for (unsigned page = first; page < first + n; page++) {
				owner[page] = path[0] == '/' ? path : NULL;
				offset[page] = (uint64_t)(i + 1 + page - first) * PAGE;
			}
			for (unsigned page = 0; page < PAGES; page++)
				for (unsigned byte = 0; byte < PAGE; byte += PAGE - 1)
					expect(&map, page * PAGE + byte, owner[page] ? owner[page] : "none",
					       offset[page] + byte);
		}
		memory_map_deinit(&map);
	}
}
