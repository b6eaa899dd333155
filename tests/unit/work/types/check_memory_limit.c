/*
 * Whether an allocation failed for the limit of the process or not. Each test is a process of its own, and
 * takes memory from the kernel itself: what an allocator has left over would depend on what ran before.
 */
#include "work/types/memory_limit.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/work/in_child.h"
#include "tests/lib/unit.h"

#define MIB ((size_t)1 << 20)

enum { ROOM_MIB = 256 };

/* Of this process, as the kernel counts it against the limit; a sanitizer reserves terabytes. */
static uint64_t data_size(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	if (!file || fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
		_exit(100);
	fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void set_limit(void)
{
	struct rlimit l;
	getrlimit(RLIMIT_DATA, &l);
	l.rlim_cur = data_size() + ROOM_MIB * MIB;
	if (setrlimit(RLIMIT_DATA, &l))
		_exit(101);
	memory_limit_watch();
}

/* 0 if there is none. */
static int take(size_t size)
{
	void *p =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		memory_limit_note(size);
	return p != MAP_FAILED;
}

/* More than there is room for, while next to nothing is used. */
static int child_large(void)
{
	set_limit();
	return take(2 * ROOM_MIB * MIB) ? 1 : memory_limit_is_reached() ? 0 : 2;
}

/* The last of many. */
static int child_many(void)
{
	set_limit();
	for (int i = 0; i < 2 * ROOM_MIB; i++)
		if (!take(MIB))
			return memory_limit_is_reached() ? 0 : 2;
	return 1;
}

/* A library's, whose size is not known. */
static int child_unknown_size(void)
{
	set_limit();
	while (take(MIB))
		continue;
	memory_limit_note(0);
	return memory_limit_is_reached() ? 0 : 2;
}

/* What failed is far below the limit. */
static int child_machine(void)
{
	set_limit();
	if (!take(ROOM_MIB / 2 * MIB))
		return 1;
	errno = ENOMEM;
	memory_limit_note(ROOM_MIB / 4 * MIB);
	if (errno != ENOMEM)
		return 3;
	return memory_limit_is_reached() ? 2 : 0;
}

/* The last failure counts: the one before may have been survived. */
static int child_machine_after_limit(void)
{
	set_limit();
	if (take(2 * ROOM_MIB * MIB) || !memory_limit_is_reached())
		return 1;
	memory_limit_note(MIB);
	return memory_limit_is_reached() ? 2 : 0;
}

/* Sizes whose sum wraps round. */
static int child_endless(void)
{
	set_limit();
	memory_limit_note(SIZE_MAX);
	return memory_limit_is_reached() ? 0 : 2;
}

static int child_without_limit(void)
{
	memory_limit_watch();
	memory_limit_note(1024 * MIB);
	return memory_limit_is_reached() ? 2 : 0;
}

/* A command is no worker, and has no limit to reach. */
static int child_not_watched(void)
{
	memory_limit_note(SIZE_MAX);
	return memory_limit_is_reached() ? 2 : 0;
}

TEST(large)
{
	assert_int_equal(in_child(child_large), 0);
}

TEST(many)
{
	assert_int_equal(in_child(child_many), 0);
}

TEST(unknown_size)
{
	assert_int_equal(in_child(child_unknown_size), 0);
}

TEST(machine)
{
	assert_int_equal(in_child(child_machine), 0);
}

TEST(machine_after_limit)
{
	assert_int_equal(in_child(child_machine_after_limit), 0);
}

TEST(endless)
{
	assert_int_equal(in_child(child_endless), 0);
}

TEST(without_limit)
{
	assert_int_equal(in_child(child_without_limit), 0);
}

TEST(not_watched)
{
	assert_int_equal(in_child(child_not_watched), 0);
}
