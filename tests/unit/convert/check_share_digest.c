/* Digests of files that a conversion is named after: made once, and kept. Linked with --wrap. */
#include "store/share/share_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/client/file_digest.h"
#include "tests/lib/unit.h"

enum { AGE = 60 /* seconds since a file was made, after which it counts as settled */ };

static char path[] = "/tmp/gsymfs-facts-XXXXXX";
static time_t later; /* what the clock is ahead of the times of files */

time_t __real_time(time_t *ret);
time_t __wrap_time(time_t *ret);

time_t __wrap_time(time_t *ret)
{
	time_t now = __real_time(NULL) + later;
	if (ret)
		*ret = now;
	return now;
}

/* What is kept: one digest. */
struct keeper {
	bool known;
	struct file_key key;
	uint8_t digest[STORE_DIGEST];
};

static bool find(void *user, const struct file_key *key, uint8_t ret[static STORE_DIGEST])
{
	const struct keeper *keeper = user;
	if (!keeper->known || !file_key_same(&keeper->key, key))
		return false;
	memcpy(ret, keeper->digest, STORE_DIGEST);
	return true;
}

static void keep(void *user, const struct file_key *key, const uint8_t digest[static STORE_DIGEST])
{
	struct keeper *keeper = user;
	keeper->known = true;
	keeper->key = *key;
	memcpy(keeper->digest, digest, STORE_DIGEST);
}

/* Facts of the open file @fd alone. */
static struct share_facts facts_of(int fd)
{
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	return (struct share_facts){
		.files = {[SHARE_SOURCE] = {.path = path, .state = file_state_of(fd, &st, true)}}};
}

static int digest(struct share_facts *facts, struct keeper *keeper, int fd, uint64_t most)
{
	const struct share_digests digests = {find, keep, keeper};
	return share_facts_digest(facts, &digests, (const int[]){fd, -1}, most, NULL, NULL);
}

/* What was made is kept, and what is kept is not read. */
TEST(test_once)
{
	struct keeper keeper = {.known = false};
	uint8_t want[STORE_DIGEST];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct share_facts first = facts_of(fd), second = first;
	assert_int_equal(file_digest(fd, first.files[SHARE_SOURCE].state.size, NULL, NULL, want), 0);
	assert_int_equal(digest(&first, &keeper, fd, UINT64_MAX), 0);
	assert_true(first.files[SHARE_SOURCE].has_digest && keeper.known);
	assert_memory_equal(keeper.digest, want, STORE_DIGEST);
	/* However large it is, and although there is nothing to read. */
	assert_int_equal(digest(&second, &keeper, -1, 0), 0);
	assert_true(second.files[SHARE_SOURCE].has_digest);
	assert_memory_equal(second.files[SHARE_SOURCE].digest, want, STORE_DIGEST);
	close(fd);
}

TEST(test_too_large)
{
	struct keeper keeper = {.known = false};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct share_facts facts = facts_of(fd);
	assert_int_equal(digest(&facts, &keeper, fd, facts.files[SHARE_SOURCE].state.size - 1), 0);
	assert_false(facts.files[SHARE_SOURCE].has_digest || keeper.known);
	close(fd);
}

/* A file that may change once more within the same step of the clock, or that has changed, is not kept. */
TEST(test_not_certain)
{
	struct keeper keeper = {.known = false};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct share_facts young = facts_of(fd), changed = young;
	later = 0;
	assert_int_equal(digest(&young, &keeper, fd, UINT64_MAX), 0);
	assert_true(young.files[SHARE_SOURCE].has_digest && !keeper.known);
	later = AGE;
	changed.files[SHARE_SOURCE].state.ctime_ns--;
	assert_int_equal(digest(&changed, &keeper, fd, UINT64_MAX), 0);
	assert_false(keeper.known);
	close(fd);
}

static int make_file(void **state)
{
	int fd = mkstemp(path);
	(void)state;
	later = AGE;
	return fd >= 0 && write(fd, "what is digested", 16) == 16 ? close(fd) : -1;
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

ALL_TESTS(make_file, remove_file)
