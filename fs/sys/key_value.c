#include "fs/sys/key_value.h"

#include <stdio.h>

#include "gsym/base/escape.h"

void kv_begin(struct kv_writer *kv)
{
	if (kv->json)
		text_char(&kv->out, '{');
}

static void close_list(struct kv_writer *kv)
{
	if (kv->list)
		text_char(&kv->out, ']');
	kv->list = NULL;
}

void kv_end(struct kv_writer *kv)
{
	close_list(kv);
	if (kv->json)
		text_lit(&kv->out, "}\n");
}

static void begin_value(struct kv_writer *kv, const char *key)
{
	close_list(kv);
	if (!kv->json) {
		text_str(&kv->out, key);
		text_char(&kv->out, '\t');
		return;
	}
	text_str(&kv->out, kv->begun ? ",\"" : "\"");
	text_str(&kv->out, key);
	text_lit(&kv->out, "\":");
	kv->begun = true;
}

static void end_value(struct kv_writer *kv)
{
	if (!kv->json)
		text_char(&kv->out, '\n');
}

static void write_text(struct kv_writer *kv, const char *value, size_t size)
{
	if (!kv->json) {
		escape_bytes(&kv->out, value, size, ESCAPE_TSV);
		return;
	}
	text_char(&kv->out, '"');
	escape_bytes(&kv->out, value, size, ESCAPE_JSON);
	text_char(&kv->out, '"');
}

void kv_text(struct kv_writer *kv, const char *key, const char *value)
{
	begin_value(kv, key);
	write_text(kv, value, strlen(value));
	end_value(kv);
}

void kv_number(struct kv_writer *kv, const char *key, uint64_t value)
{
	begin_value(kv, key);
	text_dec(&kv->out, value);
	end_value(kv);
}

void kv_seconds(struct kv_writer *kv, const char *key, double value)
{
	char text[32];
	snprintf(text, sizeof(text), "%.2f", value);
	begin_value(kv, key);
	text_str(&kv->out, text);
	end_value(kv);
}

void kv_item_begin(struct kv_writer *kv, const char *key)
{
	if (kv->list && strcmp(kv->list, key) == 0) {
		text_char(&kv->out, ',');
		return;
	}
	begin_value(kv, key);
	text_char(&kv->out, '[');
	kv->list = key;
}

void kv_item(struct kv_writer *kv, const char *key, const char *value, size_t size)
{
	if (kv->json)
		kv_item_begin(kv, key);
	else
		begin_value(kv, key);
	write_text(kv, value, size);
	end_value(kv);
}
