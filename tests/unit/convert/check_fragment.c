/* Fragments: which functions around an address are certain, early and with all units and symbols known. */
#include "tests/lib/unit.h"
#include "convert/object/source_format.h"
#include "tests/unit/convert/fragment_asking.h"

/* ---- What is certain ---- */

struct fragment_case {
	const char *what;
	struct made_image image;
	const char *asked;
	const char *early, *whole; /* what is found; "": nothing */
};

static const struct fragment_case certain_cases[] = {
	{"a unit", {.comment = NULL}, "0", "01", "01"},
	{"another one", {.comment = NULL}, "f", "ef", "ef"},
	{"two addresses of one unit", {.comment = NULL}, "45", "45", "45"},
	{"two units, the second first", {.comment = NULL}, "a1", "01ab", "01ab"},
	{"nothing there", {.comment = NULL}, "*", "", ""},
	{"nothing at one of two addresses", {.comment = NULL}, "*0", "", "01"},
	{"nothing at the other", {.comment = NULL}, "0*", "", "01"},
	/* Symbols */
	{"no symbols", {.symbols = "----------------"}, "0", "", "01"},
	{"no symbol there", {.symbols = "-sssssssssssssss"}, "0", "", "01"},
	{"no symbol beside it", {.symbols = "s-ssssssssssssss"}, "0", "0", "01"},
	{"a symbol without size", {.symbols = "zsssssssssssssss"}, "0", "", "01"},
	{"one without size beside it", {.symbols = "szssssssssssssss"}, "0", "0", "01"},
	{"a label", {.symbols = "lsssssssssssssss"}, "0", "", "01"},
	{"asked where it is not certain", {.symbols = "s-ssssssssssssss"}, "01", "", "01"},
	/* Units */
	{"no rows", {.units = {"01!", "23", "45", "67"}}, "0", "", ""},
	{"not listed", {.order = "1234567"}, "0", "", "01"},
	{"another is not listed", {.order = "0234567"}, "0", "01", "01"},
	{"the first is not listed", {.order = "1234567"}, "2", "23", "23"},
	{"listed in another order", {.order = "76543210"}, "c2", "23cd", "23cd"},
	{"listed twice", {.order = "0012345677"}, "0e", "01ef", "01ef"},
	{"listed at no unit", {.stray = 1}, "0", "", "01"},
	{"listed before the end", {.stray = 500}, "0", "", "01"},
	{"listed past the end", {.stray = 0x10000}, "0", "", "01"},
	{"listed at the highest offset", {.stray = UINT32_MAX - 500}, "0", "", "01"},
	{"of many listed in any order",
	 {.units = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f"},
	  .order = "8c04f37b15926ade"},
	 "0c84",
	 "048c",
	 "048c"},
	{"of many in the order of the file, which is not that of the code",
	 {.units = {"e", "c", "f", "3", "4", "5", "6", "7", "8", "9", "a", "b", "1", "d", "0", "2"}},
	 "0e1f",
	 "01ef",
	 "01ef"},
	{"code that a symbol of another unit reaches",
	 {.units = {"0", "1", "2", "3", "4", "5", "6", "7"}, .symbols = "swssssssssssssss"},
	 "2",
	 "",
	 ""},
	{"up to its beginning",
	 {.units = {"0", "1", "2", "3", "4", "5", "6", "7"}, .symbols = "swssssssssssssss"},
	 "3",
	 "3",
	 "3"},
	{"entries in another file", {.units = {"01~", "23", "45", "67", "89"}}, "0", "", ""},
	{"and one that is here", {.units = {"01~", "23", "45", "67", "89", "ab", "cd"}}, "02", "", "23"},
	{"names in another unit", {.units = {"01", "23>", "45", "67", "89"}, .symbols = NULL}, "2", "", "23"},
	{"others have their names elsewhere", {.units = {"01", "23>", "45", "67", "89"}}, "4", "45", "45"},
	{"Ada", {.units = {"01A", "23", "45", "67"}}, "0", "01", "01"},
	/* Shared code */
	{"the code of another unit", {.units = {"45", "56", "01", "23"}}, "4", "4", "4"},
	{"the same, the other way", {.units = {"56", "45", "01", "23"}}, "4", "4", "4"},
	{"code of both units",
	 {.units = {"45", "56", "01", "23", "89", "ab", "cd", "ef"}},
	 "5",
	 "456",
	 "456"},
	{"a unit inside of another",
	 {.units = {"4", "37", "01", "89", "ab", "cd", "ef", "2"}},
	 "4",
	 "347",
	 "347"},
	{"a unit around another", {.units = {"4", "37", "01", "89", "ab", "cd", "ef", "2"}}, "7", "37", "37"},
	{"a unit up to its beginning", {.units = {"45", "34", "01", "67"}}, "5", "5", "5"},
	{"functions that overlap", {.units = {"4+56", "01", "23", "89", "ab"}}, "6", "6", "6"},
	{"the first of them", {.units = {"4+56", "01", "23", "89", "ab"}}, "4", "", "6"},
	{"the last ones overlap", {.units = {"45+6", "01", "23", "89", "ab"}}, "4", "4", "4"},
	/* Sizes */
	{"more than a fourth", {.units = {"01", "23", "45"}}, "0", "", ""},
	{"a fourth", {.units = {"01", "23", "45", "67"}}, "0", "01", "01"},
	{"two fourths", {.units = {"01", "23", "45", "67"}}, "02", "", "01"},
	{"the second after a large one", {.units = {"0123456", "78", "9a", "bc", "de"}}, "08", "", "78"},
	{"two of eight", {.comment = NULL}, "06", "0167", "0167"},
	{"three of eight", {.comment = NULL}, "06a", "", "0167"},
	/* What the linker folded */
	{"two names", {.symbols = "2sssssssssssssss"}, "0", "", "1"},
	{"two names beside it", {.symbols = "s2ssssssssssssss"}, "0", "0", "0"},
	{"two names of the last", {.symbols = "sssssssssssssss2"}, "e", "e", "e"},
	{"two names, by GNU ld",
	 {.symbols = "2sssssssssssssss", .comment = "GCC: (Debian) 12"},
	 "0",
	 "01",
	 "01"},
	{"two names, by GCC and lld",
	 {.symbols = "2sssssssssssssss", .comment = "GCC: 12 Linker: LLD 16"},
	 "0",
	 "",
	 "1"},
	{"two names, by lld", {.symbols = "2sssssssssssssss", .comment = "Linker: LLD 16"}, "0", "", "1"},
	{"two names, by mold", {.symbols = "2sssssssssssssss", .comment = "mold 1.10"}, "0", "", "1"},
	{"two names, by gold", {.symbols = "2sssssssssssssss", .comment = "GCC", .gold = true}, "0", "", "1"},
	/* Compilers of which not all units are listed, or not all languages known */
	{"GNAT", {.str = "GNU Ada 12.2"}, "0", "", "01"},
	{"Ada of another", {.str = "x GNAT/LLVM"}, "0", "", "01"},
	{"clang", {.str = "Debian clang version 14"}, "0", "", "01"},
	{"rustc", {.str = "clang LLVM (rustc version 1.63.0)"}, "0", "", "01"},
	{"another name", {.str = "GNU C17 clang-format gnat GNATMAKE"}, "0", "01", "01"},
};

TEST(certain)
{
	for (size_t i = 0; i < ARRAY_SIZE(certain_cases); i++) {
		const struct fragment_case *c = &certain_cases[i];
		struct asking a;
		char early[32];
		long before = live;
		start(&a, &c->image, c->asked);
		strcpy(early, make(&a, fragment_make_early));
		assert_string_equal(make(&a, fragment_make_early), early);
		prepare_all(&a);
		make(&a, fragment_make);
		if (strcmp(early, c->early) || strcmp(a.found, c->whole))
			fail_msg("%s: \"%s\", not \"%s\"; \"%s\", not \"%s\"", c->what, early, c->early,
				 a.found, c->whole);
		end(&a);
		assert_int_equal(live, before);
	}
}

/* ---- Addresses ---- */

/* Of each origin, at the edges of segments and functions. The image base is the first segment's page. */
TEST(addresses)
{
	enum { HALF = 0x100, OFF = 0x10, SECOND_OFF = 0x800 }; /* see add_segments() */
	static const struct {
		uint64_t value;
		enum address_origin origin;
		const char *want;
	} cases[] = {
		{TEXT, ADDRESS_LINKED, "01"},
		{TEXT - 1, ADDRESS_LINKED, ""},
		{TEXT + 2 * FUNCTION_SIZE - 1, ADDRESS_LINKED, "01"},
		{TEXT + 2 * FUNCTION_SIZE, ADDRESS_LINKED, "23"},
		{TEXT + 2 * HALF - 1, ADDRESS_LINKED, "ef"},
		{TEXT + 2 * HALF, ADDRESS_LINKED, ""},
		{UINT64_MAX, ADDRESS_LINKED, ""},
		{0, ADDRESS_FROM_BASE, "01"},
		{2 * FUNCTION_SIZE, ADDRESS_FROM_BASE, "23"},
		{TEXT, ADDRESS_FROM_BASE, ""},
		{UINT64_MAX, ADDRESS_FROM_BASE, ""},
		{(uint64_t)-TEXT - 1, ADDRESS_FROM_BASE, ""},
		{OFF, ADDRESS_IN_FILE, "01"},
		{OFF - 1, ADDRESS_IN_FILE, ""},
		{OFF + HALF - 1, ADDRESS_IN_FILE, "67"},
		{OFF + HALF, ADDRESS_IN_FILE, ""},
		{SECOND_OFF - 1, ADDRESS_IN_FILE, ""},
		{SECOND_OFF, ADDRESS_IN_FILE, "89"},
		{SECOND_OFF + HALF - 1, ADDRESS_IN_FILE, "ef"},
		{SECOND_OFF + HALF, ADDRESS_IN_FILE, ""},
		{TEXT, ADDRESS_IN_FILE, ""},
		{UINT64_MAX, ADDRESS_IN_FILE, ""},
	};
	static const struct made_image image = {.comment = NULL};
	struct asking a;
	start(&a, &image, "0");
	for (int all = 0; all < 2; all++) {
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			a.addresses[0] = (struct convert_address){cases[i].value, cases[i].origin};
			if (strcmp(make(&a, all ? fragment_make : fragment_make_early), cases[i].want))
				fail_msg("%zu, all %d: %s", i, all, a.found);
		}
		if (!all)
			prepare_all(&a);
	}
	end(&a);
}

/* The end of a function that is certain is not in it. */
TEST(next_to_certain)
{
	static const struct made_image image = {.symbols = "s-ssssssssssssss"};
	struct asking a;
	start(&a, &image, "0");
	a.addresses[0].value = TEXT + FUNCTION_SIZE - 1;
	assert_string_equal(make(&a, fragment_make_early), "0");
	a.addresses[0].value++;
	assert_string_equal(make(&a, fragment_make_early), "");
	prepare_all(&a);
	assert_string_equal(make(&a, fragment_make), "01");
	end(&a);
}

/* Some that are nowhere in the file are passed over, and so are those of other origins then. */
TEST(addresses_that_are_nowhere)
{
	static const struct made_image image = {.comment = NULL};
	struct asking a;
	start(&a, &image, "012");
	a.addresses[0] = (struct convert_address){0x7fffffff, ADDRESS_IN_FILE};
	a.addresses[1] = (struct convert_address){0x10, ADDRESS_IN_FILE};
	a.addresses[2] = (struct convert_address){UINT64_MAX - 3, ADDRESS_IN_FILE};
	assert_string_equal(make(&a, fragment_make_early), "01");
	prepare_all(&a);
	assert_string_equal(make(&a, fragment_make), "01");
	end(&a);
}

/* The base of the GSYM is that of the image, if no function of the fragment is before it. */
TEST(image_bases)
{
	static const struct {
		uint64_t base; /* of the first segment, from TEXT on */
		const char *asked;
		uint64_t image_base, gsym_base;
	} cases[] = {
		{0, "0", TEXT, TEXT},
		{0, "4", TEXT, TEXT},
		{(uint64_t)-0x10, "0", 0, TEXT - 0x10},
		{0x40, "2", TEXT, TEXT + 0x40},
		{0x41, "2", TEXT, TEXT + 0x40},
		{0x41, "0", TEXT, TEXT},
		{0x8000, "4", TEXT + 0x8000, TEXT + 0x80},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct made_image image = {.base = cases[i].base};
		struct asking a;
		start(&a, &image, cases[i].asked);
		assert_int_equal(strlen(make(&a, fragment_make_early)), 2);
		assert_int_equal(a.told.image_base, cases[i].image_base);
		assert_int_equal(a.base, cases[i].gsym_base);
		assert_int_equal(a.told.n_segments, 2);
		end(&a);
	}
}

/* ---- Files and options that have none ---- */

struct poke {
	const char *what;
	bool early_only;
	void (*change)(struct asking *a);
};

static void nothing_asked(struct asking *a)
{
	a->asked.n = 0;
}

static void no_asking(struct asking *a)
{
	a->options.asked = NULL;
}

static void other_kind(struct asking *a)
{
	a->c.object->format = &pe_format;
}

static void relocatable(struct asking *a)
{
	a->c.object->relocatable = true;
}

static void no_dwarf(struct asking *a)
{
	a->c.dwarf.info.size = 0;
}

static void listed_calls(struct asking *a)
{
	static struct callsites_file listed;
	a->c.listed = &listed;
}

static void call_sites(struct asking *a)
{
	a->options.callsites = true;
}

static void match_llvm(struct asking *a)
{
	a->options.match_llvm = true;
}

static void function_descriptors(struct asking *a)
{
	a->c.object->machine = EM_PPC64;
}

static void alternate_file(struct asking *a)
{
	a->c.shared = a->c.object;
}

static void unchanged(struct asking *a)
{
	(void)a;
}

static const struct poke pokes[] = {
	{"nothing is asked", false, nothing_asked},
	{"nothing can be asked", false, no_asking},
	{"another kind of file", false, other_kind},
	{"a relocatable file", false, relocatable},
	{"no DWARF", false, no_dwarf},
	{"call sites from a file", false, listed_calls},
	{"call sites", false, call_sites},
	{"choices of llvm-gsymutil", false, match_llvm},
	{"function descriptors", true, function_descriptors},
	{"an alternate file", true, alternate_file},
	{"all is as usual", false, unchanged},
};

TEST(unsuitable)
{
	static const struct made_image image = {.comment = NULL};
	for (size_t i = 0; i < ARRAY_SIZE(pokes); i++)
		for (int all = 0; all < 2; all++) {
			struct asking a;
			start(&a, &image, "0");
			if (all)
				prepare_all(&a);
			const struct object_file kept = *a.c.object;
			const struct dwarf dwarf = a.c.dwarf;
			pokes[i].change(&a);
			bool fits = pokes[i].change == unchanged || (all && pokes[i].early_only);
			make(&a, all ? fragment_make : fragment_make_early);
			if (strcmp(a.found, fits ? "01" : ""))
				fail_msg("%s, all %d: %s", pokes[i].what, all, a.found);
			a.c.object->format = kept.format;
			a.c.object->relocatable = kept.relocatable;
			a.c.object->machine = kept.machine;
			a.c.dwarf.info = dwarf.info;
			a.c.shared = NULL;
			a.c.listed = NULL;
			end(&a);
		}
}

/* Without the option, folded functions do not matter: of those that share a range one is kept. */
TEST(not_merged)
{
	static const struct made_image image = {.symbols = "2sssssssssssssss"};
	struct asking a;
	start(&a, &image, "0");
	a.options.merged = false;
	assert_string_equal(make(&a, fragment_make_early), "01");
	prepare_all(&a);
	assert_string_equal(make(&a, fragment_make), "01");
	end(&a);
}

TEST(languages)
{
	static const struct {
		struct made_image image;
		bool early, whole;
	} cases[] = {
		{{.comment = NULL}, false, false},
		{{.units = {"01A", "23", "45", "67"}}, true, true},
		{{.units = {"01", "23", "45", "67A"}},
		 false,
		 true}, /* early the units of the fragment alone */
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct asking a;
		start(&a, &cases[i].image, "0");
		assert_string_equal(make(&a, fragment_make_early), "01");
		assert_int_equal(a.told.has_ada, cases[i].early);
		prepare_all(&a);
		assert_string_equal(make(&a, fragment_make), "01");
		assert_int_equal(a.told.has_ada, cases[i].whole);
		end(&a);
	}
}
