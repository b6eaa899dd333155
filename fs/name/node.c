/*
 * Address files live in chunks of consecutive numbers, and these in pages. Finding one is three array
 * accesses; a chunk is freed with its last node, a page with its last chunk, and the array of pages grows by
 * eight bytes for every 1024 files ever asked for.
 *
 * Content is kept from the lookup, which had to make it to know its size, for the read that follows at once.
 * Beyond @content_max bytes (stat of a million addresses) the oldest is dropped.
 */
#include "fs/name/node.h"

#include <string.h>

#include "gsym/base/invariant.h"
#include "gsym/base/vec.h"

struct node_chunk {
	unsigned used; /* nodes that the kernel has not forgotten */
	struct node nodes[NODE_CHUNK];
};

enum { CHUNKS = NODE_PAGE / NODE_CHUNK };

struct node_page {
	unsigned used; /* nodes likewise */
	struct node_chunk *chunks[CHUNKS];
};

void nodes_init(struct nodes *nodes, uint64_t content_max)
{
	*nodes = (struct nodes){.content_max = content_max};
	mutex_init(&nodes->lock, LOCK_NODES);
}

/* Puts what the node holds. */
static void node_clear(const struct nodes *nodes, struct node *node)
{
	if (node->revision)
		nodes->unpin(node->revision);
	content_put(node->content);
	free(node->symbol);
	*node = (struct node){.lookups = 0};
}

static void chunk_free(const struct nodes *nodes, struct node_chunk *chunk)
{
	for (size_t i = 0; chunk && i < NODE_CHUNK; i++)
		if (chunk->nodes[i].lookups)
			node_clear(nodes, &chunk->nodes[i]);
	free(chunk);
}

void nodes_deinit(struct nodes *nodes) NOT_ANALYZED
{
	for (size_t i = 0; i < nodes->n_pages; i++) {
		for (size_t k = 0; nodes->pages[i] && k < CHUNKS; k++)
			chunk_free(nodes, nodes->pages[i]->chunks[k]);
		free(nodes->pages[i]);
	}
	free(nodes->pages);
	mutex_destroy(&nodes->lock);
}

struct request node_request(const struct node *node)
{
	return (struct request){
		.kind = node->symbol                  ? REQUEST_SYMBOL
			: node->is == NODE_IS_ADDRESS ? REQUEST_ADDRESS
			: node->is == NODE_IS_BATCH   ? REQUEST_BATCH
						      : REQUEST_CONTEXT,
		.format = (enum render_format)node->format,
		.raw = node->raw,
		.address = node->address,
		.symbol = node->symbol,
		.symbol_size = node->symbol ? strlen(node->symbol) : 0,
		.context = node->context,
	};
}

/* The chunk of node @number, or NULL when it is gone. */
static struct node_chunk *chunk_of(struct nodes *nodes, uint64_t number) REQUIRES(&nodes->lock)
{
	uint64_t page = number / NODE_PAGE;
	if (page >= nodes->n_pages || !nodes->pages[page])
		return NULL;
	return nodes->pages[page]->chunks[number % NODE_PAGE / NODE_CHUNK];
}

/* The node @number, or NULL. */
static struct node *find(struct nodes *nodes, uint64_t number) REQUIRES(&nodes->lock)
{
	struct node_chunk *chunk = chunk_of(nodes, number);
	return chunk && chunk->nodes[number % NODE_CHUNK].lookups ? &chunk->nodes[number % NODE_CHUNK] : NULL;
}

/* Makes sure that the next number has a page. */
static int prepare_page(struct nodes *nodes) REQUIRES(&nodes->lock)
{
	if (nodes->next / NODE_PAGE < nodes->n_pages)
		return 0;
	if (vec_reserve_((void **)&nodes->pages, nodes->n_pages, &nodes->cap_pages, 1, sizeof(*nodes->pages)))
		return -ENOMEM;
	struct node_page *page = calloc(1, sizeof(*page));
	if (!page)
		return -ENOMEM;
	nodes->pages[nodes->n_pages++] = page;
	return 0;
}

/* And a chunk; NULL without memory. */
static struct node_chunk *prepare_chunk(struct nodes *nodes) REQUIRES(&nodes->lock)
{
	if (prepare_page(nodes))
		return NULL;
	struct node_page *page = nodes->pages[nodes->next / NODE_PAGE];
	struct node_chunk **chunk = &page->chunks[nodes->next % NODE_PAGE / NODE_CHUNK];
	if (!*chunk)
		*chunk = calloc(1, sizeof(**chunk));
	return *chunk;
}

static void drop_content(struct nodes *nodes, struct node *node) REQUIRES(&nodes->lock)
{
	if (!node || !node->content)
		return;
	invariant(nodes->content_bytes >= node->content->size);
	nodes->content_bytes -= node->content->size;
	content_put(node->content);
	node->content = NULL;
}

/* Drops the oldest content until the rest is within bounds. */
static void trim_content(struct nodes *nodes) REQUIRES(&nodes->lock)
{
	while (nodes->content_bytes > nodes->content_max && nodes->oldest < nodes->next)
		drop_content(nodes, find(nodes, nodes->oldest++));
}

/* The last chunk and page are freed only when they are full of numbers given out. */
static void release_memory(struct nodes *nodes, uint64_t number) REQUIRES(&nodes->lock)
{
	struct node_page *page = nodes->pages[number / NODE_PAGE];
	struct node_chunk **chunk = &page->chunks[number % NODE_PAGE / NODE_CHUNK];
	if ((*chunk)->used == 0 && nodes->next / NODE_CHUNK > number / NODE_CHUNK) {
		free(*chunk);
		*chunk = NULL;
	}
	if (page->used == 0 && nodes->next / NODE_PAGE > number / NODE_PAGE) {
		free(page);
		nodes->pages[number / NODE_PAGE] = NULL;
	}
}

static void release(struct nodes *nodes, struct node *node) REQUIRES(&nodes->lock)
{
	uint64_t number = node->ino - INO_ADDRESS;
	invariant(chunk_of(nodes, number)->used > 0 && node->lookups == 0);
	drop_content(nodes, node);
	nodes->snapshots.used -= node->is == NODE_IS_SNAPSHOT;
	node_clear(nodes, node);
	chunk_of(nodes, number)->used--;
	nodes->pages[number / NODE_PAGE]->used--;
	release_memory(nodes, number);
}

static uint64_t insert(struct nodes *nodes, const struct node *node) REQUIRES(&nodes->lock)
{
	struct node_chunk *chunk = prepare_chunk(nodes);
	if (!chunk)
		return 0;
	uint64_t number = nodes->next++;
	struct node *at = &chunk->nodes[number % NODE_CHUNK];
	*at = *node;
	at->ino = INO_ADDRESS | number;
	chunk->used++;
	nodes->pages[number / NODE_PAGE]->used++;
	nodes->content_bytes += at->size;
	if (at->is == NODE_IS_SNAPSHOT) {
		nodes->snapshots.used++;
		nodes->snapshots.made++;
	}
	trim_content(nodes);
	return INO_ADDRESS | number;
}

/* Takes over what @node holds; 0 without memory. */
static uint64_t add(struct nodes *nodes, struct node *node)
{
	mutex_lock(&nodes->lock);
	uint64_t ino = insert(nodes, node);
	mutex_unlock(&nodes->lock);
	if (!ino)
		node_clear(nodes, node);
	return ino;
}

uint64_t nodes_add(struct nodes *nodes, struct revision *revision, const struct request *request,
		   struct content *content)
{
	struct node node = {
		.lookups = 1,
		.revision = revision,
		.address = request->address,
		.context = request->context,
		.is = request->kind == REQUEST_CONTEXT ? NODE_IS_CONTEXT
		      : request->kind == REQUEST_BATCH ? NODE_IS_BATCH
						       : NODE_IS_ADDRESS,
		.size = content ? content->size : 0,
		.format = (uint8_t)request->format,
		.raw = request->raw,
		.symbol = request->symbol ? strndup(request->symbol, request->symbol_size) : NULL,
		.content = content,
	};
	if (request->symbol && !node.symbol) {
		node_clear(nodes, &node);
		return 0;
	}
	return add(nodes, &node);
}

uint64_t nodes_add_snapshot(struct nodes *nodes, uint64_t shown, struct content *content)
{
	struct node node = {
		.lookups = 1,
		.address = shown,
		.is = NODE_IS_SNAPSHOT,
		.size = content->size,
		.content = content,
	};
	return add(nodes, &node);
}

bool nodes_get(struct nodes *nodes, uint64_t ino, struct node *ret)
{
	mutex_lock(&nodes->lock);
	const struct node *node = find(nodes, ino - INO_ADDRESS);
	if (node) {
		*ret = *node;
		if (ret->content)
			content_get(ret->content);
	}
	mutex_unlock(&nodes->lock);
	return node;
}

bool nodes_remember(struct nodes *nodes, uint64_t ino)
{
	mutex_lock(&nodes->lock);
	struct node *node = find(nodes, ino - INO_ADDRESS);
	if (node)
		node->lookups++;
	mutex_unlock(&nodes->lock);
	return node;
}

void nodes_forget(struct nodes *nodes, uint64_t ino, uint64_t count)
{
	mutex_lock(&nodes->lock);
	struct node *node = find(nodes, ino - INO_ADDRESS);
	if (node) {
		node->lookups -= count < node->lookups ? count : node->lookups;
		if (node->lookups == 0)
			release(nodes, node);
	}
	mutex_unlock(&nodes->lock);
}

struct nodes_counts nodes_count(struct nodes *nodes)
{
	mutex_lock(&nodes->lock);
	struct nodes_counts counts = {.used = -nodes->snapshots.used,
				      .made = nodes->next - nodes->snapshots.made,
				      .content_bytes = nodes->content_bytes};
	for (size_t i = 0; i < nodes->n_pages; i++)
		counts.used += nodes->pages[i] ? nodes->pages[i]->used : 0;
	mutex_unlock(&nodes->lock);
	return counts;
}
