#include "fs/tree/tree.h"

#include <errno.h>
#include <string.h>

#include "fs/answer/answer.h"
#include "fs/images/fragments.h"
#include "fs/images/revision.h"
#include "fs/images/inode_numbers.h"
#include "fs/tree/attr.h"
#include "fs/tree/entry.h"
#include "gsym/base/escape.h"

/* The answer of an image that is not open yet: from one of its fragments, or -EAGAIN. */
static int early_answer(struct call *call, struct revision *rev, const struct request *request,
			struct content **ret)
{
	struct tree *tree = tree_of(call);
	struct wait *wait = &call->wait;
	struct convert_address address;
	struct handle *fragments[FRAGMENTS_MAX];
	if (wait->revision != rev || request->kind != REQUEST_ADDRESS || request->context.why ||
	    !place_to_ask(&request->context, request->address, &address))
		return -EAGAIN;
	if (call_add_address(call, &address))
		return -ENOMEM;
	size_t n = fragments_get(tree->images, rev, fragments, &wait->fragments_seen);
	int err = -EAGAIN;
	for (size_t i = 0; i < n; i++) {
		if (err)
			err = tree->content->early(tree->answers, rev, fragments[i], request, ret);
		handle_put(fragments[i]);
	}
	if (!err)
		call->tier = TIER_FRAGMENT;
	return err ? -EAGAIN : 0;
}

/* Why the image cannot be converted, as the content of a file below why. */
static int failure_answer(struct call *call, const struct revision *rev, const struct request *request,
			  struct content **ret)
{
	struct text_buf out = {0};
	if (request->kind == REQUEST_ADDRESS) {
		text_addr(&out, request->address);
		text_lit(&out, ": ");
	}
	text_lit(&out, "the image cannot be converted: ");
	mutex_lock(&tree_of(call)->images->lock);
	const char *reason = rev->reason ? rev->reason : "see status";
	escape_bytes(&out, reason, strlen(reason), ESCAPE_TEXT);
	mutex_unlock(&tree_of(call)->images->lock);
	text_char(&out, '\n');
	*ret = out.failed ? NULL : content_new(out.v, out.n);
	text_deinit(&out);
	return *ret ? 0 : -ENOMEM;
}

/* @ret_id: what its node should have; of a fragment's answer nothing yet. */
static int address_answer(struct call *call, struct revision *rev, const struct request *request,
			  struct content **ret, struct node_id *ret_id, bool *ret_known, double *ret_timeout)
{
	struct tree *tree = tree_of(call);
	struct handle *handle;
	const bool why = request->context.why, failed = call->failed == rev->number + UINT64_C(1);
	call->outlives_failure = why;
	*ret_id = (struct node_id){.ino = 0};
	*ret_timeout = TIMEOUT_FRAGMENT;
	int err = why && failed ? call->failure : revision_use(tree->images, rev, &handle, &call->wait);
	if (err == -EAGAIN && !failed)
		return early_answer(call, rev, request, ret);
	if (err)
		return why ? failure_answer(call, rev, request, ret) : err;
	*ret_timeout = TIMEOUT_FIXED;
	*ret_id = answer_id(rev, request, handle->addresses.base, handle->stamp);
	err = tree->content->answer(tree->answers, rev, handle, request, &call->wait, ret, ret_known);
	handle_put(handle);
	return err;
}

int answer_entry(struct call *call, struct revision *rev, const struct request *request,
		 struct fuse_entry_param *ret, bool *ret_known)
{
	struct tree *tree = tree_of(call);
	struct content *content;
	struct node_id id;
	struct stat st;
	double timeout;
	int err = address_answer(call, rev, request, &content, &id, ret_known, &timeout);
	if (err)
		return err;
	uint64_t size = content->size;
	revision_pin(rev);
	err = nodes_add(&tree->nodes, rev, request, content, &id);
	if (err)
		return err;
	attr_image_file(rev, id.ino, size, &st);
	*ret = entry_make(tree, &st, id.generation, timeout, TIMEOUT_FIXED);
	return 0;
}
