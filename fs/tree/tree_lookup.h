/*
 * tree_lookup.h - names to nodes.
 */
#ifndef FS_TREE_TREE_LOOKUP_H
#define FS_TREE_TREE_LOOKUP_H

struct call;

/* The attempt of a LOOKUP; see struct call. */
int lookup_attempt(struct call *call);

#endif
