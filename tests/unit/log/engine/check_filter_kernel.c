/* Logs of the Linux kernel through the filter: symbols and sizes, heads and callers, the builds of others. */
#include "tests/unit/log/engine/filter_sample.h"

#include <string.h>

#include "tests/lib/unit.h"

TEST(kernel)
{
	check_log(
		"[  1.5] RIP: 0010:alpha+0x14/0x40\n[  1.5]  alpha+0x10/0x40\n[  1.5]  ? alpha+0x4/0x40\n[  "
		"1.5]  alpha+0x0/0x40\n",
		"[  1.5] RIP: 0010:alpha (/src/a.c:6)\n"
		"[  1.5]  beta (/src/b.h:7) [inlined]\n[  1.5]  alpha (/src/a.c:5)\n"
		"[  1.5]  ? alpha (/src/a.c:5)\n[  1.5]  alpha (/src/a.c:5)\n");
	/* Colours of terminals. */
	check_log("\x1b[32m[  1.5] \x1b[0m\x1b[33mRIP: "
		  "\x1b[0m0010:alpha+0x8/0x40\n\x1b[33malpha+0x10/0x40\n\x1b[1;31m" ID "+0x4\n",
		  "\x1b[32m[  1.5] \x1b[0m\x1b[33mRIP: \x1b[0m0010:beta (/src/b.h:7) [inlined]\n"
		  "\x1b[32m[  1.5] \x1b[0m\x1b[33mRIP: \x1b[0m0010:alpha (/src/a.c:5)\n"
		  "\x1b[33mbeta (/src/b.h:7) [inlined]\n\x1b[33malpha (/src/a.c:5)\n\x1b[1;31m" ID
		  "+0x4 alpha at /src/a.c:5\n");
	check_log(" alpha+0x4/0x40 [mod " ID "]\n", " alpha (/src/a.c:5) [mod " ID "]\n");
	check_unchanged("alpha+0x4\n alpha+0x4/0x2\n gamma+0x4/0x40\n 1alpha+0x4/0x40\n +0x4/0x40\n");
	check_unchanged(" alpha+0x4/0x40 [mo\n");
	check_unchanged(" alpha+0x4/0x40 [mod]\n _ZN1f3oneEv+0x4/0x40\n"); /* no such module; no line */
	check_unchanged("CPU: 3 PID: 12 Comm: cat Not tainted 6.1.0 #1 ff" ID "\n alpha+0x4/0x40\n");
	check_log("CPU: 3 PID: 12 Comm: cat Not tainted 6.1.0 #1 " ID "\n alpha+0x4/0x40\n",
		  "CPU: 3 PID: 12 Comm: cat Not tainted 6.1.0 #1 " ID "\n alpha (/src/a.c:5)\n");
}

/* A frame is explained inside the function it names, and only if the size is that of the function. */
TEST(kernel_sizes)
{
	check_log(" twin+0x4/0x20\n twin+0x4/0x30\n", " twin (/src/a.c:20)\n twin (/src/a.c:30)\n");
	check_unchanged(" alpha+0x4/0x3f\n alpha+0x4/0x41\n alpha+0x4/0x100000\n twin+0x4/0x10\n");
	/* Padding counts, up to the next symbol, but is no function's code. */
	check_log(" both+0x4/0x38\n both+0x4/0x40\n both+0x20/0x40\n twin+0x4/0x38\n",
		  " both (/src/a.c:51)\n both (/src/a.c:51)\n both (/src/a.c:51)\n twin (/src/a.c:30)\n");
	check_unchanged(" both+0x4/0x41\n both+0x21/0x40\n both+0x40/0x40\nRIP: 0010:both+0x20/0x40\n");
	/* So do weak definitions that are overridden: the kernel has no symbol for them. */
	check_log(" live+0x4/0x20\n live+0x4/0x30\n live+0x4/0x40\n",
		  " live (/src/a.c:80)\n live (/src/a.c:80)\n live (/src/a.c:80)\n");
	check_unchanged(" live+0x4/0x28\n live+0x4/0x50\n live+0x24/0x40\n after+0x4/0x18\n");
	/* The last function of a module's section reaches to the end of a page. */
	check_log(" after+0x4/0xe00 [mod " ID "]\n after+0x4/0xfc0 [mod " ID "]\n after+0x10/0x1000 [mod " ID
		  "]\n",
		  " after (/src/a.c:82) [mod " ID "]\n after (/src/a.c:82) [mod " ID
		  "]\n after (/src/a.c:82) [mod " ID "]\n");
	check_unchanged(" after+0x4/0xe00\n after+0x4/0xdff [mod " ID "]\n after+0x11/0x1000 [mod " ID "]\n");
	check_unchanged(" after+0x4/0x2000 [mod " ID "]\n");
	/* Pages of 16 and 64 KiB, as on arm64. */
	check_log(" after+0x4/0x3e00 [mod " ID "]\n after+0x4/0xfe00 [mod " ID "]\n final+0x4/0xffa0 [mod " ID
		  "]\n",
		  " after (/src/a.c:82) [mod " ID "]\n after (/src/a.c:82) [mod " ID
		  "]\n final (/src/a.c:84) [mod " ID "]\n");
	check_unchanged(" after+0x4/0x1e00 [mod " ID "]\n after+0x4/0x7e00 [mod " ID "]\n");
	check_unchanged(" after+0x4/0x10010 [mod " ID "]\n after+0x4/0x1fe00 [mod " ID "]\n");
	check_log(" final+0x4/0x100f [mod " ID "]\n", " final (/src/a.c:84) [mod " ID "]\n");
	check_unchanged(" final+0x4/0x1010 [mod " ID "]\n final+0x4/0x50\n");
	/* A function of assembly may end at a label, for the kernel. */
	check_log(" entry+0x4/0x8\n entry+0x4/0x10\n entry+0x4/0x11\n",
		  " entry (/src/e.S:85)\n entry (/src/e.S:85)\n entry+0x4/0x11\n");
}

/*
 * Two functions of another size reject a module without an id, also for what precedes them in their stack,
 * until another kernel is booted; one does not, however often.
 */
TEST(rejected)
{
#define GOOD           " alpha+0x4/0x40\n"
#define GOOD_EXPLAINED " alpha (/src/a.c:5)\n"
#define BAD            " both+0x4/0x50\n after+0x4/0x18\n"
	check_log(GOOD "\n" GOOD BAD GOOD "\n" GOOD, GOOD_EXPLAINED "\n" GOOD BAD GOOD "\n" GOOD);
	check_log(" both+0x4/0x50\n\n" GOOD " both+0x4/0x51\n" GOOD,
		  " both+0x4/0x50\n\n" GOOD_EXPLAINED " both+0x4/0x51\n" GOOD_EXPLAINED);
	check_log(BAD "[0] Linux version 6.1\n" GOOD, BAD "[0] Linux version 6.1\n" GOOD_EXPLAINED);
	check_log(BAD " both+0x4/0x50 [mod " ID "]\n after+0x4/0x18 [mod " ID "]\n alpha+0x4/0x40 [mod " ID
		      "]\n",
		  BAD " both+0x4/0x50 [mod " ID "]\n after+0x4/0x18 [mod " ID
		      "]\n alpha (/src/a.c:5) [mod " ID "]\n");
}

/* What was not explained is listed once for each module, however the input is cut. */
TEST(unexplained)
{
	const struct filter_unexplained *list;
	struct running r;
	running_begin(&r);
	assert_int_equal(
		running_feed(&r, " alpha+0x4/0x40\n gamma+0x4/0x40\n both+0x21/0x40\n", FILTER_PAUSE), 0);
	assert_int_equal(filter_unexplained(r.filter, &list), 1);
	assert_int_equal(list[0].cause, FILTER_NO_NAME);
	assert_int_equal(list[0].n_frames, 2);
	assert_int_equal(running_feed(&r, " alpha+0x4/0x80\n both+0x4/0x50\n", FILTER_PAUSE), 0);
	assert_int_equal(running_feed(&r, " alpha+0x4/0x90 [mod " ID "]\n alpha+0x4/0x90\n", FILTER_PAUSE),
			 0);
	assert_int_equal(filter_unexplained(r.filter, &list), 4);
	assert_int_equal(list[1].cause, FILTER_OTHER_BUILD);
	assert_string_equal(list[1].module.name, "vmlinux");
	assert_int_equal(list[1].n_frames, 3);
	assert_string_equal(list[1].symbol, "alpha");
	assert_int_equal(list[1].logged_size, 0x80);
	assert_int_equal(list[1].image_size, 0x40);
	assert_int_equal(list[2].cause, FILTER_REJECTED);
	assert_string_equal(list[2].module.name, "vmlinux");
	assert_string_equal(list[2].symbol, "both");
	assert_int_equal(list[2].n_frames, 1);
	assert_string_equal(list[3].module.name, "mod");
	assert_int_equal(list[3].n_frames, 1);
	running_end(&r);
}

#define REGISTERS(mark) mark "Code: 48 89 0f\n" mark "RSP: 0018:ffffc90000013e58 EFLAGS: 00010246\n\n"
#define TRACE(mark) \
	mark "Call Trace:\n" mark " <IRQ>\n" mark " ? alpha+0x4/0x40\n" mark " </IRQ>\n" mark " <TASK>\n"

/* Where the processor was belongs to the trace below: its caller says which of two functions it was, the
 * kernel just names one. */
TEST(kernel_heads)
{
#define KNOWN(mark)  mark " ? alpha (/src/a.c:5)\n"
#define TRACED(mark) mark "Call Trace:\n" mark " <IRQ>\n" KNOWN(mark) mark " </IRQ>\n" mark " <TASK>\n"
#define X            "[  1.5] "
	check_log(X "RIP: 0010:one+0x8/0x40\n" REGISTERS(X) TRACE(X) X " caller+0x10/0x40\n",
		  X "RIP: 0010:two (/src/a.c:61)\n" REGISTERS(X) TRACED(X) X " caller (/src/a.c:70)\n");
	/* The kernel's id comes between the two. */
#define COMM X "CPU: 1 PID: 1 Comm: a Not tainted 6.1 #1 PREEMPT " ID " \n"
	check_log(X "WARNING: CPU: 1 PID: 1 at a.c:3 one+0x8/0x40\n" X "Modules linked in: a b\n" COMM X
		    "RIP: 0010:one+0x8/0x40\n" TRACE(X) X " caller+0x10/0x40\n",
		  X "WARNING: CPU: 1 PID: 1 at a.c:3 two (/src/a.c:61)\n" X "Modules linked in: a b\n" COMM X
		    "RIP: 0010:two (/src/a.c:61)\n" TRACED(X) X " caller (/src/a.c:70)\n");
	/* arm64 repeats it. What is in lr belongs to nothing. */
	check_log(
		"pc : one+0x8/0x40\nlr : alpha+0x8/0x40\nsp : ffff\nCall trace:\n one+0x8/0x40 (P)\n "
		"caller+0x10/0x40\n",
		"pc : two (/src/a.c:61)\nlr : alpha (/src/a.c:5)\nsp : ffff\nCall trace:\n two (/src/a.c:61) "
		"(P)\n caller (/src/a.c:70)\n");
	check_log("EIP: one+0x8/0x40\nEAX: 1\nCall Trace:\n caller+0x10/0x40\n",
		  "EIP: two (/src/a.c:61)\nEAX: 1\nCall Trace:\n caller (/src/a.c:70)\n");
	check_log("NIP [c000000000012345] one+0x8/0x40\nLR [c000000000012345] one+0x8/0x40\nCall Trace:\n"
		  "[c000000000012345] [c000000000012345] alpha+0x4/0x40 (unreliable)\n[c000000000012345] "
		  "[c000000000012345] caller+0x10/0x40\n",
		  "NIP [c000000000012345] two (/src/a.c:61)\nLR [c000000000012345] one (/src/a.c:60)\nCall "
		  "Trace:\n"
		  "[c000000000012345] [c000000000012345] alpha (/src/a.c:5) (unreliable)\n"
		  "[c000000000012345] [c000000000012345] caller (/src/a.c:70)\n");
	/* One that was interrupted has made no call: the interrupt's function is not expected to be its
	 * callee. */
	check_log(" one+0x8/0x40\n </IRQ>\nRIP: 0010:caller+0x10/0x40\nCode: 1\n alpha+0x4/0x40\n",
		  " one (/src/a.c:60)\n </IRQ>\nRIP: 0010:caller (/src/a.c:70)\nCode: 1\n alpha "
		  "(/src/a.c:5)\n");
	/* The end of a report, a long way, a mention, or another head are no way to a caller. */
	check_log("RIP: 0010:one+0x8/0x40\n---[ end trace 0123 ]---\n caller+0x10/0x40\n",
		  "RIP: 0010:one (/src/a.c:60)\n---[ end trace 0123 ]---\n caller (/src/a.c:70)\n");
	check_log("BUG: KASAN: null-ptr-deref in one+0x8/0x40\n caller+0x10/0x40\n",
		  "BUG: KASAN: null-ptr-deref in one (/src/a.c:60)\n caller (/src/a.c:70)\n");
	check_log("RIP: 0010:one+0x8/0x40\nRIP: 0010:one+0x9/0x40\n caller+0x10/0x40\n",
		  "RIP: 0010:one (/src/a.c:60)\nRIP: 0010:two (/src/a.c:61)\n caller (/src/a.c:70)\n");
}

/* Processors that report at the same time. */
TEST(kernel_mixed)
{
#define A "[  1.5][   T12] "
#define B "[  1.5][    C1] "
	check_log(A "RIP: 0010:one+0x8/0x40\n" B " one+0x9/0x40\n" A "Code: 48\n" B " alpha+0x4/0x40\n" B
		    "done\nanother\n" A "Call Trace:\n" B " one+0x9/0x40\n" A " caller+0x10/0x40\n" B
		    " caller+0x10/0x40\n" A "end\n" B "end\n",
		  A "RIP: 0010:two (/src/a.c:61)\n" B " one (/src/a.c:60)\n" A "Code: 48\n" B
		    " alpha (/src/a.c:5)\n" B "done\nanother\n" A "Call Trace:\n" B " two (/src/a.c:61)\n" A
		    " caller (/src/a.c:70)\n" B " caller (/src/a.c:70)\n" A "end\n" B "end\n");
	/* Without marks they are one trace, and one() was called by alpha(). */
	check_log(" one+0x8/0x40\n alpha+0x4/0x40\n caller+0x10/0x40\n",
		  " one (/src/a.c:60)\n alpha (/src/a.c:5)\n caller (/src/a.c:70)\n");
	/* What one processor's trace ends with was not called by what another's begins with. */
	check_log(A " one+0x9/0x40\n" B " caller+0x10/0x40\n" A "end\n" B "end\n",
		  A " one (/src/a.c:60)\n" B " caller (/src/a.c:70)\n" A "end\n" B "end\n");
	check_log(A " one+0x9/0x40\n" B " one+0x9/0x40\n" A " caller+0x10/0x40\n" B " caller+0x10/0x40\n",
		  A " two (/src/a.c:61)\n" B " two (/src/a.c:61)\n" A " caller (/src/a.c:70)\n" B
		    " caller (/src/a.c:70)\n");
	struct running r;
	running_begin(&r);
	assert_int_equal(running_feed(&r, A " one+0x8/0x40\n", FILTER_MORE), 0);
	for (int i = 0; i < 200; i++)
		assert_int_equal(running_feed(&r, B "something else\n", FILTER_MORE), 0);
	assert_true(r.out.n > 0); /* of 200 lines, not all wait for the other processor */
	running_end(&r);
}
