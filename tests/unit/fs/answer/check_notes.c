/* Notes of a cache file as JSON: what the converter writes, and what another program may have written. */
#include "fs/answer/notes_show.h"

#include <string.h>

#include "tests/lib/unit.h"
#include "work/cache/notes.h"

static void expect(const char *notes, size_t size, const char *json)
{
	struct kv_writer kv = {.json = true};
	kv_begin(&kv);
	notes_to_json(&kv, notes, size);
	kv_end(&kv);
	text_char(&kv.out, 0);
	assert_false(kv.out.failed);
	assert_string_equal(kv.out.v, json);
	text_deinit(&kv.out);
}

#define EXPECT(notes, json) expect(notes, sizeof(notes) - 1, json "\n")

TEST(whole)
{
	EXPECT("", "{}");
	EXPECT("units\t2\n", "{\"units\":2}");
	EXPECT("skipped\t3 row (first: .debug_line+0x1)\nmissing\ta.dwo\nmissing\tb\\\\c\nsection\t.text "
	       "0x70 13963\n"
	       "section\ta b 0x0 5\nunits\t2\nfunctions_dwarf\t7\nfunctions_symbols\t0\n",
	       "{\"units\":2,\"functions_dwarf\":7,\"functions_symbols\":0,"
	       "\"skipped\":[\"3 row (first: .debug_line+0x1)\"],\"missing\":[\"a.dwo\",\"b\\\\c\"],"
	       "\"section\":[{\"name\":\".text\",\"address\":\"0x70\",\"size\":13963},"
	       "{\"name\":\"a b\",\"address\":\"0x0\",\"size\":5}]}");
}

TEST(escapes)
{
	EXPECT("missing\t\\t\\n\\x1b\\x4", "{\"missing\":[\"\\t\\n\\u001b\\\\x4\"]}");
	EXPECT("missing\t\\", "{\"missing\":[\"\\\\\"]}");
	EXPECT("missing\t\\xff\"", "{\"missing\":[\"\xef\xbf\xbd\\\"\"]}");
	EXPECT("missing\t\n", "{\"missing\":[\"\"]}");
}

TEST(foreign)
{
	EXPECT("\n\n\t\n\tx\nno tab\nother\t1\nstate\tready\n", "{}");
	EXPECT("units\t\nunits\t-1\nunits\t1x\nunits\t01\nunits\t99999999999999999999\n", "{}");
	EXPECT("units\t1\nunits\t2\n", "{\"units\":1}");
	EXPECT("units\t4", "{\"units\":4}");
	EXPECT("section\t\nsection\t.text\nsection\t.text 0x 1\nsection\t.text 0x1 \nsection\t.text 1 "
	       "1\nsection\t 0x1 1x\n",
	       "{}");
	EXPECT("section\t0x1 2\n", "{\"section\":[{\"name\":\"\",\"address\":\"0x1\",\"size\":2}]}");
	EXPECT("missing\ta\0b\n", "{\"missing\":[\"a\\u0000b\"]}");
}

TEST(lines)
{
	static const char notes[] = "missing\ta\033[2J\nunits\t2\n";
	struct kv_writer kv = {0};
	notes_to_lines(&kv, notes, sizeof(notes) - 1);
	text_char(&kv.out, 0);
	assert_string_equal(kv.out.v, "missing\ta?[2J\nunits\t2\n");
	text_deinit(&kv.out);
}

static void read_map(const char *notes, struct address_map *map)
{
	notes_read_map((struct span){(const uint8_t *)notes, strlen(notes)}, map);
}

/* What lookups need of the notes. */
TEST(map)
{
	struct address_map map;
	read_map("", &map);
	assert_int_equal(map.n, 0);
	assert_false(map.has_ada);
	read_map("units\t2\nlanguage\tAda 95\nsegment\t0x0 0x1\nsegment\t1 2 3\nimage_base\t7\n", &map);
	assert_int_equal(map.n, 0);
	assert_int_equal(map.base, 0);
	assert_false(map.has_ada);
	read_map("image_base\t0x400000\nsegment\t0x0 0x400000 0x1000\nunits\t2\nsegment\t0x1000 0x402000 "
		 "0x23\n"
		 "language\tAda",
		 &map);
	assert_int_equal(map.base, 0x400000);
	assert_int_equal(map.n, 2);
	assert_int_equal(map.segments[0].size, 0x1000);
	assert_int_equal(map.segments[1].off, 0x1000);
	assert_int_equal(map.segments[1].addr, 0x402000);
	assert_int_equal(map.segments[1].size, 0x23);
	assert_true(map.has_ada);
}

TEST(more_segments_than_there_is_room_for)
{
	struct address_map map;
	struct text_buf notes = {0};
	for (uint64_t i = 0; i < WORKER_SEGMENTS_MAX + 3; i++)
		note_segment(&notes, &(struct worker_segment){.off = i, .addr = i, .size = 1});
	note_ada(&notes);
	notes_read_map(text_span(&notes), &map);
	assert_int_equal(map.n, WORKER_SEGMENTS_MAX);
	assert_int_equal(map.segments[WORKER_SEGMENTS_MAX - 1].off, WORKER_SEGMENTS_MAX - 1);
	assert_true(map.has_ada);
	text_deinit(&notes);
}
