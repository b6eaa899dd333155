#include "fs/tree/tree.h"

#include <assert.h>
#include <errno.h>

#include "fs/images/revision.h"

static_assert(offsetof(struct tree, parallel) == 0, "fuse_threads.c finds it there");

void tree_init(struct tree *tree)
{
	nodes_init(&tree->nodes, tree->kept_answers);
	tree->nodes.unpin = revision_unpin;
	open_files_init(&tree->open_files, &tree->answers->accounts);
}

void tree_deinit(struct tree *tree)
{
	open_files_deinit(&tree->open_files);
	nodes_deinit(&tree->nodes);
}

/* ---- Replies to OPEN ---- */

static int reply_open(struct call *call, struct open_file keeps)
{
	struct open_file *file;
	int err = open_file_new(&tree_of(call)->open_files, &keeps, fuse_req_ctx(call->req)->uid, &file);
	if (err)
		return err;
	call->info.fh = (uintptr_t)file;
	if (fuse_reply_open(call->req, &call->info) == -ENOENT)
		open_file_put(file); /* interrupted: there will be no RELEASE */
	return 0;
}

int open_reply_kept(struct call *call, struct open_file keeps)
{
	call->info.keep_cache = 1;
	return reply_open(call, keeps);
}

static int open_direct(struct call *call, struct open_file keeps)
{
	keeps.direct = true;
	call->info.direct_io = 1;
	return reply_open(call, keeps);
}

int open_reply_content(struct call *call, struct content *content)
{
	return content ? open_direct(call, (struct open_file){.content = content}) : -ENOMEM;
}

int open_reply_stream(struct call *call, struct stream *stream)
{
	return stream ? open_direct(call, (struct open_file){.stream = stream}) : -ENOMEM;
}

int open_reply_usage(struct call *call)
{
	static const char usage[] =
		"Answers come through the descriptor that was written to: exec 3<>q; echo 0x1170 >&3; cat "
		"<&3 (README)\n";
	return open_reply_content(call, content_new(usage, sizeof(usage) - 1));
}

int open_reply_stateless(struct call *call)
{
	call->info.keep_cache = 1;
	fuse_reply_open(call->req, &call->info);
	return 0;
}
