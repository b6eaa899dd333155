#include "log/maps/memory_map.h"

#include <errno.h>

#include "gsym/base/search.h"

/* ---- Parts of lines ---- */

/* "rwx", each of which may be '-'. */
static bool scan_access(struct text_scan *s, bool *ret_executable)
{
	static const char letters[] = "rwx";
	if (scan_left(s) < strlen(letters))
		return false;
	for (size_t i = 0; i < strlen(letters); i++)
		if (s->at[i] != '-' && s->at[i] != letters[i])
			return false;
	*ret_executable = s->at[2] == 'x';
	s->at += strlen(letters);
	return true;
}

static bool scan_sharing(struct text_scan *s)
{
	return (scan_lit(s, "p") || scan_lit(s, "s")) && scan_lit(s, " ");
}

/* Cuts " (NAME: VALUE)" or " (NAME VALUE)" off the end of the path, unless that does not end so. */
static void cut_note(struct text_scan *path, const char *name, struct text_scan *ret)
{
	const char *at = find_text(path->at, path->end, name);
	if (!at || path->end[-1] != ')')
		return;
	*ret = scan_from(at + strlen(name), path->end - 1);
	path->end = at;
}

/* ---- /proc/PID/maps ---- */

static bool parse_process(struct text_scan s, struct map_line *ret)
{
	uint64_t major, minor, inode;
	if (!scan_digits(&s, 1, &ret->start) || !scan_lit(&s, "-") || !scan_digits(&s, 1, &ret->end) ||
	    !scan_lit(&s, " ") || !scan_access(&s, &ret->executable) || !scan_sharing(&s) ||
	    !scan_digits(&s, 1, &ret->offset) || !scan_blanks(&s) || !scan_digits(&s, 1, &major) ||
	    !scan_lit(&s, ":") || !scan_digits(&s, 1, &minor) || !scan_blanks(&s) ||
	    !scan_decimal(&s, &inode))
		return false;
	scan_blanks(&s);
	ret->path = s;
	cut_note(&ret->path, " (BuildId: ", &ret->id);
	return true;
}

/* ---- Tombstones ---- */

/* "00000073'd2a00000", or on 32-bit machines "aa3d6000". */
static bool scan_halves(struct text_scan *s, uint64_t *ret)
{
	uint64_t low;
	if (!scan_digits(s, 8, ret) || *ret > UINT32_MAX)
		return false;
	if (!scan_lit(s, "'"))
		return true;
	if (!scan_digits(s, 8, &low) || low > UINT32_MAX)
		return false;
	*ret = *ret << 32 | low;
	return true;
}

static bool parse_tombstone(struct text_scan s, struct map_line *ret)
{
	uint64_t last, size;
	struct text_scan bias;
	if (!scan_halves(&s, &ret->start) || !scan_lit(&s, "-") || !scan_halves(&s, &last) ||
	    !scan_lit(&s, " ") || !scan_access(&s, &ret->executable) || !scan_blanks(&s) ||
	    !scan_digits(&s, 1, &ret->offset) || !scan_blanks(&s) || !scan_digits(&s, 1, &size) ||
	    last - ret->start + 1 != size || last == UINT64_MAX)
		return false;
	ret->end = last + 1;
	if (!scan_blanks(&s) && s.at < s.end)
		return false;
	ret->path = s;
	cut_note(&ret->path, " (load bias ", &bias);
	cut_note(&ret->path, " (BuildId: ", &ret->id);
	return true;
}

/* ---- perf ---- */

/* A number after "@ ", which is without "0x" if it is 0. */
static bool scan_offset(struct text_scan *s, uint64_t *ret)
{
	return scan_hex(s, ret) || scan_digits(s, 1, ret);
}

/* " fe:00 11059266 2624152902" or " <0123...>", up to the bracket. */
static bool scan_file(struct text_scan *s, struct text_scan *ret_id)
{
	const char *close = find_text(s->at, s->end, "]: ");
	if (!close)
		return false;
	if (scan_lit(s, " <") && close > s->at && close[-1] == '>')
		*ret_id = scan_from(s->at, close - 1);
	s->at = close + strlen("]: ");
	return true;
}

static bool parse_event(struct text_scan s, struct map_line *ret)
{
	uint64_t thread, size;
	bool second = scan_lit(&s, "2");
	ret->is_event = true;
	if (!scan_lit(&s, " "))
		return false;
	bool is_kernel = scan_lit(&s, "-"); /* -1: it and its modules */
	if (!scan_decimal(&s, &ret->process) || !scan_lit(&s, "/") || !scan_decimal(&s, &thread) ||
	    !scan_lit(&s, ": [") || !scan_hex(&s, &ret->start) || !scan_lit(&s, "(") ||
	    !scan_offset(&s, &size) || !scan_lit(&s, ") @ ") || !scan_offset(&s, &ret->offset) ||
	    !scan_file(&s, &ret->id) || __builtin_add_overflow(ret->start, size, &ret->end))
		return false;
	ret->process = is_kernel ? UINT64_MAX : ret->process;
	if (second) {
		if (!scan_access(&s, &ret->executable) || !scan_sharing(&s))
			return false;
	} else {
		ret->executable = scan_lit(&s, "x ");
		if (!ret->executable && !scan_lit(&s, "r "))
			return false;
	}
	ret->path = s;
	return true;
}

/* ---- Lines of any kind ---- */

bool map_line_parse(struct text_scan line, struct map_line *ret)
{
	static const char event[] = " PERF_RECORD_MMAP";
	struct text_scan s = line;
	*ret = (struct map_line){.id = scan_from(line.end, line.end)};
	scan_blanks(&s);
	scan_lit(&s, "--->"); /* of a tombstone: the fault is in it */
	bool found = parse_process(s, ret) || parse_tombstone(s, ret);
	const char *at = found ? NULL : find_rare(line.at, line.end, event, 1);
	if (at)
		found = parse_event(scan_from(at + strlen(event), line.end), ret);
	return found && ret->start < ret->end;
}

/* ---- Ranges ---- */

/* The first range that ends after @address. */
static size_t first_after(const struct memory_map *map, uint64_t address)
{
	return PARTITION_POINT(0, map->ranges.n, mid, map->ranges.v[mid].end <= address);
}

/* Cuts [@start, @end) out of the ranges. */
static int clear_range(struct memory_map *map, uint64_t start, uint64_t end)
{
	size_t i = first_after(map, start), n = 0;
	struct memory_range *v = map->ranges.v;
	if (i == map->ranges.n || v[i].start >= end)
		return 0;
	if (v[i].start < start && v[i].end > end) {
		if (vec_reserve(&map->ranges, 1))
			return -ENOMEM;
		v = map->ranges.v;
		memmove(v + i + 1, v + i, (map->ranges.n++ - i) * sizeof(*v));
		v[i].end = start;
		v[i + 1].relative += end - v[i + 1].start;
		v[i + 1].start = end;
		return 0;
	}
	if (v[i].start < start)
		v[i++].end = start;
	while (i + n < map->ranges.n && v[i + n].end <= end)
		n++;
	if (i + n < map->ranges.n && v[i + n].start < end) {
		v[i + n].relative += end - v[i + n].start;
		v[i + n].start = end;
	}
	memmove(v + i, v + i + n, (map->ranges.n - i - n) * sizeof(*v));
	map->ranges.n -= n;
	return 0;
}

static int insert_range(struct memory_map *map, const struct memory_range *range)
{
	if (range->start >= range->end || map->ranges.n >= RANGES_MAX)
		return 0;
	if (clear_range(map, range->start, range->end) || vec_reserve(&map->ranges, 1))
		return -ENOMEM;
	size_t i = first_after(map, range->start);
	struct memory_range *v = map->ranges.v;
	memmove(v + i + 1, v + i, (map->ranges.n++ - i) * sizeof(*v));
	v[i] = *range;
	return 0;
}

/* ---- Modules ---- */

static struct mapped_module mapped_of(const struct filter_module *module)
{
	const char *slash = strrchr(module->name, '/');
	return (struct mapped_module){.is = *module,
				      .size = strlen(module->name),
				      .base = slash ? (size_t)(slash + 1 - module->name) : 0};
}

/* The index of the module, which is added unless it is there; the last is looked at first. MODULES_MAX: no
 * room. */
static int module_index(struct memory_map *map, const struct filter_module *module, size_t *ret)
{
	const struct mapped_module added = mapped_of(module);
	for (size_t i = map->modules.n; i-- > 0;) {
		const struct filter_module *is = &map->modules.v[i].is;
		if (strcmp(is->name, module->name) == 0 && strcmp(is->id, module->id) == 0) {
			*ret = i;
			return 0;
		}
	}
	*ret = map->modules.n;
	return map->modules.n < MODULES_MAX ? vec_push(&map->modules, added) : 0;
}

int memory_map_add(struct memory_map *map, const struct memory_range *range,
		   const struct filter_module *module)
{
	struct memory_range added = *range;
	size_t index;
	int err = module_index(map, module, &index);
	if (err || index == MODULES_MAX)
		return err;
	added.module = (uint32_t)index;
	return insert_range(map, &added);
}

/* ---- Ranges of lines ---- */

/*
 * Whether another process has the file at other offsets of the same addresses: what an address of either
 * means is not known then.
 */
static bool is_disputed(const struct memory_map *map, const struct memory_range *range)
{
	for (size_t i = first_after(map, range->start);
	     i < map->ranges.n && map->ranges.v[i].start < range->end; i++) {
		const struct memory_range *r = &map->ranges.v[i];
		if (r->module == range->module && r->process != range->process &&
		    (r->disputed || r->relative - r->start != range->relative - range->start))
			return true;
	}
	return false;
}

/* What the file is mapped at, by the mapping itself or by one from its beginning before. */
static void set_relative(struct mapped_module *mapped, const struct map_line *line,
			 struct memory_range *range)
{
	if (!line->offset && !line->is_event) {
		mapped->load = line->start;
		mapped->has_load = true;
	}
	bool loaded = mapped->has_load && line->start >= mapped->load;
	range->relative = loaded ? line->start - mapped->load : line->offset;
	range->space = loaded || !line->offset ? FRAME_RVA : FRAME_FILE;
}

/* Notes that anonymous memory follows the last mapping of a file. */
static void note_hole(struct memory_map *map, const struct map_line *line)
{
	struct map_hole *hole = &map->hole;
	if (line->executable && !line->is_event && line->start == hole->end && hole->end)
		hole->end = line->end;
	else
		*hole = (struct map_hole){.end = 0};
}

/* Adds the code in the hole before @line, if that is of the same file and goes on where it ends. */
static int fill_hole(struct memory_map *map, const struct map_line *line, uint32_t module)
{
	const struct map_hole hole = map->hole;
	const struct map_line filling = {.start = hole.start, .end = hole.end, .offset = hole.offset};
	struct memory_range range = {.start = hole.start, .end = hole.end, .module = module};
	map->hole = (struct map_hole){.start = line->end,
				      .end = line->end,
				      .offset = line->offset + (line->end - line->start),
				      .module = module};
	if (hole.start == hole.end || hole.module != module || line->start != hole.end ||
	    line->offset != hole.offset + (hole.end - hole.start))
		return 0;
	set_relative(&map->modules.v[module], &filling, &range);
	return insert_range(map, &range);
}

/* Returns whether no file is mapped there: large pages of the C library have a name all the same. */
static bool is_anonymous(struct text_scan path)
{
	return path.at == path.end || scan_lit(&path, "/anon_hugepage");
}

int memory_map_add_line(struct memory_map *map, const struct map_line *line)
{
	struct memory_range range = {
		.start = line->start, .end = line->end, .process = line->is_event ? line->process : 0};
	struct filter_module module = {.is_kernel = false};
	size_t index;
	bool is_anon = is_anonymous(line->path);
	if (is_anon)
		note_hole(map, line);
	if (is_anon || *line->path.at != '/')
		return clear_range(map, line->start, line->end);
	module_set_name(&module, line->path.at, line->path.end);
	module_set_id(&module, line->id.at, line->id.end);
	int err = module_index(map, &module, &index);
	if (err || index == MODULES_MAX)
		return err ? err : clear_range(map, line->start, line->end);
	range.module = (uint32_t)index;
	if (!line->is_event && fill_hole(map, line, range.module))
		return -ENOMEM;
	set_relative(&map->modules.v[index], line, &range);
	range.disputed = line->is_event && is_disputed(map, &range);
	return line->executable ? insert_range(map, &range) : clear_range(map, line->start, line->end);
}

/* ---- Use ---- */

static bool find_plain(const struct memory_map *map, uint64_t address, struct log_frame *ret)
{
	size_t i = first_after(map, address);
	if (i == map->ranges.n || map->ranges.v[i].start > address)
		return false;
	const struct memory_range *range = &map->ranges.v[i];
	if (range->disputed)
		return false;
	ret->module = map->modules.v[range->module].is;
	ret->space = range->space;
	ret->is_estimate = range->is_estimate;
	return !__builtin_add_overflow(address - range->start, range->relative, &ret->address);
}

bool memory_map_find(const struct memory_map *map, uint64_t address, struct log_frame *ret)
{
	uint64_t plain;
	for (unsigned i = 0; address_form(address, i, &plain); i++)
		if (find_plain(map, plain, ret))
			return true;
	return false;
}

/* Whether both are one file, as far as the shorter tells. */
static bool is_same_file(const struct mapped_module *m, const char *name, size_t size)
{
	const char *slash = memrchr(name, '/', size);
	bool are_paths = m->is.name[0] == '/' && *name == '/';
	size_t skip = slash && !are_paths ? (size_t)(slash + 1 - name) : 0, from = are_paths ? 0 : m->base;
	return m->size - from == size - skip && memcmp(m->is.name + from, name + skip, size - skip) == 0;
}

/* The same for a module of the kernel: "ext4", of "/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz". */
static bool is_same_ko(const struct mapped_module *m, const char *name, size_t size)
{
	const char *p = m->is.name + m->base;
	for (size_t i = 0; i < size; i++)
		if (p[i] != name[i] && (p[i] != '-' || name[i] != '_'))
			return false;
	return strncmp(p + size, ".ko", 3) == 0;
}

void memory_map_identify(const struct memory_map *map, struct filter_module *module)
{
	const struct filter_module *only = NULL;
	size_t size = strlen(module->name);
	for (size_t i = 0; i < map->modules.n && !module->id[0]; i++) {
		const struct mapped_module *m = &map->modules.v[i];
		if (!(module->is_kernel ? is_same_ko : is_same_file)(m, module->name, size))
			continue;
		if (only)
			return;
		only = &m->is;
	}
	if (!only)
		return;
	memcpy(module->id, only->id, sizeof(module->id));
	if (!module->is_kernel)
		memcpy(module->name, only->name, sizeof(module->name));
}

bool memory_map_find_in(const struct memory_map *map, uint64_t address, const struct filter_module *module,
			struct log_frame *ret)
{
	struct log_frame found = *ret;
	if (!memory_map_find(map, address, &found))
		return false;
	const struct mapped_module m = mapped_of(&found.module);
	if (!is_same_file(&m, module->name, strlen(module->name)))
		return false;
	*ret = found;
	return true;
}

void memory_map_reset(struct memory_map *map)
{
	map->ranges.n = map->modules.n = 0;
	map->hole = (struct map_hole){.end = 0};
}

void memory_map_deinit(struct memory_map *map)
{
	vec_free(&map->ranges);
	vec_free(&map->modules);
}

size_t memory_map_size(const struct memory_map *map)
{
	return map->ranges.cap * sizeof(*map->ranges.v) + map->modules.cap * sizeof(*map->modules.v);
}
