/*
 * Address files live in chunks in the order of their lookups, and these in pages: a chunk is freed with its
 * last node, a page with its last chunk, and the array of pages grows by eight bytes for every 1024 files
 * ever asked for. A hash table finds them by inode number.
 *
 * Content is kept from the lookup, which had to make it to know its size, for the read that follows at once.
 * Beyond @content_max bytes (stat of a million addresses) the oldest is dropped.
 */
#include "fs/name/node.h"

#include <errno.h>
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

/* ---- Numbers of answers ---- */

enum { VARIANT_CODE_BITS = 7 };

/* What was asked, in VARIANT_CODE_BITS bits; 0: the plain text of an address. */
static uint32_t variant_code(const struct request *request)
{
	const struct context *c = &request->context;
	return (uint32_t)c->space << 5 | (uint32_t)c->near << 4 | (uint32_t)c->is_return << 3 |
	       (uint32_t)request->raw << 2 | request->format;
}

static struct request variant_of(uint32_t code)
{
	return (struct request){
		.kind = REQUEST_ADDRESS,
		.format = code & 3,
		.raw = code >> 2 & 1,
		.context = {.is_return = code >> 3 & 1, .near = code >> 4 & 1, .space = code >> 5},
	};
}

static_assert((int)SPACE_LINK == 0 && (int)SPACE_RVA < 4 && (int)SPACE_FILE < 4, "two bits of a code");

uint64_t ino_of_variant(uint32_t key, const struct request *request, uint64_t base)
{
	unsigned space = request->context.space;
	if (space == SPACE_RUNTIME || space == SPACE_SYMBOL || request->context.why || request->format >= 4)
		return 0; /* formats without a suffix have no names */
	uint64_t kept = (uint64_t)variant_code(request) << VARIANT_KEY_BITS;
	return ino_at_distance(INO_VARIANT, kept | (key & ((1U << VARIANT_KEY_BITS) - 1)),
			       request->address - (space == SPACE_LINK ? base : 0));
}

bool ino_answer_place(uint64_t ino, struct answer_place *ret)
{
	if (ino_kind(ino) != NODE_ADDRESS || ino_table(ino) < INO_PLAIN)
		return false;
	bool plain = ino_table(ino) == INO_PLAIN;
	ret->bits = plain ? PLAIN_KEY_BITS : VARIANT_KEY_BITS;
	ret->key = ino >> 32 & ((1U << ret->bits) - 1);
	ret->distance = (int32_t)(uint32_t)ino;
	ret->request =
		variant_of(plain ? 0 : ino >> (32 + VARIANT_KEY_BITS) & ((1 << VARIANT_CODE_BITS) - 1));
	unsigned space = ret->request.context.space;
	return space != SPACE_RUNTIME && space != SPACE_SYMBOL;
}

uint64_t answer_place_address(const struct answer_place *place, uint64_t base)
{
	return (uint64_t)(int64_t)place->distance + (place->request.context.space == SPACE_LINK ? base : 0);
}

/* ---- Memory ---- */

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
	free(nodes->buckets);
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
static struct node *node_at(struct nodes *nodes, uint64_t number) REQUIRES(&nodes->lock)
{
	struct node_chunk *chunk = chunk_of(nodes, number);
	return chunk && chunk->nodes[number % NODE_CHUNK].lookups ? &chunk->nodes[number % NODE_CHUNK] : NULL;
}

/* ---- By inode number ---- */

enum {
	BUCKETS_MIN = 64,
	BUCKET_NODES = 2, /* of so many for each, it gets so many times larger */
	BUCKETS_MORE = 4,
};

static struct node **bucket_of(struct node **buckets, size_t n, uint64_t ino)
{
	ino *= UINT64_C(0x9e3779b97f4a7c15);
	return &buckets[(ino ^ ino >> 32) & (n - 1)];
}

static struct node *find_in(struct node *const *bucket, uint64_t ino)
{
	struct node *node = *bucket;
	while (node && node->ino != ino)
		node = node->next;
	return node;
}

static struct node *find(const struct nodes *nodes, uint64_t ino) REQUIRES(&nodes->lock)
{
	return nodes->n_buckets ? find_in(bucket_of(nodes->buckets, nodes->n_buckets, ino), ino) : NULL;
}

static int resize(struct nodes *nodes, size_t n_buckets) REQUIRES(&nodes->lock)
{
	struct node **buckets = calloc(n_buckets, sizeof(struct node *));
	if (!buckets)
		return -ENOMEM;
	for (size_t i = 0; i < nodes->n_buckets; i++)
		for (struct node *node = nodes->buckets[i], *next; node; node = next) {
			struct node **bucket = bucket_of(buckets, n_buckets, node->ino);
			next = node->next;
			node->next = *bucket;
			*bucket = node;
		}
	free(nodes->buckets);
	nodes->buckets = buckets;
	nodes->n_buckets = n_buckets;
	return 0;
}

/* A full table that cannot grow still works, only slower. 0 or -ENOMEM. */
static int reserve_bucket(struct nodes *nodes) REQUIRES(&nodes->lock)
{
	if (nodes->used < nodes->n_buckets * BUCKET_NODES)
		return 0;
	int err = resize(nodes, nodes->n_buckets ? BUCKETS_MORE * nodes->n_buckets : BUCKETS_MIN);
	return nodes->n_buckets ? 0 : err;
}

static void unlink_node(struct nodes *nodes, const struct node *node) REQUIRES(&nodes->lock)
{
	struct node **at = bucket_of(nodes->buckets, nodes->n_buckets, node->ino);
	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	nodes->used--;
	if (nodes->n_buckets > BUCKETS_MIN && nodes->used < nodes->n_buckets / 8)
		resize(nodes, nodes->n_buckets / BUCKETS_MORE); /* without memory it stays as it is */
}

/* ---- Coming and going ---- */

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

/* Drops the oldest content until the rest is within bounds: before node number @end. */
static void trim_content(struct nodes *nodes, uint64_t end) REQUIRES(&nodes->lock)
{
	while (nodes->content_bytes > nodes->content_max && nodes->oldest < end)
		drop_content(nodes, node_at(nodes, nodes->oldest++));
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
	uint64_t number = node->number;
	invariant(chunk_of(nodes, number)->used > 0 && node->lookups == 0);
	unlink_node(nodes, node);
	drop_content(nodes, node);
	nodes->snapshots.used -= node->is == NODE_IS_SNAPSHOT;
	node_clear(nodes, node);
	chunk_of(nodes, number)->used--;
	nodes->pages[number / NODE_PAGE]->used--;
	release_memory(nodes, number);
}

/* A number of the counter, but of a snapshot not one that a handle of another mount brought back. */
static void choose_new(struct nodes *nodes, struct node *node) REQUIRES(&nodes->lock)
{
	uint64_t number = node->number, kind = INO_ADDRESS | (uint64_t)INO_COUNTED << 60;
	if (node->is == NODE_IS_SNAPSHOT)
		kind = INO_ADDRESS | (uint64_t)INO_SNAPSHOT << 60 | node->address << 52;
	while (find(nodes, kind | number))
		number++;
	node->ino = kind | number;
	node->generation = 0;
}

/* There is room in @bucket, which is that of its number unless it needs a new one: this is @taken, or 0. */
static int insert(struct nodes *nodes, const struct node *node, struct node **bucket, bool taken,
		  struct node_id *ret) REQUIRES(&nodes->lock)
{
	struct node_chunk *chunk = prepare_chunk(nodes);
	if (!chunk)
		return -ENOMEM;
	uint64_t number = nodes->next++;
	struct node *at = &chunk->nodes[number % NODE_CHUNK];
	*at = *node;
	at->number = number;
	if (taken || !at->ino) {
		choose_new(nodes, at);
		bucket = bucket_of(nodes->buckets, nodes->n_buckets, at->ino);
	}
	at->next = *bucket;
	*bucket = at;
	nodes->used++;
	*ret = (struct node_id){at->ino, at->generation};
	chunk->used++;
	nodes->pages[number / NODE_PAGE]->used++;
	nodes->content_bytes += at->size;
	if (at->is == NODE_IS_SNAPSHOT) {
		nodes->snapshots.used++;
		nodes->snapshots.made++;
	}
	trim_content(nodes, at->is == NODE_IS_SNAPSHOT ? number : nodes->next);
	return 0;
}

/* One more lookup of a node that there is, which @known says, or a new one. */
static int meet(struct nodes *nodes, const struct node *node, struct node_id *ret, bool *known)
	REQUIRES(&nodes->lock)
{
	if (reserve_bucket(nodes))
		return -ENOMEM;
	struct node **bucket = bucket_of(nodes->buckets, nodes->n_buckets, node->ino);
	struct node *old = find_in(bucket, node->ino);
	*known = old && old->revision == node->revision && old->generation == node->generation;
	if (!*known)
		return insert(nodes, node, bucket, old, ret);
	old->lookups++;
	return 0;
}

/* Takes over what @node holds, which is not needed if the kernel knows the node already. */
static int add(struct nodes *nodes, struct node *node, struct node_id *ret)
{
	bool known = false;
	mutex_lock(&nodes->lock);
	int err = meet(nodes, node, ret, &known);
	mutex_unlock(&nodes->lock);
	if (known || err)
		node_clear(nodes, node);
	return err;
}

int nodes_add(struct nodes *nodes, struct revision *revision, const struct request *request,
	      struct content *content, struct node_id *id)
{
	struct node node = {
		.ino = id->ino,
		.lookups = 1,
		.revision = revision,
		.address = request->address,
		.context = request->context,
		.generation = id->generation,
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
		return -ENOMEM;
	}
	return add(nodes, &node, id);
}

int nodes_add_snapshot(struct nodes *nodes, uint64_t shown, uid_t reader, uint64_t ino,
		       struct content *content, uint64_t *ret)
{
	struct node node = {
		.ino = ino,
		.lookups = 1,
		.address = shown,
		.size = content->size,
		.reader = reader,
		.is = NODE_IS_SNAPSHOT,
		.content = content,
	};
	struct node_id id = {.ino = ino};
	int err = add(nodes, &node, &id);
	if (!err)
		*ret = id.ino;
	return err;
}

bool nodes_get(struct nodes *nodes, uint64_t ino, struct node *ret)
{
	mutex_lock(&nodes->lock);
	const struct node *node = find(nodes, ino);
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
	struct node *node = find(nodes, ino);
	if (node)
		node->lookups++;
	mutex_unlock(&nodes->lock);
	return node;
}

void nodes_forget(struct nodes *nodes, uint64_t ino, uint64_t count)
{
	mutex_lock(&nodes->lock);
	struct node *node = find(nodes, ino);
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
