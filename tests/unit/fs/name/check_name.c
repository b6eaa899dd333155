/* What every name means: the grammar of gsymfs(1), without a mount. */
#include "fs/name/name.h"

#include <string.h>

#include "tests/lib/unit.h"

#define UUID "123456789abcdef0123456789abcdef0"
#define GO_1 "foh3mEXu7BLZjsN9pOwG"
#define GO_2 "kATcXlDE_F-yYpSUXsoO"

static struct request parse(enum name_place place, const char *name)
{
	struct request r;
	memset(&r, 0xff, sizeof(r));
	name_parse(place, &(struct context){0}, name, &r);
	return r;
}

static struct request parse_in(struct context context, const char *name)
{
	struct request r;
	memset(&r, 0xff, sizeof(r));
	name_parse(PLACE_IMAGE, &context, name, &r);
	return r;
}

/* Directories that say what numbers mean combine from left to right, each once. */
TEST(contexts)
{
	struct request r = parse(PLACE_IMAGE, "base");
	assert_int_equal(r.kind, REQUEST_CONTEXT);
	assert_true(r.context.wants_load && r.context.space == SPACE_RUNTIME);
	assert_int_equal(parse_in(r.context, "status").kind, REQUEST_NONE);
	assert_int_equal(parse_in(r.context, "0x1000.json").kind, REQUEST_NONE);
	assert_int_equal(parse_in(r.context, "ra").kind, REQUEST_NONE);
	r = parse_in(r.context, "0x10005d000");
	assert_int_equal(r.kind, REQUEST_CONTEXT);
	assert_true(!r.context.wants_load && r.context.load == 0x10005d000);
	assert_int_equal(parse_in(r.context, "rva").kind, REQUEST_NONE);
	assert_int_equal(parse_in(r.context, "image.gsym").kind, REQUEST_NONE);
	r = parse_in(r.context, "ra");
	assert_int_equal(r.kind, REQUEST_CONTEXT);
	assert_int_equal(parse_in(r.context, "ra").kind, REQUEST_NONE);
	r = parse_in(r.context, "0x10035d580.raw.atos");
	assert_int_equal(r.kind, REQUEST_ADDRESS);
	assert_int_equal(r.format, RENDER_ATOS);
	assert_true(r.raw && r.context.is_return && r.context.space == SPACE_RUNTIME);
	assert_int_equal(r.context.load, 0x10005d000);
	assert_int_equal(r.address, 0x10035d580);
	r = parse_in(parse(PLACE_IMAGE, "ra").context, "base");
	assert_true(r.kind == REQUEST_CONTEXT && r.context.wants_load && r.context.is_return);
	r = parse_in(parse_in(parse(PLACE_IMAGE, "off").context, "ra").context, "0x10");
	assert_true(r.kind == REQUEST_ADDRESS && r.context.space == SPACE_FILE && r.context.is_return);
	r = parse(PLACE_IMAGE, "approximate");
	assert_true(r.kind == REQUEST_CONTEXT && r.context.near && !r.context.is_return &&
		    r.context.space == SPACE_LINK);
	assert_int_equal(parse_in(r.context, "approximate").kind, REQUEST_NONE);
	assert_int_equal(parse_in(r.context, "status").kind, REQUEST_NONE);
	assert_int_equal(parse_in(r.context, "image.gsym").kind, REQUEST_NONE);
	assert_int_equal(parse_in(parse(PLACE_IMAGE, "base").context, "approximate").kind, REQUEST_NONE);
	r = parse_in(parse_in(r.context, "ra").context, "0x300580.json");
	assert_true(r.kind == REQUEST_ADDRESS && r.context.near && r.context.is_return);
	r = parse_in(parse_in(parse(PLACE_IMAGE, "base").context, "0x1000").context, "approximate");
	assert_true(r.kind == REQUEST_CONTEXT && r.context.near && r.context.load == 0x1000);
	assert_false(parse(PLACE_IMAGE, "0x10").context.near);
	assert_int_equal(parse(PLACE_IMAGE, "approximately").kind, REQUEST_NONE);
	assert_int_equal(parse(PLACE_IMAGE, "Base").kind, REQUEST_NONE);
	assert_int_equal(parse(PLACE_ROOT, "rva").kind, REQUEST_NONE);
	for (uint32_t code = 0; code < CONTEXT_CODES; code++)
		assert_int_equal(context_code(&(struct context){.space = context_of(code).space,
								.is_return = context_of(code).is_return,
								.wants_load = context_of(code).wants_load,
								.near = context_of(code).near}),
				 code);
}

TEST(addresses)
{
	static const struct {
		const char *name;
		uint64_t address;
	} good[] = {
		{"0x300580", 0x300580},
		{"0X300580", 0x300580},
		{"0xABCdef", 0xabcdef},
		{"0x0", 0},
		{"0", 0},
		{"300580", 0x300580},
		{"1abc", 0x1abc},
		{"deadbeef", 0xdeadbeef},
		{"DEADBEEF", 0xdeadbeef},
		{"ffffffff81000000", 0xffffffff81000000},
		{"0xffffffffffffffff", UINT64_MAX},
		{"0x00000000000000000000000000001", 1},
		{"00000000000000000000000000001", 1},
	};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct request r = parse(PLACE_IMAGE, good[i].name);
		assert_int_equal(r.kind, REQUEST_ADDRESS);
		assert_int_equal(r.address, good[i].address);
		assert_int_equal(r.format, RENDER_TEXT);
		assert_false(r.raw);
	}
}

TEST(not_addresses)
{
	static const char *const bad[] = {
		"",
		"0x",
		"x1",
		"0x10000000000000000",
		"0xg",
		"abc",
		"deadbee",
		"deadbeef0",
		"-1",
		"+1",
		" 1",
		"1 ",
		"0x1\n",
		"0x 1",
		"0x1.",
		"0x1.xml",
		"0x1.json.raw",
		"0x1.raw.raw",
		"0x1.rawjson",
		"0x1.tsv.json",
		".raw",
		"0x.raw",
		"0x1..json",
		"0b1",
		"statu",
		"status2",
		"image.gsym2",
		"100000000000000000",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		/* "0b1" is hexadecimal, as everything that starts with a decimal digit. */
		enum request_kind want = strcmp(bad[i], "0b1") == 0 ? REQUEST_ADDRESS : REQUEST_NONE;
		assert_int_equal(parse(PLACE_IMAGE, bad[i]).kind, want);
	}
}

TEST(breakpad_ids)
{
	char as_is[BREAKPAD_ID_SIZE], swapped[BREAKPAD_ID_SIZE];
	assert_true(id_from_breakpad("3322110055447766889900aabbccddee0", as_is, swapped));
	assert_string_equal(as_is, "3322110055447766889900aabbccddee");
	assert_string_equal(swapped, "00112233445566778899"
				     "00aabbccddee");
	assert_true(id_from_breakpad("3322110055447766889900aabbccddee1234567", as_is, swapped));
	assert_false(id_from_breakpad("3322110055447766889900aabbccddee", as_is, swapped));
	assert_false(id_from_breakpad("3322110055447766889900aabbccddee12345678", as_is, swapped));
	assert_false(id_from_breakpad("xxh3-2110055447766889900aabbccddee0", as_is, swapped));
	assert_false(id_from_breakpad("", as_is, swapped));
}

TEST(suffixes)
{
	static const struct {
		const char *name;
		enum render_format format;
		bool raw;
	} good[] = {
		{"0x10.json", RENDER_JSON, false},  {"10.tsv", RENDER_TSV, false},
		{"0x10.raw", RENDER_TEXT, true},    {"0x10.raw.json", RENDER_JSON, true},
		{"0x10.raw.tsv", RENDER_TSV, true}, {"00000010.json", RENDER_JSON, false},
	};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct request r = parse(PLACE_IMAGE, good[i].name);
		assert_int_equal(r.kind, REQUEST_ADDRESS);
		assert_int_equal(r.address, 0x10);
		assert_int_equal(r.format, good[i].format);
		assert_int_equal(r.raw, good[i].raw);
	}
}

TEST(symbols)
{
	static const struct {
		const char *name, *symbol;
		uint64_t off;
		enum render_format format;
		bool raw;
	} good[] = {
		{"main", "main", 0, RENDER_TEXT, false},
		{"main+0x12", "main", 0x12, RENDER_TEXT, false},
		{"main+0X12", "main+0X12", 0, RENDER_TEXT, false},
		{"main+0x12.json", "main", 0x12, RENDER_JSON, false},
		{"main.raw.tsv", "main", 0, RENDER_TSV, true},
		{"f.cold+0xffffffffffffffff.raw", "f.cold", UINT64_MAX, RENDER_TEXT, true},
		{"main+0x", "main+0x", 0, RENDER_TEXT, false},
		{"main+0x10000000000000000", "main+0x10000000000000000", 0, RENDER_TEXT, false},
		{"_ZplRK1aS1_+0x0", "_ZplRK1aS1_", 0, RENDER_TEXT, false},
		{"-[A b:]+0x4.atos", "-[A b:]", 4, RENDER_ATOS, false},
		{"0x10", "0x10", 0, RENDER_TEXT, false},
		{"ra", "ra", 0, RENDER_TEXT, false},
		{"status", "status", 0, RENDER_TEXT, false},
		{"f.json.json", "f.json", 0, RENDER_JSON, false},
	};
	struct request r = parse(PLACE_IMAGE, "sym");
	assert_true(r.kind == REQUEST_CONTEXT && r.context.space == SPACE_SYMBOL);
	const struct context sym = r.context;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		r = parse_in(sym, good[i].name);
		assert_int_equal(r.kind, REQUEST_SYMBOL);
		assert_int_equal(r.symbol_size, strlen(good[i].symbol));
		assert_memory_equal(r.symbol, good[i].symbol, r.symbol_size);
		assert_true(r.address == good[i].off && r.format == good[i].format && r.raw == good[i].raw);
	}
	assert_int_equal(parse_in(sym, ".json").kind, REQUEST_NONE);
	assert_int_equal(parse_in(sym, ".raw.tsv").kind, REQUEST_NONE);
	assert_int_equal(parse_in(parse(PLACE_IMAGE, "rva").context, "sym").kind, REQUEST_NONE);
	r = parse_in(parse(PLACE_IMAGE, "ra").context, "sym");
	assert_true(r.kind == REQUEST_CONTEXT && r.context.is_return && r.context.space == SPACE_SYMBOL);
}

/* Directories as a line of the root's q has them: those in which there is a q. */
TEST(places_in_lines)
{
	static const struct {
		const char *text;
		struct context context;
	} good[] = {
		{"ab", {0}},
		{"ab/", {0}},
		{"ab/rva", {.space = SPACE_RVA}},
		{"ab//rva/", {.space = SPACE_RVA}},
		{"ab/off/ra", {.space = SPACE_FILE, .is_return = true}},
		{"ab/ra/approximate/off", {.space = SPACE_FILE, .is_return = true, .near = true}},
		{"ab/base/0x10005d000", {.space = SPACE_RUNTIME, .load = 0x10005d000}},
		{"ab/base/10/ra", {.space = SPACE_RUNTIME, .load = 0x10, .is_return = true}},
	};
	static const char *const bad[] = {"ab/base",
					  "ab/base/x",
					  "ab/base/0x1.json",
					  "ab/sym",
					  "ab/sym/main",
					  "ab/rva/off",
					  "ab/ra/ra",
					  "ab/q",
					  "ab/status",
					  "ab/0x10",
					  "ab/..",
					  "ab/./ra",
					  "ab/Rva",
					  "ab/base/0x1/base/0x2"};
	char text[8 + NAME_BYTES_MAX + 1];
	struct context c;
	size_t n;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(context_parse_place(good[i].text, strlen(good[i].text), &n, &c));
		assert_int_equal(n, 2);
		assert_true(context_equal(&c, &good[i].context));
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(context_parse_place(bad[i], strlen(bad[i]), &n, &c));
	assert_true(context_parse_place("ab/ra and more", 5, &n, &c));
	assert_false(context_parse_place("ab/ra\0", 6, &n, &c));
	assert_true(context_parse_place("", 0, &n, &c));
	assert_int_equal(n, 0);
	memset(text, '0', sizeof(text));
	memcpy(text, "ab/base/", 8);
	assert_true(context_parse_place(text, 8 + NAME_BYTES_MAX, &n, &c));
	assert_false(context_parse_place(text, 8 + NAME_BYTES_MAX + 1, &n, &c));
}

TEST(batches)
{
	const struct context loaded = {.space = SPACE_RUNTIME, .load = 1};
	const struct context wants = {.space = SPACE_RUNTIME, .wants_load = true};
	struct request r = parse(PLACE_ROOT, "q");
	assert_true(r.kind == REQUEST_BATCH && r.format == RENDER_TEXT && !r.raw);
	r = parse(PLACE_ROOT, "q.raw.json");
	assert_true(r.kind == REQUEST_BATCH && r.format == RENDER_JSON && r.raw);
	r = parse_in(loaded, "q.tsv");
	assert_true(r.kind == REQUEST_BATCH && r.format == RENDER_TSV && r.context.load == 1);
	assert_int_equal(parse_in(wants, "q").kind, REQUEST_NONE);
	assert_int_equal(parse(PLACE_IMAGE, "q.").kind, REQUEST_NONE);
	assert_int_equal(parse(PLACE_IMAGE, "q.json.raw").kind, REQUEST_NONE);
	assert_int_equal(parse(PLACE_ROOT, "Q").kind, REQUEST_NONE);
	assert_int_equal(parse(PLACE_ROOT, "qq").kind, REQUEST_NONE);
	for (uint32_t code = 0; code < BATCH_CODES; code++) {
		r = batch_of(code);
		assert_int_equal(r.kind, REQUEST_BATCH);
		assert_int_equal(batch_code(&r), code);
	}
}

/* Fixed nodes are found by the table of the tree (check_fixed.c): their names must mean nothing else. */
TEST(names_of_fixed_nodes)
{
	static const char *const names[] = {"status",    "info.json", "image.gsym", "functions.tsv",
					    "files.tsv", "log",       "metrics"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(parse(PLACE_IMAGE, names[i]).kind, REQUEST_NONE);
		assert_int_equal(parse(PLACE_ROOT, names[i]).kind, REQUEST_NONE);
	}
	assert_int_equal(parse(PLACE_IMAGE, "lines").kind, REQUEST_NONE);
	assert_int_equal(parse(PLACE_ROOT, "lines.tsv").kind, REQUEST_NONE);
	assert_int_equal(parse(PLACE_IMAGE, "by-name").kind, REQUEST_NONE);
	assert_int_equal(parse(PLACE_IMAGE, "by-path").kind, REQUEST_NONE);
	assert_int_equal(parse(PLACE_IMAGE, UUID).kind, REQUEST_NONE);
}

TEST(ids)
{
	static const struct {
		const char *name, *id;
		bool alias;
	} good[] = {
		{UUID, UUID, false},
		{"123456789ABCDEF0123456789ABCDEF0", UUID, true},
		{"12345678-9abc-def0-1234-56789abcdef0", UUID, true},
		{"12345678-9ABC-DEF0-1234-56789ABCDEF0", UUID, true},
		{"{12345678-9ABC-DEF0-1234-56789ABCDEF0}", UUID, true},
		{"{123456789abcdef0123456789abcdef0}", UUID, true},
		{"12345678-9abc-def0-1234-56789abcdef0-A", UUID "a", true},
		{"{12345678-9ABC-DEF0-1234-56789ABCDEF0}-1F", UUID "1f", true},
		{"123456789ABCDEF0123456789ABCDEF0-1", UUID "1", true},
		{GO_1 "/" GO_2, GO_1 "/" GO_2, false}, /* in a line of the root's q */
		{GO_1 "_" GO_2, GO_1 "/" GO_2, true},
		{GO_1 "%2F" GO_2 "%2f" GO_1 "_" GO_2, GO_1 "/" GO_2 "/" GO_1 "/" GO_2, true},
		{"12345678", "12345678", false},
		{"ab", "ab", false},
		{"abc", "abc", false},
		{"xxh3-0123456789abcdef0123456789abcdef", "xxh3-0123456789abcdef0123456789abcdef", false},
		{"XXH3-0123456789ABCDEF", "xxh3-0123456789abcdef", true},
	};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct request r = parse(PLACE_ROOT, good[i].name);
		assert_int_equal(r.kind, REQUEST_ID);
		assert_string_equal(r.id, good[i].id);
		assert_int_equal(r.alias, good[i].alias);
	}
}

TEST(not_ids)
{
	static const char *const bad[] = {
		"",
		"a",
		"0x12345678",
		"12345678-9abc-def0-1234-56789abcdef",
		"12345678-9abc-def0-1234-56789abcdef00",
		"123456789-abc-def0-1234-56789abcdef0",
		"12345678-9abc-def0-1234_56789abcdef0",
		"12345678-9abc-def0-1234-56789abcdef0-",
		"12345678-9abc-def0-1234-56789abcdef0-12345678",
		"12345678-9abc-def0-1234-56789abcdef0-g",
		"{12345678-9abc-def0-1234-56789abcdef0",
		"12345678-9abc-def0-1234-56789abcdef0}",
		"{12345678-9abc-def0-1234-56789abcdef0}1",
		"{12345678-9abc-def0-1234-56789abcdef}",
		"{}",
		"{",
		"123456789abcdef0123456789abcdef0-",
		GO_1,
		GO_1 "_",
		GO_1 "_" GO_2 "_",
		GO_1 "_" GO_2 "x",
		GO_1 "%2" GO_2,
		GO_1 "%2Fx",
		GO_1 " " GO_2,
		GO_1 "_" GO_2 "_" GO_1 "_" GO_2 "_" GO_1,
		"redacted",
		"xxh3-",
		"xxh3",
		"xxh3-0123456789abcdef0123456789abcdef0",
		"xxh3-xyz",
		"hello",
		".Trash",
		"status",
		"12345678 ",
		"1234567g",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse(PLACE_ROOT, bad[i]).kind, REQUEST_NONE);
	assert_int_equal(parse(PLACE_ROOT, "by-name").kind, REQUEST_NONE);
	assert_int_equal(parse(PLACE_ROOT, "by-path").kind, REQUEST_NONE);
}

TEST(longest_id)
{
	char name[ID_TEXT_SIZE + 1];
	memset(name, 'a', sizeof(name));
	name[ID_TEXT_SIZE - 1] = 0;
	assert_int_equal(parse(PLACE_ROOT, name).kind, REQUEST_ID);
	assert_string_equal(parse(PLACE_ROOT, name).id, name);
	name[ID_TEXT_SIZE - 1] = 'a';
	name[ID_TEXT_SIZE] = 0;
	assert_int_equal(parse(PLACE_ROOT, name).kind, REQUEST_NONE);
}

TEST(prefixes)
{
	assert_true(id_may_be_prefix("12345678"));
	assert_false(id_may_be_prefix("1234567"));
	assert_true(id_may_be_prefix("xxh3-12345678"));
	assert_false(id_may_be_prefix("xxh3-1234567"));
}
