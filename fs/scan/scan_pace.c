#include "fs/scan/scan_pace.h"

#include <limits.h>

enum {
	REQUEST_MS = 1000, /* between the end of a walk and one that was asked for */
	RETRY_SECONDS_MAX = 64,
	/* Debouncing: a scan waits until there was no change for so long, */
	QUIET_MS = 100,
	/* but at most so long after the first change; */
	DEBOUNCE_MS_MAX = 1000,
	/*
	 * and for so many times the CPU time of the last scan of its kind, so that constant changes cost at
	 * most a tenth of a processor for walks, and another for looks at what has changed.
	 */
	REST_FACTOR = 9,
};

/* After walks that left something unknown the next one comes soon, then ever later. */
static unsigned retry_delay(struct scan_pace *pace, bool failed)
{
	unsigned seconds = pace->retry && failed ? pace->retry : 1;
	pace->retry = !failed ? 1 : seconds < RETRY_SECONDS_MAX ? 2 * seconds : seconds;
	return seconds;
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void scan_pace_walked(struct scan_pace *pace, int64_t now, const struct scan_walk *walk)
{
	int64_t delay = walk->interval ? walk->interval : INT64_MAX;
	unsigned retry = retry_delay(pace, walk->err);
	if (walk->limit != INT64_MAX)
		delay = sooner(delay, walk->limit < 1 ? 1 : sooner(walk->limit, INT_MAX));
	if (walk->err)
		delay = sooner(delay, retry);
	pace->ended = now;
	pace->rest = now + walk->took * REST_FACTOR;
	pace->due = delay == INT64_MAX ? INT64_MAX : now + delay * 1000;
	pace->look = walk->watching ? now : INT64_MAX;
	pace->first = 0;
}

void scan_pace_request(struct scan_pace *pace)
{
	pace->due = sooner(pace->due, pace->ended + REQUEST_MS);
}

bool scan_pace_look_now(const struct scan_pace *pace, int64_t now, bool any)
{
	return pace->first && (!any || now >= pace->first + DEBOUNCE_MS_MAX);
}

void scan_pace_changed(struct scan_pace *pace, int64_t now, bool relevant)
{
	if (!pace->first && relevant)
		pace->first = now;
	pace->look = now + QUIET_MS;
}

void scan_pace_looked(struct scan_pace *pace, int64_t now, int64_t took, bool walk)
{
	pace->first = 0;
	pace->look = now + took * REST_FACTOR;
	if (walk)
		pace->due = sooner(pace->due, pace->rest);
}

int scan_pace_timeout(const struct scan_pace *pace, int64_t now, bool looking)
{
	int64_t until = looking && pace->first ? now : looking ? pace->due : sooner(pace->look, pace->due);
	return (int)sooner(until - now, INT_MAX);
}
