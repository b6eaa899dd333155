#include "gsym/render/batch/batch_memory.h"

#include "gsym/base/put.h"

#include <sys/mman.h>

enum {
	FEW = 32, /* queries: for fewer nothing is set up */
	ROOM_MAX = 48 << 20,
	ROOM_SMALL = 1 << 20, /* in pages of the usual size; what is behind is better in large ones */
	ROOM_ALIGN = REF_LINES + 1,
	ROOM_USED_MAX = ROOM_MAX - PUT_SLACK, /* behind the last text can be read, too */
	TEXT_MAX = 4096,                      /* bytes; longer ones are not kept */
	NAMES_LOG2 = 16,
	MAPS_MAX = 1 << 20,
	MAPS_MIN = 1 << 10,
	ASKED_FOR_STARTS =
		8, /* an index of functions is made once there were a query for as many functions */
};

/* The first thing in the room: a text for strings that are not kept. */
enum { TOO_LONG = ROOM_ALIGN };

static void forget(struct memory *m)
{
	m->emptied = m->is_set_up;
	m->is_set_up = true;
	m->full = false;
	m->used = TOO_LONG;
	*(struct memory_text *)memory_room(m, sizeof(struct memory_text)) =
		(struct memory_text){.too_long = true};
	memset(m->maps, 0, m->n_maps * sizeof(*m->maps));
	memset(m->names, 0, sizeof(*m->names) << NAMES_LOG2);
	memset(m->paths, 0, sizeof(*m->paths) * MEMORY_PATHS);
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
	size_t tables = m->n_maps * sizeof(*m->maps) + (sizeof(*m->names) << NAMES_LOG2) +
			sizeof(*m->paths) * MEMORY_PATHS;
	size_t room = m->emptied ? ROOM_MAX : m->used; /* its pages stay */
	return (m->room ? room : 0) + m->starts.n_buckets * sizeof(*m->starts.before) +
	       (m->is_set_up ? tables : 0);
}

static size_t maps_wanted(const struct gsym_reader *reader)
{
	size_t n = MAPS_MIN;
	while (n < MAPS_MAX && n < reader->info.num_addresses)
		n *= 2;
	return n;
}

/* Pages are there once they are touched. With small pages, half of the time of a large batch would go into
 * finding them. */
static void map_room(struct memory *m)
{
	void *room = mmap(NULL, ROOM_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			  -1, 0);
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
		m->paths = calloc(MEMORY_PATHS, sizeof(*m->paths));
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
	if (!m->is_set_up || m->format != options->format || m->demangle != options->demangle) {
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
	if (size > ROOM_USED_MAX - ROOM_ALIGN || m->used > ROOM_USED_MAX - ROOM_ALIGN - size) {
		m->full = true;
		return NULL;
	}
	void *at = m->room + m->used;
	m->used += (size + ROOM_ALIGN - 1) & ~(size_t)(ROOM_ALIGN - 1);
	return at;
}

/* Keeps what is in @m->text: @shown bytes, and a linkage name behind them or, if there is nothing behind
 * them, the same. */
static room_ref keep(struct memory *m, struct text_slot *slot, uint32_t key, size_t shown)
{
	size_t size = m->text.n;
	struct memory_text *text;
	if (m->text.failed || size > TEXT_MAX || !(text = memory_room(m, sizeof(*text) + size)))
		return TOO_LONG;
	*text = (struct memory_text){
		.shown = (uint16_t)shown,
		.linkage = size > shown ? (uint16_t)shown : 0,
		.end = (uint16_t)size,
	};
	if (size)
		memcpy(text->bytes, m->text.v, size);
	size_t at = memory_ref(m, text),
	       lines = (at + sizeof(*text) + size - 1) / CACHE_LINE - at / CACHE_LINE;
	*slot = (struct text_slot){key, (room_ref)(at | (lines < REF_LINES ? lines : REF_LINES))};
	return slot->text;
}

room_ref memory_name(struct memory *m, const struct render_options *options, uint32_t name)
{
	struct text_slot *slot = &m->names[name * 0x9e3779b1U >> (32 - NAMES_LOG2)];
	const char *stored;
	if (slot->text && slot->key == name)
		return slot->text;
	if (!(stored = gsym_reader_string(m->reader, name)))
		return 0;
	if (strnlen(stored, TEXT_MAX) == TEXT_MAX)
		return TOO_LONG;
	struct render_options plain = *options;
	plain.cache = NULL; /* this is one */
	text_reset(&m->text);
	render_name(&m->text, stored, &plain, render_style(m->format));
	size_t shown = m->text.n;
	if (demangle_applies(stored, options->demangle))
		escape_str(&m->text, stored, render_style(m->format));
	return keep(m, slot, name, shown);
}

room_ref memory_path(struct memory *m, uint32_t file)
{
	room_ref there = memory_path_there(m, file);
	const char *dir, *base;
	if (there || gsym_reader_file(m->reader, file, &dir, &base))
		return there;
	if (strnlen(dir, TEXT_MAX) + strnlen(base, TEXT_MAX) >= TEXT_MAX)
		return TOO_LONG;
	text_reset(&m->text);
	render_path(&m->text, dir, base, render_style(m->format));
	return keep(m, &m->paths[file & (MEMORY_PATHS - 1)], file, m->text.n);
}
