#include "store/client/breaker.h"

enum {
	IN_A_ROW = 3,
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

bool breaker_note(struct breaker *breaker, int64_t now, bool failed)
{
	if (breaker->state == BREAKER_OPEN)
		return false; /* allowed before it opened */
	if (breaker->state == BREAKER_HALF_OPEN && !failed) {
		close_breaker(breaker);
		return false;
	}
	breaker->in_a_row = failed ? breaker->in_a_row + 1 : 0;
	if (!failed || (breaker->state == BREAKER_CLOSED && breaker->in_a_row < IN_A_ROW))
		return false;
	open_breaker(breaker, now);
	return true;
}

void breaker_note_canceled(struct breaker *breaker)
{
	breaker->trying = false;
}
