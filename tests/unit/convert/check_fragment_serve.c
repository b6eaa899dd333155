/* Fragments: who is told of them, one after the other, and what may fail meanwhile. */
#include "tests/lib/unit.h"
#include "tests/unit/convert/fragment_asking.h"

/* ---- What may fail ---- */

/* A file that could not be opened might change the result, and a fragment that cannot be written is none. */
TEST(faults)
{
	static const struct made_image image = {.comment = NULL};
	struct asking a;
	start(&a, &image, "0");
	for (int all = 0; all < 2; all++) {
		int (*makes)(struct conversion *, bool *) = all ? fragment_make : fragment_make_early;
		atomic_store(&a.c.fault.err, -EIO);
		assert_string_equal(make(&a, makes), "");
		atomic_store(&a.c.fault.err, 0);
		assert_string_equal(make(&a, makes), "01");
		int fd = open("/dev/null", O_RDONLY), kept = a.asked.fd;
		a.asked.fd = fd;
		bool done = true;
		a.calls = 0;
		assert_int_equal(makes(&a.c, &done), 0);
		assert_false(done);
		assert_int_equal(a.calls, 0);
		close(fd);
		a.asked.fd = kept;
		if (!all)
			prepare_all(&a);
	}
	end(&a);
}

/* Who is told may stop the conversion. */
TEST(stopped)
{
	static const struct made_image image = {.comment = NULL};
	struct asking a;
	bool done = false;
	start(&a, &image, "0");
	a.stop = 1;
	assert_int_equal(fragment_make_early(&a.c, &done), -ECANCELED);
	assert_string_equal(a.all, "01 ");
	assert_int_equal(fragment_report_none(&a.c), -ECANCELED);
	assert_string_equal(a.all, "01 none ");
	prepare_all(&a);
	assert_int_equal(fragment_make(&a.c, &done), -ECANCELED);
	assert_string_equal(a.all, "01 none 01 ");
	end(&a);
}

TEST(no_fragment)
{
	static const struct made_image image = {.comment = NULL};
	struct asking a;
	start(&a, &image, "0");
	memset(&a.told, 0xee, sizeof(a.told));
	assert_int_equal(fragment_report_none(&a.c), 0);
	assert_string_equal(a.found, "none");
	assert_true(!a.told.output_size && !a.told.image_base && !a.told.has_ada);
	assert_true(!a.told.functions && !a.told.segments && !a.told.n_segments);
	a.stop = 1;
	a.asked.n = 0;
	assert_int_equal(fragment_report_none(&a.c), 0);
	a.options.asked = NULL;
	assert_int_equal(fragment_report_none(&a.c), 0);
	assert_int_equal(a.calls, 1);
	end(&a);
}

/*
 * Whichever allocation fails, what is not certain is left out, and early a fragment has all that is asked: of
 * more addresses, and code of more units, than fit without another allocation. The next time there is all.
 */
TEST(no_memory)
{
	static const struct made_image image = {.units = {"01", "12", "89", "67", "ab", "cd", "ef", "45"},
						.order = "023456723456777701"};
	for (int all = 0; all < 2; all++) {
		struct asking a;
		long failed = 0, before = live;
		start(&a, &image, "000000000000000006");
		if (all)
			prepare_all(&a);
		make(&a, all ? fragment_make : fragment_make_early); /* loads .debug_aranges */
		for (bool fails = true; fails; failed++) {
			long kept = live;
			allowed = failed;
			make(&a, all ? fragment_make : fragment_make_early);
			fails = end_allocations();
			assert_non_null(strstr("067", a.found));
			assert_true(!*a.found || all || strlen(a.found) == 3);
			assert_true(fails || !strcmp(a.found, "067"));
			assert_int_equal(live, kept);
		}
		assert_in_range(failed, 20, 10000);
		end(&a);
		assert_int_equal(live, before);
	}
}

/* ---- Units that are read while they are inflated ---- */

/* There is no second chance, so that a part is told. */
TEST(inflating)
{
	static const struct {
		const char *what;
		struct made_image image;
		const char *asked, *found;
	} cases[] = {
		{"all", {.compressed = true}, "0", "01"},
		{"the last unit", {.compressed = true}, "f", "ef"},
		{"one of two", {.compressed = true, .symbols = "ssssssss--ssssss"}, "08", "01"},
		{"the other", {.compressed = true, .symbols = "ssssssss--ssssss"}, "8", ""},
		{"two", {.compressed = true}, "08", "0189"},
		{"nowhere", {.compressed = true}, "0*", "01"},
		{"listed at no unit", {.compressed = true, .stray = 1}, "0", ""},
		{"listed past the end", {.compressed = true, .stray = 0x10000}, "0", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct asking a;
		start(&a, &cases[i].image, cases[i].asked);
		assert_non_null(a.c.dwarf.stream);
		for (int again = 0; again < 2; again++)
			if (strcmp(make(&a, fragment_make_early), cases[i].found))
				fail_msg("%s: %s", cases[i].what, a.found);
		assert_non_null(a.c.dwarf.stream);
		end(&a);
	}
}

/* ---- Several ---- */

struct serve_case {
	const char *what;
	struct made_image image;
	const char *asked[6]; /* one after the other, up to NULL */
	int stop;
	const char *all;
	int err;
};

static const struct serve_case serve_cases[] = {
	{"one", {.comment = NULL}, {"0"}, 0, "01 ", -ECANCELED},
	{"early ones", {.comment = NULL}, {"0", "4", "08", "0"}, 0, "01 45 0189 01 ", -ECANCELED},
	{"one is told before all is known, and the next from all",
	 {.symbols = "s-s-ssssssssssss"},
	 {"0", "3", "0"},
	 0,
	 "0 23 01 ",
	 -ECANCELED},
	{"nowhere", {.comment = NULL}, {"*", "0", "*", "2"}, 0, "none 01 none 23 ", -ECANCELED},
	{"stopped", {.comment = NULL}, {"0", "2"}, 1, "01 ", -ECANCELED},
	{"stopped where there is none", {.comment = NULL}, {"*", "2"}, 1, "none ", -ECANCELED},
	{"while it is inflated, where all is never known",
	 {.compressed = true, .symbols = "s-s-ssssssssssss"},
	 {"0", "3", "0", "*"},
	 0,
	 "0 2 0 none ",
	 -ECANCELED},
	{"in one unit of Ada, not early", {.str = "GNAT/"}, {"0", "2"}, 0, "01 23 ", -ECANCELED},
};

TEST(serving)
{
	for (size_t i = 0; i < ARRAY_SIZE(serve_cases); i++) {
		const struct serve_case *c = &serve_cases[i];
		struct asking a;
		long before = live;
		start(&a, &c->image, c->asked[0]);
		a.asked.next = next;
		a.next = c->asked + 1;
		a.stop = c->stop;
		assert_int_equal(fragment_serve(&a.c), c->err);
		if (strcmp(a.all, c->all))
			fail_msg("%s: %s", c->what, a.all);
		end(&a);
		assert_int_equal(live, before);
	}
}

/* Whichever allocation fails, what is told is certain, and all is freed. */
TEST(serving_without_memory)
{
	static const struct made_image image = {.symbols = "s-ss-sssssssssss"};
	static const char *const asked[] = {"3", "01", NULL};
	long failed = 0;
	for (bool fails = true; fails; failed++) {
		struct asking a;
		long before = live;
		start(&a, &image, "4");
		a.asked.next = next;
		a.next = asked;
		allowed = failed;
		int err = fragment_serve(&a.c);
		fails = end_allocations();
		assert_true(err == -ECANCELED || (err == -ENOMEM && fails));
		if (!fails)
			assert_string_equal(a.all, "45 23 01 ");
		end(&a);
		assert_int_equal(live, before);
	}
	assert_in_range(failed, 50, 10000);
}

/* With options that allow no fragment it returns -ENODATA at once, without a call of next(). */
TEST(serving_nothing)
{
	static const struct made_image image = {.comment = NULL};
	struct asking a;
	start(&a, &image, "0");
	a.asked.next = next;
	a.options.match_llvm = true;
	assert_int_equal(fragment_serve(&a.c), -ENODATA);
	assert_int_equal(a.calls, 0);
	end(&a);
}
