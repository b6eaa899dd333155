/*
 * tree.h - what FUSE operations share: the user data of the session, nodes, and replies to OPEN.
 */
#ifndef FS_TREE_TREE_H
#define FS_TREE_TREE_H

#include <time.h>

#include "fs/answer/answers.h"
#include "fs/images/caller.h"
#include "fs/call/call.h"
#include "fs/name/node.h"
#include "fs/sys/fuse_threads.h"
#include "fs/tree/open_file.h"

struct fuse_session;
struct remote;
struct scan_root;
struct skipped;

/* What makes the content of files about images: fs/answer, in the daemon. */
struct tree_content {
	int (*answer)(struct answers *answers, struct revision *rev, struct handle *handle,
		      const struct request *request, struct wait *ret_wait, struct content **ret,
		      bool *ret_known);
	int (*early)(struct answers *answers, struct revision *rev, struct handle *fragment,
		     const struct request *request, struct content **ret);
	struct content *(*status)(const struct answers *answers, struct revision *rev, bool json);
	struct stream *(*batch)(struct answers *answers, struct image *image, const struct request *request,
				struct caller caller);
	struct stream *(*log)(struct answers *answers, struct caller caller);
};

struct tree {
	struct parallel parallel; /* first, see fuse_threads.h */
	/* Set before the first request, borrowed. */
	struct fuse_session *session;
	struct images *images;
	struct cache *cache;
	struct metrics *metrics;
	const struct run_counters *counters;
	struct runners *runners;
	struct answers *answers;
	const struct tree_content *content;
	struct skipped *skipped;
	struct remote *remote; /* NULL: no servers are asked */
	const struct scan_root *roots;
	size_t n_roots;
	const char *mountpoint;
	struct timespec mounted_at;
	unsigned max_read;     /* bytes of one read request, 0 = libfuse's choice */
	uint64_t kept_answers; /* bytes of content kept for all nodes together */
	bool single_thread;

	/* See stream_size.h. */
	_Atomic uint64_t sizes_told; /* attributes of q and log that the kernel was given */
	_Atomic uint64_t extensions; /* from STREAM_OFFSET_MAX to the end of the last notification */
	atomic_uint extending;       /* threads that do */

	struct nodes nodes;
	struct open_files open_files;
};

/* With images, cache and so on set. */
void tree_init(struct tree *tree);
void tree_deinit(struct tree *tree);

static inline struct tree *tree_of(const struct call *call)
{
	return fuse_req_userdata(call->req);
}

/* ---- Nodes that requests ask for ---- */

/*
 * Any node by its inode number: 0, -ESTALE for a number that is not, or no longer, in use, -ENOMEM.
 * @ret_timeout is how long the kernel may believe it.
 */
int node_attr(struct tree *tree, uint64_t ino, struct stat *ret, double *ret_timeout);

/*
 * Makes the answer to @request by @rev, so that its size is known, and the entry for it, whose node the
 * kernel knows once more. 0 with @ret_known: it is not that of an unknown address; -EAGAIN with call->wait
 * filled; or why it cannot be had, -ENOENT if there is none.
 */
int answer_entry(struct call *call, struct revision *rev, const struct request *request,
		 struct fuse_entry_param *ret, bool *ret_known);

/* The LOOKUP of "." and of ".." in call->ino. As answer_entry(), but -ESTALE when there is no such thing. */
int handle_itself(struct call *call, struct fuse_entry_param *ret);
int handle_parent(struct call *call, struct fuse_entry_param *ret);

/* ---- Replies ---- */

/*
 * These reply to an OPEN and return 0, or return a negative errno to reply with. They take over what the file
 * keeps.
 */

/* A file whose content never changes: the kernel may keep its pages. */
int open_reply_kept(struct call *call, struct open_file keeps);

/* A snapshot of a file that changes, made for this open file; NULL: out of memory. */
int open_reply_content(struct call *call, struct content *content);

/* A file that is written to and then read; NULL: out of memory. */
int open_reply_stream(struct call *call, struct stream *stream);

/* A file that is written to and then read, opened for reading alone: a line of how it is used. */
int open_reply_usage(struct call *call);

/* A file whose content is kept by its node. */
int open_reply_stateless(struct call *call);

#endif
