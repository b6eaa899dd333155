/* Libraries that are loaded when they are needed: all of their functions, or none, and why not. */
#include "work/os/library.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/lib/unit.h"

static struct functions {
	double (*first)(double), (*second)(double), (*third)(double);
} functions;

static const struct library_symbol symbols[] = {
	{"floor", offsetof(struct functions, first)},
	{"ceil", offsetof(struct functions, second)},
	{"fabs", offsetof(struct functions, third)},
};
static const struct library_symbol unknown[] = {
	{"floor", offsetof(struct functions, first)},
	{"gsymfs_has_no_such_function", offsetof(struct functions, second)},
};

static unsigned initialized;
static bool cannot_initialize;

static bool initialize(void *opened)
{
	initialized++;
	assert_non_null(opened);
	return !cannot_initialize;
}

static struct shared_library of(const char *first, const char *second)
{
	initialized = 0;
	cannot_initialize = false;
	functions = (struct functions){NULL};
	return (struct shared_library){.package = "package",
				       .sonames = {first, second},
				       .symbols = symbols,
				       .n_symbols = 3,
				       .functions = &functions,
				       .initialize = initialize,
				       .lock = PTHREAD_MUTEX_INITIALIZER};
}

TEST(every_function)
{
	struct shared_library library = of("libgsymfs-none.so.1", "libm.so.6");
	assert_true(library_load(&library, NULL));
	assert_true(functions.first(1.5) == 1 && functions.second(1.5) == 2 && functions.third(-1.5) == 1.5);
	assert_true(library_load(&library, NULL));
	assert_int_equal(initialized, 1);
}

static void fails(struct shared_library *library, const char *why)
{
	struct gsym_diag diag = {""};
	assert_false(library_load(library, &diag));
	assert_string_equal(diag.text, why);
	assert_false(library_load(library, NULL));
}

TEST(not_there)
{
	struct shared_library none = of("libgsymfs-none.so.1", NULL);
	fails(&none, "the package package is not installed");
	assert_null(functions.first);
}

TEST(another_version)
{
	struct shared_library library = of("libm.so.6", NULL);
	library.symbols = unknown;
	library.n_symbols = 2;
	fails(&library, "package lacks gsymfs_has_no_such_function()");
	assert_int_equal(initialized, 0);
}

/* What cannot be initialized now may be later. */
TEST(not_initialized)
{
	struct shared_library library = of("libm.so.6", NULL);
	cannot_initialize = true;
	fails(&library, "package cannot be initialized");
	cannot_initialize = false;
	assert_true(library_load(&library, NULL));
	assert_int_equal(initialized, 3);
}

/* A fault of the machine is named, although the other library is not there at all, and does not last. */
TEST(without_descriptors)
{
	struct shared_library library = of("libanl.so.1", "libgsymfs-none.so.1");
	struct rlimit before, none;
	struct gsym_diag diag = {""};
	assert_null(dlopen("libanl.so.1", RTLD_NOW | RTLD_NOLOAD));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	library.n_symbols = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	bool loaded = library_load(&library, &diag);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_false(loaded);
	assert_non_null(strstr(diag.text, "cannot load libanl.so.1"));
	assert_non_null(strstr(diag.text, "Too many open files"));
	assert_true(library_load(&library, NULL));
}
