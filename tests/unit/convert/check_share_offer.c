/* Offers: what they take over, what they keep for themselves, and that nothing is left of one that fails. */
#include "store/share/share_offer.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "work/cache/handle.h"
#include "work/os/guard.h"
#include "gsym/base/vec.h"
#include "tests/unit/wrap_malloc.h"

enum { PAGE_MOST = 1 << 16, DESCRIPTORS = 256, ALLOCATIONS = 20 /* of an offer, at most */ };

static struct share share;
static struct handle handle;
static struct share_hold *ended; /* the last lease that was ended */
static unsigned n_ended, n_handles;
static int check_err; /* of the handle */

int __wrap_handle_check(const struct handle *one);
struct handle *__wrap_handle_get(struct handle *one);
void __wrap_handle_put(struct handle *one);
void __wrap_share_hold_end(struct share *in, struct share_hold *hold);

int __wrap_handle_check(const struct handle *one)
{
	assert_ptr_equal(one, &handle);
	return check_err;
}

struct handle *__wrap_handle_get(struct handle *one)
{
	assert_ptr_equal(one, &handle);
	n_handles++;
	return one;
}

void __wrap_handle_put(struct handle *one)
{
	assert_true(one == &handle || !one);
	n_handles -= one != NULL;
}

void __wrap_share_hold_end(struct share *in, struct share_hold *hold)
{
	assert_ptr_equal(in, &share);
	ended = hold;
	n_ended++;
}

static unsigned count_descriptors(void)
{
	unsigned n = 0;
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static ino_t inode_of(int fd)
{
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

static struct share_facts facts;
static int fds[SHARE_FILES];
static const char inputs[] = "some inputs";
static unsigned open_before;
static long live_before;

static struct span span_of(const char *text)
{
	return (struct span){(const uint8_t *)text, strlen(text)};
}

static int set_up(void **state)
{
	(void)state;
	memset(&facts, 0, sizeof(facts));
	for (size_t i = 0; i < SHARE_FILES; i++) {
		fds[i] = memfd_create("file", MFD_CLOEXEC);
		assert_true(fds[i] > STDERR_FILENO);
	}
	facts.id = strdup("0102");
	facts.arch = strdup("arm64");
	facts.files[SHARE_SOURCE].path = strdup("/srv/a");
	facts.merged = true;
	check_err = 0;
	n_ended = n_handles = 0;
	open_before = count_descriptors();
	live_before = live;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	share_facts_deinit(&facts);
	for (size_t i = 0; i < SHARE_FILES; i++)
		close(fds[i]);
	assert_int_equal(live, 0);
	return 0;
}

/* Nothing was taken over, and nothing is left. */
static void expect_none(struct share_offer *offer)
{
	assert_null(offer);
	assert_string_equal(facts.id, "0102");
	assert_string_equal(facts.files[SHARE_SOURCE].path, "/srv/a");
	assert_true(facts.merged);
	assert_int_equal(n_handles, 0);
	assert_int_equal(count_descriptors(), open_before);
	assert_int_equal(live, live_before);
}

TEST(of_a_conversion)
{
	char buf[sizeof(inputs)];
	memcpy(buf, inputs, sizeof(inputs));
	struct share_offer *offer = share_offer_new(&facts, fds, &handle, span_of(buf));
	assert_non_null(offer);
	memset(buf, 'x', sizeof(buf)); /* they were copied */
	assert_true(text_span(&offer->inputs).size == strlen(inputs));
	assert_memory_equal(offer->inputs.v, inputs, strlen(inputs));
	assert_ptr_equal(offer->handle, &handle);
	assert_int_equal(n_handles, 1);
	assert_string_equal(offer->facts.id, "0102");
	assert_string_equal(offer->facts.files[SHARE_SOURCE].path, "/srv/a");
	assert_true(offer->facts.merged);
	assert_null(facts.id);
	assert_null(facts.arch);
	assert_null(facts.files[SHARE_SOURCE].path);
	for (size_t i = 0; i < SHARE_FILES; i++) {
		assert_int_not_equal(offer->fds[i], fds[i]);
		assert_int_equal(inode_of(offer->fds[i]), inode_of(fds[i]));
		assert_true(fcntl(offer->fds[i], F_GETFD) & FD_CLOEXEC);
	}
	assert_true(list_empty(&offer->link));
	assert_false(offer->has_key || offer->may_exist || offer->replaces || offer->lost);
	assert_null(offer->hold);
	assert_string_equal(offer->message, "");
	assert_string_equal(offer->etag, "");
	/* With all that is added later. */
	offer->hold = (struct share_hold *)&handle;
	text_str(&offer->portable, "portable");
	share_offer_free(&share, offer);
	assert_ptr_equal(ended, &handle);
	assert_int_equal(n_ended, 1);
	assert_int_equal(n_handles, 0);
	assert_int_equal(count_descriptors(), open_before);
	assert_int_equal(live, 0);
}

TEST(of_a_failure)
{
	const int only[SHARE_FILES] = {-1, fds[SHARE_BINARY]};
	check_err = -EFAULT; /* of no handle */
	struct share_offer *offer = share_offer_new(&facts, only, NULL, span_of(""));
	assert_non_null(offer);
	assert_null(offer->handle);
	assert_int_equal(offer->inputs.n, 0);
	assert_int_equal(offer->fds[SHARE_SOURCE], -1);
	assert_int_equal(inode_of(offer->fds[SHARE_BINARY]), inode_of(fds[SHARE_BINARY]));
	assert_int_equal(count_descriptors(), open_before + 1);
	share_offer_free(&share, offer);
	assert_int_equal(count_descriptors(), open_before);
	assert_int_equal(n_handles, 0);
	share_offer_free(&share, NULL);
	assert_int_equal(n_ended, 1);
}

/* An offer that is made when so many descriptors can be opened. */
static struct share_offer *offer_with(const int from[static SHARE_FILES], int most)
{
	struct rlimit was, less;
	int next = dup(STDERR_FILENO);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	less = (struct rlimit){.rlim_cur = (rlim_t)(next + most), .rlim_max = was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
	struct share_offer *offer = share_offer_new(&facts, from, &handle, span_of(inputs));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	return offer;
}

/* The number 0 is a descriptor like others: of the caller, and of the offer. */
TEST(standard_input)
{
	int input = dup(STDIN_FILENO);
	assert_int_equal(dup2(fds[SHARE_SOURCE], STDIN_FILENO), STDIN_FILENO);
	open_before = count_descriptors();
	expect_none(offer_with((const int[SHARE_FILES]){STDIN_FILENO, -1}, 0));
	struct share_offer *offer =
		share_offer_new(&facts, (const int[SHARE_FILES]){STDIN_FILENO, -1}, NULL, span_of(inputs));
	assert_non_null(offer);
	assert_int_equal(inode_of(offer->fds[SHARE_SOURCE]), inode_of(fds[SHARE_SOURCE]));
	share_offer_free(&share, offer);
	close(STDIN_FILENO);
	offer = share_offer_new(&facts, (const int[SHARE_FILES]){fds[SHARE_SOURCE], -1}, NULL,
				span_of(inputs));
	assert_non_null(offer);
	assert_int_equal(offer->fds[SHARE_SOURCE], STDIN_FILENO);
	share_offer_free(&share, offer);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	dup2(input, STDIN_FILENO);
	close(input);
}

TEST(no_memory)
{
	struct share_offer *offer = NULL;
	long n = 0;
	for (;; n++) {
		assert_true(n < ALLOCATIONS);
		allowed = n;
		offer = share_offer_new(&facts, fds, &handle, span_of(inputs));
		allowed = -1;
		if (offer)
			break;
		expect_none(offer);
	}
	assert_true(n >= 2);
	share_offer_free(&share, offer);
}

TEST(no_descriptors)
{
	for (int more = 0; more <= SHARE_FILES; more++) {
		struct share_offer *offer = offer_with(fds, more);
		if (more < SHARE_FILES) {
			expect_none(offer);
			continue;
		}
		assert_non_null(offer);
		share_offer_free(&share, offer);
	}
}

/* The file of the handle was cut short, and with it the inputs in it. */
TEST(cut_short)
{
	int fd = memfd_create("cut", MFD_CLOEXEC);
	assert_int_equal(guard_install(), 0);
	open_before = count_descriptors();
	char *map = mmap(NULL, 2 * PAGE_MOST, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	const struct span lost = {(const uint8_t *)map, PAGE_MOST};
	expect_none(share_offer_new(&facts, fds, &handle, lost)); /* SIGBUS */
	munmap(map, 2 * PAGE_MOST);
	close(fd);
	check_err = -EFAULT;
	open_before = count_descriptors();
	expect_none(share_offer_new(&facts, fds, &handle, span_of(inputs)));
}

EACH_TEST(set_up, tear_down)
