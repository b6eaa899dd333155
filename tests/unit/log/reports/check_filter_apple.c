/* Reports of Apple's systems through the filter, as text and JSON: frames before and after their images. */
#include "tests/unit/log/engine/filter_sample.h"

#include "log/line/filter_types.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(apple)
{
	check_log(apple_report,
		  "Incident Identifier: X\n\nThread 0 Crashed:\n"
		  "0   My App                        0x0000000104a78010 alpha (in My App) (a.c:6)\n"
		  "1   My App                        0x0000000104a78010 beta (in My App) (b.h:7) [inlined]\n"
		  "1   My App                        0x0000000104a78010 alpha (in My App) (a.c:5)\n"
		  "2   My App                      \t0x0000000104a78044 f::one() (in My App) + 4\n"
		  "3   libother.dylib                0x00000001b0000010 0x1b0000000 + 16\n\nThread 1:\n"
		  "0   My App                        0x0000000104a78004 alpha (in My App) (a.c:5)\n\nBinary "
		  "Images:\n"
		  "0x104a78000 - 0x104a7ffff My App arm64  <" ID "> /Applications/My App\n"
		  "       0x1b0000000 -        0x1b0000fff +libother.dylib (1.0) "
		  "<01020304-0506-0708-090A-0B0C0D0E0FFF> "
		  "/usr/lib/libother.dylib\n\nthe end\n");
	check_log("  Thread 0:\n  0   A   0x0000000104a78004 0x104a78000 + 4\n\n  Binary Images:\n  "
		  "0x104a78000 "
		  "- 0x104a7ffff A <" ID "> /x\n\n",
		  "  Thread 0:\n  0   A   0x0000000104a78004 alpha (in A) (a.c:5)\n\n  Binary Images:\n  "
		  "0x104a78000 - 0x104a7ffff A <" ID "> /x\n\n");
	check_log("Thread 0:\n0   A   0x0015000104a78004 0x104a78000 + 4\n\nBinary Images:\n0x104a78000 "
		  "- 0x104a7ffff A <" ID "> /x\n\n",
		  "Thread 0:\n0   A   0x0015000104a78004 alpha (in A) (a.c:5)\n\nBinary Images:\n"
		  "0x104a78000 - 0x104a7ffff A <" ID "> /x\n\n");
	/* cut off before its images, and one whose frames nothing announces */
	check_unchanged("Thread 0 Crashed:\n0   My App   0x0000000104a78010 0x104a78000 + 16\n");
	check_unchanged("0   My App   0x0000000104a78010 0x104a78000 + 16\nBinary Images:\n0x104a78000 - "
			"0x104a7ffff My App <" ID "> /x\n");
}

/* A frame that is in no image is written in many ways; those after it are explained all the same. */
TEST(apple_first_frames)
{
	static const char *const first[] = {
		"0   ???                           0x7ff8a42b0fcc ???\n",
		"0   ???                           \t000000000000000000 0 + 0\n",
		"0   ???                           0x0000000000000000 0x0 + 0\n",
		"0   <translation info unavailable> 0x0000000102ad0718 ???\n",
		"0   <unknown binary>              \t0xfffffffe 0 + 4294967294\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		char in[1000], expected[1000];
		static const char images[] = "\nBinary Images:\n" APPLE_IMAGE_A "\n";
		snprintf(in, sizeof(in), "Thread 0 Crashed:\n%s" APPLE_A(1) "%s", first[i], images);
		snprintf(expected, sizeof(expected), "Thread 0 Crashed:\n%s" APPLE_A_IS(1) "%s", first[i],
			 images);
		check_log(in, expected);
	}
}

/* Where the images are. */
TEST(apple_images)
{
	check_log("Thread 0:\n" APPLE_A(0) "Binary Images\n" APPLE_IMAGE_A "\n",
		  "Thread 0:\n" APPLE_A_IS(0) "Binary Images\n" APPLE_IMAGE_A "\n");
	check_log("Binary Images:\n" APPLE_IMAGE_A "\nThread 0:\n" APPLE_A(0) "\nThread 1:\n" APPLE_A(0),
		  "Binary Images:\n" APPLE_IMAGE_A
		  "\nThread 0:\n" APPLE_A_IS(0) "\nThread 1:\n" APPLE_A_IS(0));
	/* A module can be called like the line that announces frames. */
	check_log("Thread 0:\n" APPLE_A(0) "Binary Images:\n0x1000 - 0x1fff libBacktraceRecording.dylib <ff> "
					   "/x\n" APPLE_IMAGE_A "\n",
		  "Thread 0:\n" APPLE_A_IS(
			  0) "Binary Images:\n0x1000 - 0x1fff libBacktraceRecording.dylib <ff> "
			     "/x\n" APPLE_IMAGE_A "\n");
	/* Each report has its own: not those of the next, nor of the one before. */
	check_log("Thread 0:\n" APPLE_A(0) "Process: B [1]\nThread 0:\n" APPLE_A(
			  0) "Binary Images:\n" APPLE_IMAGE_A "\n",
		  "Thread 0:\n" APPLE_A(0) "Process: B [1]\nThread 0:\n" APPLE_A_IS(
			  0) "Binary Images:\n" APPLE_IMAGE_A "\n");
	check_unchanged("Binary Images:\n" APPLE_IMAGE_A "Process: B [1]\nThread 0:\n" APPLE_A(0));
	check_unchanged("Binary Images:\n" APPLE_IMAGE_A
			"\nThread 0:\n" APPLE_A(0) "Binary Images:\n0x1000 - 0x1fff "
						   "B <ff> /B\n\n");
}

TEST(apple_quoted)
{
	check_log(
		"> Thread 0 Crashed:\n> 0   A   0x0000000104a7800c 0x104a78000 + 12\n>\n> Binary "
		"Images:\n> " APPLE_IMAGE_A ">\nThanks\n",
		"> Thread 0 Crashed:\n> 0   A   0x0000000104a7800c beta (in A) (b.h:7) [inlined]\n> 0   A   "
		"0x0000000104a7800c alpha (in A) (a.c:5)\n>\n> Binary Images:\n> " APPLE_IMAGE_A
		">\nThanks\n");
}

/* The frames of an exception are a list of addresses. */
TEST(apple_addresses)
{
#define FRAMES(quote)                                                                                       \
	quote "0   ???                            0x00000001b0000010 0x0 + 7247757328\n" quote              \
	      "1   A                              0x0000000104a7800c beta (in A) (b.h:7) [inlined]\n" quote \
	      "1   A                              0x0000000104a7800c alpha (in A) (a.c:5)\n" quote          \
	      "2   A                              0x0000000104a78044 f::one() (in A) + 4\n"
#define LIST "(0x1b0000010 0x104a7800c 0x104a78044)"
	check_log("Last Exception Backtrace:\n" LIST
		  "\n\nThread 0:\n" APPLE_A(0) "\nBinary Images:\n" APPLE_IMAGE_A "\n",
		  "Last Exception Backtrace:\n" FRAMES("") "\nThread 0:\n" APPLE_A_IS(
			  0) "\nBinary Images:\n" APPLE_IMAGE_A "\n");
	check_log("> Last Exception Backtrace: " LIST "\n> Binary Images:\n> " APPLE_IMAGE_A "\n",
		  "> Last Exception Backtrace:\n" FRAMES("> ") "> Binary Images:\n> " APPLE_IMAGE_A "\n");
	/* Once a report; a list of something else, and one whose images are not there, stay. */
	check_unchanged(
		"Last Exception Backtrace:\n(0x1010 0x1020)\nBinary Images:\n0x1000 - 0x1fff B <ff> /B\n\n");
	check_log("Binary Images:\n" APPLE_IMAGE_A "\nLast Exception Backtrace:\n" LIST "\n" LIST "\n",
		  "Binary Images:\n" APPLE_IMAGE_A "\nLast Exception Backtrace:\n" FRAMES("") LIST "\n");
	check_unchanged("Binary Images:\n" APPLE_IMAGE_A "\n" LIST "\nsee " LIST "\n");
	check_unchanged("Last Exception Backtrace:\n(0x1b0000010 0x1b0000020)\nBinary Images:\n" APPLE_IMAGE_A
			"\n");
	check_unchanged("Last Exception Backtrace:\n(0x104a78004 x)\nBinary Images:\n" APPLE_IMAGE_A "\n");
}

/* A list of more bytes than are buffered of a stack: what was written is not written again after a wait. */
TEST(apple_many_addresses)
{
	enum { MANY = 250, QUOTED = 700 };
	char quote[QUOTED + 1];
	struct text_buf in = {0}, expected = {0};
	assert_true(MANY * QUOTED > FILTER_STACK_BYTES);
	memset(quote, '>', QUOTED);
	quote[QUOTED] = 0;
	text_lit(&in, "Last Exception Backtrace:\n");
	text_lit(&expected, "Last Exception Backtrace:\n");
	text_str(&in, quote);
	for (unsigned i = 0; i < MANY; i++) {
		char frame[100];
		text_str(&in, i ? " 0x00001044" : "(0x00001044");
		text_str(&expected, quote);
		snprintf(frame, sizeof(frame), "%-3u A                              0x0000000000001044 ", i);
		text_str(&expected, frame);
		text_lit(&expected, "f::one() (in A) + 4\n");
	}
	text_lit(&in, ")\nBinary Images:\n0x00001000 - 0x00001fff A <" ID "> /A\n\n");
	text_lit(&expected, "Binary Images:\n0x00001000 - 0x00001fff A <" ID "> /A\n\n");
	text_char(&in, 0);
	text_char(&expected, 0);
	check_log(in.v, expected.v);
	text_deinit(&in);
	text_deinit(&expected);
}

/* Of several rows at an address atos shows the first, and its readers expect that, all others the last. */
TEST(first_row)
{
#define HEAD "Thread 0:\n0   A                             0x0000000100000100 "
#define TAIL "\n\nBinary Images:\n0x100000000 - 0x100000fff A <" ID "> /A\n\n"
	check_log(HEAD "0x100000000 + 256" TAIL, HEAD "both (in A) (a.c:50)" TAIL);
	check_log(ID "+0x100\n", ID "+0x100 both at /src/a.c:51\n");
}

TEST(ips_reports)
{
	check_log(
		ips_report, IPS_HEADER
		"{\n  \"note\" : \"a \\\"brace\\\" { [\", \"n\":-1.5e3, \"t\":null,\n"
		"  \"threads\" : "
		"[{\"triggered\":true,\"frames\":[{\"imageOffset\":16,\"imageIndex\":0,\"symbol\":\"alpha\","
		"\"symbolLocation\":16,"
		"\"sourceFile\":\"a.c\",\"sourceLine\":6}, {\"imageOffset\":16,\"imageIndex\":0 "
		",\"symbol\":\"beta\",\"symbolLocation\":8,"
		"\"sourceFile\":\"b.h\",\"sourceLine\":7,\"inline\":true},{\"imageOffset\":16,\"imageIndex\":"
		"0 "
		",\"symbol\":\"alpha\","
		"\"symbolLocation\":16,\"sourceFile\":\"a.c\",\"sourceLine\":5},\n "
		"{\"imageOffset\":68,\"imageIndex\":0,\"symbol\":\"f::one()\","
		"\"symbolLocation\":4},{\"imageOffset\":4,\"imageIndex\":1}]},"
		"{\"frames\":[{\"imageOffset\":4,\"symbol\":\"f\",\"imageIndex\":0,"
		"\"sourceFile\":\"a.c\",\"sourceLine\":5}]}],\n  " IPS_IMAGES "\n}\nafter " ID
		"+0x4 alpha at /src/a.c:5\n");
	check_unchanged(
		"{\"imageOffset\":16,\"imageIndex\":0}\n{\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}]"
		"," IPS_IMAGES "}\n");
	check_log(IPS_HEADER "{\"f\":[{\"imageOffset\":256,\"imageIndex\":0}]," IPS_IMAGES "}",
		  IPS_HEADER "{\"f\":[{\"imageOffset\":256,\"imageIndex\":0,\"symbol\":\"both\","
			     "\"symbolLocation\":0,\"sourceFile\":\"a.c\","
			     "\"sourceLine\":50}]," IPS_IMAGES "}");
	/* broken, cut off, nested too deeply, nested in each other */
	check_unchanged(IPS_HEADER "{\"frames\":[{\"imageOffset\":16,\"imageIndex\":0},]," IPS_IMAGES "}\n");
	check_unchanged(IPS_HEADER "{\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}]," IPS_IMAGES);
	check_unchanged(
		IPS_HEADER
		"{\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]"
		"]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
		"]]]]]]]]]]]]]]]]]]]],\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}]," IPS_IMAGES "}\n");
	check_unchanged(IPS_HEADER "[{\"imageOffset\":16,\"imageIndex\":0}]\n");
	check_log(IPS_HEADER "{\"f\":[{\"imageOffset\":4,\"g\":[{\"imageOffset\":68,\"imageIndex\":0}],"
			     "\"imageIndex\":0}]," IPS_IMAGES "}",
		  IPS_HEADER
		  "{\"f\":[{\"imageOffset\":4,\"g\":[{\"imageOffset\":68,\"imageIndex\":0,\"symbol\":"
		  "\"f::one()\",\"symbolLocation\":4}],"
		  "\"imageIndex\":0}]," IPS_IMAGES "}");
}

/* A report that never ends is let go, and what follows is looked at again. */
TEST(endless_report)
{
	static const char head[] = "Thread 0:\n0   A   0x0000000104a78010 0x104a78000 + 16\n",
			  tail[] = "\n" ID "+0x4\n";
	size_t size = FILTER_REPORT_MAX + 1000;
	char *in = malloc(size);
	struct source source;
	struct text_buf out = {0};
	source_make(&source);
	for (size_t i = 0; i < size; i++)
		in[i] = i % 64 ? 'x' : '\n';
	memcpy(in, head, strlen(head));
	memcpy(in + size - strlen(tail), tail, strlen(tail));
	run_filter(&source, in, size, NULL, 0, &out);
	assert_memory_equal(out.v, in, size - 1);
	assert_true(out.n > size);
	text_deinit(&out);
	free(in);
	source_drop(&source);
}
