/* Members of static libraries, in all forms of their names. */
#include "convert/companion/mapped_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"

#define LONG_NAME "a_member_whose_name_is_long.o"

/* A library, in memory of exactly its size when it is searched. */
struct library {
	char text[4096];
	size_t size;
};

static void add_bytes(struct library *lib, const char *bytes, size_t size)
{
	assert_true(lib->size + size <= sizeof(lib->text));
	memcpy(lib->text + lib->size, bytes, size);
	lib->size += size;
}

/* A member with @size bytes, as its header says; @bytes are what follows. */
static void add_header(struct library *lib, const char *name, const char *date, const char *size)
{
	char header[80];
	snprintf(header, sizeof(header), "%-16s%-12s%-6s%-6s%-8s%-10s`\n", name, date, "0", "0", "644", size);
	add_bytes(lib, header, 60);
}

static void add_member(struct library *lib, const char *name, unsigned date, const char *bytes)
{
	char decimal[12], size[24];
	snprintf(decimal, sizeof(decimal), "%u", date);
	snprintf(size, sizeof(size), "%zu", strlen(bytes));
	add_header(lib, name, decimal, size);
	add_bytes(lib, bytes, strlen(bytes));
	if (strlen(bytes) % 2)
		add_bytes(lib, "\n", 1);
}

static struct library new_library(void)
{
	struct library lib = {.size = 0};
	add_bytes(&lib, "!<arch>\n", 8);
	return lib;
}

/* Searches the first @size bytes, past which nothing may be read. NULL: there is no such member. */
static const char *found_in(const struct library *lib, size_t size, const char *name, uint64_t mtime)
{
	static char text[sizeof(lib->text) + 1];
	struct span bytes = {(const uint8_t *)"untouched", 9};
	uint8_t *copy = malloc(size + !size);
	assert_non_null(copy);
	memcpy(copy, lib->text, size);
	bool found = archive_find((struct span){copy, size}, name, mtime, &bytes);
	if (found)
		assert_true(bytes.data >= copy && bytes.size <= (size_t)(copy + size - bytes.data));
	else
		assert_string_equal((const char *)bytes.data, "untouched");
	memcpy(text, bytes.data, bytes.size);
	text[bytes.size] = 0;
	free(copy);
	return found ? text : NULL;
}

static void assert_found(const struct library *lib, const char *name, uint64_t mtime, const char *want)
{
	const char *got = found_in(lib, lib->size, name, mtime);
	if (!want)
		assert_null(got);
	else
		assert_string_equal(got ? got : "(none)", want);
}

/* A name fills its field, ends with a slash, or with spaces; content of an odd size is padded. */
TEST(short_names)
{
	struct library lib = new_library();
	add_member(&lib, "gnu.o/", 1, "one");
	add_member(&lib, "bsd.o", 2, "four");
	add_member(&lib, "fifteen_chars.o/", 3, "");
	add_member(&lib, "sixteen__chars.o", 4, "x");
	add_member(&lib, "with space.o/", 5, "space");
	assert_found(&lib, "gnu.o", 0, "one");
	assert_found(&lib, "bsd.o", 0, "four");
	assert_found(&lib, "fifteen_chars.o", 0, "");
	assert_found(&lib, "sixteen__chars.o", 0, "x");
	assert_found(&lib, "with space.o", 0, "space");
	assert_found(&lib, "with", 0, NULL);
	assert_found(&lib, "gnu", 0, NULL);
	assert_found(&lib, "gnu.o/", 0, NULL);
	assert_found(&lib, "gnu.oo", 0, NULL);
	assert_found(&lib, "", 0, NULL);
	assert_found(&lib, "sixteen__chars.oo", 0, NULL);
}

/* BSD's names precede the content, and may be padded by zeros. */
TEST(bsd_names)
{
	struct library lib = new_library();
	add_member(&lib, "#1/29", 1, LONG_NAME "content");
	add_header(&lib, "#1/8", "2", "12");
	add_bytes(&lib, "abc.o\0\0\0data", 12);
	add_member(&lib, "#1/5", 3, "all.o");
	add_member(&lib, "#1/9", 4, "cut.o");
	add_member(&lib, "#1/", 5, "none");
	assert_found(&lib, LONG_NAME, 0, "content");
	assert_found(&lib, "abc.o", 0, "data");
	assert_found(&lib, "all.o", 0, "");
	assert_found(&lib, "cut.o", 0, "");
	assert_found(&lib, "", 0, "none");
	assert_found(&lib, "#1/", 0, NULL);
}

/* GNU's are in a member of their own. */
TEST(gnu_names)
{
	struct library lib = new_library();
	add_member(&lib, "/0", 1, "before the table");
	add_member(&lib, "//", 0, LONG_NAME "/\nnext_long_name_of_a_member.o/\nlast.o");
	add_member(&lib, "/0", 1, "first");
	add_member(&lib, "/31", 2, "second");
	add_member(&lib, "/61", 3, "third");
	add_member(&lib, "/66", 4, "fourth");
	add_member(&lib, "/67", 5, "outside");
	add_member(&lib, "/9", 6, "nine");
	add_member(&lib, "/", 7, "symbols");
	add_member(&lib, "/:", 8, "colon");
	assert_found(&lib, LONG_NAME, 0, "first");
	assert_found(&lib, "next_long_name_of_a_member.o", 0, "second");
	assert_found(&lib, "last.o", 0, "third");
	assert_found(&lib, "o", 0, "fourth");
	assert_found(&lib, &LONG_NAME[9], 0, "nine");
	assert_found(&lib, LONG_NAME, 8, "first");
	/* Such an offset is no name, nor is it cut. */
	assert_found(&lib, "/67             ", 0, "outside");
	assert_found(&lib, "/0              ", 0, "before the table");
	assert_found(&lib, "/67", 0, NULL);
	assert_found(&lib, "", 0, "symbols");
}

/* Of several with a name it is the one of that time, else the first. */
TEST(times)
{
	struct library lib = new_library();
	add_member(&lib, "a.o/", 10, "first");
	add_member(&lib, "b.o/", 20, "other");
	add_member(&lib, "a.o/", 20, "second");
	add_member(&lib, "a.o/", 20, "third");
	add_member(&lib, "a.o/", 4000000000U, "fourth");
	assert_found(&lib, "a.o", 0, "first");
	assert_found(&lib, "a.o", 10, "first");
	assert_found(&lib, "a.o", 20, "second");
	assert_found(&lib, "a.o", 4000000000U, "fourth");
	assert_found(&lib, "a.o", 21, "first");
}

/* Wherever the file ends, what is whole is found. */
TEST(cut)
{
	struct library lib = new_library();
	add_member(&lib, "a.o/", 1, "abc");
	add_member(&lib, "#1/4", 1, "b.o\0");
	add_header(&lib, "#1/4", "1", "5");
	add_bytes(&lib, "c.o\0!", 5);
	for (size_t size = 0; size <= lib.size; size++) {
		assert_int_equal(found_in(&lib, size, "a.o", 0) != NULL, size >= 8 + 60 + 3);
		assert_int_equal(found_in(&lib, size, "c.o", 0) != NULL, size >= lib.size);
	}
}

TEST(damaged)
{
	struct library lib = new_library();
	add_member(&lib, "a.o/", 1, "abc");
	add_member(&lib, "b.o/", 1, "defg");
	for (size_t i = 0; i < 8; i++) {
		lib.text[i] ^= 1;
		assert_found(&lib, "a.o", 0, NULL);
		lib.text[i] ^= 1;
	}
	size_t second = 8 + 60 + 4;
	for (size_t i = 58; i < 60; i++) {
		lib.text[second + i] ^= 1;
		assert_found(&lib, "a.o", 0, "abc");
		assert_found(&lib, "b.o", 0, NULL);
		lib.text[second + i] ^= 1;
	}
	/* More than there is, and more than 64 bits have. */
	memcpy(lib.text + second + 48, "5", 1);
	assert_found(&lib, "b.o", 0, NULL);
	memcpy(lib.text + second + 48, "9999999999", 10);
	assert_found(&lib, "b.o", 0, NULL);
	memcpy(lib.text + second + 48, "3         ", 10);
	assert_found(&lib, "b.o", 0, "def");
	assert_found(&lib, "a.o", 0, "abc");
}
