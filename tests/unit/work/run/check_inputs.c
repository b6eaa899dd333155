/* What a kept conversion depends on: any change of a neighbour, its readers, or what was missing is seen. */
#include "work/run/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "work/cache/handle.h"
#include "gsym/base/vec.h"

enum { PATH_SIZE = 128 };

struct fixture {
	char dir[PATH_SIZE], there[PATH_SIZE], missing[PATH_SIZE];
	const char *dirs[2];
	struct search_path search;
	struct text_buf inputs;
};

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	umask(022);
	strcpy(f->dir, "/tmp/gsymfs-inputs-XXXXXX");
	if (!mkdtemp(f->dir) || chmod(f->dir, 0755))
		return -1;
	snprintf(f->there, sizeof(f->there), "%.64s/there", f->dir);
	snprintf(f->missing, sizeof(f->missing), "%.64s/missing", f->dir);
	write_file(f->there, "content");
	f->dirs[0] = f->dir;
	f->search = (struct search_path){.dirs = f->dirs, .servers = 7};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	unlink(f->there);
	unlink(f->missing);
	text_deinit(&f->inputs);
	int err = rmdir(f->dir);
	free(f);
	return err;
}

static bool unchanged(struct fixture *f)
{
	int err = inputs_check(text_span(&f->inputs), &f->search);
	assert_true(!err || err == -ESTALE);
	return !err;
}

/* Notes @path as a conversion does that looks for it now. */
static void note(struct fixture *f, const char *path)
{
	struct neighbour file;
	int err = neighbour_stat(&f->search, path, &file);
	assert_true(inputs_add(&f->inputs, path, err ? NULL : &file));
}

static void begin(struct fixture *f)
{
	text_reset(&f->inputs);
	note(f, f->missing);
	note(f, f->there);
	assert_true(unchanged(f));
}

TEST(nothing_looked_for)
{
	assert_true(unchanged(*state));
}

TEST_OF(changes_of_a_file, struct fixture, f)
{
	begin(f);
	write_file(f->there, "longer content");
	assert_false(unchanged(f));
	begin(f);
	assert_int_equal(utimensat(AT_FDCWD, f->there, (struct timespec[]){{1, 0}, {1, 0}}, 0), 0);
	assert_false(unchanged(f));
	begin(f);
	assert_int_equal(unlink(f->there), 0);
	assert_false(unchanged(f));
	begin(f);
	write_file(f->missing, "");
	assert_false(unchanged(f));
}

/* What cannot be looked at now is neither unchanged nor outdated; a change of another file still counts. */
TEST_OF(faults, struct fixture, f)
{
	struct rlimit before, none;
	begin(f);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	int err = inputs_check(text_span(&f->inputs), &f->search);
	inputs_add_asked(&f->inputs, &f->search, 1); /* is due */
	int changed = inputs_check(text_span(&f->inputs), &f->search);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(err, -EMFILE);
	assert_int_equal(changed, -ESTALE);
}

TEST_OF(changes_of_its_readers, struct fixture, f)
{
	begin(f);
	assert_int_equal(chmod(f->there, 0600), 0);
	assert_false(unchanged(f));
	begin(f);
	assert_int_equal(chmod(f->dir, 0700), 0);
	assert_false(unchanged(f));
	begin(f);
	assert_int_equal(chmod(f->dir, 0755), 0);
	assert_false(unchanged(f));
}

/* Each field of a fingerprint counts. */
TEST_OF(fields_of_a_file, struct fixture, f)
{
	struct neighbour old, now;
	assert_int_equal(neighbour_stat(&f->search, f->there, &old), 0);
	for (int field = 0; field < 10; field++) {
		now = old;
		switch (field) {
		case 1: now.st.st_dev++; break;
		case 2: now.st.st_ino++; break;
		case 3: now.st.st_size++; break;
		case 4: now.st.st_mtim.tv_nsec ^= 1; break;
		case 5: now.st.st_ctim.tv_nsec ^= 1; break;
		case 6: now.st.st_uid++; break;
		case 7: now.st.st_gid++; break;
		case 8: now.st.st_mode ^= S_IROTH; break;
		case 9: now.open_to_all = !now.open_to_all; break;
		}
		text_reset(&f->inputs);
		assert_true(inputs_add(&f->inputs, f->there, &now));
		assert_int_equal(unchanged(f), field == 0);
	}
}

TEST_OF(servers, struct fixture, f)
{
	static const struct {
		int64_t in_seconds;
		bool due;
	} table[] = {{3600, false}, {60, false}, {7100, false}, {-1, true}, {0, true}, {3 * 3600, true}};
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		begin(f);
		inputs_add_asked(&f->inputs, &f->search, time(NULL) + table[i].in_seconds);
		assert_int_equal(unchanged(f), !table[i].due);
		f->search.servers++; /* other servers are asked at once */
		assert_false(unchanged(f));
		f->search.servers--;
	}
}

TEST_OF(what_cannot_be_recorded, struct fixture, f)
{
	char *path = calloc(1, INPUTS_MAX + 1);
	memset(path, 'x', INPUTS_MAX);
	assert_false(inputs_add(&f->inputs, path, NULL));
	assert_int_equal(f->inputs.n, 0);
	path[INPUTS_MAX - 18] = 0;
	assert_true(inputs_add(&f->inputs, path, NULL));
	assert_int_equal(f->inputs.n, INPUTS_MAX);
	free(path);
}

/* A path may have any byte but NUL. */
TEST_OF(line_breaks_and_backslashes, struct fixture, f)
{
	static const char *const paths[] = {"/with\nline break", "/a\\nb", "/end\\", "/\n"};
	char line[INPUTS_LINE_SIZE];
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_true(inputs_add(&f->inputs, paths[i], NULL));
	assert_true(unchanged(f));
	const char *at = f->inputs.v, *end = at + f->inputs.n;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		at = inputs_next(at, end, line);
		assert_non_null(at);
		assert_string_equal(strchr(line, ' ') + 1, paths[i]);
	}
	assert_ptr_equal(at, end);
}

/* Text that the cache may hold after an accident counts as a change, not as no input. */
TEST_OF(malformed, struct fixture, f)
{
	static const char *const texts[] = {
		"----------------",
		"---------------- /tmp/gsymfs-missing",
		"\n",
		"--------------- /tmp/gsymfs-missing\n",
		"----------------/tmp/gsymfs-missing\n",
		"----------------\n",
		"---------------- \n",
		"0000000000000007 debuginfod \n",
		"0000000000000007 debuginfod soon\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const struct span inputs = {(const uint8_t *)texts[i], strlen(texts[i])};
		if (inputs_check(inputs, &f->search) != -ESTALE)
			fail_msg("'%s' counts as unchanged", texts[i]);
	}
	begin(f);
	for (size_t n = 1; n < f->inputs.n; n++)
		if (f->inputs.v[n - 1] != '\n')
			assert_int_equal(inputs_check((struct span){(uint8_t *)f->inputs.v, n}, &f->search),
					 -ESTALE);
}

EACH_TEST(set_up, tear_down)
