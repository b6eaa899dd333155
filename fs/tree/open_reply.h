/* open_reply.h - replies to OPEN, by what the open file keeps. */
#ifndef FS_TREE_OPEN_REPLY_H
#define FS_TREE_OPEN_REPLY_H

#include "fs/tree/tree.h"

/* Each replies and returns 0, or returns a negative errno to reply with; what it is given it takes over. */

/* A file whose content never changes: the kernel may keep its pages. */
int open_reply_kept(struct call *call, struct open_file keeps);

/* A snapshot of a file that changes, made for this open file; NULL: out of memory. */
int open_reply_content(struct call *call, struct content *content);

/* A file that is written to and then read; NULL: out of memory. */
int open_reply_stream(struct call *call, struct stream *stream);

/* A file whose content is kept by its node. */
int open_reply_stateless(struct call *call);

#endif
