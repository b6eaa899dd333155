#include "fs/convert/remote_conversions.h"

#include "work/run/converter.h"

void remote_conversions_deinit(struct remote_conversions *remote, const struct converter *c)
{
	for (size_t i = 0; i < remote->all.n; i++)
		c->store->end(c->share, remote->all.v[i].turn);
	vec_free(&remote->all);
}

int remote_conversions_add(struct remote_conversions *remote, struct revision *rev, struct share_turn *turn,
			   int64_t due)
{
	return vec_push(&remote->all, (struct remote_conversion){rev, turn, due});
}

void remote_conversions_hurry(struct remote_conversions *remote, const struct converter *c,
			      const struct revision *rev)
{
	for (size_t i = 0; i < remote->all.n; i++) {
		struct remote_conversion *entry = &remote->all.v[i];
		if (entry->rev != rev)
			continue;
		int64_t most = c->store->hurry(c->share, entry->turn);
		if (entry->due > most)
			entry->due = most;
	}
}

bool remote_conversions_take(struct remote_conversions *remote, int64_t now, struct remote_conversion *ret,
			     int64_t *ret_until)
{
	struct remote_conversion *first = NULL;
	for (size_t i = 0; i < remote->all.n; i++)
		if (!first || remote->all.v[i].due < first->due)
			first = &remote->all.v[i];
	*ret_until = first ? first->due : INT64_MAX;
	if (!first || first->due > now)
		return false;
	*ret = *first;
	*first = remote->all.v[--remote->all.n];
	return true;
}
