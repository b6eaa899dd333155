/*
 * tree_lookup.h - names to nodes.
 *
 * A parked lookup holds the kernel's lock of its directory, and opening with O_CREAT, as a shell does for
 * "exec 3<>q", takes that exclusively: all later lookups in the directory would wait for both. So none is
 * parked in the root. The name of an image that is still looked for stands for an awaited directory, which
 * the kernel keeps no longer than the call, and what is asked of that waits: attributes, access, opening,
 * lookups. Once the image is there the answer is ESTALE, for which the kernel repeats the walk of the path.
 */
#ifndef FS_TREE_TREE_LOOKUP_H
#define FS_TREE_TREE_LOOKUP_H

struct call;

/* The attempt of a LOOKUP; see struct call. */
int lookup_attempt(struct call *call);

/*
 * An attempt of any call about an awaited directory: -ESTALE once its image is there; -ENOENT or another
 * errno when that cannot be; -EAGAIN until then.
 */
int lookup_await(struct call *call);

#endif
