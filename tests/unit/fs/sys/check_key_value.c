/* Keys and values as lines and as an object of JSON. */
#include "fs/sys/key_value.h"

#include <string.h>

#include "tests/lib/unit.h"

static void write_all_kinds(struct kv_writer *kv)
{
	kv_begin(kv);
	kv_text(kv, "text", "a\tb\"c");
	kv_number(kv, "number", UINT64_MAX);
	kv_item(kv, "list", "one", 3);
	kv_item(kv, "list", "two and more", 3);
	kv_item(kv, "other", "x", 1);
	kv_seconds(kv, "seconds", 1.005e3);
	kv_seconds(kv, "none", 0);
	kv_item(kv, "last", "", 0);
	kv_end(kv);
}

static void expect(struct kv_writer *kv, const char *expected)
{
	text_char(&kv->out, '\0');
	assert_string_equal(kv->out.v, expected);
	text_deinit(&kv->out);
}

TEST(lines)
{
	struct kv_writer kv = {.json = false};
	write_all_kinds(&kv);
	expect(&kv, "text\ta\\tb\"c\nnumber\t18446744073709551615\nlist\tone\nlist\ttwo\nother\tx\n"
		    "seconds\t1005.00\nnone\t0.00\nlast\t\n");
}

TEST(object)
{
	struct kv_writer kv = {.json = true};
	write_all_kinds(&kv);
	expect(&kv, "{\"text\":\"a\\tb\\\"c\",\"number\":18446744073709551615,\"list\":[\"one\",\"two\"],"
		    "\"other\":[\"x\"],\"seconds\":1005.00,\"none\":0.00,\"last\":[\"\"]}\n");
}

TEST(empty)
{
	struct kv_writer kv = {.json = false}, json = {.json = true};
	kv_begin(&kv);
	kv_end(&kv);
	expect(&kv, "");
	kv_begin(&json);
	kv_end(&json);
	expect(&json, "{}\n");
}

/* Values that the caller writes. */
TEST(own_values)
{
	struct kv_writer kv = {.json = true};
	kv_begin(&kv);
	kv_item_begin(&kv, "rows");
	text_lit(&kv.out, "{}");
	kv_item_begin(&kv, "rows");
	text_lit(&kv.out, "1");
	kv_number(&kv, "n", 2);
	kv_end(&kv);
	expect(&kv, "{\"rows\":[{},1],\"n\":2}\n");
}
