/*
 * budget.h - how much work and memory a part of the input may cost.
 *
 * A small file can ask for much work: many entries may share one long list, table or string. What could
 * multiply is taken from a budget proportional to the bytes of input it stands for, so that the whole takes
 * time and memory proportional to the file. A budget belongs to one unit of debug data, or one table, and
 * depends on the input alone: the result is the same for any number of threads. It has accounts, so that
 * what used up one of them takes away no more than what that is for.
 *
 * The factors are far above what the output of compilers needs: docs/design/converter.md has measurements.
 */
#ifndef CONVERT_RECORD_BUDGET_H
#define CONVERT_RECORD_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	BUDGET_WORK = 32,          /* steps of one account for each byte of input */
	BUDGET_MEMORY = 16,        /* bytes of results of one account for each byte of input */
	BUDGET_NAMES = 8,          /* bytes of names for each byte of the tables they are in */
	BUDGET_OUTPUT = 64,        /* bytes of GSYM for each byte of all files read: a last resort */
	BUDGET_ALWAYS = 16 * 1024, /* bytes of input that are added to those of the smallest file */
};

enum account {
	ACCOUNT_RECORDS, /* functions and their ranges */
	ACCOUNT_CALLS,   /* inlined calls with their ranges, call sites */
	ACCOUNT_ROWS,    /* rows, and the sequences they are searched in */
	ACCOUNT_NAMES,   /* names of functions */
	ACCOUNT_TYPES,   /* types in the template arguments of those names */
	ACCOUNT_FILES,   /* paths of files */
	ACCOUNTS,
};

/* What things cost, in steps; looking at a row, an inlined call, a call site or a symbol is one. */
enum {
	RANGE_STEPS = 8, /* an address range */
	NAME_STEP = 16,  /* so many bytes of a name or path are one step */
};

struct budget {
	struct {
		uint64_t work;   /* steps left */
		uint64_t memory; /* bytes left */
	} left[ACCOUNTS];
	uint64_t done; /* steps taken */
	bool exceeded; /* something was left out */
};

/* The budget of @input bytes. */
static inline struct budget budget_of(uint64_t input)
{
	struct budget b = {.exceeded = false};
	for (int i = 0; i < ACCOUNTS; i++) {
		b.left[i].work = input * BUDGET_WORK;
		b.left[i].memory = input * BUDGET_MEMORY;
	}
	return b;
}

/* Takes @steps. False when fewer are left: then the account is used up. */
static inline bool budget_work(struct budget *b, enum account account, uint64_t steps)
{
	uint64_t *left = &b->left[account].work;
	bool enough = steps <= *left;
	uint64_t taken = enough ? steps : *left;
	*left -= taken;
	b->done += taken;
	b->exceeded |= !enough;
	return enough;
}

/* Takes @steps that were not made, as far as they are left: work for results that had to be given up counts
 * more. */
static inline void budget_forfeit(struct budget *b, enum account account, uint64_t steps)
{
	uint64_t *left = &b->left[account].work;
	*left -= steps < *left ? steps : *left;
	b->exceeded = true;
}

/* Takes memory for @bytes of results. False when fewer are left: none is taken, and less may still fit. */
static inline bool budget_memory(struct budget *b, enum account account, uint64_t bytes)
{
	uint64_t *left = &b->left[account].memory;
	bool enough = bytes <= *left;
	*left -= enough ? bytes : 0;
	b->exceeded |= !enough;
	return enough;
}

/* Charges a text of unknown size to @account, and gives its size, at most @most; -1 when that is too much. */
static inline int64_t budget_text(struct budget *b, enum account account, const char *text, size_t most)
{
	size_t size = b->left[account].work ? strnlen(text, most) : 0;
	return budget_work(b, account, size / NAME_STEP + 1) ? (int64_t)size : -1;
}

/* ---- Names in a table of strings ---- */

/* Names may overlap in a table, and entries may share them: bytes of names left to read. */
struct name_budget {
	uint64_t left;
	bool exceeded;
};

/* That of tables of @bytes: strings, and the entries that name them. */
static inline struct name_budget name_budget_of(uint64_t bytes)
{
	return (struct name_budget){.left = bytes * BUDGET_NAMES};
}

/* The size of the name that begins at @text and ends with a NUL within @most bytes; -1 if there is none, or
 * it exceeds the budget. */
static inline int64_t name_budget_take(struct name_budget *b, const void *text, uint64_t most)
{
	uint64_t in = most < b->left ? most : b->left;
	const char *end = in ? (const char *)memchr(text, 0, in) : NULL;
	if (!end) {
		b->exceeded |= in < most;
		b->left -=
			in < most ? in : 0; /* the bytes were read: many long names cost no more than these */
		return -1;
	}
	b->left -= (uint64_t)(end - (const char *)text) + 1;
	return end - (const char *)text;
}

#endif
