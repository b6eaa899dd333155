/*
 * Walks of small directories: what the catalogue, by-path, the log and the list of skipped files have of each
 * file, and what failures leave of it.
 */
#include "tests/unit/fs/scan/sweep_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fs/images/catalogue.h"
#include "fs/images/image_find.h"
#include "fs/scan/index.h"
#include "tests/lib/unit.h"

/* ---- By path ---- */

static void add_path(const struct path_tree *paths, const struct path_dir *dir, char *ret, size_t size)
{
	if (dir->parent == PATH_NONE)
		return;
	add_path(paths, path_tree_dir(paths, dir->parent), ret, size);
	size_t n = strlen(ret);
	snprintf(ret + n, size - n, "%s/", dir->name);
}

/* "<id> <path> <mode of its directory>" of each file in by-path. */
static void expect_paths(struct scanned_source *s, const char *expected)
{
	const struct path_tree *paths = &s->f->images.paths;
	char lines[MOST_LINES][LINE];
	size_t n = 0;
	const struct path_file *file;
	mutex_lock(&s->f->images.lock);
	for (uint32_t i = 0; (file = slots_from(&paths->files, &i)); i++) {
		const struct path_dir *dir = path_tree_dir(paths, file->dir);
		const struct image *image = slots_get(&s->f->images.all, file->image);
		char path[128] = "";
		if (!file->pass)
			continue;
		add_path(paths, dir, path, sizeof(path));
		snprintf(lines[n++], LINE, "%s %s%s %03o\n", image->id, path, file->name, dir->attr.mode);
	}
	mutex_unlock(&s->f->images.lock);
	expect_lines(lines, n, expected);
}

static size_t count_path_dirs(struct scanned_source *s)
{
	mutex_lock(&s->f->images.lock);
	size_t n = s->f->images.paths.dirs.n;
	mutex_unlock(&s->f->images.lock);
	return n;
}

/* ---- Walks ---- */

TEST_OF(kinds_of_files, struct scanned_source, s)
{
	make_dir(s, "sub", 0755);
	make_file(s, "bare", "01 E");
	make_file(s, "symbols", "02 Es");
	make_file(s, "go", "03 Eso");
	make_file(s, "dwarf", "04 Esodt");
	make_file(s, "both", "05 Edg");
	make_file(s, "sub/gsym", "06 Eg");
	make_file(s, "sub/text", "07 Bd");
	make_file(s, "sub/pdb", "08 Pdg");
	make_file(s, "sub/hash", "09 Eh");
	make_file(s, "sub/lost", "0a Edl\n~truncated");
	make_file(s, "sub/two", "0b Md\n0c Mt");
	make_file(s, "none", "");
	s->log.most = LOG_LEVEL_INFO;
	walk_all(s, 0);
	assert_non_null(
		strstr(logged, "I scan: 12 files in 'NAMES', 11 with images, 0 damaged, 12 opened, "));
	expect_files(s, "01 bare bare 444\n02 symbols syms 444\n03 go go 444\n04 dwarf dwrf+code 444\n"
			"05 both dwrf 444\n06 sub/gsym gsym 444\n07 sub/text text 444\n08 sub/pdb pdb 444\n"
			"0a sub/lost dwrf+lost 444\n0b sub/two dwrf 444\n0c sub/two bare+code 444\n"
			"xxh3-09 sub/hash bare 444\n");
	expect_opened(12);
	expect_skipped(s, FILE_SKIPPED, true, "");
	expect_skipped(s, FILE_TRUNCATED, true, "sub/lost: truncated\n");
	assert_true(is_called(s, "0b", "two") && is_called(s, "0c", "two"));
	assert_false(is_called(s, "0b", "gsym"));
	assert_int_equal(atomic_load(&s->metrics.scanned_files), 12);
	assert_int_equal(atomic_load(&s->metrics.scans[SCAN_COMPLETE]), 1);
	mutex_lock(&s->f->images.lock);
	const struct source *source = &images_find(&s->f->images, "04")->sources.v[0];
	assert_int_equal(source->uid, geteuid());
	assert_int_equal(source->size, strlen("04 Esodt"));
	assert_int_equal(source->root, 0);
	assert_true(s->f->images.scanned);
	mutex_unlock(&s->f->images.lock);
}

/* What did not change is not opened again, also by the next daemon; what did is. */
TEST_OF(opened_once, struct scanned_source, s)
{
	make_file(s, "a", "01 Ed");
	make_file(s, "b", "02 Ed");
	make_file(s, "bad", "!bad damaged");
	walk_all(s, 0);
	expect_opened(3);
	walk_all(s, 0);
	expect_opened(0);
	make_file(s, "b", "03 Edt");
	walk_all(s, 0);
	expect_opened(1);
	expect_files(s, "01 a dwrf 444\n03 b dwrf+code 444\n");
	drop_file(s, "a");
	walk_all(s, 0);
	expect_files(s, "03 b dwrf+code 444\n");
	assert_int_equal(s->scan.index.files.n, 2);
	assert_int_equal(s->scan.n_records, 2);
	end_scan(s);
	begin_scan(s);
	index_load(&s->scan.index, 0, &s->cache, s->dir);
	assert_int_equal(s->scan.index.files.n, 2);
	walk_all(s, 0);
	expect_opened(0);
	expect_skipped(s, FILE_SKIPPED, true, "bad: damaged\n");
}

/* A walk that could not see all drops nothing. */
TEST_OF(incomplete, struct scanned_source, s)
{
	make_dir(s, "sub", 0755);
	make_file(s, "sub/a", "01 Ed");
	walk_all(s, 0);
	s->scan.source = "/nonexistent/gsymfs";
	walk_all(s, -EIO);
	expect_log("W scan: /nonexistent/gsymfs: cannot open: No such file or directory\n");
	expect_files(s, "01 sub/a dwrf 444\n");
	assert_int_equal(absent(s), -EIO);
	assert_int_equal(atomic_load(&s->metrics.scans[SCAN_INCOMPLETE]), 1);
	assert_int_equal(s->scan.index.files.n, 1);
	s->scan.source = s->dir;
	walk_all(s, 0);
	assert_int_equal(absent(s), -ENOENT);
	drop_file(s, "sub/a");
	walk_all(s, 0);
	expect_files(s, "");
	assert_int_equal(s->scan.index.files.n, 0);
}

/* by-path has the directories, however their names begin. */
TEST_OF(paths, struct scanned_source, s)
{
	make_dir(s, "a", 0755);
	make_dir(s, "a/a", 0750);
	make_dir(s, "a/a/a", 0711);
	make_dir(s, "aa", 0700);
	make_dir(s, "aab", 0755);
	make_dir(s, "aab/empty", 0755);
	make_dir(s, "aab/none", 0755);
	make_file(s, "aab/none/file", "");
	make_file(s, "f", "01 E");
	make_file(s, "a/f", "02 E");
	make_file(s, "a/a/a/f", "03 E");
	make_file(s, "a/a/a/g", "04 E\n05 E");
	make_file(s, "aa/f", "06 E");
	make_file(s, "aab/f", "07 E");
	make_link(s, "f", "aab/link");
	for (int i = 0; i < 2; i++) {
		walk_all(s, 0);
		expect_paths(s, "01 f 555\n02 a/f 555\n03 a/a/a/f 511\n04 a/a/a/g 511\n05 a/a/a/g 511\n"
				"06 aa/f 500\n07 aab/f 555\n07 aab/link 555\n");
		assert_int_equal(count_path_dirs(s), 6);
	}
	/* By events, in any order. */
	make_file(s, "aab/none/file", "08 E");
	make_file(s, "a/a/f", "09 E");
	make_file(s, "h", "0a E");
	look_at(s, "h aab/none/file a/a/f", 0);
	expect_paths(
		s,
		"01 f 555\n02 a/f 555\n03 a/a/a/f 511\n04 a/a/a/g 511\n05 a/a/a/g 511\n"
		"06 aa/f 500\n07 aab/f 555\n07 aab/link 555\n08 aab/none/file 555\n09 a/a/f 550\n0a h 555\n");
}

/* ---- Who may read ---- */

TEST_OF(readable_as_there, struct scanned_source, s)
{
	make_dir(s, "open", 0755);
	make_dir(s, "shut", 0750);
	make_file(s, "open/all", "01 E");
	make_file(s, "open/few", "02 E");
	make_file(s, "open/one", "03 E");
	make_file(s, "shut/all", "04 E");
	make_file(s, "shut/bad", "!bad damaged");
	make_file(s, "open/exec", "05 E");
	make_file(s, "shut/exec", "06 E");
	assert_int_equal(chmod(in(s, "open/exec"), 0777) | chmod(in(s, "shut/exec"), 0777), 0);
	assert_int_equal(chmod(in(s, "open/few"), 0640), 0);
	assert_int_equal(chmod(in(s, "open/one"), 0600), 0);
	walk_all(s, 0);
	expect_files(s, "01 open/all bare 444\n02 open/few bare 440\n03 open/one bare 400\n"
			"04 shut/all bare 400\n05 open/exec bare 444\n06 shut/exec bare 400\n");
	expect_skipped(s, FILE_SKIPPED, true, "shut/bad: damaged\n");
	expect_skipped(s, FILE_SKIPPED, false, "");
	assert_int_equal(dir_mode_of(s, "open"), 0555);
	assert_int_equal(dir_mode_of(s, "shut"), 0550);
	assert_int_equal(dir_mode_of(s, ""), 0555);
	/* Of a source that others cannot reach they see no names. */
	assert_int_equal(chmod(s->top, 0700), 0);
	walk_all(s, 0);
	assert_int_equal(dir_mode_of(s, ""), 0500);
	assert_int_equal(dir_mode_of(s, "open"), 0555);
	expect_files(s, "01 open/all bare 400\n02 open/few bare 400\n03 open/one bare 400\n"
			"04 shut/all bare 400\n05 open/exec bare 400\n06 shut/exec bare 400\n");
	expect_opened(7);
}

/* ---- Failures ---- */

TEST_OF(failures_of_files, struct scanned_source, s)
{
	make_file(s, "a", "01 Ed");
	make_file(s, "bad", "!bad damaged at 5");
	make_file(s, "limit", "!limit took too long");
	walk_all(s, 0);
	assert_non_null(strstr(logged, "bad: damaged at 5; skipped until it changes\n"));
	assert_non_null(strstr(logged, "limit: took too long; skipped until it changes, or for an hour\n"));
	assert_null(strstr(logged, "'a'"));
	*logged = 0;
	expect_opened(3);
	expect_skipped(s, FILE_SKIPPED, true, "bad: damaged at 5\nlimit: took too long\n");
	assert_true(s->scan.again > 0);
	assert_int_equal(absent(s), -EIO); /* it may hold what is looked for */
	walk_all(s, 0);
	expect_opened(0);
	expect_log("");
	assert_true(s->scan.again > 0);
	/* When it is due, or was replaced. */
	struct stat st;
	assert_int_equal(stat(in(s, "limit"), &st), 0);
	index_find(&s->scan.index, st.st_dev, st.st_ino)->again = 1;
	walk_all(s, 0);
	expect_opened(1);
	make_file(s, "limit", "02 Ed");
	make_file(s, "bad", "03 Ed\n~cut short");
	*logged = 0;
	walk_all(s, 0);
	expect_opened(2);
	assert_non_null(strstr(logged, "bad: cut short; used as far as it goes\n"));
	expect_skipped(s, FILE_SKIPPED, true, "");
	expect_skipped(s, FILE_TRUNCATED, true, "bad: cut short\n");
	assert_int_equal(s->scan.again, 0);
	assert_int_equal(absent(s), -ENOENT);
	expect_files(s, "01 a dwrf 444\n02 limit dwrf 444\n03 bad dwrf 444\n");
	drop_file(s, "bad");
	walk_all(s, 0);
	expect_skipped(s, FILE_TRUNCATED, true, "");
}

/* A fault of the machine says nothing of the file: it keeps what it had, and is looked at again. */
TEST_OF(faults_of_the_machine, struct scanned_source, s)
{
	make_file(s, "a", "01 Ed");
	make_file(s, "b", "02 Ed");
	walk_all(s, 0);
	make_file(s, "a", "!machine no descriptors");
	make_file(s, "new", "!machine no memory at all");
	expect_opened(2);
	for (int i = 0; i < 2; i++) {
		walk_all(s, -EMFILE);
		expect_opened(2);
		assert_non_null(strstr(logged, "W scan: a: no descriptors; skipped until the next scan\n"));
		assert_non_null(strstr(logged, "W scan: new: no memory at all; skipped until"));
		expect_files(s, "01 a dwrf 444\n02 b dwrf 444\n");
		assert_int_equal(absent(s), -EIO);
		*logged = 0;
	}
	expect_skipped(s, FILE_SKIPPED, true, "");
	make_file(s, "a", "03 Ed");
	make_file(s, "new", "04 Ed");
	walk_all(s, 0);
	expect_files(s, "02 b dwrf 444\n03 a dwrf 444\n04 new dwrf 444\n");
}

/* A file that cannot be opened: of some reasons it is known that it hides no image. */
TEST_OF(unopened, struct scanned_source, s)
{
	static const struct {
		int err, outcome;
		bool told;
	} cases[] = {{-ENOENT, 0, false}, {-EACCES, 0, true}, {-ELOOP, 0, true},    {-ENXIO, 0, true},
		     {-ENOTDIR, 0, true}, {-EIO, -EIO, true}, {-ESTALE, -EIO, true}};
	char line[256];
	make_file(s, "a", "01 E");
	make_file(s, "b", "02 E");
	unopenable = "a";
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		why_not = cases[i].err;
		walk_all(s, cases[i].outcome);
		snprintf(line, sizeof(line), "W scan: a: cannot open: %s; skipped until the next scan\n",
			 strerror(cases[i].outcome ? -cases[i].outcome : -why_not));
		expect_log(cases[i].told ? line : "");
		expect_files(s, "02 b bare 444\n");
		assert_int_equal(absent(s) == -ENOENT, !cases[i].outcome);
	}
	expect_opened(1);
	unopenable = NULL;
	walk_all(s, 0);
	expect_files(s, "01 a bare 444\n02 b bare 444\n");
	/* One that is known and unchanged need not be. */
	unopenable = "a";
	walk_all(s, 0);
	expect_log("");
}

/* Without a worker nothing more is opened, and at the end of the daemon nothing more is logged. */
TEST_OF(ends_early, struct scanned_source, s)
{
	make_file(s, "a", "01 Ed");
	walk_all(s, 0);
	expect_opened(1);
	for (unsigned i = 0; i < 3; i++) {
		char name[8];
		snprintf(name, sizeof(name), "b%u", i);
		make_file(s, name, "!worker cannot start gsym");
	}
	walk_all(s, -ECHILD);
	expect_opened(1);
	expect_log("E scan: cannot start gsym\n");
	expect_files(s, "01 a dwrf 444\n");
	for (unsigned i = 0; i < 3; i++) {
		char name[8];
		snprintf(name, sizeof(name), "b%u", i);
		make_file(s, name, "!stop");
	}
	uint64_t walks = atomic_load(&s->metrics.scans[SCAN_INCOMPLETE]);
	walk_all(s, -ECANCELED);
	expect_opened(1);
	expect_log("");
	assert_int_equal(atomic_load(&s->metrics.scans[SCAN_INCOMPLETE]), walks);
}

/* ---- Several sources ---- */

TEST_OF(several_sources, struct scanned_source, s)
{
	char one[128], two[128], files[1024];
	make_dir(s, "one", 0755);
	make_dir(s, "two", 0755);
	make_dir(s, "three", 0755);
	make_dir(s, "two/00", 0755);
	make_file(s, "one/a", "01 Ed");
	make_file(s, "two/b", "02 Ed");
	make_file(s, "two/also", "01 Ed");
	make_file(s, "three/c", "03 Ed");
	make_file(s, "two/debug", LONG_ID " Ed");
	make_link(s, "../libaway.so", "two/00/112233445566778899aabbccddeeff00112233");
	make_file(s, "two/libaway.so", "");
	snprintf(one, sizeof(one), "%s/one", s->dir);
	snprintf(two, sizeof(two), "%s/two", s->dir);
	s->roots[0] = (struct scan_root){one, one + 1};
	s->roots[1] = (struct scan_root){two, two + 1};
	s->scan.n_roots = 2;
	s->scan.source = "/";
	s->log.from_root = true;
	assert_int_equal(scan_root_of(&s->scan, one + 1), 0);
	assert_int_equal(scan_root_of(&s->scan, two + 1), 1);
	assert_int_equal(scan_root_of(&s->scan, "nowhere"), 2);
	walk_all(s, 0);
	snprintf(files, sizeof(files),
		 LONG_ID " %s/debug dwrf 444\n01 %s/a dwrf 444\n01 %s/also dwrf 444\n"
			 "02 %s/b dwrf 444\n",
		 two + 1, one + 1, two + 1, two + 1);
	expect_files(s, files);
	assert_true(is_called(s, LONG_ID, "libaway.so"));
	mutex_lock(&s->f->images.lock);
	const struct image *image = images_find(&s->f->images, "01");
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(image->sources.v[i].root, strstr(image->sources.v[i].path, "two/") != NULL);
	mutex_unlock(&s->f->images.lock);
	expect_opened(5);
	/* One that is gone leaves unknown what it has; the other one is walked. */
	move(s, "one", "gone");
	make_file(s, "two/new", "04 Ed");
	drop_file(s, "two/b");
	walk_all(s, -EIO);
	snprintf(files, sizeof(files), "W scan: %s: cannot open: No such file or directory\n", one);
	expect_log(files);
	snprintf(files, sizeof(files),
		 LONG_ID " %s/debug dwrf 444\n01 %s/a dwrf 444\n01 %s/also dwrf 444\n"
			 "02 %s/b dwrf 444\n04 %s/new dwrf 444\n",
		 two + 1, one + 1, two + 1, two + 1, two + 1);
	expect_files(s, files);
	move(s, "gone", "one");
	make_file(s, "one/bad", "!bad damaged");
	walk_all(s, 0);
	snprintf(files, sizeof(files), "W scan: %s/bad: damaged; skipped until it changes\n", one);
	expect_log(files);
	/* Each has an index of its own. */
	end_scan(s);
	begin_scan(s);
	index_load(&s->scan.index, 1, &s->cache, two);
	assert_int_equal(s->scan.index.files.n, 4);
	index_load(&s->scan.index, 0, &s->cache, one);
	assert_int_equal(s->scan.index.files.n, 6);
}

EACH_TEST(sweep_set_up, sweep_tear_down)
