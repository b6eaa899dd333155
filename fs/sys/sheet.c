#include "fs/sys/sheet.h"

#include <stdio.h>

#include "gsym/base/escape.h"

void sheet_begin(struct sheet *sheet)
{
	if (sheet->json)
		text_char(&sheet->out, '{');
}

static void close_list(struct sheet *sheet)
{
	if (sheet->list)
		text_char(&sheet->out, ']');
	sheet->list = NULL;
}

void sheet_end(struct sheet *sheet)
{
	close_list(sheet);
	if (sheet->json)
		text_lit(&sheet->out, "}\n");
}

static void begin_value(struct sheet *sheet, const char *key)
{
	close_list(sheet);
	if (!sheet->json) {
		text_str(&sheet->out, key);
		text_char(&sheet->out, '\t');
		return;
	}
	text_str(&sheet->out, sheet->begun ? ",\"" : "\"");
	text_str(&sheet->out, key);
	text_lit(&sheet->out, "\":");
	sheet->begun = true;
}

static void end_value(struct sheet *sheet)
{
	if (!sheet->json)
		text_char(&sheet->out, '\n');
}

static void write_text(struct sheet *sheet, const char *value, size_t size)
{
	if (!sheet->json) {
		escape_bytes(&sheet->out, value, size, ESCAPE_TSV);
		return;
	}
	text_char(&sheet->out, '"');
	escape_bytes(&sheet->out, value, size, ESCAPE_JSON);
	text_char(&sheet->out, '"');
}

void sheet_text(struct sheet *sheet, const char *key, const char *value)
{
	begin_value(sheet, key);
	write_text(sheet, value, strlen(value));
	end_value(sheet);
}

void sheet_number(struct sheet *sheet, const char *key, uint64_t value)
{
	begin_value(sheet, key);
	text_dec(&sheet->out, value);
	end_value(sheet);
}

void sheet_seconds(struct sheet *sheet, const char *key, double value)
{
	char text[32];
	snprintf(text, sizeof(text), "%.2f", value);
	begin_value(sheet, key);
	text_str(&sheet->out, text);
	end_value(sheet);
}

void sheet_item_begin(struct sheet *sheet, const char *key)
{
	if (sheet->list && strcmp(sheet->list, key) == 0) {
		text_char(&sheet->out, ',');
		return;
	}
	begin_value(sheet, key);
	text_char(&sheet->out, '[');
	sheet->list = key;
}

void sheet_item(struct sheet *sheet, const char *key, const char *value, size_t size)
{
	if (sheet->json)
		sheet_item_begin(sheet, key);
	else
		begin_value(sheet, key);
	write_text(sheet, value, size);
	end_value(sheet);
}
