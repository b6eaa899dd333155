#include "gsym/check/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "gsym/base/diag.h"
#include "gsym/read/reader.h"

enum {
	/* Bytes of records decoded, in sizes of the file: equal functions share a record. */
	RECORDS_SHARED = 16,
};

struct format_check {
	const struct gsym_reader *reader;
	const struct check_report *report;
	const atomic_bool *canceled; /* NULL: the check is neither canceled nor bounded by RECORDS_SHARED */
	bool is_ended;               /* by the report */
};

static bool is_settled(const struct format_check *c)
{
	return c->is_ended || (c->canceled && atomic_load_explicit(c->canceled, memory_order_relaxed));
}

static void fault(struct format_check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void fault(struct format_check *c, const char *fmt, ...)
{
	char text[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!c->is_ended)
		c->is_ended = !c->report->fault(c->report->user, text);
}

static uint64_t offset_of(const struct format_check *c, const void *at)
{
	return (uint64_t)((const uint8_t *)at - c->reader->bytes.data);
}

static void check_addresses(struct format_check *c)
{
	const struct gsym_info *info = &c->reader->info;
	for (uint32_t i = 0; i < info->num_addresses && !is_settled(c); i++) {
		uint64_t off = reader_addr_off(c->reader, i), at = (uint64_t)i * info->addr_off_size;
		if (i > 0 && off < reader_addr_off(c->reader, i - 1))
			fault(c,
			      "address table: entry %" PRIu32 " at offset 0x%" PRIx64
			      " is lower than the one before it",
			      i, offset_of(c, c->reader->addr_offs) + at);
		if (off > UINT64_MAX - info->base_address)
			fault(c,
			      "address table: entry %" PRIu32 " at offset 0x%" PRIx64
			      " passes the end of the address space",
			      i, offset_of(c, c->reader->addr_offs) + at);
	}
}

static void check_files(struct format_check *c)
{
	uint64_t dir, base;
	for (uint32_t i = 0; i < c->reader->info.num_files && !is_settled(c); i++) {
		uint64_t at = offset_of(c, c->reader->files) + (uint64_t)i * 2 * c->reader->info.strp_size;
		if (gsym_reader_file_strings(c->reader, i, &dir, &base))
			fault(c, "file table: entry %" PRIu32 " at offset 0x%" PRIx64 " cannot be read", i,
			      at);
		else if (!gsym_reader_string(c->reader, dir) || !gsym_reader_string(c->reader, base))
			fault(c,
			      "file table: entry %" PRIu32 " at offset 0x%" PRIx64 " names strings 0x%" PRIx64
			      " and 0x%" PRIx64 " of a table of %" PRIu64 " bytes",
			      i, at, dir, base, c->reader->info.strtab_size);
		else if (i == 0 && (dir || base))
			fault(c, "file table: entry 0 at offset 0x%" PRIx64 " is not empty", at);
	}
}

/* Decoding checks the content of a record and its references; alignment and address range are left. */
static int check_record(struct format_check *c, uint32_t index, struct gsym_decoder *decoder)
{
	struct gsym_func func;
	struct gsym_diag diag = {0};
	struct cursor record = reader_record(c->reader, index);
	int err = gsym_reader_function(c->reader, index, decoder, &func, &diag);
	if (err == -ENOMEM)
		return err;
	if (err)
		fault(c, "%s", diag.text);
	else if (cursor_off(&record) % RECORD_ALIGN)
		fault(c, "function %" PRIu32 " at offset 0x%" PRIx64 " is not aligned to %d bytes", index,
		      cursor_off(&record), RECORD_ALIGN);
	else if (func.size > UINT64_MAX - func.start)
		fault(c, "function %" PRIu32 " at offset 0x%" PRIx64 " passes the end of the address space",
		      index, cursor_off(&record));
	return 0;
}

static int check_all(struct format_check *c)
{
	check_addresses(c);
	check_files(c);
	struct gsym_decoder *decoder = gsym_decoder_new();
	int err = decoder ? 0 : -ENOMEM;
	for (uint32_t i = 0; !err && i < c->reader->info.num_addresses && !is_settled(c); i++) {
		err = check_record(c, i, decoder);
		if (c->canceled && decoder->bytes / RECORDS_SHARED > c->reader->info.file_size)
			fault(c, "function %" PRIu32 ": records share their bytes: too much to read", i);
	}
	gsym_decoder_free(decoder);
	return err;
}

int check_gsym(const struct gsym_reader *reader, const struct check_report *report)
{
	return check_all(&(struct format_check){.reader = reader, .report = report});
}

/* The first fault of a file. */
struct first_fault {
	struct gsym_diag *diag;
	bool is_met;
};

static bool note_first(void *user, const char *text)
{
	struct first_fault *first = user;
	first->is_met = true;
	diag_set(first->diag, -EBADMSG, "%s", text);
	return false;
}

int check_gsym_first(const struct gsym_reader *reader, const atomic_bool *canceled, struct gsym_diag *diag)
{
	struct first_fault first = {.diag = diag};
	struct check_report report = {note_first, &first};
	struct format_check c = {.reader = reader, .report = &report, .canceled = canceled};
	int err = check_all(&c);
	if (err || first.is_met)
		return err ? err : -EBADMSG;
	return is_settled(&c) ? -ECANCELED : 0;
}
