#include "batch_memory.h"

#include <sys/mman.h>

enum {
	FEW = 32,                   /* queries: for fewer nothing is set up */
	ROOM_MAX = 48 << 20,
	ROOM_SMALL = 1 << 20,       /* in pages of the usual size; what is behind is better in large ones */
	ROOM_ALIGN = 16,
	TEXT_MAX = 4096,            /* bytes; longer ones are not kept */
	NAMES_LOG2 = 16,
	PATHS_LOG2 = 13,
	MAPS_MAX = 1 << 18,
	MAPS_MIN = 1 << 10,
	ASKED_FOR_STARTS = 8,       /* an index of functions is made once there were a query for as many functions */
};

/* Of strings that are not kept. */
static const struct memory_text too_long = {.too_long = true};

static void forget(struct memory *m)
{
	m->used = 0;
	m->full = false;
	if (++m->generation)
		return;
	/* Once in four billion times old slots must not come to life. */
	memset(m->maps, 0, m->n_maps * sizeof(*m->maps));
	memset(m->names, 0, sizeof(*m->names) << NAMES_LOG2);
	memset(m->paths, 0, sizeof(*m->paths) << PATHS_LOG2);
	m->generation = 1;
}

void memory_deinit(struct memory *m)
{
	if (m->room)
		munmap(m->room, ROOM_MAX);
	starts_deinit(&m->starts);
	segments_deinit(&m->segments);
	free(m->maps);
	free(m->names);
	free(m->paths);
	text_deinit(&m->text);
	*m = (struct memory){.reader = m->reader};
}

size_t memory_bytes(const struct memory *m)
{
	size_t tables = m->n_maps * sizeof(*m->maps) + (sizeof(*m->names) << NAMES_LOG2) + (sizeof(*m->paths) << PATHS_LOG2);
	size_t room = m->generation > 1 ? ROOM_MAX : m->used; /* emptied once: its pages stay */
	return (m->room ? room : 0) + m->starts.n_buckets * sizeof(*m->starts.before) + (m->generation ? tables : 0);
}

static size_t maps_wanted(const struct gsym_reader *reader)
{
	size_t n = MAPS_MIN;
	while (n < MAPS_MAX && n < reader->info.num_addresses)
		n *= 2;
	return n;
}

/* Pages are there once they are touched. With small pages, half of the time of a large batch would go into finding them. */
static void map_room(struct memory *m)
{
	void *room = mmap(NULL, ROOM_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return;
	m->room = room;
	(void)madvise(m->room + ROOM_SMALL, ROOM_MAX - ROOM_SMALL, MADV_HUGEPAGE); /* else they stay small */
}

static bool make_tables(struct memory *m)
{
	if (!m->room)
		map_room(m);
	if (!m->maps) {
		m->n_maps = maps_wanted(m->reader);
		m->maps = calloc(m->n_maps, sizeof(*m->maps));
	}
	if (!m->names)
		m->names = calloc(1 << NAMES_LOG2, sizeof(*m->names));
	if (!m->paths)
		m->paths = calloc(1 << PATHS_LOG2, sizeof(*m->paths));
	return m->room && m->maps && m->names && m->paths;
}

/* The index of functions costs a pass over all of them. */
static void count_queries(struct memory *m, size_t n)
{
	size_t most = m->reader->info.num_addresses / ASKED_FOR_STARTS;
	bool before = m->asked > most;
	m->asked += n;
	if (!before && m->asked > most)
		(void)starts_make(&m->starts, m->reader); /* it works without */
}

bool memory_begin(struct memory *m, const struct render_options *options, size_t n)
{
	if (!m->generation || m->format != options->format || m->demangle != options->demangle) {
		if (n < FEW || !make_tables(m))
			return false;
		forget(m);
		m->format = options->format;
		m->demangle = options->demangle;
	}
	count_queries(m, n);
	return true;
}

void memory_refresh(struct memory *m)
{
	if (m->full)
		forget(m);
}

void *memory_room(struct memory *m, size_t size)
{
	if (size > ROOM_MAX - ROOM_ALIGN || m->used > ROOM_MAX - ROOM_ALIGN - size) {
		m->full = true;
		return NULL;
	}
	void *at = m->room + m->used;
	m->used += (size + ROOM_ALIGN - 1) & ~(size_t)(ROOM_ALIGN - 1);
	return at;
}

static struct text_slot *slot_of(struct text_slot *slots, unsigned log2, uint64_t key)
{
	return &slots[key * 0x9e3779b97f4a7c15 >> (64 - log2)];
}

static const struct memory_text *slot_text(const struct memory *m, const struct text_slot *slot, uint64_t key)
{
	return slot->generation == m->generation && slot->key == key ? slot->text : NULL;
}

/* Keeps what is in @m->text: @shown bytes, and a linkage name behind them or, if there is nothing behind them, the same. */
static const struct memory_text *keep(struct memory *m, struct text_slot *slot, uint64_t key, size_t shown)
{
	size_t size = m->text.n;
	struct memory_text *text;
	if (m->text.failed || size > TEXT_MAX || !(text = memory_room(m, sizeof(*text) + size)))
		return &too_long;
	uint8_t *bytes = (uint8_t *)(text + 1);
	if (size)
		memcpy(bytes, m->text.v, size);
	*text = (struct memory_text){
		.shown = {bytes, shown},
		.linkage = size > shown ? (struct span){bytes + shown, size - shown} : (struct span){bytes, shown},
	};
	*slot = (struct text_slot){key, m->generation, text};
	return text;
}

const struct memory_text *memory_name(struct memory *m, const struct render_options *options, uint64_t name)
{
	struct text_slot *slot = slot_of(m->names, NAMES_LOG2, name);
	const struct memory_text *there = slot_text(m, slot, name);
	const char *stored;
	if (there || !(stored = gsym_reader_string(m->reader, name)))
		return there;
	if (strnlen(stored, TEXT_MAX) == TEXT_MAX)
		return &too_long;
	struct render_options plain = *options;
	plain.cache = NULL; /* this is one */
	text_reset(&m->text);
	render_name(&m->text, stored, &plain, render_style(m->format));
	size_t shown = m->text.n;
	if (demangle_applies(stored, options->demangle))
		escape_str(&m->text, stored, render_style(m->format));
	return keep(m, slot, name, shown);
}

const struct memory_text *memory_path(struct memory *m, uint32_t file)
{
	struct text_slot *slot = slot_of(m->paths, PATHS_LOG2, file);
	const struct memory_text *there = slot_text(m, slot, file);
	const char *dir, *base;
	if (there || gsym_reader_file(m->reader, file, &dir, &base))
		return there;
	if (strnlen(dir, TEXT_MAX) + strnlen(base, TEXT_MAX) >= TEXT_MAX)
		return &too_long;
	text_reset(&m->text);
	render_path(&m->text, dir, base, render_style(m->format));
	return keep(m, slot, file, m->text.n);
}
