/*
 * Address files live in pages of consecutive numbers. Finding one is two array accesses, a page is freed with
 * its last node, and the array of pages grows by eight bytes for every 1024 files ever asked for.
 *
 * Content is kept from the lookup, which had to make it to know its size, for the read that follows at once.
 * Beyond @content_max bytes (stat of a million addresses) the oldest is dropped.
 */
#include "fs/name/node.h"

#include <string.h>

#include "gsym/base/invariant.h"
#include "gsym/base/vec.h"

struct node_page {
	unsigned used;
	struct node *nodes[NODE_PAGE];
};

void nodes_init(struct nodes *nodes, uint64_t content_max)
{
	*nodes = (struct nodes){.content_max = content_max};
	mutex_init(&nodes->lock, LOCK_NODES);
}

static void node_free(struct node *node)
{
	if (node) {
		content_put(node->content);
		free(node->symbol);
	}
	free(node);
}

void nodes_deinit(struct nodes *nodes) NOT_ANALYZED
{
	for (size_t i = 0; i < nodes->n_pages; i++) {
		for (size_t k = 0; nodes->pages[i] && k < NODE_PAGE; k++)
			node_free(nodes->pages[i]->nodes[k]);
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

/* The place of node @number, or NULL when its page is gone. */
static struct node **place(struct nodes *nodes, uint64_t number) REQUIRES(&nodes->lock)
{
	uint64_t page = number / NODE_PAGE;
	if (page >= nodes->n_pages || !nodes->pages[page])
		return NULL;
	return &nodes->pages[page]->nodes[number % NODE_PAGE];
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
	while (nodes->content_bytes > nodes->content_max && nodes->oldest < nodes->next) {
		struct node **at = place(nodes, nodes->oldest);
		if (at)
			drop_content(nodes, *at);
		nodes->oldest++;
	}
}

/* The last page is freed only when it is full of numbers given out. */
static void release(struct nodes *nodes, uint64_t number) REQUIRES(&nodes->lock)
{
	uint64_t i = number / NODE_PAGE;
	struct node_page *page = nodes->pages[i];
	struct node **at = &page->nodes[number % NODE_PAGE];
	invariant(page->used > 0 && (*at)->lookups == 0);
	drop_content(nodes, *at);
	nodes->snapshots.used -= (*at)->is == NODE_IS_SNAPSHOT;
	node_free(*at);
	*at = NULL;
	page->used--;
	if (page->used == 0 && nodes->next / NODE_PAGE > i) {
		free(page);
		nodes->pages[i] = NULL;
	}
}

static uint64_t insert(struct nodes *nodes, struct node *node) REQUIRES(&nodes->lock)
{
	if (prepare_page(nodes))
		return 0;
	uint64_t number = nodes->next++;
	struct node_page *page = nodes->pages[number / NODE_PAGE];
	node->ino = INO_ADDRESS | number;
	page->nodes[number % NODE_PAGE] = node;
	page->used++;
	nodes->content_bytes += node->size;
	if (node->is == NODE_IS_SNAPSHOT) {
		nodes->snapshots.used++;
		nodes->snapshots.made++;
	}
	trim_content(nodes);
	return node->ino;
}

/* Takes over @node; 0 without memory. */
static uint64_t add(struct nodes *nodes, struct node *node)
{
	mutex_lock(&nodes->lock);
	uint64_t ino = insert(nodes, node);
	mutex_unlock(&nodes->lock);
	if (!ino)
		node_free(node);
	return ino;
}

uint64_t nodes_add(struct nodes *nodes, struct revision *revision, const struct request *request,
		   struct content *content)
{
	struct node *node = malloc(sizeof(*node));
	char *symbol = request->symbol ? strndup(request->symbol, request->symbol_size) : NULL;
	if (!node || (request->symbol && !symbol)) {
		free(node);
		content_put(content);
		return 0;
	}
	*node = (struct node){
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
		.symbol = symbol,
		.content = content,
	};
	return add(nodes, node);
}

uint64_t nodes_add_snapshot(struct nodes *nodes, uint64_t shown, struct content *content)
{
	struct node *node = malloc(sizeof(*node));
	if (!node) {
		content_put(content);
		return 0;
	}
	*node = (struct node){
		.lookups = 1,
		.address = shown,
		.is = NODE_IS_SNAPSHOT,
		.size = content->size,
		.content = content,
	};
	return add(nodes, node);
}

bool nodes_get(struct nodes *nodes, uint64_t ino, struct node *ret)
{
	mutex_lock(&nodes->lock);
	struct node **at = place(nodes, ino - INO_ADDRESS);
	bool found = at && *at;
	if (found) {
		*ret = **at;
		if (ret->content)
			content_get(ret->content);
	}
	mutex_unlock(&nodes->lock);
	return found;
}

bool nodes_remember(struct nodes *nodes, uint64_t ino)
{
	mutex_lock(&nodes->lock);
	struct node **at = place(nodes, ino - INO_ADDRESS);
	bool found = at && *at;
	if (found)
		(*at)->lookups++;
	mutex_unlock(&nodes->lock);
	return found;
}

void nodes_forget(struct nodes *nodes, uint64_t ino, uint64_t count)
{
	mutex_lock(&nodes->lock);
	struct node **at = place(nodes, ino - INO_ADDRESS);
	if (at && *at) {
		(*at)->lookups -= count < (*at)->lookups ? count : (*at)->lookups;
		if ((*at)->lookups == 0)
			release(nodes, ino - INO_ADDRESS);
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
