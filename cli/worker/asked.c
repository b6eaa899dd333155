#include "cli/worker/asked.h"

#include <errno.h>

static void take(struct asked *asked, const struct worker_address *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		asked->addresses[i] =
			(struct convert_address){from[i].value, (enum address_origin)from[i].origin};
	asked->list.n = n;
}

static int send_fragment(void *user, const struct convert_fragment *fragment)
{
	const struct asked *asked = user;
	struct worker_fragment m = {
		.head.serial = asked->serial,
		.output_size = fragment->output_size,
		.image_base = fragment->image_base,
		.has_ada = fragment->has_ada,
		.n_segments = (uint32_t)fragment->n_segments,
	};
	for (size_t i = 0; i < fragment->n_segments; i++) {
		const struct convert_segment *s = &fragment->segments[i];
		m.segments[i] = (struct worker_map){s->off, s->addr, s->size};
	}
	return worker_send(WORKER_SOCKET_FD, &m.head, WORKER_FRAGMENT, -1);
}

/* No request to open a file is under way: its thread waits here. */
static int receive_next(void *user)
{
	struct asked *asked = user;
	union worker_message msg;
	int got = worker_receive(WORKER_SOCKET_FD, &msg, NULL);
	if (got != 1 || msg.head.type != WORKER_ASK)
		return got < 0 ? got : -ECANCELED;
	take(asked, msg.ask.asked, msg.ask.n_asked);
	return 0;
}

void asked_init(struct asked *ret, const struct worker_convert *order)
{
	ret->serial = order->head.serial;
	ret->list = (struct convert_asked){
		.v = ret->addresses,
		.fd = WORKER_FRAGMENT_FD,
		.ready = send_fragment,
		.next = order->fragments_only ? receive_next : NULL,
		.user = ret,
	};
	take(ret, order->asked, order->n_asked);
}
