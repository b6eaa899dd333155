/*
 * Requests are counted in slots of five seconds, of which those of the last minute are kept: an exact window
 * would need the time of each request.
 */
#include "store/client/breaker.h"

enum {
	SLOT_MS = 5000,
	IN_A_ROW = 3,
	SAMPLE_MIN = 20, /* by count alone, a busy store would trip on a few failures of many */
	RATE = 10,       /* one of so many may fail */
	OPEN_MIN_MS = 10000,
	OPEN_MAX_MS = 300000,
};

static void change_state(struct breaker *breaker, enum breaker_state state)
{
	breaker->state = state;
	breaker->trying = false;
	breaker->changes++;
}

/* From half open again, or soon after it closed: twice as long as before. */
static void open_breaker(struct breaker *breaker, int64_t now)
{
	bool again = breaker->state == BREAKER_HALF_OPEN || now - breaker->until < OPEN_MAX_MS;
	int64_t ms = again ? 2 * breaker->open_ms : OPEN_MIN_MS;
	breaker->open_ms = ms < OPEN_MIN_MS ? OPEN_MIN_MS : ms > OPEN_MAX_MS ? OPEN_MAX_MS : ms;
	breaker->until = now + breaker->open_ms + breaker->open_ms / 4 * breaker->jitter / UINT8_MAX;
	change_state(breaker, BREAKER_OPEN);
}

/* What failed before says nothing of a server that answers again. */
static void close_breaker(struct breaker *breaker)
{
	breaker->in_a_row = 0;
	for (unsigned i = 0; i < BREAKER_SLOTS; i++)
		breaker->recent[i].good = breaker->recent[i].bad = 0;
	change_state(breaker, BREAKER_CLOSED);
}

bool breaker_allows(struct breaker *breaker, int64_t now)
{
	if (breaker->state == BREAKER_CLOSED)
		return true;
	if (breaker->state == BREAKER_OPEN && now < breaker->until)
		return false;
	if (breaker->state == BREAKER_OPEN)
		change_state(breaker, BREAKER_HALF_OPEN);
	bool ret = !breaker->trying;
	breaker->trying = true;
	return ret;
}

static void count(struct breaker *breaker, int64_t now, bool failed)
{
	int64_t slot = now / SLOT_MS;
	unsigned i = (unsigned)(slot % BREAKER_SLOTS);
	if (breaker->recent[i].slot != slot) {
		breaker->recent[i].slot = slot;
		breaker->recent[i].good = breaker->recent[i].bad = 0;
	}
	*(failed ? &breaker->recent[i].bad : &breaker->recent[i].good) += 1;
	breaker->in_a_row = failed ? breaker->in_a_row + 1 : 0;
}

static bool too_many_failed(const struct breaker *breaker, int64_t now)
{
	unsigned good = 0, bad = 0;
	for (unsigned i = 0; i < BREAKER_SLOTS; i++) {
		if (breaker->recent[i].slot <= now / SLOT_MS - BREAKER_SLOTS)
			continue;
		good += breaker->recent[i].good;
		bad += breaker->recent[i].bad;
	}
	return good + bad >= SAMPLE_MIN && bad * RATE > good + bad;
}

bool breaker_note(struct breaker *breaker, int64_t now, bool failed)
{
	if (breaker->state == BREAKER_OPEN)
		return false; /* allowed before it opened */
	if (breaker->state == BREAKER_HALF_OPEN && !failed) {
		close_breaker(breaker);
		return false;
	}
	count(breaker, now, failed);
	/* Only a failure opens it, though a success may be the one that completes the sample. */
	if (!failed || (breaker->state == BREAKER_CLOSED && breaker->in_a_row < IN_A_ROW &&
			!too_many_failed(breaker, now)))
		return false;
	open_breaker(breaker, now);
	return true;
}

void breaker_note_canceled(struct breaker *breaker)
{
	breaker->trying = false;
}
