/* The options with which the session is made: its name in mount(8), and what fails. */
#include "fs/gsymfs.h"

#include <errno.h>
#include <string.h>

#include "fs/tree/ops.h"
#include "gsym/base/vec.h"
#include "tests/lib/unit.h"

static struct gsymfs fs;
static char a_session;

static struct {
	unsigned until_failure; /* calls that add options, until one fails; 0: none does */
	bool refused;           /* an option, by libfuse */
	unsigned made;
	char args[300]; /* of the session */
} lib;

int __real_fuse_opt_add_opt_escaped(char **opts, const char *opt);
int __real_fuse_opt_add_arg(struct fuse_args *args, const char *arg);

static bool fails(void)
{
	return lib.until_failure && --lib.until_failure == 0;
}

int __wrap_fuse_opt_add_opt_escaped(char **opts, const char *opt)
{
	return fails() ? -1 : __real_fuse_opt_add_opt_escaped(opts, opt);
}

int __wrap_fuse_opt_add_arg(struct fuse_args *args, const char *arg)
{
	return fails() ? -1 : __real_fuse_opt_add_arg(args, arg);
}

struct fuse_session *__wrap_fuse_session_new(struct fuse_args *args, const struct fuse_lowlevel_ops *ops,
					     size_t size, void *user)
{
	assert_ptr_equal(ops, &gsymfs_ops);
	assert_int_equal(size, sizeof(*ops));
	assert_ptr_equal(user, &fs.tree);
	lib.made++;
	lib.args[0] = 0;
	for (int i = 0; i < args->argc; i++)
		strcat(strcat(lib.args, i ? " " : ""), args->argv[i]);
	return lib.refused ? NULL : (struct fuse_session *)&a_session;
}

static struct gsym_diag diag;

static int make(void)
{
	fs.session = NULL;
	diag.text[0] = 0;
	fuse_opt_free_args(&fs.options.fuse);
	assert_int_equal(__real_fuse_opt_add_arg(&fs.options.fuse, "gsymfs"), 0);
	return session_make(&fs, &diag);
}

static int set_up(void **state)
{
	(void)state;
	memset(&fs, 0, sizeof(fs));
	memset(&lib, 0, sizeof(lib));
	fs.source_names = (char *)"/src";
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fuse_opt_free_args(&fs.options.fuse);
	return 0;
}

TEST(options)
{
	static const struct {
		bool debug, has_fsname;
		const char *names, *args;
	} rows[] = {
		{false, false, "/src", "gsymfs -o fsname=/src -o subtype=gsymfs"},
		{true, false, "/src", "gsymfs -o debug -o fsname=/src -o subtype=gsymfs"},
		{false, true, "/src", "gsymfs -o subtype=gsymfs"},
		{true, true, "/src", "gsymfs -o debug -o subtype=gsymfs"},
		{false, false, "/a,b:/c", "gsymfs -o fsname=/a\\,b:/c -o subtype=gsymfs"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fs.options.debug = rows[i].debug;
		fs.options.has_fsname = rows[i].has_fsname;
		fs.source_names = (char *)rows[i].names;
		assert_int_equal(make(), 0);
		assert_ptr_equal(fs.session, &a_session);
		assert_string_equal(lib.args, rows[i].args);
		assert_int_equal(lib.made, i + 1);
	}
}

TEST(not_made)
{
	fs.options.debug = true;
	lib.refused = true;
	assert_int_equal(make(), -EINVAL);
	assert_non_null(strstr(diag.text, "rejected an option"));
	assert_null(fs.session);
	lib.refused = false;
	lib.made = 0;
	/* Three options, of which each is a list, "-o" and that. */
	for (unsigned n = 1; n <= 9; n++) {
		lib.until_failure = n;
		assert_int_equal(make(), -ENOMEM);
		assert_non_null(strstr(diag.text, "no memory"));
		assert_int_equal(lib.made, 0);
	}
	lib.until_failure = 0;
	assert_int_equal(make(), 0);
}

EACH_TEST(set_up, tear_down)
