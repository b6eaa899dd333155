/*
 * Each log format by itself: which frames it finds in a line, and what it learns from one. filter.c offers a
 * line to the formats in turn; here every line goes to one, as it is.
 */
#include "sample.h"

#include "gsym/filter/log_format.h"
#include "gsym/filter/maps/memory_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID "0102030405060708090a0b0c0d0e0f10"

/* A line, and the frames and the rest of what it says, as describe() has it. */
struct step {
	const char *line, *expected;
};

/* ---- Descriptions ---- */

static void describe_module(struct text_buf *out, const struct filter_module *m)
{
	static const char *const kinds[] = {"", " kernel"};
	text_lit(out, " of ");
	text_str(out, m->name);
	text_str(out, m->id[0] ? "=" : "");
	text_str(out, m->id);
	text_str(out, kinds[m->is_kernel]);
	text_str(out, m->release[0] ? " " : "");
	text_str(out, m->release);
	text_str(out, m->is_windows ? " windows" : "");
	text_str(out, m->is_word ? " word" : "");
	text_str(out, m->needs_shown ? " shown" : "");
}

static void describe_number(struct text_buf *out, const char *what, uint64_t value)
{
	if (!value)
		return;
	text_str(out, what);
	text_hex(out, value, 1);
}

/* "{what the answer replaces} rva 10 exact #1 of module=id" */
static void describe_frame(struct text_buf *out, const char *line, const struct log_frame *f)
{
	static const char *const spaces[] = {" link ", " rva ", " file ", " perf ", " code ", " name "};
	static const char *const kinds[] = {" exact", " return", " adjusted"};
	static const char *const styles[] = {" apple",   " kernel",    " sanitizer", " threads", " summary",
					     " android", " coredump",  " backtrace", " pc",      " symbol",
					     " ips",     " stackwalk", " minidump",  ""};
	text_char(out, '{');
	text_bytes(out, line + f->from, f->to - f->from);
	text_char(out, '}');
	if (f->from == f->to)
		text_dec(out, f->from);
	describe_number(out, " tail -", f->to - f->tail);
	text_str(out, spaces[f->space]);
	if (f->space == FRAME_NAME || f->style == STYLE_SYMBOL) {
		text_bytes(out, line + f->symbol_from, f->symbol_to - f->symbol_from);
		text_char(out, '+');
	}
	text_hex(out, f->address, 1);
	describe_number(out, "/", f->symbol_size);
	describe_number(out, " shown ", f->shown);
	describe_number(out, " mapped ", f->space == FRAME_PERF ? ~f->mapped : 0);
	describe_number(out, " size ", f->code_size);
	text_str(out, styles[f->style]);
	text_str(out, f->label_to ? " " : "");
	text_bytes(out, line + f->label_from, f->label_to - f->label_from);
	text_str(out, kinds[f->kind]);
	if (f->has_number) {
		text_lit(out, " #");
		text_dec(out, f->number);
	}
	describe_number(out, " thread ", f->thread);
	text_str(out, f->head ? " head" : "");
	text_str(out, f->apart ? " apart" : "");
	text_str(out, f->first_exact ? " first" : "");
	text_str(out, f->silent ? " silent" : "");
	text_str(out, f->unmapped ? " unmapped" : "");
	describe_module(out, &f->module);
}

/* What the line has told of a kernel. */
static void describe_context(struct text_buf *out, struct log_context *context)
{
	if (context->kernel_noted || context->kernel_booted) {
		text_str(out, context->kernel_booted ? "booted" : "noted");
		describe_module(out, &context->kernel);
	}
	if (context->kernel_range.size) {
		describe_number(out, "at ", context->kernel_range.start);
		describe_number(out, " moved by ", context->kernel_range.slide);
	}
	context->kernel_range.size = 0;
	context->kernel_noted = context->kernel_booted = false;
}

static void describe_gap(struct text_buf *out, const struct log_format *format, struct text_scan line)
{
	static const char *const gaps[] = {"ends", "inside", "head"};
	uint64_t thread;
	text_str(out, gaps[format->gap(line, &thread)]);
	describe_number(out, " of ", thread);
}

/* What kind of line it is of a report, and the frames in its list of addresses. */
static void describe_apple(struct text_buf *out, const struct log_context *context, struct text_scan line)
{
	static const char *const kinds[] = {"",          "report",    "thread", "frame",
					    "addresses", "backtrace", "images", "image"};
	struct apple_addresses addresses;
	text_str(out, kinds[apple_line_kind(line)]);
	if (!apple_addresses_parse(line, &addresses))
		return;
	text_char(out, ' ');
	text_bytes(out, addresses.title.at, scan_left(&addresses.title));
	text_char(out, '|');
	while (apple_addresses_next(&addresses, &context->apple, out))
		text_char(out, '|');
}

/* Offers the line to a format, which learns from it before it looks for frames. */
static void describe(struct text_buf *out, const struct log_format *format, struct log_context *context,
		     const char *text)
{
	/* Its own memory, so that sanitizers see what is read beside it. */
	size_t size = strlen(text);
	char *line = malloc(size + !size);
	struct log_frame frames[LINE_FRAMES_MAX];
	memcpy(line, text, size);
	const struct text_scan scan = scan_from(line, line + size);
	text_reset(out);
	if (format->note)
		assert_int_equal(format->note(context, scan), 0);
	describe_context(out, context);
	size_t n = format->find(context, scan, frames);
	for (size_t i = 0; i < n; i++) {
		text_str(out, i ? "; " : "");
		describe_frame(out, line, &frames[i]);
	}
	if (!n && !out->n && format->gap)
		describe_gap(out, format, scan);
	if (!n && format == &format_apple)
		describe_apple(out, context, scan);
	free(line);
}

/* ---- Lines ---- */

/* The Linux kernel: heads and what is beside the chain of calls, threads, modules, the kernel's identity. */
static const struct step kernel_steps[] = {
	{"RIP: 0010:f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel exact head of vmlinux kernel"},
	{"RIP  [<ffffffff81000000>] f+0x4/0x10",
	 "{f+0x4/0x10} name f+4/10 kernel exact head of vmlinux kernel"},
	{"EIP: f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel exact head of vmlinux kernel"},
	{"IP: f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel exact head of vmlinux kernel"},
	{"EIP is at f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel exact head of vmlinux kernel"},
	{"PC is at f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel exact head of vmlinux kernel"},
	{"pc : f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel exact head of vmlinux kernel"},
	{"NIP [c000000000012345] f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel exact head of vmlinux kernel"},
	{"epc : f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel exact head of vmlinux kernel"},
	{"epc   : f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel exact head of vmlinux kernel"},
	{"Krnl PSW : 07 1 (f+0x4/0x10)", "{f+0x4/0x10} name f+4/10 kernel exact head of vmlinux kernel"},
	{"WARNING: CPU: 1 PID: 1 at a.c:3 f+0x4/0x10",
	 "{f+0x4/0x10} name f+4/10 kernel exact head of vmlinux kernel"},
	{"xpc : f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return of vmlinux kernel"},
	{"\x1b[33mRIP: \x1b[0m0010:f+0x4/0x10",
	 "{f+0x4/0x10} name f+4/10 kernel exact head of vmlinux kernel"},
	{"--- interrupt: 900 at f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel exact head of vmlinux kernel"},
	{"--- interrupt: 900 that f+0x4/0x10",
	 "{f+0x4/0x10} name f+4/10 kernel return apart of vmlinux kernel"},
	{"interrupt: 900 at f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return apart of vmlinux kernel"},
	{"at f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return apart of vmlinux kernel"},
	{"LR [c000000000012345] f+0x4/0x10",
	 "{f+0x4/0x10} name f+4/10 kernel return apart of vmlinux kernel"},
	{"LR is at f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return apart of vmlinux kernel"},
	{"lr : f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return apart of vmlinux kernel"},
	{"ra : f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return apart of vmlinux kernel"},
	{"ra    : f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return apart of vmlinux kernel"},
	{"f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return of vmlinux kernel"},
	{"f+0x0/0x10", "{f+0x0/0x10} name f+0/10 kernel exact of vmlinux kernel"},
	{"f+0x10/0x10", "{f+0x10/0x10} name f+10/10 kernel return of vmlinux kernel"},
	{"f+0x11/0x10", "head"},
	{"f+0x4", "head"},
	{"f+4/0x10", "head"},
	{"f+0x4/10", "head"},
	{"1f+0x4/0x10", "head"},
	{"+0x4/0x10", "head"},
	{" __f.part.0$1+0xffff/0x10000 ",
	 "{__f.part.0$1+0xffff/0x10000} name __f.part.0$1+ffff/10000 kernel return of vmlinux kernel"},
	{"\x1b[33mf+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return of vmlinux kernel"},
	{"word [<ffffffff81000000>] f+0x4/0x10",
	 "{f+0x4/0x10} name f+4/10 kernel return apart of vmlinux kernel"},
	{"[<ffffffff81000000>] [<ffffffff81000000>] (f+0x4/0x10",
	 "{f+0x4/0x10} name f+4/10 kernel return of vmlinux kernel"},
	{"word [12345678] f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return apart of vmlinux kernel"},
	{"word [1234567] f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return of vmlinux kernel"},
	{"word [x1234567] f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return of vmlinux kernel"},
	{"word ] f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return of vmlinux kernel"},
	{"word f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return apart of vmlinux kernel"},
	{"from f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return of vmlinux kernel"},
	{"fro f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return apart of vmlinux kernel"},
	{"? f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return apart of vmlinux kernel"},
	{"?f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return of vmlinux kernel"},
	{"f+0x4/0x10 (unreliable)", "{f+0x4/0x10} name f+4/10 kernel return apart of vmlinux kernel"},
	{"[  1.5][  T12] f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return thread 1a of vmlinux kernel"},
	{"[  1.5][  C3] f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return thread 7 of vmlinux kernel"},
	{"[T0] f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return thread 2 of vmlinux kernel"},
	{"[C0] f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return thread 1 of vmlinux kernel"},
	{"[T4294967294] f+0x4/0x10",
	 "{f+0x4/0x10} name f+4/10 kernel return thread 1fffffffe of vmlinux kernel"},
	{"[T4294967295] f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return of vmlinux kernel"},
	{"[T1x] f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return of vmlinux kernel"},
	{"[X1] f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return of vmlinux kernel"},
	{"[T1 f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return apart of vmlinux kernel"},
	{"f+0x4/0x10 [T1]", "{f+0x4/0x10} name f+4/10 kernel return of T1 kernel"},
	{"f+0x4/0x10 [mod]", "{f+0x4/0x10} name f+4/10 kernel return of mod kernel"},
	{"f+0x4/0x10 [my-mod " ID "]", "{f+0x4/0x10} name f+4/10 kernel return of my-mod=" ID " kernel"},
	{"f+0x4/0x10 [mod(OE) " ID "]", "{f+0x4/0x10} name f+4/10 kernel return of mod kernel"},
	{"f+0x4/0x10 [mod xyz]", "{f+0x4/0x10} name f+4/10 kernel return of mod kernel"},
	{"f+0x4/0x10 [mod", "{f+0x4/0x10} name f+4/10 kernel return of  kernel"},
	{"f+0x4/0x10 []", "{f+0x4/0x10} name f+4/10 kernel return of  kernel"},
	{"f+0x4/0x10[mod]", "{f+0x4/0x10} name f+4/10 kernel return of vmlinux kernel"},
	{"f+0x4/0x10 g+0x8/0x20", "{f+0x4/0x10} name f+4/10 kernel return of vmlinux kernel; {g+0x8/0x20} "
				  "name g+8/20 kernel return apart of vmlinux kernel"},
	{"CPU: 3 PID: 12 Comm: cat Not tainted 6.1.0-13-amd64 #1 SMP " ID,
	 "noted of vmlinux=" ID " kernel 6.1.0-13-amd64"},
	{"f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return of vmlinux=" ID " kernel 6.1.0-13-amd64"},
	{"f+0x4/0x10 [mod]", "{f+0x4/0x10} name f+4/10 kernel return of mod kernel 6.1.0-13-amd64"},
	{"f+0x4/0x10 [", "{f+0x4/0x10} name f+4/10 kernel return of  kernel 6.1.0-13-amd64"},
	{"CPU: 3 PID: 12 Comm: cat Not tainted 6.1.0 #x #2 " ID "f", "noted of vmlinux=" ID "f kernel"},
	{"CPU: 3 PID: 12 Comm: cat Not tainted #1 102030405060708090a0b0c0d0e0f10",
	 "noted of vmlinux kernel"},
	{"CPU: 3 PID: 12 Comm: cat Not tainted v6.1 #1 x" ID, "noted of vmlinux kernel"},
	{"CPU: 3 PID: 12 Comm: cat Not tainted 6/1 #1 " ID " last", "noted of vmlinux=" ID " kernel"},
	{"CPU: 3 PID: 12 Comm: cat " ID "f " ID, "noted of vmlinux=" ID " kernel"},
	{"CPU: 3 Comm: cat 6.1.0 #1 " ID, "head"},
	{"CPU: 3 PID: 12 cat 6.1.0 #1 " ID, "head"},
	{"PU: 3 PID: 12 Comm: cat 6.1.0 #1 " ID, "head"},
	{"[    5.1] Hardware CPU: 3 PID: 12 Comm: cat CPU: 4 6.1.0 #1", "noted of vmlinux kernel 6.1.0"},
	{"Kernel Offset: 0x1c000000 from 0xffffffff81000000 (relocation range)",
	 "at ffffffff9d000000 moved by 1c000000"},
	{"Kernel Offset: disabled", "head"},
	{"Kernel Offset: 0x1 from x", "head"},
	{"Kernel Offset: 0x1 at 0x2", "head"},
	{"Kernel Offset:0x1 from 0x2", "head"},
	{"ernel Offset: 0x1 from 0x2", "head"},
	{"[0] Linux version 6.1.0-13-amd64 (x)", "booted of vmlinux kernel 6.1.0-13-amd64"},
	{"f+0x4/0x10", "{f+0x4/0x10} name f+4/10 kernel return of vmlinux kernel 6.1.0-13-amd64"},
	{"Linux version 6.2", "booted of vmlinux kernel 6.2"},
	{"Linux version x", "booted of vmlinux kernel"},
	{"Linux version ", "booted of vmlinux kernel"},
	{"Linux versio", "head"},
	{" <TASK>", "inside"},
	{"[  1.5][  T12]  </IRQ>  ", "inside of 1a"},
	{" <#DB_1>", "inside"},
	{" <task>", "head"},
	{" IRQ>", "head"},
	{" <IRQ", "head"},
	{">", "head"},
	{"</", "head"},
	{"---[ end trace 0123 ]---", "ends"},
	{"[  1.5][  C3] ---[ cut here ]---", "ends of 7"},
	{"Call Trace:", "head"},
};

/* Symbols of the kernel alone in their lines, and those of crash. */
static const struct step ksym_steps[] = {
	{"        vfs_write+203", "{vfs_write+203} name vfs_write+cb kernel return first of vmlinux kernel"},
	{" vfs_write+0xcb", "{vfs_write+0xcb} name vfs_write+cb kernel return first of vmlinux kernel"},
	{"vfs_write+203", ""},
	{"=> vfs_write+0xcb", "{vfs_write+0xcb} name vfs_write+cb kernel return first of vmlinux kernel"},
	{" => vfs_write+0xcb  ", "{vfs_write+0xcb} name vfs_write+cb kernel return first of vmlinux kernel"},
	{"=>vfs_write+0xcb", ""},
	{" a.b$c@d+1", "{a.b$c@d+1} name a.b$c@d+1 kernel return first of vmlinux kernel"},
	{" 1f+1", ""},
	{" +1", ""},
	{" f+", ""},
	{" f+0x", ""},
	{" f+1x", ""},
	{" f+1 x", ""},
	{" #5 [ffffc90000013e58] .f+16 at ffffffff81000010",
	 "{.f+16} name .f+10 kernel return #5 first of vmlinux kernel"},
	{"#0 [1234] f+0x10 at 1234 junk", "{f+0x10} name f+10 kernel return #0 first of vmlinux kernel"},
	{"#4294967295 [1234] f+16 at 1234",
	 "{f+16} name f+10 kernel return #4294967295 first of vmlinux kernel"},
	{"#4294967296 [1234] f+16 at 1234", ""},
	{"#5 [123] f+16 at 1234", ""},
	{"#5 [1234] f+16 at 123", ""},
	{"#5 [1234] f+16", ""},
	{"#5[1234] f+16 at 1234", ""},
	{"#5 [1234]f+16 at 1234", ""},
	{"5 [1234] f+16 at 1234", ""},
	{"    [exception RIP: f+16]", "{f+16} name f+10 kernel exact apart first of vmlinux kernel"},
	{"    [exception RIP: f+16] ", "{f+16} name f+10 kernel exact apart first of vmlinux kernel"},
	{"    [exception RIP: f+16] x", ""},
	{"    [exception RIP: f+16", ""},
};

/* Sanitizers, LLVM's own programs, and systemd-coredump. */
static const struct step numbered_steps[] = {
	{"    #0 0x55c8ec9c41aa  (/bin/x+0x4) (BuildId: " ID ")",
	 "{  (/bin/x+0x4) (BuildId: " ID ")} tail -39 rva 4 sanitizer exact #0 of /bin/x=" ID},
	{"    #1 0x55c8ec9c41aa  (/bin/x+0x4) (BuildId: " ID ")",
	 "{  (/bin/x+0x4) (BuildId: " ID ")} tail -39 rva 4 sanitizer adjusted #1 of /bin/x=" ID},
	{"    #1 0x55c8ec9c41aa in f(int) (/bin/x+0x4)",
	 "{ in f(int) (/bin/x+0x4)} tail -d rva 4 sanitizer adjusted #1 of /bin/x"},
	{" #1 0x000055c8ec9c41aa f(int) (/bin/x+0x4)",
	 "{ f(int) (/bin/x+0x4)} tail -d rva 4 sanitizer return #1 of /bin/x"},
	{" #1 0x1234 (/bin/x+0x4)", "{ (/bin/x+0x4)} tail -d rva 4 sanitizer return #1 of /bin/x"},
	{" #1 0x123 (/bin/x+0x4)", ""},
	{" #4294967295 0x1234 (/bin/x+0x4)",
	 "{ (/bin/x+0x4)} tail -d rva 4 sanitizer return #4294967295 of /bin/x"},
	{" #4294967296 0x1234 (/bin/x+0x4)", ""},
	{" #1 0x1234 (/bin/x:arm64+0x4)",
	 "{ (/bin/x:arm64+0x4)} tail -13 rva 4 sanitizer return #1 of /bin/x"},
	{" #1 0x1234 (/bin/x:64+0x4)", "{ (/bin/x:64+0x4)} tail -10 rva 4 sanitizer return #1 of /bin/x:64"},
	{" #1 0x1234 (:arm64+0x4)", "{ (:arm64+0x4)} tail -d rva 4 sanitizer return #1 of :arm64"},
	{" #1 0x1234 (x:+0x4)", "{ (x:+0x4)} tail -9 rva 4 sanitizer return #1 of x:"},
	{" #1 0x1234 in f() (/a (deleted)+0x4)",
	 "{ in f() (/a (deleted)+0x4)} tail -13 rva 4 sanitizer adjusted #1 of /a"},
	{" #1 0x1234 in f(a+b) (/bin/x+0x4)",
	 "{ in f(a+b) (/bin/x+0x4)} tail -d rva 4 sanitizer adjusted #1 of /bin/x"},
	{" #1 0x1234 in f (+0x4)", ""},
	{" #1 0x1234 in f (/bin/x+0x4", ""},
	{" #1 0x1234 in f(/bin/x+0x4)", ""},
	{" #1 0x1234 in f (/bin/x+4)", ""},
	{" #1 0x1234 in f (/bin/x +0x4)",
	 "{ in f (/bin/x +0x4)} tail -e rva 4 sanitizer adjusted #1 of /bin/x "},
	{" #1 0x1234 in f (/bin/x+0x4) (BuildId: xyz)",
	 "{ in f (/bin/x+0x4)} tail -d rva 4 sanitizer adjusted #1 of /bin/x"},
	{" #1 0x1234 in f (/bin/x+0x4) (BuildId: " ID,
	 "{ in f (/bin/x+0x4)} tail -d rva 4 sanitizer adjusted #1 of /bin/x"},
	{"#1 f # 2 #3 0x1234 (/bin/x+0x4)", "{ (/bin/x+0x4)} tail -d rva 4 sanitizer return #3 of /bin/x"},
	{"#0 0x00007f0000000010 n/a (x.so + 0x10)", "{n/a} rva 10 coredump exact #0 of x.so"},
	{"#1 0x00007f0000000010 f (x.so + 0x10)", "{f} rva 10 coredump return #1 of x.so"},
	{"#1 0x00007f0000000010 f a.c:3 (x.so + 0x10)", "{f a.c:3} rva 10 coredump return #1 silent of x.so"},
	{"#1 0x00007f0000000010 (x.so + 0x10)", ""},
	{"#1 0x00007f0000000010f (x.so + 0x10)", ""},
	{"#1 0x00007f0000000010 f (x.so (deleted) + 0x10)", "{f} rva 10 coredump return #1 of x.so"},
	{"Module libx.so.1 with build-id " ID, ""},
	{"#1 0x1234 f (libx.so.1 + 0x10)", "{f} rva 10 coredump return #1 of libx.so.1=" ID},
	{"Found module /lib/liby.so with build-id: " ID, ""},
	{"#1 0x1234 f (liby.so + 0x10)", "{f} rva 10 coredump return #1 of /lib/liby.so=" ID},
	{"Module libz.so from deb x-1.2 with build-id " ID, ""},
	{"#1 0x1234 f (libz.so + 0x10)", "{f} rva 10 coredump return #1 of libz.so=" ID},
	{"Module liba.so with build-id" ID, ""},
	{"Module liba.so with build-id xyz", ""},
	{"Module liba.so without build-id", ""},
	{"module with build-id " ID, ""},
	{"#1 0x1234 f (liba.so + 0x10)", "{f} rva 10 coredump return #1 of liba.so"},
	{"    #0 <null> <null> (x+0x4) (BuildId: " ID ")", "{<null> <null>} rva 4 threads exact #0 of x=" ID},
	{"    #1 f <null> (x+0x4)", "{f <null>} rva 4 threads adjusted #1 of x"},
	{"    #1 f <null> (x + 0x4)", ""},
	{"    #1 f null> (x+0x4)", ""},
	{"    #1 <null> (x+0x4)", ""},
	{"    #1 f (x+0x4)", ""},
	{"    # f <null> (x+0x4)", ""},
	{"    #1f <null> (x+0x4)", ""},
	{"SUMMARY: AddressSanitizer: stack-overflow (/bin/x+0x4) (BuildId: " ID ")",
	 "{(/bin/x+0x4) (BuildId: " ID ")} rva 4 summary exact apart of /bin/x=" ID},
	{"SUMMARY: AddressSanitizer: stack-overflow (/bin/x + 0x4)", ""},
	{"SUMMARY: AddressSanitizer: stack-overflow /a.c:3 in f", ""},
	{"SUMMARY:(/bin/x+0x4)", ""},
};

/* Frames of Android's tombstones. */
static const struct step android_steps[] = {
	{"F DEBUG   :       #00 pc 0000000000001004  /system/lib64/x.so (f+4) (BuildId: " ID ")",
	 "{ (f+4)} link 1004 android exact #0 of /system/lib64/x.so=" ID},
	{"#01 pc 00001009  /a b.apk!x.so (offset 0x1000) (BuildId: " ID ")",
	 "{}46 link 1009 android adjusted #1 of /a b.apk!x.so (offset 0x1000)=" ID},
	{"#01 pc 0x00001009  /x.so (deleted) (f+4)", "{ (f+4)} link 1009 android adjusted #1 of /x.so"},
	{"#01 pc 00001009  /x.so (deleted)", "{}32 link 1009 android adjusted #1 of /x.so"},
	{"#01 pc 00001009  /x.so (offset) (BuildId: " ID ")",
	 "{ (offset)} link 1009 android adjusted #1 of /x.so=" ID},
	{"#01 pc 0001009  /x.so", ""},
	{"#01 pc 00001009", ""},
	{"#01 pc 00001009 ", ""},
	{"#01pc 00001009  /x.so", ""},
	{"#x pc 00001009  /x.so", ""},
	{"#4294967295 pc 00001009  /x.so", "{}30 link 1009 android adjusted #4294967295 of /x.so"},
	{"#4294967296 pc 00001009  /x.so", ""},
	{"#01 pc 00001009  /x.so (BuildId: " ID, ""},
	{"#01 pc 00001009  /x.so (BuildId: xyz)", ""},
	{"#01 pc 00001009  /x.so (f a.c:3)", "{ (f a.c:3)} link 1009 android adjusted #1 silent of /x.so"},
	{"#01 # #02 pc 00001009  /x.so", "{}28 link 1009 android adjusted #2 of /x.so"},
	{"  native: pc 00001009  /x.so", "{}28 link 1009 android adjusted of /x.so"},
	{"  native:  #00 pc 00001009  /x.so", "{}33 link 1009 android exact #0 of /x.so"},
	{"  native: #01 pc 00001009  /x.so", "{}32 link 1009 android adjusted #1 of /x.so"},
	{"  native: 01 pc 00001009  /x.so", ""},
	{"pc 00001009  /x.so", ""},
};

/* Markup of Fuchsia. */
static const struct step markup_steps[] = {
	{"{{{module:0:x.so:elf:" ID "}}}", ""},
	{"{{{bt:0:0x500010}}}", ""},
	{"{{{mmap:0x500000:0x1000:load:0:rx:0x1000}}}", ""},
	{"{{{bt:0:0x500010}}}",
	 "{{{{bt:0:0x500010}}}} link 1010 shown 500010 backtrace return #0 of x.so=" ID},
	{"[1] {{{bt:1:0x500fff:pc}}} x {{{bt:2:0x500000:ra}}} {{{pc:0x500004:ra}}} {{{pc:5242884}}}",
	 "{{{{bt:1:0x500fff:pc}}}} link 1fff shown 500fff backtrace exact #1 of x.so=" ID
	 "; {{{{bt:2:0x500000:ra}}}} link 1000 shown 500000 backtrace return #2 of x.so=" ID
	 "; {{{{pc:0x500004:ra}}}} link 1004 shown 500004 pc return apart of x.so=" ID
	 "; {{{{pc:5242884}}}} link 1004 shown 500004 pc exact apart of x.so=" ID},
	{"{{{bt:3:0x501000}}} {{{bt:4:0x4fffff}}} {{{bt:4294967296:0x500010}}} {{{bt:x:0x500010}}} "
	 "{{{bt:5}}}",
	 ""},
	{"{{{bt:6:0x500010:x}}} {{{bt:4294967295:0x500010}}} {{{bt:7:0x500010x}}} {{{bt:8:}}} "
	 "{{{btx:9:0x500010}}}",
	 "{{{{bt:6:0x500010:x}}}} link 1010 shown 500010 backtrace return #6 of x.so=" ID
	 "; {{{{bt:4294967295:0x500010}}}} link 1010 shown 500010 backtrace return #4294967295 of x.so=" ID},
	{"{{{symbol:_ZN1f3oneEv}}} {{{symbol:}}} {{{symbol:a:b}}} {{{symbol}}}",
	 "{{{{symbol:_ZN1f3oneEv}}}} link _ZN1f3oneEv+0 symbol exact apart of "},
	{"{{{pc:0x500004}} {{pc:0x500004}}}", ""},
	{"{{{mmap:0x500000:0x2000:load:0:rx:0x3000}}}", ""},
	{"{{{bt:0:0x501000}}}",
	 "{{{{bt:0:0x501000}}}} link 4000 shown 501000 backtrace return #0 of x.so=" ID},
	{"{{{mmap:0x600000:0x1000:load:1:rx:0}}}", ""},
	{"{{{bt:0:0x600000}}}", ""},
	{"{{{module:1:y:elf:" ID ":more:and:more:of:it}}}", ""},
	{"{{{bt:0:0x600000}}}", "{{{{bt:0:0x600000}}}} link 0 shown 600000 backtrace return #0 of y=" ID},
	{"{{{module:1:z:elf:" ID "}}} {{{module:2:a:coff:" ID
	 "}}} {{{module:3:b:elf:xyz}}} {{{module:x:c:elf:" ID "}}} {{{module:4:d:elf}}}",
	 ""},
	{"{{{bt:0:0x600000}}}", "{{{{bt:0:0x600000}}}} link 0 shown 600000 backtrace return #0 of z=" ID},
	{"{{{mmap:0x700000:0x1000:load:2:rx:0}}} {{{mmap:0x800000:0x1000:keep:0:rx:0}}} "
	 "{{{mmap:0x900000:x:load:0:rx:0}}}",
	 ""},
	{"{{{mmap:0xa00000:0x1000:load:0:rx}}} {{{mmap:0xb00000:0x1000:load:x:rx:0}}} "
	 "{{{mmap:x:0x1000:load:0:rx:0}}}",
	 ""},
	{"{{{bt:0:0x700000}}} {{{bt:0:0x800000}}} {{{bt:0:0x900000}}} {{{bt:0:0xa00000}}} "
	 "{{{bt:0:0xb00000}}}",
	 ""},
	{"{{{reset}}}", ""},
	{"{{{bt:0:0x600000}}}", ""},
	{"{{{module:0:x.so:elf:" ID "}}}", ""},
	{"{{{bt:0:0x600000}}}", ""},
};

/* minidump_stackwalk's format for machines. */
static const struct step minidump_steps[] = {
	{"0|1|app||||0x10", "{|||0x10} tail -5 rva 10 minidump adjusted #1 of app"},
	{"0|0|app||||0x10", "{|||0x10} tail -5 rva 10 minidump adjusted #0 of app"},
	{"7|12|C:\\app.dll||||0x10", "{|||0x10} tail -5 rva 10 minidump adjusted #12 of C:\\app.dll"},
	{"0|4294967295|app||||0x10", "{|||0x10} tail -5 rva 10 minidump adjusted #4294967295 of app"},
	{"0|4294967296|app||||0x10", ""},
	{"x|1|app||||0x10", ""},
	{"0|x|app||||0x10", ""},
	{"0|1|||||0x10", ""},
	{"0|1|app|f|||0x10", ""},
	{"0|1|app||a||0x10", ""},
	{"0|1|app|||1|0x10", ""},
	{"0|1|app||||16", ""},
	{"0|1|app||||0x10x", ""},
	{"0|1|app||||0x10|", ""},
	{"0|1|app|||0x10", ""},
	{"0|1|app||||", ""},
	{"0|1x|app||||0x10", ""},
	{"Module|libx.so|1|libx.so|" ID "|0x1000|0x1fff|0", ""},
	{"0|1|libx.so||||0x10", "{|||0x10} tail -5 rva 10 minidump adjusted #1 of libx.so=" ID},
	{"Module|liby.so|1|liby.so|" ID "|0x1000|0x1fff", ""},
	{"Module|liby.so|1|liby.so|" ID "|0x1000|0x1fff|0|", ""},
	{"Module||1|liby.so|" ID "|0x1000|0x1fff|0", ""},
	{"Module|liby.so|1|liby.so|0|0x1000|0x1fff|0", ""},
	{"odule|liby.so|1|liby.so|" ID "|0x1000|0x1fff|0", ""},
	{"0|1|liby.so||||0x10", "{|||0x10} tail -5 rva 10 minidump adjusted #1 of liby.so"},
};

/* perf script. */
static const struct step perf_steps[] = {
	{"ffffffff81000010 f+0x10 ([kernel.kallsyms])", ""},
	{"\t  10 [unknown] (/opt/app)",
	 "{[unknown]} perf 10 shown 10 coredump return first of /opt/app shown"},
	{"\t  10 [unknown] (/opt/app (deleted))  ",
	 "{[unknown]} perf 10 shown 10 coredump return first of /opt/app shown"},
	{" ffffffff81000010 f+0x10 ([kernel.kallsyms])",
	 "{f+0x10} name f+10 shown ffffffff81000010 kernel return first of vmlinux kernel"},
	{" ffffffff81000010 f+0x10 ([guest.kernel.kallsyms])",
	 "{f+0x10} name f+10 shown ffffffff81000010 kernel return first of vmlinux kernel"},
	{" ffffffff81000010 f+0x10 ([ext4])",
	 "{f+0x10} name f+10 shown ffffffff81000010 kernel return first of ext4 kernel"},
	{" ffffffff81000010 f+0x10 ([ext4)", ""},
	{" ffffffff81000010 f+0x10 ([])", ""},
	{" ffffffff81000010 [unknown] ([ext4])", ""},
	{"x 1 0.1: 250 cycles:u:  10 [unknown] (/opt/app)",
	 "{[unknown]} perf 10 shown 10 coredump return first of /opt/app shown"},
	{"x 1 0.1: 250 cycles:u:10 [unknown] (/opt/app)", ""},
	{" 10 ns::f(int)+0x4 (/opt/app)",
	 "{ns::f(int)+0x4} name ns::f(int)+4 shown 10 coredump return first of /opt/app shown"},
	{" 10 ns::f(int)+4 (/opt/app)", ""},
	{" 10 f+0x4x (/opt/app)", ""},
	{" 10 +0x4 (/opt/app)", ""},
	{" 10 1f+0x4 (/opt/app)", ""},
	{" 10  f+0x4 (/opt/app)", ""},
	{" 10 f (/opt/app)", ""},
	{" 10 (/opt/app)", ""},
	{" f+0x4 (/opt/app)", ""},
	{" 10 f+0x4 (app)", ""},
	{" 10 f+0x4 ()", ""},
	{" 10 f+0x4 (//anon)", ""},
	{" 10 f+0x4 (/tmp/perf-12.map)", ""},
	{" 10 f+0x4 (/tmp/perf-x.map)",
	 "{f+0x4} name f+4 shown 10 coredump return first of /tmp/perf-x.map shown"},
	{" 10 f+0x4 (/tmp/perf-12.so)",
	 "{f+0x4} name f+4 shown 10 coredump return first of /tmp/perf-12.so shown"},
	{" 10 f+0x4(/opt/app)", ""},
	{" 10 f+0x4 (/opt/app", ""},
	{" 10 [unknown]x (/opt/app)", ""},
	{" ffffffff [unknown] (/opt/app)",
	 "{[unknown]} perf ffffffff shown ffffffff coredump return first of /opt/app shown"},
	{" 100000000 [unknown] (/opt/app)",
	 "{[unknown]} link 0 shown 100000000 coredump return first unmapped of /opt/app shown"},
	{" 7f51c0000010 [unknown] (/opt/app)",
	 "{[unknown]} link 0 shown 7f51c0000010 coredump return first unmapped of /opt/app shown"},
	{"(/opt/app)", ""},
	{")", ""},
	{" 10 x (deleted))", ""},
};

/* An id and an address. */
static const struct step plain_steps[] = {
	{"at " ID "+0x4, and", "{}39 rva 4 exact of =" ID},
	{"at " ID " 0x4", "{}39 link 4 exact of =" ID},
	{ID "+0x4", "{}36 rva 4 exact of =" ID},
	{ID, ""},
	{ID "+4", ""},
	{ID "+0x4g", ""},
	{"x " ID "+0x4 " ID "+0x8", "{}38 rva 4 exact of =" ID "; {}75 rva 8 exact of =" ID},
	{"0102030405060708+0x4", "{}20 rva 4 exact of =0102030405060708"},
	{"010203040506070+0x4", ""},
	{"010203040506070x+0x4", ""},
	{"0000000000000000+0x4", ""},
	{"01020304-0506-0708-090a-0b0c0d0e0f10+0x4", "{}40 rva 4 exact of =" ID},
	{"\x1b[1;31m" ID "+0x4", "{}43 rva 4 exact of =" ID},
	{"#1 " ID " 0x10", "{}40 link 10 return #1 of =" ID},
	{"1: " ID " 0x10", "{}40 link 10 return #1 of =" ID},
	{"0: " ID "+0x10", "{}40 rva 10 exact #0 of =" ID},
	{"3 crashes at " ID "+0x10", "{}50 rva 10 exact of =" ID},
	{"3 x " ID "+0x4 " ID "+0x8", "{}40 rva 4 exact of =" ID "; {}77 rva 8 exact of =" ID},
	{" #4294967295 " ID "+0x10", "{}50 rva 10 return #4294967295 of =" ID},
	{ID "+0x4 at a.c:3", "{}36 rva 4 exact silent of =" ID},
	{"x " ID "+0x4 " ID "+0x8 a.c:3", "{}38 rva 4 exact of =" ID "; {}75 rva 8 exact silent of =" ID},
	{"a.c:3 " ID "+0x4", "{}42 rva 4 exact of =" ID},
};

/* The event log of Windows. */
static const struct step windows_steps[] = {
	{"Fault offset: 0x10", ""},
	{"Faulting module name: a b.dll, version: 1", ""},
	{"Fault offset: 0x0010", "{}20 rva 10 exact apart of a b.dll windows"},
	{"a, Faulting module name: c.dll, version: 1, Fault offset: 0xf, x",
	 "{}61 rva f exact apart of c.dll windows"},
	{"Fault offset: 0xf", "{}17 rva f exact apart of c.dll windows"},
	{"Faulting module name: , version: 1", ""},
	{"Faulting module name: ", ""},
	{"Fault offset: 10", ""},
	{"Fault offset: 0x", ""},
	{"ault offset: 0x1", ""},
	{"Faulting module name: last", ""},
	{"Fault offset: 0x1", "{}17 rva 1 exact apart of last windows"},
};

/* Paths with link-time addresses. */
static const struct step absolute_steps[] = {
	{"/opt/app() [0x1010]", "{}19 link 1010 return of /opt/app"},
	{"/opt/app[0x1004]", "{}16 link 1004 return of /opt/app"},
	{" > /opt/app() [0x10]", "{}20 file 10 return of /opt/app"},
	{"> /opt/app[0x10]", "{}16 file 10 return of /opt/app"},
	{"x > /opt/app[0x10]", "{}18 link 10 return of /opt/app"},
	{"/opt/app() [0x1010] a.c:3", "{}19 link 1010 return silent of /opt/app"},
	{"a.c:3 /opt/app() [0x1010]", "{}25 link 1010 return of /opt/app"},
	{"/opt/app(f) [0x1010]", ""},
	{"/opt/app () [0x1010]", ""},
	{"app() [0x1010]", ""},
	{"/opt/app [0x1010]", ""},
	{"/[0x1]", "{}6 link 1 return of /"},
	{"() [0x1]", ""},
	{"[0x1]", ""},
	{"/opt/app[0x1010", ""},
	{"/opt/app[1010]", ""},
	{"/a-b+c~d@e.f_1[0x1] /x y/z[0x2]",
	 "{}19 link 1 return of /a-b+c~d@e.f_1; {}31 link 2 return of y/z"},
	{"\x1b[33m/a[0x1]", "{}12 link 1 return of /a"},
};

/* A module and an offset in other surroundings. */
static const struct step offset_steps[] = {
	{"./app(+0x1010)[0x5581f7f2a010]", "{}30 link 1010 shown 5581f7f2a010 return of ./app"},
	{"./app(f+0x10) [0x5581f7f2a010]", "{}30 name f+10 shown 5581f7f2a010 return of ./app shown"},
	{"./app(f+0x0) [0x5581f7f2a010]", "{}29 name f+0 shown 5581f7f2a010 exact of ./app shown"},
	{"./app(ns::f(int)+0x10) [0x5581f7f2a010]",
	 "{}39 name ns::f(int)+10 shown 5581f7f2a010 return of ./app shown"},
	{"./app(f+0x10)", "{}12 rva 10 return first of f word"},
	{"./app(f+0x10) [5581f7f2a010]", "{}12 rva 10 return first of f word"},
	{"./app(f+0x10) [0x1", "{}12 rva 10 return first of f word"},
	{"./app(f + 0x10) [0x1]", ""},
	{"./app(f+10) [0x1]", ""},
	{"(f+0x10) [0x1]", "{}8 rva 10 return first of f"},
	{"(f)(+0x10)[0x1]", ""},
	{"0x1 in app (+0x10)", "{}18 rva 10 return first of app windows"},
	{"0x1 in app (+0x10", ""},
	{"0x1 in app(+0x10)", ""},
	{"0x1 on app (+0x10)", ""},
	{"0x1 in  (+0x10)", ""},
	{"0x1 in 0x1 (+0x10)", ""},
	{"0x1 in app (+16)", ""},
	{" in a (+0x1)", "{}12 rva 1 return first of a windows"},
	{"in a (+0x1)", ""},
	{"=>0 0x7bc00010 f+0x10(a=1) in app (0x0032fe98)",
	 "{}33 name f+10 return first of app windows shown"},
	{"  1 0x7bc00010 f+0x0() in app (0x0032fe98)", "{}29 name f+0 exact first of app windows shown"},
	{"  1 0x7bc00010 f+0x10() [a.c:3] in app (0x0032fe98)", "{}21 rva 10 return first silent of f word"},
	{"  1 0x7bc00010 f+0x10() in app (1)", "{}21 rva 10 return first of f word"},
	{"  1 0x7bc00010 f+0x10() in app", "{}21 rva 10 return first of f word"},
	{"  1 f+0x10() in (0x1)", "{}10 rva 10 return first of f word"},
	{"f+0x10() in app (0x0032fe98)", "{}6 rva 10 return first of f word"},
	{"x12 f+0x10() in app (0x0032fe98)", "{}19 name f+10 return first of app windows shown"},
	{"(/opt/app+0x4)", "{}14 rva 4 return first of /opt/app"},
	{"x (/opt/app+0x4) (BuildId: " ID ")", "{}60 rva 4 return first of /opt/app=" ID},
	{"x (/opt/app+0x4) (BuildId: xyz)", "{}16 rva 4 return first of /opt/app"},
	{"x(/opt/app+0x4)", "{}14 rva 4 return first of /opt/app"},
	{"(/opt/app + 0x4)", "{}16 rva 4 return first of /opt/app"},
	{"(/opt/app + 16) [0x104a7bf50]", "{}29 rva 10 return first of /opt/app"},
	{"(/opt/app + 16)", ""},
	{"(/opt/app+16) [0x1]", ""},
	{"(<" ID "> + 16) [0x104a7bf50]", "{}55 rva 10 return first of =" ID},
	{"(<xyz> + 16) [0x104a7bf50]", ""},
	{"(" ID "+0x4)", "{}38 rva 4 return first of =" ID},
	{"(0x10+0x4)", ""},
	{"(0+0x4)", "{}7 rva 4 return first of 0"},
	{"(0x + 0x4)", ""},
	{"(x> + 16) [0x1]", "{}15 rva 10 return first of x>"},
	{"(<a> + 16) [0x1]", "{}16 rva 10 return first of =a"},
	{"(<> + 16) [0x1]", "{}15 rva 10 return first of <>"},
	{"[known.so+0x4]", "{}14 rva 4 return first of /lib/known.so=" ID},
	{"[/lib/known.so (deleted)+0x4]", ""},
	{"(/lib/known.so + 0x4)", "{}21 rva 4 return first of /lib/known.so=" ID},
	{"[0102030405060708+0x4]", "{}22 rva 4 return first of =0102030405060708"},
	{"[010203040506070+0x4]", "{}21 rva 4 return first of 010203040506070"},
	{"(a b + 0x4)", "{}11 rva 4 return first of a b"},
	{"(a(b)+0x4)", ""},
	{"[app+0x4]", "{}9 rva 4 return first of app"},
	{"[app+0x4", "{}8 rva 4 return first of app word"},
	{"[a b+0x4]", "{}8 rva 4 return first of b word"},
	{"[+0x4]", ""},
	{"[app +0x4]", ""},
	{"[app+4]", ""},
	{"    [" ID "]@0x5581f7f29000+0xf", "{}57 rva f adjusted of =" ID},
	{"    [app]@0x1+0xf", "{}17 rva f adjusted of app"},
	{"    [app]@1+0xf", "{}15 rva f return first of @1 word"},
	{"    [app@0x1+0xf", "{}16 rva f return first of app@0x1 word"},
	{"    app]@0x1+0xf", "{}16 rva f return first of @0x1 word"},
	{"    []@0x1+0xf", "{}14 rva f return first of @0x1 word"},
	{"]@0x1+0xf", "{}9 rva f return first of @0x1 word"},
	{"x@0x1+0xf", "{}9 rva f return first of x@0x1 word"},
	{"(in app)  load address 0x104a78000 + 0x10  [0x104a78010]", "{}56 rva 10 return first of app"},
	{"(in app)  load address 0x104a78000 + 0x10", "{}41 rva 10 return first of app"},
	{"(in app) load address 0x104a78000 + 0x10", ""},
	{"(on app)  load address 0x104a78000 + 0x10", ""},
	{"(in )  load address 0x104a78000 + 0x10", ""},
	{"(in app  load address 0x104a78000 + 0x10", ""},
	{")  load address 0x104a78000 + 0x10", ""},
	{"  load address 0x104a78000 + 0x10", ""},
	{"(in app)  load address 104a78000 + 0x10", ""},
	{"(in app)  load address 0x104a78000 + 16", ""},
	{"    frame #1: 0x0000000100000f20 app`f + 16", "{}43 name f+10 return #1 of app shown"},
	{"    frame #0: 0x0000000100000f20 app`f + 16", "{}43 name f+10 exact #0 of app shown"},
	{"    frame #1: 0x0000000100000f20 app`f + 0", "{}42 name f+0 exact #1 of app shown"},
	{"    frame #4294967295: 0x1 app`f + 16", "{}37 name f+10 return #4294967295 of app shown"},
	{"    frame #4294967296: 0x1 app`f + 16", "{}37 name f+10 return first of app shown"},
	{"    frame #x: 0x1 app`f + 16", "{}28 name f+10 return first of app shown"},
	{"app`f + 16", "{}10 name f+10 return first of app shown"},
	{"app`f+16", ""},
	{"app`___lldb_unnamed_symbol1 + 16", ""},
	{"app`a b + 16", ""},
	{"app`a(b c) + 16", "{}15 name a(b c)+10 return first of app shown"},
	{"app`a<b c> + 16", "{}15 name a<b c>+10 return first of app shown"},
	{"app`A::operator int + 16", "{}24 name A::operator int+10 return first of app shown"},
	{"app`f  + 16", ""},
	{"app` f + 16", ""},
	{"app` + 16", ""},
	{"`f + 16", ""},
	{"app`f + 0x10", ""},
	{"app!f+0x10", "{}10 name f+10 return first of app windows shown"},
	{"app!f+0x0", "{}9 name f+0 exact first of app windows shown"},
	{"app!ns::f(int)+0x10", "{}19 name ns::f(int)+10 return first of app windows shown"},
	{"app!f\tx+0x10", "{}12 rva 10 return first of x word"},
	{" 1  app!f(int) + 0x10", "{}21 name f(int)+10 adjusted #1 of app windows shown"},
	{" 0  app!f(int) + 0x10", "{}21 name f(int)+10 exact #0 of app windows shown"},
	{" 1 x app!f(int) + 0x10", ""},
	{"1app!f(int) + 0x10", ""},
	{" 1  app + 0x10", "{}14 rva 10 adjusted #1 of app"},
	{" 0  app + 0x10", "{}14 rva 10 exact #0 of app"},
	{"1  app + 0x10  ", "{}13 rva 10 adjusted #1 of app"},
	{" 1  app + 0x10 x", ""},
	{" x  app + 0x10", ""},
	{" 1 x app + 0x10", ""},
	{" 1  app + 16", ""},
	{" 4294967295  app + 0x10", "{}23 rva 10 adjusted #4294967295 of app"},
	{" 4294967296  app + 0x10", ""},
	{" 1  app+0x10", "{}12 rva 10 return first of app word"},
	{"/opt/app+0x4", "{}12 rva 4 return first of /opt/app"},
	{"/opt/app+0x4: runtime error", "{}12 rva 4 exact apart first of /opt/app"},
	{"app+0x4", "{}7 rva 4 return first of app word"},
	{"app.cold+0x4", "{}12 rva 4 return first of app.cold word"},
	{"f.part.0+0x4", "{}12 rva 4 return first of f.part.0 word"},
	{"f.constprop.1+0x4", "{}17 rva 4 return first of f.constprop.1 word"},
	{"f.isra.0+0x4", "{}12 rva 4 return first of f.isra.0 word"},
	{"f.llvm.12+0x4", "{}13 rva 4 return first of f.llvm.12 word"},
	{"f.lto_priv.0+0x4", "{}16 rva 4 return first of f.lto_priv.0 word"},
	{"x.so+0x4", "{}8 rva 4 return first of x.so"},
	{"app+0x4 /opt/app+0x8", "{}20 rva 8 return first of /opt/app"},
	{"app+0x4 word+0x8", "{}7 rva 4 return first of app word; {}16 rva 8 return first of word word"},
	{"app+0x4/0x10", ""},
	{"app+0x4.5", ""},
	{"app+0x4+0x5", "{}11 rva 5 return first of app+0x4 word"},
	{"app+0x4x", ""},
	{"app + 0x4", ""},
	{"app+4", ""},
	{"app+", ""},
	{"+0x4", ""},
	{"/opt/app+0x4 at a.c:3", "{}12 rva 4 return first silent of /opt/app"},
	{"a.c:3 /opt/app+0x4", "{}18 rva 4 return first silent of /opt/app"},
	{"a.c:3] /opt/app+0x4", "{}19 rva 4 return first of /opt/app"},
	{"a.c:3 /opt/app+0x4 /opt/app+0x8 b.c:4",
	 "{}18 rva 4 return first silent of /opt/app; {}31 rva 8 return first silent of /opt/app"},
	{"x ip 00007f51c0000010 sp 0 error 4 in app[10,7f51c0000000+1000]", "{}63 file 10 exact of app"},
	{"x ip 00007f51c0000010 sp 0 error 4 in app[7f51c0000000+1000]",
	 "{}60 code 10 size 1000 exact of app"},
	{"x ip:7f51c0000004 sp:0 error:0 in app[7f51c0000000+1000]", "{}56 code 4 size 1000 exact of app"},
	{"x ip 7f51c0000fff error 4 in app[7f51c0000000+1000]", "{}51 code fff size 1000 exact of app"},
	{"x ip 7f51c0001000 error 4 in app[7f51c0000000+1000]", ""},
	{"x ip 7f51bfffffff error 4 in app[7f51c0000000+1000]", ""},
	{"x error 4 in app[7f51c0000000+1000]", ""},
	{"x ip 7f51c0000fff error 4 on app[7f51c0000000+1000]", ""},
	{"x ip 7f51c0000fff error 4 in app[7f51c0000000+1000", ""},
	{"x ip 7f51c0000fff error 4 in app[7f51c0000000x+1000]", ""},
	{"x ip 7f51c0000fff error 4 in app[10,7f51c0000000x+1000]", ""},
	{"x ip 7f51c0000fff error 4 in app[10,+1000]", ""},
	{"x ip 7f51c0000fff error 4 in [7f51c0000000+1000]", ""},
};

/* Runtime addresses, and the lists of modules that they are resolved by. */
static const struct step address_steps[] = {
	{"#1  0x5581f7f2a010 in ?? ()", "{?? ()} link 0 shown 5581f7f2a010 coredump return #1 unmapped of "},
	{"#1  0x5581f7f2a010 in f ()", ""},
	{"0x5581f7f2a010 ???", "{???} link 0 shown 5581f7f2a010 coredump exact unmapped of "},
	{"0x5581f7f2a010: <unknown>", "{<unknown>} link 0 shown 5581f7f2a010 coredump exact unmapped of "},
	{"0x5581f7f2a010 - n/a", "{n/a} link 0 shown 5581f7f2a010 coredump exact unmapped of "},
	{"0x5581f7f2a010 (unknown)", "{(unknown)} link 0 shown 5581f7f2a010 coredump exact unmapped of "},
	{"0x5581f7f2a010 [unknown]", "{[unknown]} link 0 shown 5581f7f2a010 coredump exact unmapped of "},
	{"0x5581f7f2a010??", "{??} link 0 shown 5581f7f2a010 coredump exact unmapped of "},
	{"0x5581f7f2a010 x", ""},
	{"5581f7f2a000-5581f7f2b000 r-xp 00000000 fe:00 1 /opt/app", ""},
	{"#1  0x5581f7f2a010 in ?? ()", "{?? ()} rva 10 shown 5581f7f2a010 coredump return #1 of /opt/app"},
	{"#0  0x5581f7f2a010 in f ()", "{}18 rva 10 shown 5581f7f2a010 exact #0 of /opt/app"},
	{"#1  0x5581f7f2afff x 0x5581f7f2b000", "{}18 rva fff shown 5581f7f2afff return #1 of /opt/app"},
	{"#1  0x5581f7f29fff", ""},
	{"0x5581f7f2a010", "{}14 rva 10 shown 5581f7f2a010 exact of /opt/app"},
	{"3: 0x5581f7f2a010", "{}17 rva 10 shown 5581f7f2a010 return #3 of /opt/app"},
	{"3# 0x5581f7f2a010", "{}17 rva 10 shown 5581f7f2a010 return #3 of /opt/app"},
	{"3 0x5581f7f2a010", "{}16 rva 10 shown 5581f7f2a010 exact of /opt/app"},
	{"4294967295: 0x5581f7f2a010", "{}26 rva 10 shown 5581f7f2a010 return #4294967295 of /opt/app"},
	{"4294967296: 0x5581f7f2a010", "{}26 rva 10 shown 5581f7f2a010 exact of /opt/app"},
	{"  frame #3: 0x5581f7f2a010", "{}26 rva 10 shown 5581f7f2a010 return #3 of /opt/app"},
	{"x frame #0: 0x5581f7f2a010", "{}26 rva 10 shown 5581f7f2a010 exact #0 of /opt/app"},
	{"==1==    by 0x5581F7F2A00F: ???", "{???} rva f shown 5581f7f2a00f coredump adjusted of /opt/app"},
	{"x @ 0x5581f7f2a010 0x5581f7f2a011", "{}18 rva 10 shown 5581f7f2a010 return of /opt/app; {}33 rva "
					      "11 shown 5581f7f2a011 return of /opt/app"},
	{"a=0x5581f7f2a010 pc=0x5581f7f2a010 PC=0x5581f7f2a010 ip=0x5581f7f2a010 rip=0x5581f7f2a010 "
	 "eip=0x5581f7f2a010",
	 "{}34 rva 10 shown 5581f7f2a010 exact of /opt/app; {}52 rva 10 shown 5581f7f2a010 exact of "
	 "/opt/app; {}70 rva 10 shown 5581f7f2a010 exact of /opt/app; {}89 rva 10 shown 5581f7f2a010 exact "
	 "of /opt/app; {}108 rva 10 shown 5581f7f2a010 exact of /opt/app"},
	{"lr=0x5581f7f2a010 RIP=0x5581f7f2a010 LR=0x5581f7f2a010 xpc=0x5581f7f2a010",
	 "{}17 rva 10 shown 5581f7f2a010 exact of /opt/app; {}36 rva 10 shown 5581f7f2a010 exact of "
	 "/opt/app; {}54 rva 10 shown 5581f7f2a010 exact of /opt/app"},
	{"x0x5581f7f2a010 +0x5581f7f2a010 -0x5581f7f2a010 .0x5581f7f2a010 /0x5581f7f2a010", ""},
	{"0x5581f7f2a010x 0x5581f7f2a010+ 0x5581f7f2a010- 0x5581f7f2a010/ 0x5581f7f2a010,",
	 "{}78 rva 10 shown 5581f7f2a010 exact of /opt/app"},
	{"00005581f7f2a010 5581f7f2a010 0005581f7f2a010", "{}16 rva 10 shown 5581f7f2a010 exact of /opt/app"},
	{"0x5581f7f2a010 at a.c:3", "{}14 rva 10 shown 5581f7f2a010 exact silent of /opt/app"},
	{"1000-2000 r-xp 0 0:0 1 /a", ""},
	{"3000-4000 r-xp 0 0:0 1 /b", ""},
	{"0x1000 0x3fff 0x100 0x2000",
	 "{}6 rva 0 shown 1000 exact of /a; {}13 rva fff shown 3fff exact of /b"},
	{"0x5581f7f2a010", ""},
	{"x", ""},
	{"5000-6000 r-xp 10 0:0 1 /a", ""},
	{"0x1000 0x5004", "{}13 file 14 shown 5004 exact of /a"},
	{"x y 1 0.1: PERF_RECORD_MMAP2 1/1: [0x8000(0x1000) @ 0 fe:00 1 2]: r-xp /opt/app", ""},
	{"0x8000 0x5004", "{}13 file 14 shown 5004 exact of /a"},
	{"x", ""},
	{"5000-6000 rw-p 10 0:0 1 /a", ""},
	{"0x5004", ""},
	{"x", ""},
	{"    aa3d6000-aa3d6fff r-x         0      1000  /app (BuildId: " ID ") (load bias 0x1000)", ""},
	{"--->00000073'd2a10000-00000073'd2a10fff r-x         0      1000  /system/bin/app", ""},
	{"0xaa3d6000 0x73d2a10fff 0x73d2a11000", "{}10 rva 0 shown aa3d6000 exact of /app=" ID
						 "; {}23 rva fff shown 73d2a10fff exact of /system/bin/app"},
};

/* Crash reports of Apple's systems, and what kinds of lines they have. */
static const struct step apple_steps[] = {
	{"0   A                             0x0000000104a78010 0x104a78000 + 16", "frame"},
	{"0x104a78000 - 0x104a7ffff A arm64  <" ID "> /Applications/A", "image"},
	{"0   My App                        0x0000000104a78010 0x104a78000 + 16",
	 "{0x104a78000 + 16} rva 10 apple My App exact #0 of A=" ID},
	{"1   My App                      \t0x0000000104a78010 f + 16",
	 "{f + 16} rva 10 apple My App return #1 of A=" ID},
	{"1   A 0x104a7ffff f + 1", "{f + 1} rva 7fff apple A return #1 of A=" ID},
	{"1   A 0x104a80000 f + 1", "frame"},
	{"1   A 0x104a77fff f + 1", "frame"},
	{"> 1   A 0x104a78010 f + 1", "{f + 1} rva 10 apple A return #1 of A=" ID},
	{"4294967295 A 0x104a78010 f + 1", "{f + 1} rva 10 apple A return #4294967295 of A=" ID},
	{"4294967296 A 0x104a78010 f + 1", "frame"},
	{"1   0x104a78010 f + 1", ""},
	{"1   A 0x104a78010 f", "frame"},
	{"1   A0x104a78010 f + 1", ""},
	{"1   A 0x1 0x104a78010 f + 1", "{f + 1} rva 10 apple A 0x1 return #1 of A=" ID},
	{"A   0x104a78010 f + 1", ""},
	{"1A  0x104a78010 f + 1", ""},
	{"0x200000000 - 0x200000fff +B <" ID "> /B", "image"},
	{"1   B 0x200000fff f + 1", "{f + 1} rva fff apple B return #1 of B=" ID},
	{"0x300000000 - 0x300000fff C <xyz> /C", ""},
	{"0x300000000 - 0x2ffffffff C <" ID "> /C", ""},
	{"0x300000000 -0x300000fff C <" ID "> /C", "image"},
	{"0x300000000 0x300000fff C <" ID "> /C", ""},
	{"0x300000000 - 0x300000fff C " ID " /C", ""},
	{"0x300000000 - 0x300000fff C <" ID " /C", ""},
	{"300000000 - 0x300000fff C <" ID "> /C", "frame"},
	{"1   C 0x300000010 f + 1", "{f + 1} rva 10 apple C return #1 of C=" ID},
	{"0x400000000 - 0x400000000 D <" ID "> /D", "image"},
	{"1   D 0x400000000 f + 1", "{f + 1} rva 0 apple D return #1 of D=" ID},
	{"1   D 0x400000001 f + 1", "frame"},
	{"0x500000000 - 0x500000fff <" ID "> /E", "image"},
	{"0x500000000 - 0x500000fff ", ""},
	{"1   E 0x500000000 f + 1", "{f + 1} rva 0 apple E return #1 of =" ID},
	{"Thread 0 Crashed:", "thread"},
	{"> Thread 12:", "thread"},
	{"Thread :", ""},
	{"Thread x", ""},
	{"Threads 1", ""},
	{"Process:  x [1]", "report"},
	{"Incident Identifier: X", "report"},
	{"Binary Images:", "images"},
	{"> Binary Images", "images"},
	{"Binary Images of", "images"},
	{"Binary Imagesx", ""},
	{"Last Exception Backtrace:", "thread"},
	{"libBacktraceRecording", "thread"},
	{"Last Exception Backtrace: (0x104a78010 0x1b0000010)",
	 "backtrace Last Exception Backtrace:|0   A                              0x0000000104a78010 "
	 "0x104a78000 + 16|1   ???                            0x00000001b0000010 0x0 + 7247757328|"},
	{"> (0x104a78010 0x1b0000010)",
	 "addresses |> 0   A                              0x0000000104a78010 0x104a78000 + 16|> 1   ???      "
	 "                      0x00000001b0000010 0x0 + 7247757328|"},
	{"  ( 0x104a78010\t0x1b0000010 )",
	 "addresses |  0   A                              0x0000000104a78010 0x104a78000 + 16|  1   ???      "
	 "                      0x00000001b0000010 0x0 + 7247757328|"},
	{"(0x104a78010)",
	 "addresses |0   A                              0x0000000104a78010 0x104a78000 + 16|"},
	{"(0x4a78010)", ""},
	{"()", ""},
	{"(0x104a78010 x)", ""},
	{"(0x104a78010 0x104a7801x)", ""},
	{"see (0x104a78010)", ""},
	{"(0x104a78010", ""},
	{"0   ???                           000000000000000000 0 + 0", "frame"},
	{"0   <unknown binary> 0x0000000102ad0718 ???", "frame"},
	{"0   ??? 1234567", ""},
	{"0   12345678", ""},
	{"0 x", ""},
	{"x 0 y 12345678", ""},
};

static const struct {
	const struct log_format *format;
	const struct step *steps;
	size_t n;
} logs[] = {
	{&format_kernel, kernel_steps, ARRAY_SIZE(kernel_steps)},
	{&format_ksym, ksym_steps, ARRAY_SIZE(ksym_steps)},
	{&format_numbered, numbered_steps, ARRAY_SIZE(numbered_steps)},
	{&format_android, android_steps, ARRAY_SIZE(android_steps)},
	{&format_markup, markup_steps, ARRAY_SIZE(markup_steps)},
	{&format_minidump, minidump_steps, ARRAY_SIZE(minidump_steps)},
	{&format_perf, perf_steps, ARRAY_SIZE(perf_steps)},
	{&format_plain, plain_steps, ARRAY_SIZE(plain_steps)},
	{&format_windows, windows_steps, ARRAY_SIZE(windows_steps)},
	{&format_absolute, absolute_steps, ARRAY_SIZE(absolute_steps)},
	{&format_offset, offset_steps, ARRAY_SIZE(offset_steps)},
	{&format_address, address_steps, ARRAY_SIZE(address_steps)},
	{&format_apple, apple_steps, ARRAY_SIZE(apple_steps)},
};

/* A context with empty maps, one module that a log has declared, and all marks. */
struct places {
	struct log_context context;
	struct memory_map mapped, events, given;
};

static void places_init(struct places *p)
{
	memset(p, 0, sizeof(*p));
	p->context.mapped = &p->mapped;
	p->context.events = &p->events;
	p->context.given = &p->given;
	p->context.marks = ~0U;
	p->context.in_report = true;
	const struct log_module known = {.is = {.name = "/lib/known.so", .id = ID}};
	assert_int_equal(modules_add(&p->context.named, &known, false), 0);
}

static void places_deinit(struct places *p)
{
	log_context_deinit(&p->context);
	memory_map_deinit(&p->mapped);
	memory_map_deinit(&p->events);
	memory_map_deinit(&p->given);
}

static void lines(void **state)
{
	(void)state;
	struct text_buf out = {0};
	for (size_t i = 0; i < ARRAY_SIZE(logs); i++) {
		struct places p;
		places_init(&p);
		for (size_t k = 0; k < logs[i].n; k++) {
			describe(&out, logs[i].format, &p.context, logs[i].steps[k].line);
			text_char(&out, '\0');
			if (strcmp(out.v, logs[i].steps[k].expected) != 0)
				print_error("%s\n", logs[i].steps[k].line);
			assert_string_equal(out.v, logs[i].steps[k].expected);
		}
		places_deinit(&p);
	}
	text_deinit(&out);
}

/* Pieces of lines that are a frame each, as often as a line may have any. */
static void many_frames(void **state)
{
	(void)state;
	static const struct {
		const struct log_format *format;
		const char *piece;
	} pieces[] = {
		{&format_kernel, " f+0x4/0x10"}, {&format_markup, "{{{symbol:f}}}"},
		{&format_plain, ID "+0x4 "},     {&format_absolute, "/a[0x1] "},
		{&format_offset, "[a+0x4] "},    {&format_address, "0x12345678 ?? "},
	};
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		static char line[LINE_FRAMES_MAX * 64];
		struct log_frame frames[LINE_FRAMES_MAX];
		struct places p;
		places_init(&p);
		line[0] = 0;
		for (size_t n = 1; n <= LINE_FRAMES_MAX + 1; n++) {
			strcat(line, pieces[i].piece);
			const struct text_scan scan = scan_from(line, line + strlen(line));
			size_t found = pieces[i].format->find(&p.context, scan, frames);
			assert_int_equal(found, n < LINE_FRAMES_MAX ? n : LINE_FRAMES_MAX);
		}
		places_deinit(&p);
	}
}

/* Symbols of just the longest size, where formats take any. */
static void long_symbols(void **state)
{
	(void)state;
	static const struct {
		const struct log_format *format;
		const char *head, *tail;
		int longest;
	} symbols[] = {
		{&format_kernel, " ", "+0x4/0x10", FILTER_SYMBOL_SIZE - 1},
		{&format_ksym, " ", "+4", FILTER_SYMBOL_SIZE - 1},
		{&format_perf, " 10 ", "+0x4 (/opt/app)", FILTER_SYMBOL_SIZE - 1},
		{&format_offset, "/app(", "+0x4) [0x1]", FILTER_SYMBOL_SIZE - 2},
		{&format_offset, "app!", "+0x4", FILTER_SYMBOL_SIZE - 1},
		{&format_offset, "app`", " + 4", FILTER_SYMBOL_SIZE - 1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		for (int size = FILTER_SYMBOL_SIZE - 3; size <= FILTER_SYMBOL_SIZE; size++) {
			static char name[FILTER_SYMBOL_SIZE + 1], line[2 * FILTER_SYMBOL_SIZE];
			struct log_frame frames[LINE_FRAMES_MAX];
			struct places p;
			places_init(&p);
			memset(name, 'f', sizeof(name) - 1);
			int n = snprintf(line, sizeof(line), "%s%.*s%s", symbols[i].head, size, name,
					 symbols[i].tail);
			bool found = symbols[i].format->find(&p.context, scan_from(line, line + n), frames) &&
				     frames[0].space == FRAME_NAME;
			assert_int_equal(found, size <= symbols[i].longest);
			assert_true(!found || (int)(frames[0].symbol_to - frames[0].symbol_from) == size);
			places_deinit(&p);
		}
	}
}

/* The bytes that a name or path cannot have before an offset. */
static void ends_of_names(void **state)
{
	(void)state;
	static const char ends[] = "()[]{}<>|,;=:`\"!*'?\x7f";
	for (int c = 1; c <= UINT8_MAX; c++) {
		const char text[] = {'x', (char)c, '/', 'b', '+', '0', 'x', '4'};
		struct log_frame frames[LINE_FRAMES_MAX];
		struct places p;
		places_init(&p);
		assert_int_equal(format_offset.find(&p.context, scan_from(text, text + sizeof(text)), frames),
				 1);
		const struct filter_module *m = &frames[0].module;
		if (c == '!') /* a symbol follows */
			assert_string_equal(m->name, "x");
		else if (c <= ' ' || strchr(ends, c))
			assert_string_equal(m->name, "/b");
		else
			assert_memory_equal(m->name, text, 4);
		assert_int_equal(strlen(m->name), c == '!' ? 1 : c <= ' ' || strchr(ends, c) ? 2 : 4);
		places_deinit(&p);
	}
}

/* ---- Names and ids of modules ---- */

static void names(void **state)
{
	(void)state;
	char text[FILTER_NAME_SIZE + 20], want[FILTER_NAME_SIZE];
	for (size_t size = FILTER_NAME_SIZE - 2; size <= FILTER_NAME_SIZE + 1; size++) {
		struct filter_module module = {.id = ""};
		size_t kept = size < FILTER_NAME_SIZE ? size : FILTER_NAME_SIZE - 1;
		memset(text, 'a', size);
		text[size - kept] = 'b';
		strcpy(text + size, " (deleted)");
		memset(want, 'a', kept);
		want[0] = 'b';
		want[kept] = 0;
		module_set_name(&module, text, text + size);
		assert_string_equal(module.name, want);
		module_set_name(&module, text, text + size + strlen(" (deleted)"));
		assert_string_equal(module.name, want);
	}
	struct filter_module module = {.id = ""};
	static const char deleted[] = " (deleted)";
	module_set_name(&module, deleted, deleted + strlen(deleted));
	assert_string_equal(module.name, deleted);
}

static void ids(void **state)
{
	(void)state;
	static const char *const texts[][2] = {
		{"0A-b{", ""},   {"0A-b", "0ab"}, {"{0A-B}", "0ab"},      {"{0", ""},    {"0}", ""},
		{"{}", ""},      {"-0a", ""},     {"xxh3-0A", "xxh3-0a"}, {"xxh3-", ""}, {"xxh3--0a", ""},
		{"xxh3-00", ""}, {"0000", ""},    {"0001", "0001"},       {"g", ""},     {"", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct filter_module module = {.id = "before"};
		const char *text = texts[i][0];
		assert_int_equal(filter_module_set_id(&module, text, strlen(text)), *texts[i][1] != 0);
		assert_string_equal(module.id, texts[i][1]);
	}
	char digits[FILTER_ID_SIZE + 1];
	memset(digits, '1', sizeof(digits));
	struct filter_module module = {.id = "before"};
	assert_true(filter_module_set_id(&module, digits, FILTER_ID_SIZE - 1));
	assert_int_equal(strlen(module.id), FILTER_ID_SIZE - 1);
	assert_false(filter_module_set_id(&module, digits, FILTER_ID_SIZE));
	assert_string_equal(module.id, "");
}

static const struct log_module *by_name(const struct log_modules *modules, const char *name)
{
	return modules_by_name(modules, name, name + strlen(name));
}

/* A list of modules that were declared. */
static void modules(void **state)
{
	(void)state;
	struct log_modules all = {.list = {NULL}};
	struct log_module m = {.is.name = "/lib/x.so", .key = 1, .start = 0x1000, .size = 0x10};
	assert_int_equal(modules_add(&all, &m, false), 0);
	m = (struct log_module){.is.name = "y.so", .key = 2, .start = 0x2000, .size = UINT64_MAX};
	assert_int_equal(modules_add(&all, &m, false), 0);
	assert_int_equal(all.list.n, 2);
	/* Of one name, or one key, the last counts. */
	m.key = 3;
	m.start = 0x3000;
	assert_int_equal(modules_add(&all, &m, false), 0);
	assert_int_equal(all.list.n, 2);
	assert_null(modules_by_key(&all, 2));
	assert_ptr_equal(modules_by_key(&all, 3), &all.list.v[1]);
	m = (struct log_module){.is.name = "x.so", .key = 1, .start = 0x1000, .size = 0x10};
	assert_int_equal(modules_add(&all, &m, true), 0);
	assert_int_equal(all.list.n, 2);
	assert_ptr_equal(modules_by_key(&all, 1), &all.list.v[0]);
	assert_string_equal(all.list.v[0].is.name, "x.so");
	assert_int_equal(all.list.v[0].name_size, 4);
	assert_ptr_equal(modules_by_address(&all, 0x1000), &all.list.v[0]);
	assert_ptr_equal(modules_by_address(&all, 0x100f), &all.list.v[0]);
	assert_ptr_equal(modules_by_address(&all, 0x1010), &all.list.v[1]);
	assert_null(modules_by_address(&all, 0x2fff));
	m = (struct log_module){.is.name = "/usr/lib/x.so", .key = 4};
	assert_int_equal(modules_add(&all, &m, true), 0);
	assert_ptr_equal(by_name(&all, "x.so"), &all.list.v[2]);
	assert_ptr_equal(by_name(&all, "lib/x.so"), &all.list.v[2]);
	assert_ptr_equal(by_name(&all, "/usr/lib/x.so (deleted)"), &all.list.v[2]);
	assert_ptr_equal(by_name(&all, "y.so"), &all.list.v[1]);
	assert_null(by_name(&all, ".so"));
	assert_null(by_name(&all, "b/x.so"));
	assert_null(by_name(&all, "//usr/lib/x.so"));
	/* There is an end to it. */
	for (uint64_t key = 4; key < MODULES_MAX + 10; key++) {
		m.key = key;
		assert_int_equal(modules_add(&all, &m, true), 0);
	}
	assert_int_equal(all.list.n, MODULES_MAX);
	vec_free(&all.list);
}

/* The memory of what lines have told is counted. */
static void memory(void **state)
{
	(void)state;
	struct log_context context = {.in_report = false};
	context.apple.list.cap = 1;
	context.named.list.cap = 10;
	context.markup.list.cap = 100;
	context.mappings.cap = 1000;
	assert_int_equal(log_context_memory(&context),
			 111 * sizeof(struct log_module) + 1000 * sizeof(struct log_mapping));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),        cmocka_unit_test(many_frames),
		cmocka_unit_test(long_symbols), cmocka_unit_test(ends_of_names),
		cmocka_unit_test(names),        cmocka_unit_test(ids),
		cmocka_unit_test(modules),      cmocka_unit_test(memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
