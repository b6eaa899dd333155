/*
 * tree_lookup.h - names to nodes.
 *
 * A parked lookup holds the kernel's lock of its directory, and opening with O_CREAT, as a shell does for
 * "exec 3<>q", takes that exclusively: all later lookups in the directory would wait for both. So none is
 * parked in the root. The name of an image that is still looked for stands for an awaited directory, or a
 * link if it is another spelling of an id; the kernel keeps it no longer than the call. What is asked of that
 * waits: attributes, access, opening, lookups, the link's text. Then files of the image are found there, and
 * the answer to everything else is ESTALE, for which the kernel repeats the walk of the path.
 */
#ifndef FS_TREE_TREE_LOOKUP_H
#define FS_TREE_TREE_LOOKUP_H

struct call;
struct fuse_entry_param;

/* The attempt of a LOOKUP; see struct call. */
int lookup_attempt(struct call *call);

/*
 * What the name stands for that call->ino, which is awaited, was made of: 0 once its image is there; -ENOENT
 * or another errno when that cannot be; -EAGAIN with call->wait filled until then.
 */
int lookup_awaited(struct call *call, struct fuse_entry_param *ret);

#endif
