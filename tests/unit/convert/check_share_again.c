/* Conversions of the cache that are still to be given: which are offered, and that nothing is left open. */
#include "store/share/share_again.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "work/run/convert_job.h"
#include "store/share/share_offer.h"
#include "gsym/base/vec.h"

enum { INPUT = 50, BINARY = 51 };

static struct {
	int open_err, facts_err;
	bool no_offer;
} with;

static struct share share;
static const struct converter converter = {.share = &share}, alone;
static const struct convert_request request = {.id = "0102"};
static struct handle handle;
static struct share_offer offer;
static unsigned n_opened, n_closed, n_offers;
static char *made; /* what the facts own */

int __wrap_job_open_files(struct convert_job *job);
void __wrap_job_close(struct convert_job *job);
int __wrap_share_facts_make(const struct convert_job *job, struct share_facts *ret);
void __wrap_share_facts_deinit(struct share_facts *facts);
struct share_offer *__wrap_share_offer_new(struct share_facts *facts, const int fds[static SHARE_FILES],
					   struct handle *one, struct span inputs);

int __wrap_job_open_files(struct convert_job *job)
{
	assert_ptr_equal(job->converter, &converter);
	assert_ptr_equal(job->request, &request);
	assert_true(job->out && job->out->verdict == VERDICT_READY && !job->out->err);
	assert_true(job->input == -1 && job->binary == -1 && job->fragment == -1);
	assert_true(job->temp.fd == -1 && job->temp.lock == -1);
	n_opened++;
	job->input = INPUT;
	if (with.open_err) {
		job->out->err = with.open_err;
		return with.open_err;
	}
	job->binary = BINARY;
	return 0;
}

void __wrap_job_close(struct convert_job *job)
{
	assert_int_equal(job->input, INPUT);
	assert_null(made);
	n_closed++;
}

int __wrap_share_facts_make(const struct convert_job *job, struct share_facts *ret)
{
	assert_int_equal(job->input, INPUT);
	ret->id = made = strdup(job->request->id);
	return with.facts_err;
}

void __wrap_share_facts_deinit(struct share_facts *facts)
{
	if (facts->id)
		made = NULL;
	free(facts->id);
}

struct share_offer *__wrap_share_offer_new(struct share_facts *facts, const int fds[static SHARE_FILES],
					   struct handle *one, struct span inputs)
{
	assert_string_equal(facts->id, "0102");
	assert_true(fds[SHARE_SOURCE] == INPUT && fds[SHARE_BINARY] == BINARY);
	assert_ptr_equal(one, &handle);
	assert_true(inputs.data == handle.inputs.data && inputs.size == handle.inputs.size);
	if (with.no_offer)
		return NULL;
	n_offers++;
	__wrap_share_facts_deinit(facts); /* they are taken over */
	facts->id = NULL;
	return &offer;
}

static int set_up(void **state)
{
	(void)state;
	memset(&with, 0, sizeof(with));
	memset(&offer, 0, sizeof(offer));
	handle.pending = true;
	handle.inputs = (struct span){(const uint8_t *)"inputs", 6};
	n_opened = n_closed = n_offers = 0;
	return 0;
}

TEST(pending)
{
	assert_ptr_equal(share_again(&converter, &request, &handle), &offer);
	assert_true(offer.may_exist); /* another host may have given it since */
	assert_false(offer.has_key || offer.replaces || offer.lost);
	assert_int_equal(n_offers, 1);
	assert_int_equal(n_closed, 1);
}

/* Then no file is opened. */
TEST(not_to_be_given)
{
	assert_null(share_again(&alone, &request, &handle));
	assert_null(share_again(&converter, &request, NULL));
	handle.pending = false;
	assert_null(share_again(&converter, &request, &handle));
	assert_int_equal(n_opened + n_closed + n_offers, 0);
}

TEST(faults)
{
	static const struct {
		int open_err, facts_err;
		bool no_offer;
	} rows[] = {{.open_err = -ESTALE}, {.facts_err = -ENOMEM}, {.no_offer = true}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up(state);
		with.open_err = rows[i].open_err;
		with.facts_err = rows[i].facts_err;
		with.no_offer = rows[i].no_offer;
		assert_null(share_again(&converter, &request, &handle));
		assert_int_equal(n_opened, 1);
		assert_int_equal(n_closed, 1);
		assert_int_equal(n_offers, 0);
	}
}

EACH_TEST(set_up, NULL)
