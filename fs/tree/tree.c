#include "fs/tree/tree.h"

#include <assert.h>

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
