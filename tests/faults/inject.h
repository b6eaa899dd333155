/*
 * inject.h - what the injected library and its driver share: a file that both map.
 *
 * The driver (injection.py) writes an order, the processes count calls and carry it out. A file mapped before
 * a process enters its sandbox needs no system call afterwards, and is the same for all processes that are
 * forked or started.
 */
#ifndef TESTS_FAULTS_INJECT_H
#define TESTS_FAULTS_INJECT_H

#include <stdatomic.h>
#include <stdint.h>

enum { INJECT_CALLS = 96, INJECT_ROLES = 8, INJECT_RECORDS = 64, INJECT_SITES = 8192, INJECT_SHORT = 1000 };

enum role {
	ROLE_OTHER,
	ROLE_COMMAND,
	ROLE_CONVERT,
	ROLE_ZYGOTE,
	ROLE_SCAN,
	ROLE_STORE,
	ROLE_DAEMON,
	ROLE_FETCH
};

/* One fault that was injected. */
struct inject_record {
	uint64_t pid;
	uint64_t role;
	uint64_t call;
	uint64_t n;      /* which occurrence it was, from 1 */
	uint64_t error;  /* errno or INJECT_SHORT */
	uint64_t site;   /* where the call returns to, from the start of @object */
	uint64_t caller; /* where its caller returns to, if both are in the program; else 0 */
	char object[80];
};

/* A place that calls, or a place and its two callers as far as they are known. */
struct inject_site {
	_Atomic uint64_t key; /* 0: free */
	_Atomic uint64_t count;
	uint64_t role;
	uint64_t call;
	uint64_t first; /* occurrence */
};

struct inject_file {
	_Atomic uint64_t armed; /* the order below is carried out */
	uint64_t role;
	uint64_t call;
	uint64_t first; /* occurrences from 1, counted since the order came */
	uint64_t last;
	uint64_t error;
	_Atomic uint64_t counting; /* sites are recorded */
	_Atomic uint64_t injected; /* records, of which the first INJECT_RECORDS are kept */
	_Atomic uint64_t seen[INJECT_ROLES][INJECT_CALLS];
	struct inject_record records[INJECT_RECORDS];
	struct inject_site sites[INJECT_SITES];
};

#endif
