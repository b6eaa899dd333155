/* Crash reports in JSON: where they begin and end, the frames and images in them, and their members. */
#include "tests/unit/gsym/sample.h"

#include "log/formats/report_lines.h"
#include "log/line/json_member.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct text_scan scan_of(const char *text)
{
	return scan_from(text, text + strlen(text));
}

TEST(headers)
{
	static const struct {
		const char *line;
		bool is_header;
	} lines[] = {
		{"{\"bug_type\":\"309\",\"incident_id\":\"1\"}", true},
		{"{\"incident_id\":\"1\",\"bug_type\":\"309\"}", true},
		{"{\"bug_type\":\"309\",\"incident_id\":\"1\"", false},
		{"\"bug_type\":\"309\",\"incident_id\":\"1\"}", false},
		{"{\"bug_type\":\"309\"}", false},
		{"{\"incident_id\":\"1\"}", false},
		{"{}", false},
		{"", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_int_equal(ips_is_header(scan_of(lines[i].line)), lines[i].is_header);
}

/* Those of minidump_stackwalk begin with one of two members, in the line of the brace or the next. */
TEST(beginnings)
{
	static const struct {
		const char *line;
		bool in_line, after_brace;
	} lines[] = {
		{"{\"crash_info\": {", true, false},
		{"{ \t\"crashing_thread\":", true, false},
		{"\"crash_info\": {", false, true},
		{"  \"crashing_thread\": {", false, true},
		{"{\"crash_inf\"", false, false},
		{"{ {\"crash_info\"", false, false},
		{"{\"threads\": [], \"crash_info\": {", false, false},
		{"{", false, false},
		{"", false, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_int_equal(ips_begins(scan_of(lines[i].line), false), lines[i].in_line);
		assert_int_equal(ips_begins(scan_of(lines[i].line), true), lines[i].after_brace);
	}
	static const char cut[] = "{\"crash_info\":{";
	assert_false(ips_begins(scan_from(cut, cut + 5), false));
	/* The first bytes of a line decide. */
	for (int blanks = IPS_BEGIN_MAX - 16; blanks < IPS_BEGIN_MAX; blanks++) {
		char line[2 * IPS_BEGIN_MAX];
		snprintf(line, sizeof(line), "{%*s\"crash_info\":{", blanks, "");
		assert_int_equal(ips_begins(scan_of(line), false),
				 1 + blanks + (int)strlen("\"crash_info\"") <= IPS_BEGIN_MAX);
	}
}

/* The end of the object is found wherever it is cut. */
TEST(ends)
{
	static const struct {
		const char *text;
		size_t size; /* of the object; 0: it does not end */
	} texts[] = {
		{"{}", 2},
		{"{}}", 2},
		{"{\"a\":[{},[]]} {}", 13},
		{"{\"}\":1}x", 7},
		{"{\"\\\"}\":1}", 9},
		{"{\"\\\\\"}", 6},
		{"{\"\\\\\\\"}\"}", 9},
		{"{[}]", 4},
		{"[]}", 2},
		{"{\"a\":1", 0},
		{"{\"}", 0},
		{"{\"\\\"}", 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		size_t size = strlen(texts[i].text);
		for (size_t cut = 0; cut <= size; cut++) {
			struct ips_end end = {.depth = 0};
			bool done = false;
			size_t n = cut ? ips_scan(&end, texts[i].text, cut, &done) : 0;
			assert_int_equal(done, texts[i].size && cut >= texts[i].size);
			if (!done) {
				assert_int_equal(n, cut);
				n += ips_scan(&end, texts[i].text + cut, size - cut, &done);
			}
			assert_int_equal(done, size && texts[i].size != 0);
			assert_int_equal(n, texts[i].size ? texts[i].size : size);
		}
	}
}

/* Parses the text: the error; the numbers of frames and images when there is none. */
static int parse(struct ips *ips, const char *text, size_t n_frames, size_t n_images)
{
	int err = ips_parse(ips, text, strlen(text));
	if (err)
		assert_int_equal(ips->frames.n, 0);
	else
		assert_int_equal(ips->frames.n, n_frames);
	if (!err)
		assert_int_equal(ips->images.n, n_images);
	return err;
}

#define FRAME "{\"imageOffset\":16,\"imageIndex\":0}"

TEST(json)
{
	struct ips ips = {.frames = {NULL}};
	static const struct {
		const char *text;
		int err;
		size_t frames;
	} texts[] = {
		{"{}", 0, 0},
		{"{ }", 0, 0},
		{"[]", 0, 0},
		{"{\"f\":[" FRAME "]}", 0, 1},
		{"\t{\r\n\"f\" :\t[ " FRAME " ,\n" FRAME " ] } ", 0, 2},
		{"{\"f\":[" FRAME "],\"a\":[]}", 0, 1},
		{"{\"f\":[true,false,null,-1.5e+3,\"\\\"\\\\\"," FRAME "]}", 0, 1},
		{"{\"f\":[" FRAME "]", -EINVAL, 0},
		{"{\"f\":[" FRAME "}", -EINVAL, 0},
		{"{\"f\":[" FRAME ",]}", -EINVAL, 0},
		{"{\"f\":[" FRAME "],}", -EINVAL, 0},
		{"{\"f\":[" FRAME "],\"a\"}", -EINVAL, 0},
		{"{\"f\":[" FRAME "],\"a\" 1}", -EINVAL, 0},
		{"{\"f\":[" FRAME "],\"a\":}", -EINVAL, 0},
		{"{\"f\":[" FRAME "],\"a:1}", -EINVAL, 0},
		{"{\"f\":[" FRAME "],\"a\\", -EINVAL, 0},
		{"{\"f\":[" FRAME "],a:1}", -EINVAL, 0},
		{"{\"f\":[" FRAME "],\"a\":*}", -EINVAL, 0},
		{"{\"imageOffset\":[1],\"imageIndex\":[2],\"f\":[" FRAME "]}", 0, 1},
		{"\"a\"", 0, 0},
		{"\"a", -EINVAL, 0},
		{"\"\\\"", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"{", -EINVAL, 0},
		{"[", -EINVAL, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(parse(&ips, texts[i].text, texts[i].frames, 0), texts[i].err);
	/* Whatever follows the text is not of it. */
	assert_int_equal(ips_parse(&ips, "{\"f\":12]}", 7), -EINVAL);
	assert_int_equal(ips_parse(&ips, "{\"f\":\"2\"}", 7), -EINVAL);
	assert_int_equal(ips_parse(&ips, "{}", 1), -EINVAL);
	ips_deinit(&ips);
	assert_null(ips.frames.v);
	assert_null(ips.images.v);
}

/* What is a frame: an object in an array with an offset and an image or a module. */
TEST(frames)
{
	struct ips ips = {.frames = {NULL}};
	static const struct {
		const char *object;
		bool is_frame, named;
		uint32_t image;
		uint64_t offset;
	} objects[] = {
		{"{\"imageIndex\":3,\"imageOffset\":16}", true, false, 3, 16},
		{"{\"imageIndex\":3,\"imageOffset\":16,\"symbol\":\"f\"}", true, true, 3, 16},
		{"{\"function\":\"f\",\"imageIndex\":2047,\"imageOffset\":0}", true, true, MODULES_MAX - 1,
		 0},
		{"{\"imageIndex\":2048,\"imageOffset\":1}", true, false, MODULES_MAX, 1},
		{"{\"imageIndex\":4294967296,\"imageOffset\":1}", true, false, MODULES_MAX, 1},
		{"{\"imageIndex\":1}", false},
		{"{\"imageOffset\":1}", false},
		{"{\"imageOffset\":1,\"module\":\"a\",\"module_offset\":\"0x1\"}", false},
		{"{\"imageIndex\":-1,\"imageOffset\":1}", false},
		{"{\"imageIndex\":1,\"imageOffset\":1.5}", false},
		{"{\"imageIndex\":1,\"imageOffset\":\"1\"}", false},
		{"{\"module\":\"a\",\"module_offset\":\"0x1f\"}", true, false, FRAME_NONE, 0x1f},
		{"{\"module\":\"a\",\"module_offset\":\"0x123456789abcdef0\"}", true, false, FRAME_NONE,
		 0x123456789abcdef0},
		{"{\"module\":\"a\",\"function\":null,\"module_offset\":\"0x1\"}", true, false, FRAME_NONE,
		 1},
		{"{\"module\":\"a\",\"function\":\"f\",\"module_offset\":\"0x1\"}", true, true, FRAME_NONE,
		 1},
		{"{\"module\":\"a\",\"module_offset\":\"0x00123456789abcdef\"}", false},
		{"{\"module\":\"a\",\"module_offset\":\"0x\"}", false},
		{"{\"module\":\"a\",\"module_offset\":\"0x1g\"}", false},
		{"{\"module\":\"a\",\"module_offset\":\"12\"}", false},
		{"{\"module\":\"a\",\"module_offset\":12}", false},
		{"{\"module\":\"\",\"module_offset\":\"0x1\"}", false},
		{"{\"module_offset\":\"0x1\"}", false},
		{"{\"module\":\"a\"}", false},
		{"{}", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		char text[200];
		snprintf(text, sizeof(text), "{\"f\":[1, %s ],\"g\":%s}", objects[i].object,
			 objects[i].object);
		assert_int_equal(parse(&ips, text, objects[i].is_frame, 0), 0);
		if (!objects[i].is_frame)
			continue;
		const struct ips_frame *f = &ips.frames.v[0];
		assert_int_equal(f->from, strlen("{\"f\":[1, "));
		assert_int_equal(f->to, f->from + strlen(objects[i].object));
		assert_int_equal(f->offset, objects[i].offset);
		assert_int_equal(f->image, objects[i].image);
		assert_int_equal(f->named, objects[i].named);
		assert_int_equal(f->number, 0);
		if (f->image != FRAME_NONE)
			continue;
		assert_int_equal(f->module_size, 1);
		assert_int_equal(text[f->module], 'a');
	}
	/* Objects in an array are counted, also those that are no frames. */
	assert_int_equal(parse(&ips, "[[" FRAME ",{}," FRAME "],[" FRAME "]]", 3, 0), 0);
	assert_int_equal(ips.frames.v[0].number, 0);
	assert_int_equal(ips.frames.v[1].number, 2);
	assert_int_equal(ips.frames.v[2].number, 0);
	/* Of nested ones the inner is the frame; those beside one another both are. */
	static const char nested[] =
		"[{\"f\":[" FRAME
		"],\"imageOffset\":1,\"imageIndex\":1},{\"imageOffset\":2,\"imageIndex\":2}]";
	assert_int_equal(parse(&ips, nested, 2, 0), 0);
	assert_int_equal(ips.frames.v[0].offset, 16);
	assert_int_equal(ips.frames.v[1].offset, 2);
	assert_int_equal(parse(&ips, "[" FRAME FRAME "]", 0, 0), -EINVAL);
	ips_deinit(&ips);
}

TEST(images)
{
	struct ips ips = {.frames = {NULL}};
	static const char apple[] =
		"{\"usedImages\":[{\"uuid\":\"00000000-0000-0000-0000-0000000000aB\",\"name\":\"a\"},{},"
		"{\"debug_id\":\"ff\",\"filename\":\"b\"},1],\"f\":[{\"uuid\":\"ff\",\"name\":\"c\"}]}";
	assert_int_equal(parse(&ips, apple, 0, 3), 0);
	assert_string_equal(ips.images.v[0].is.id, "000000000000000000000000000000ab");
	assert_string_equal(ips.images.v[0].is.name, "a");
	for (size_t i = 1; i < 3; i++) {
		assert_string_equal(ips.images.v[i].is.id, "");
		assert_string_equal(ips.images.v[i].is.name, "");
	}
	static const char minidump[] = "{\"modules\":[{\"uuid\":\"ff\",\"name\":\"b\"},{\"debug_id\":"
				       "\"12\",\"filename\":\"a\"},{\"filename\":\"b\"}]}";
	assert_int_equal(parse(&ips, minidump, 0, 3), 0);
	assert_string_equal(ips.images.v[0].is.id, "");
	assert_string_equal(ips.images.v[0].is.name, "");
	assert_string_equal(ips.images.v[1].is.id, "12");
	assert_string_equal(ips.images.v[1].is.name, "a");
	assert_string_equal(ips.images.v[2].is.id, "");
	assert_string_equal(ips.images.v[2].is.name, "b");
	ips_deinit(&ips);
}

/* @n times @object in an array, in a buffer that is to be freed. */
static char *repeated(const char *head, const char *object, size_t n, const char *tail)
{
	struct text_buf text = {0};
	text_str(&text, head);
	for (size_t i = 0; i < n; i++) {
		text_str(&text, i ? "," : "");
		text_str(&text, object);
	}
	text_str(&text, tail);
	text_char(&text, 0);
	assert_false(text.failed);
	return text.v;
}

TEST(limits)
{
	struct ips ips = {.frames = {NULL}};
	for (size_t more = 0; more < 2; more++) {
		char *text = repeated("[", FRAME, IPS_FRAMES_MAX + more, "]");
		assert_int_equal(parse(&ips, text, IPS_FRAMES_MAX, 0), 0);
		free(text);
		text = repeated("{\"usedImages\":[", "{\"name\":\"a\"}", MODULES_MAX + more, "]}");
		assert_int_equal(parse(&ips, text, 0, MODULES_MAX), 0);
		free(text);
		/* A value is one deeper than the containers around it. */
		char open[2 * IPS_DEPTH_MAX] = "", close[2 * IPS_DEPTH_MAX] = "";
		memset(open, '[', IPS_DEPTH_MAX - 1 + more);
		memset(close, ']', IPS_DEPTH_MAX - 1 + more);
		text = repeated(open, "1", 2, close);
		assert_int_equal(parse(&ips, text, 0, 0), more ? -EINVAL : 0);
		free(text);
	}
	ips_deinit(&ips);
}

/* What the filter is told of a frame. */
TEST(filter_frames)
{
	struct ips ips = {.frames = {NULL}};
	static const char apple[] = "{\"usedImages\":[{\"uuid\":\"ff\",\"name\":\"a\"}],\"f\":[" FRAME
				    ",{\"imageIndex\":0,\"imageOffset\":7,\"symbol\":\"f\"},{\"imageIndex\":"
				    "1,\"imageOffset\":8}]}";
	assert_int_equal(parse(&ips, apple, 3, 1), 0);
	struct log_frame frame = ips_frame_of(&ips, apple, 0);
	assert_string_equal(frame.module.id, "ff");
	assert_int_equal(frame.address, 16);
	assert_int_equal(frame.space, FRAME_RVA);
	assert_int_equal(frame.style, STYLE_IPS);
	assert_int_equal(frame.kind, PC_EXACT);
	assert_int_equal(frame.from, strlen(FRAME) - 1);
	assert_int_equal(frame.to, frame.from);
	assert_true(frame.has_number);
	assert_false(frame.silent);
	frame = ips_frame_of(&ips, apple, 1);
	assert_int_equal(frame.kind, PC_RETURN);
	assert_int_equal(frame.number, 1);
	assert_true(frame.has_symbol && !frame.silent);
	frame = ips_frame_of(&ips, apple, 2);
	assert_string_equal(frame.module.id, "");
	assert_string_equal(frame.module.name, "");
	static const char minidump[] = "{\"modules\":[{\"debug_id\":\"12\",\"filename\":\"b\"},{\"debug_id\":"
				       "\"ff\",\"filename\":\"a\"}],"
				       "\"f\":[{\"module\":\"a\",\"module_offset\":\"0x0001\"},"
				       "{\"module\":\"aa\",\"module_offset\":\"0x2\"},"
				       "{\"module\":\"b\",\"module_offset\":\"0x3\"}]}";
	assert_int_equal(parse(&ips, minidump, 3, 2), 0);
	frame = ips_frame_of(&ips, minidump, 0);
	assert_string_equal(frame.module.id, "ff");
	assert_string_equal(frame.module.name, "a");
	assert_int_equal(frame.address, 1);
	assert_int_equal(frame.style, STYLE_STACKWALK);
	assert_int_equal(frame.kind, PC_EXACT);
	assert_int_equal(frame.from, 1);
	assert_int_equal(frame.to, strlen("{\"module\":\"a\",\"module_offset\":\"0x0001\""));
	assert_int_equal(frame.number_digits, 4);
	frame = ips_frame_of(&ips, minidump, 1);
	assert_string_equal(frame.module.id, "");
	assert_string_equal(frame.module.name, "aa");
	assert_int_equal(frame.kind, PC_ADJUSTED);
	frame = ips_frame_of(&ips, minidump, 2);
	assert_string_equal(frame.module.id, "12");
	ips_deinit(&ips);
}

/* The members of an object without its braces, as "key=value;", up to what is none. */
TEST(members)
{
	static const char *const texts[][2] = {
		{"\"a\":1,\"b\":null", "a=1;b=null;"},
		{" \t\r\n\"a\"\t: \n 1 \r\n\t,\n \"b\" :2", "a=1;b=2;"},
		{"\"a\":[1,2,{\"x\":\"]\"}],\"b\":{\"c\":[3]},\"d\":4",
		 "a=[1,2,{\"x\":\"]\"}];b={\"c\":[3]};d=4;"},
		{"\"a\":\"x,\\\"y\",\"b\":\"\\\\\",\"c\":1", "a=\"x,\\\"y\";b=\"\\\\\";c=1;"},
		{"\"a\\\"b\":1", "a\\\"b=1;"},
		{"\"a\":],\"b\":2", "a=];b=2;"},
		{"\"a\":", "a=;"},
		{"\"a\":1,b:2", "a=1;"},
		{"\"a\":1,:2", "a=1;"},
		{"\"a\":1,\"b\" 2", "a=1;"},
		{"\"a\":1,\"b", "a=1;"},
		{"\"a\":1,\"b\\", "a=1;"},
		{"\"a\":1,\"b\":\"2", "a=1;"},
		{"\"a\":1,\"b\":\"2\\\"", "a=1;"},
		{"\"", ""},
		{"", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct text_scan s = scan_of(texts[i][0]);
		struct text_buf got = {0};
		struct json_member member;
		while (json_member_next(&s, &member)) {
			text_bytes(&got, member.key.at, scan_left(&member.key));
			text_char(&got, '=');
			text_bytes(&got, member.value.at, scan_left(&member.value));
			text_char(&got, ';');
		}
		text_char(&got, 0);
		assert_string_equal(got.v, texts[i][1]);
		text_deinit(&got);
	}
}
