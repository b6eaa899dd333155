#include "fs/convert/elsewhere.h"

#include "store/share/share_turn.h"

void elsewhere_deinit(struct elsewhere *elsewhere, struct share *share)
{
	for (size_t i = 0; i < elsewhere->all.n; i++)
		share_turn_end(share, elsewhere->all.v[i].turn);
	vec_free(&elsewhere->all);
}

int elsewhere_add(struct elsewhere *elsewhere, struct revision *rev, struct share_turn *turn, int64_t due)
{
	return vec_push(&elsewhere->all, (struct elsewhere_entry){rev, turn, due});
}

void elsewhere_hurry(struct elsewhere *elsewhere, const struct share *share, const struct revision *rev)
{
	for (size_t i = 0; i < elsewhere->all.n; i++) {
		struct elsewhere_entry *entry = &elsewhere->all.v[i];
		if (entry->rev != rev)
			continue;
		int64_t most = share_turn_hurry(share, entry->turn);
		if (entry->due > most)
			entry->due = most;
	}
}

bool elsewhere_take(struct elsewhere *elsewhere, int64_t now, struct elsewhere_entry *ret, int64_t *ret_until)
{
	struct elsewhere_entry *first = NULL;
	for (size_t i = 0; i < elsewhere->all.n; i++)
		if (!first || elsewhere->all.v[i].due < first->due)
			first = &elsewhere->all.v[i];
	*ret_until = first ? first->due : INT64_MAX;
	if (!first || first->due > now)
		return false;
	*ret = *first;
	*first = elsewhere->all.v[--elsewhere->all.n];
	return true;
}
