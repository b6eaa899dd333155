/* answer_entry.h - the file of an address or a symbol. */
#ifndef FS_TREE_ANSWER_ENTRY_H
#define FS_TREE_ANSWER_ENTRY_H

#include "fs/tree/tree.h"

/*
 * Makes the answer to @request by @rev, so that its size is known, and the entry for it, whose node the
 * kernel knows once more. 0 with @ret_known: it is not that of an unknown address; -EAGAIN with call->wait
 * filled; or why it cannot be had, -ENOENT if there is none.
 */
int answer_entry(struct call *call, struct revision *rev, const struct request *request,
		 struct fuse_entry_param *ret, bool *ret_known);

#endif
