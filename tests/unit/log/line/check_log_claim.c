/* The function that a line names besides an offset in its module: its name, the offset, how certain. */
#include "log/line/log_format.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"

enum { ADDRESS = 0x11cc /* of the frame, in its module */ };

/* What a line says; @name NULL: nothing, or several things. */
struct said {
	const char *line, *name;
	uint64_t off;
	bool is_function, is_whole;
};

static bool find(const char *line, size_t size, struct log_claim *ret)
{
	const struct log_frame frame = {.address = ADDRESS};
	/* In memory that ends there, for sanitizers, and after a letter. */
	char *copy = malloc(size + 1), *begin = copy + 1;
	assert_non_null(copy);
	*copy = 'x';
	memcpy(begin, line, size);
	bool found = log_claim_find(scan_from(begin, begin + size), &frame, ret);
	if (found)
		ret->name = line + (ret->name - begin);
	free(copy);
	return found;
}

static void says(const struct said *said, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct said *s = &said[i];
		struct log_claim claim;
		bool found = find(s->line, strlen(s->line), &claim);
		if (found != (s->name != NULL))
			fail_msg("'%s': %s", s->line, found ? "found" : "not found");
		if (!found)
			continue;
		if (claim.name_size != strlen(s->name) || memcmp(claim.name, s->name, claim.name_size) != 0)
			fail_msg("'%s': '%.*s'", s->line, (int)claim.name_size, claim.name);
		if (claim.off != s->off || claim.is_function != s->is_function ||
		    claim.is_whole != s->is_whole)
			fail_msg("'%s': +%#lx %d %d", s->line, (unsigned long)claim.off, claim.is_function,
				 claim.is_whole);
	}
}

#define SAYS(...)                                \
	says((const struct said[]){__VA_ARGS__}, \
	     sizeof((const struct said[]){__VA_ARGS__}) / sizeof(struct said))

/* As three writers have it. */
TEST(writers)
{
	SAYS({"#1 0x7f51c00011cc in abort+0x12a (/usr/lib/libc.so.6+0x11cc)", "abort", 0x12a, false, true},
	     {"#01 pc 000011cc  /system/lib64/libexample.so (ns::work(int)+12)", "work", 12, true, true},
	     {"C  [libexample.so+0x11cc]  work+0x1c", "work", 0x1c, false, true});
}

TEST(names)
{
	SAYS({"work+0x1c", "work", 0x1c, false, true}, {"w+1", "w", 1, false, true},
	     {"_ZN1f3oneEv+4", "_ZN1f3oneEv", 4, false, true},
	     {"\xc3\xa9t\xc3\xa9+4", "\xc3\xa9t\xc3\xa9", 4, false, true},
	     /* The last component of a qualified name is a function's. */
	     {"ns::work+4", "work", 4, true, true}, {"::work+4", "work", 4, true, true},
	     {"error: work+4", "work", 4, false, true}, {":-work+4", "work", 4, false, true},
	     {"a:work+4", "work", 4, false, true}, {":work+4", "work", 4, false, true},
	     /* Parameters and template arguments. */
	     {"work()+4", "work", 4, true, true}, {"work(int (*)(char), long)+4", "work", 4, true, true},
	     {"work<int>+4", "work", 4, true, true},
	     {"ns::work<std::pair<int, (2)> >(char const*)+4", "work", 4, true, true},
	     {"in work(a)(b)+4", "work", 4, true, true}, {"(work)+4", NULL, 0, false, false},
	     {"(int)+4", NULL, 0, false, false}, {"a)+4", NULL, 0, false, false},
	     /* Suffixes. */
	     {"work.cold+4", "work", 4, false, false}, {"work.part.0+4", "work", 4, false, false},
	     {"work@GLIBC_2.2+4", "work", 4, false, false}, {"work@@GLIBC_2.2+4", "work", 4, false, false},
	     {"work(int) [clone .cold]+4", NULL, 0, false, false}, {"a$b+4", "a$b", 4, false, true},
	     {"$a+4", "$a", 4, false, true}, {"ns::~work()+4", "~work", 4, true, true},
	     {"~work+4", "~work", 4, false, true}, {".work+4", ".work", 4, false, true},
	     {".work.cold+4", ".work", 4, false, false});
}

/* Numbers, paths and what is too long are no names. */
TEST(no_names)
{
	SAYS({"", NULL, 0, false, false}, {"+4", NULL, 0, false, false}, {" +4", NULL, 0, false, false},
	     {"no offset", NULL, 0, false, false}, {"1234+4", NULL, 0, false, false},
	     {"0x1234+4", NULL, 0, false, false}, {"1work+4", NULL, 0, false, false},
	     {"/usr/lib/libc.so.6+0x4", NULL, 0, false, false}, {"lib/libc+4", NULL, 0, false, false},
	     {"/work+4", NULL, 0, false, false}, {"work", NULL, 0, false, false},
	     {"work+", NULL, 0, false, false});
}

TEST(offsets)
{
	SAYS({"work+0", "work", 0, false, true}, {"work+0x0", "work", 0, false, true},
	     {"work+18446744073709551615", "work", UINT64_MAX, false, true},
	     {"work+18446744073709551616", NULL, 0, false, false},
	     {"work+0xffffffffffffffff", "work", UINT64_MAX, false, true},
	     {"work+abc", NULL, 0, false, false}, {"work+-4", NULL, 0, false, false},
	     {"work+ 4", NULL, 0, false, false},
	     /* What may follow. */
	     {"work+4 ", "work", 4, false, true}, {"work+4\t", "work", 4, false, true},
	     {"work+4\r", "work", 4, false, true}, {"work+4\n", "work", 4, false, true},
	     {"work+4)", "work", 4, false, true}, {"work+4/0x10", NULL, 0, false, false},
	     {"work+4]", NULL, 0, false, false}, {"work+4x", NULL, 0, false, false},
	     {"work+0x4g", NULL, 0, false, false},
	     /* The offset of the frame itself is that in the module. */
	     {"work+0x11cc", NULL, 0, false, false}, {"work+4556", NULL, 0, false, false},
	     {"work+0x11cd", "work", 0x11cd, false, true});
}

/* One name in a line, whatever other offsets it has. */
TEST(several)
{
	SAYS({"work+4 other+8", NULL, 0, false, false}, {"work+4 work+4", NULL, 0, false, false},
	     {"work+4 lib+0x11cc", "work", 4, false, true}, {"lib+0x11cc work+4", "work", 4, false, true},
	     {"a+b work+4", "work", 4, false, true}, {"work+4 /lib/x.so+0x20", "work", 4, false, true},
	     {"C++ work+4", "work", 4, false, true}, {"work+4 a+1 b+2", NULL, 0, false, false});
}

/* A name that fits into a symbol, and one that does not. */
TEST(longest)
{
	char line[FILTER_SYMBOL_SIZE + 10];
	struct log_claim claim;
	for (size_t size = FILTER_SYMBOL_SIZE - 2; size <= FILTER_SYMBOL_SIZE + 1; size++) {
		memset(line, 'a', size);
		memcpy(line + size, "+4", 2);
		assert_true(find(line, size + 2, &claim) == (size < FILTER_SYMBOL_SIZE));
		if (size < FILTER_SYMBOL_SIZE)
			assert_int_equal(claim.name_size, size);
	}
}
