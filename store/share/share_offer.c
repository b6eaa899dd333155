#include "store/share/share_offer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "work/os/guard.h"
#include "store/share/share_hold.h"

static void close_files(struct share_offer *offer)
{
	for (size_t i = 0; i < SHARE_FILES; i++)
		if (offer->fds[i] >= 0)
			close(offer->fds[i]);
}

/* Descriptors of the offer's own; false if there are none left. */
static bool keep_files(struct share_offer *offer, const int fds[static SHARE_FILES])
{
	bool all = true;
	for (size_t i = 0; i < SHARE_FILES; i++) {
		offer->fds[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
		all &= fds[i] < 0 || offer->fds[i] >= 0;
	}
	return all;
}

struct inputs_copy {
	struct text_buf *to;
	struct span from;
};

static int copy_inputs(void *arg)
{
	const struct inputs_copy *copy = arg;
	text_bytes(copy->to, copy->from.data, copy->from.size);
	return copy->to->failed ? -ENOMEM : 0;
}

struct share_offer *share_offer_new(struct share_facts *facts, const int fds[static SHARE_FILES],
				    struct handle *handle, struct span inputs)
{
	struct share_offer *offer = calloc(1, sizeof(*offer));
	if (!offer)
		return NULL;
	if (!keep_files(offer, fds) ||
	    guard_run(copy_inputs, &(struct inputs_copy){&offer->inputs, inputs}) ||
	    (handle && handle_check(handle))) {
		text_deinit(&offer->inputs);
		close_files(offer);
		free(offer);
		return NULL;
	}
	list_init(&offer->link);
	offer->handle = handle ? handle_get(handle) : NULL;
	offer->facts = *facts;
	*facts = (struct share_facts){0};
	return offer;
}

void share_offer_free(struct share *share, struct share_offer *offer)
{
	if (!offer)
		return;
	share_hold_end(share, offer->hold);
	handle_put(offer->handle);
	text_deinit(&offer->inputs);
	text_deinit(&offer->portable);
	share_facts_deinit(&offer->facts);
	close_files(offer);
	free(offer);
}
