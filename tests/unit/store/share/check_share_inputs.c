/* Neighbours in a form that means the same on hosts which keep their files elsewhere. */
#include "store/share/share_inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/unit/temp_directory.h"
#include "work/types/packed_name.h"
#include "work/run/inputs.h"

enum { PATH_SIZE = 128, HOSTS = 2 };

/* A host: a source with a directory, in which the object file would be, and directories of debug files. */
struct host {
	char root[PATH_SIZE], source[PATH_SIZE], directory[PATH_SIZE], debug[PATH_SIZE];
	const char *dirs[3];
	struct search_path search;
	struct share_facts facts;
};

struct fixture {
	char dir[PATH_SIZE];
	struct host hosts[HOSTS];
	struct text_buf local, portable, taken, notes;
};

static void make_dir(char path[PATH_SIZE], const char *parent, const char *name)
{
	assert_true(snprintf(path, PATH_SIZE, "%s/%s", parent, name) < PATH_SIZE);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void init_host(struct fixture *f, struct host *host, const char *name)
{
	make_dir(host->root, f->dir, name);
	make_dir(host->source, host->root, name);
	make_dir(host->directory, host->source, "bin");
	make_dir(host->debug, f->dir, *name == 'a' ? "debug" : "unused");
	if (*name != 'a')
		snprintf(host->debug, sizeof(host->debug), "%.90s/debug", f->dir); /* all hosts have one */
	host->dirs[0] = host->debug;
	host->dirs[1] = host->source;
	host->search = (struct search_path){.dirs = host->dirs, .n_sources = 1, .servers = 5};
	host->facts = (struct share_facts){.search = host->search, .directory = host->directory};
	host->facts.files[SHARE_SOURCE].state =
		(struct file_state){.mode = 0400, .uid = geteuid(), .gid = getegid()};
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	umask(022);
	strcpy(f->dir, "/tmp/gsymfs-share-XXXXXX");
	if (!mkdtemp(f->dir) || chmod(f->dir, 0755))
		return -1;
	init_host(f, &f->hosts[0], "a");
	init_host(f, &f->hosts[1], "elsewhere");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	text_deinit(&f->local);
	text_deinit(&f->portable);
	text_deinit(&f->taken);
	text_deinit(&f->notes);
	int err = remove_tree(f->dir);
	free(f);
	return err;
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[2 * PATH_SIZE];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* The conversion looks for a file on the first host. */
static void note(struct fixture *f, const char *format, const char *dir, const char *name)
{
	char path[2 * PATH_SIZE];
	struct neighbour file;
	snprintf(path, sizeof(path), "%s%s/%s", format, dir, name);
	int err = neighbour_stat(&f->hosts[0].search, path, &file);
	assert_true(inputs_add(&f->local, path, err ? NULL : &file));
}

static int give(struct fixture *f)
{
	text_reset(&f->portable);
	return share_inputs_write(&f->hosts[0].facts, text_span(&f->local), &f->portable);
}

static int take(struct fixture *f, const struct host *host, int64_t age)
{
	text_reset(&f->taken);
	text_reset(&f->notes);
	return share_inputs_read(&host->facts, text_span(&f->portable), age, &f->taken, &f->notes);
}

static bool has(const struct text_buf *text, const char *part)
{
	return memmem(text->v, text->n, part, strlen(part));
}

/* One file of each place, and one that is not there. */
static void note_all(struct fixture *f)
{
	struct host *a = &f->hosts[0];
	char below[PATH_SIZE];
	make_dir(below, a->debug, "x");
	for (size_t i = 0; i < HOSTS; i++) {
		write_file(f->hosts[i].directory, "near.dwo", "near");
		write_file(f->hosts[i].source, "root.dwo", "root");
		write_file(f->hosts[i].source, "packed.debug.xz", "packed");
	}
	write_file(below, "far.debug", "far");
	note(f, "", a->directory, "near.dwo");
	note(f, "", a->source, "root.dwo");
	note(f, "", below, "far.debug");
	note(f, "", a->directory, "missing");
	note(f, PACKED, a->source, "packed.debug");
	snprintf(below, sizeof(below), "%.40s%.60s", a->debug, a->directory);
	note(f, "", below, "prog.debug");
}

TEST_OF(test_places, struct fixture, f)
{
	note_all(f);
	assert_int_equal(give(f), 0);
	assert_true(has(&f->portable, "search 1 1 "));
	assert_true(has(&f->portable, " */near.dwo\n"));
	assert_true(has(&f->portable, " *0/root.dwo\n"));
	assert_true(has(&f->portable, "/x/far.debug\n"));
	assert_true(has(&f->portable, "- */missing\n"));
	assert_true(has(&f->portable, " " PACKED "*0/packed.debug\n"));
	assert_true(has(&f->portable, "/debug*/prog.debug\n"));
	assert_false(has(&f->portable, f->hosts[0].root));
}

TEST_OF(test_another_host, struct fixture, f)
{
	struct host *host = &f->hosts[1];
	note_all(f);
	assert_int_equal(give(f), 0);
	for (size_t i = 0; i < HOSTS; i++) {
		assert_int_equal(take(f, &f->hosts[i], 0), 0);
		assert_int_equal(inputs_check(text_span(&f->taken), &f->hosts[i].search), 0);
		assert_true(has(&f->taken, f->hosts[i].directory));
		assert_true(has(&f->notes, f->hosts[i].directory));
		assert_true(has(&f->notes, "packed.debug.xz\n"));
	}
	write_file(host->directory, "near.dwo", "another");
	assert_int_equal(take(f, host, 0), -ESTALE);
	write_file(host->directory, "near.dwo", "near");
	assert_int_equal(take(f, host, 0), 0);
	write_file(host->directory, "missing", "");
	assert_int_equal(take(f, host, 0), -ESTALE);
}

TEST_OF(test_other_directories, struct fixture, f)
{
	struct host *host = &f->hosts[1];
	assert_int_equal(give(f), 0);
	host->dirs[0] = "/usr/lib/other";
	assert_int_equal(take(f, host, 0), 0); /* nothing was looked for */
	note(f, "", f->hosts[0].directory, "missing");
	assert_int_equal(give(f), 0);
	assert_int_equal(take(f, host, 0), -EXDEV);
	assert_int_equal(take(f, &f->hosts[0], 0), 0);
}

/* What servers did not have is believed for the rest of its time, by any host's clock. */
TEST_OF(test_servers, struct fixture, f)
{
	inputs_add_asked(&f->local, &f->hosts[0].search, time(NULL) + 600);
	assert_int_equal(give(f), 0);
	assert_int_equal(take(f, &f->hosts[1], 60), 0);
	assert_int_equal(inputs_check(text_span(&f->taken), &f->hosts[1].search), 0);
	assert_int_equal(take(f, &f->hosts[1], 700), -ESTALE);
	assert_int_equal(take(f, &f->hosts[1], INT64_MAX), -ESTALE);
	text_reset(&f->local);
	inputs_add_asked(&f->local, &f->hosts[0].search, time(NULL) - 1);
	assert_int_equal(give(f), -ESTALE);
}

TEST_OF(test_damaged, struct fixture, f)
{
	static const char *const texts[] = {
		"search",
		"search 1 1\n",
		"b00 */near\n",
		"- *near\n",
		"-\n",
		"- near\n",
		"- *1/near\n",
		"- *18446744073709551616/near\n",
		"- *0near\n",
		"- *0\n",
		"- x*/near\n",
		"- \n",
		"- */near",
		"? \n",
		"? 60s\n",
		"? -1\n",
		"? -9223372036854775808\n",
		"? 9223372036854775807\n",
		"? 18446744073709551676\n",
	};
	note(f, "", f->hosts[0].directory, "missing");
	assert_int_equal(give(f), 0);
	struct text_buf whole = {0};
	text_bytes(&whole, f->portable.v, f->portable.n);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		text_reset(&f->portable);
		if (i > 2)
			text_bytes(&f->portable, whole.v, whole.n);
		text_str(&f->portable, texts[i]);
		int err = take(f, &f->hosts[0], 1);
		assert_true(err == -EBADMSG || (err == -EXDEV && i == 1));
	}
	text_deinit(&whole);
}

EACH_TEST(set_up, tear_down)
