#include "work/os/retry.h"

#include <time.h>

enum { LIMIT_SECONDS = 3600 };

int64_t retry_at_limit(void)
{
	return time(NULL) + LIMIT_SECONDS;
}

int64_t retry_soon(unsigned n)
{
	int64_t seconds = 1;
	while (--n && seconds < RETRY_SOON_MAX)
		seconds *= 2;
	return time(NULL) + seconds;
}

bool retry_is_due(int64_t at)
{
	int64_t now = time(NULL);
	return now >= at || at > now + LIMIT_SECONDS;
}
