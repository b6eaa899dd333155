#include "fs/answer/draft.h"

#include <errno.h>

static void draft_free(struct draft *draft)
{
	struct account *account = draft->account;
	if (account)
		account_charge(account, ACCOUNT_FILES, 0, &draft->charged);
	draft->kind->free(draft);
	account_put(account);
}

static int draft_begin(struct call *call, struct answers *answers, const struct draft_kind *kind)
{
	struct draft *draft = kind->begin(answers, call->req);
	if (!draft)
		return -ENOMEM;
	draft->kind = kind;
	draft->account = account_get(&answers->accounts, fuse_req_ctx(call->req)->uid);
	call->draft = draft;
	call->free_draft = draft_free;
	return draft->account ? 0 : -ENOMEM;
}

bool draft_is_late(struct draft *draft)
{
	draft->slices.slow = slices_are_late(&draft->slices);
	return draft->slices.slow;
}

/* A slice of call->draft. */
static int go_on(void *ret, struct call *call)
{
	struct draft *draft = call->draft;
	int err = draft->kind->go_on(draft, ret);
	account_charge(draft->account, ACCOUNT_FILES, draft->kind->bytes(draft), &draft->charged);
	return err == SLICE_USED_UP && account_is_over(draft->account, ACCOUNT_FILES) ? -ENOMEM : err;
}

int draft_content(struct call *call, struct answers *answers, const struct draft_kind *kind,
		  struct content **ret)
{
	int err = call->draft ? 0 : draft_begin(call, answers, kind);
	if (!err)
		err = call_in_slices(call, &call->draft->slices, go_on, ret);
	if (err != -EAGAIN && call->draft)
		draft_free(TAKE(call->draft));
	return err;
}
