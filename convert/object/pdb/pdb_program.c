/*
 * pdb_program.c - the name of the program that a PDB file is of: linkers note their command line among the
 * symbols of a module of their own, and its option /OUT names the program.
 */
#include "convert/object/pdb/pdb.h"

#include <errno.h>
#include <strings.h>

#include "gsym/base/cursor.h"

enum {
	S_ENVBLOCK = 0x113d,
	SIGNATURE_SIZE = 4,
	ENVIRONMENT_MAX = 64 << 10, /* bytes of the module's symbols that are looked at */
};

/* The last component of a path that begins at @at, ends at @end, and may be in quotes. */
static struct span last_component(const char *at, const char *end, bool quoted)
{
	if (at < end && *at == '"' && !quoted) {
		quoted = true;
		at++;
	}
	const char *from = at;
	for (; at < end && *at != '"' && (quoted || *at != ' '); at++)
		if (*at == '/' || *at == '\\')
			from = at + 1;
	return (struct span){(const uint8_t *)from, (size_t)(at - from)};
}

/* The file in the last /OUT:FILE of a command line; empty if it has none. */
static struct span output_of(const char *line)
{
	static const char option[] = "out:";
	const size_t size = sizeof(option) - 1;
	const char *end = line + strlen(line);
	struct span found = {.size = 0};
	for (const char *at = line; at < end; at++) {
		bool quoted = *at == '"';
		bool begins = at == line || at[-1] == ' ';
		const char *slash = at + quoted;
		if (begins && (*slash == '/' || *slash == '-') && strncasecmp(slash + 1, option, size) == 0)
			found = last_component(slash + 1 + size, end, quoted);
	}
	return found;
}

/* Returns the command line in a record of pairs of words and values, or NULL if it has none. */
static const char *command_line(struct cursor record)
{
	cursor_skip(&record, 1); /* flags */
	for (;;) {
		const char *key = cursor_str(&record), *value = cursor_str(&record);
		if (!cursor_ok(&record))
			return NULL;
		if (strcmp(key, "cmd") == 0)
			return value;
	}
}

static struct span find_output(struct span symbols)
{
	struct cursor c = cursor_new(symbols.data, symbols.size, false);
	cursor_skip(&c, SIGNATURE_SIZE);
	while (cursor_can_hold(&c, 1, SIGNATURE_SIZE)) {
		struct cursor record = cursor_window(&c, cursor_u16(&c));
		const char *line = cursor_u16(&record) == S_ENVBLOCK ? command_line(record) : NULL;
		if (line)
			return output_of(line);
	}
	return (struct span){.size = 0};
}

bool pdb_own_name(struct object_file *object, char ret[static IMAGE_NAME_SIZE])
{
	CLEANUP(pdb_bytes_free) struct pdb_bytes symbols = {.copy = NULL};
	char name[IMAGE_NAME_SIZE];
	struct pdb_module linker;
	if (pdb_find_module(object, "* Linker *", &linker))
		return false;
	uint32_t size = linker.symbol_bytes < ENVIRONMENT_MAX ? linker.symbol_bytes : ENVIRONMENT_MAX;
	if (msf_read(&pdb_of(object)->msf, linker.stream, 0, size, &symbols))
		return false;
	struct span found = find_output(symbols.bytes);
	if (!found.size || found.size >= sizeof(name))
		return false;
	memcpy(name, found.data, found.size);
	name[found.size] = 0;
	return object_take_name(name, ret);
}
