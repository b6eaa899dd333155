/* What identifies a conversion for other hosts, with and without memory for it. Linked with --wrap. */
#include "store/share/share_facts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

static long allowed = -1; /* copies of text until one fails; negative: none does */

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
char *__wrap_strndup(const char *text, size_t size);
int __wrap_asprintf(char **ret, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* With _FORTIFY_SOURCE. */
int __wrap___asprintf_chk(char **ret, int flag, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static bool fails(void)
{
	return allowed >= 0 && allowed-- == 0;
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
	return fails() ? NULL : __real_strndup(text, size);
}

int __wrap_asprintf(char **ret, const char *format, ...)
{
	va_list list;
	if (fails())
		return -1;
	va_start(list, format);
	int n = vasprintf(ret, format, list);
	va_end(list);
	return n;
}

int __wrap___asprintf_chk(char **ret, int flag, const char *format, ...)
{
	va_list list;
	(void)flag;
	if (fails())
		return -1;
	va_start(list, format);
	int n = vasprintf(ret, format, list);
	va_end(list);
	return n;
}

static int make(const char *root, const char *source, const char *binary, struct share_facts *ret)
{
	const struct converter converter = {.root = root, .merged = true};
	const struct convert_request request = {
		.id = "0123", .arch = "x86_64", .source = {.path = source}, .binary = {.path = binary}};
	const struct convert_job job = {.converter = &converter, .request = &request};
	return share_facts_make(&job, ret);
}

TEST(paths)
{
	static const struct {
		const char *root, *source, *binary, *path, *binary_path, *directory;
	} table[] = {
		{"/srv", "a/b.debug", "bin/b", "/srv/a/b.debug", "/srv/bin/b", "/srv/a"},
		{"", "a/b.debug", NULL, "/a/b.debug", NULL, "/a"},
		{"/srv", "/usr/lib/b", "/bin/b", "/usr/lib/b", "/bin/b", "/usr/lib"},
		{NULL, "/b", NULL, "/b", NULL, ""},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct share_facts facts;
		assert_int_equal(make(table[i].root, table[i].source, table[i].binary, &facts), 0);
		assert_string_equal(facts.files[SHARE_SOURCE].path, table[i].path);
		assert_string_equal(facts.directory, table[i].directory);
		assert_int_equal(!facts.files[SHARE_BINARY].path, !table[i].binary_path);
		if (table[i].binary_path)
			assert_string_equal(facts.files[SHARE_BINARY].path, table[i].binary_path);
		assert_string_equal(facts.id, "0123");
		assert_string_equal(facts.arch, "x86_64");
		assert_true(facts.merged);
		share_facts_deinit(&facts);
	}
}

TEST(without_memory)
{
	enum { COPIES = 5 };
	struct share_facts facts;
	for (long n = 0; n < COPIES; n++) {
		allowed = n;
		int err = make("/srv", "a/b.debug", "bin/b", &facts);
		assert_true(allowed < 0);
		assert_int_equal(err, -ENOMEM);
		share_facts_deinit(&facts);
		assert_null(facts.id);
	}
	allowed = COPIES;
	assert_int_equal(make("/srv", "a/b.debug", "bin/b", &facts), 0);
	allowed = -1;
	share_facts_deinit(&facts);
}
