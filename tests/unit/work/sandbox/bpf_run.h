/* bpf_run.h - runs the program of a seccomp filter: classic BPF, as far as libseccomp writes it. */
#ifndef TESTS_UNIT_CONVERT_BPF_RUN_H
#define TESTS_UNIT_CONVERT_BPF_RUN_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>

#include "tests/lib/unit.h"

/* One word of @data: the halves of a 64-bit field lie in the byte order of the machine. */
static inline uint32_t bpf_load(const struct seccomp_data *data, bool big, uint32_t at)
{
	if (at == offsetof(struct seccomp_data, nr))
		return (uint32_t)data->nr;
	if (at == offsetof(struct seccomp_data, arch))
		return data->arch;
	assert_in_range(at, offsetof(struct seccomp_data, args), sizeof(*data) - 4);
	uint64_t value = data->args[(at - offsetof(struct seccomp_data, args)) / 8];
	bool is_first = at % 8 == 0;
	return (uint32_t)(is_first == big ? value >> 32 : value);
}

static inline bool bpf_jumps(const struct sock_filter *s, uint32_t a)
{
	switch (BPF_OP(s->code)) {
	case BPF_JEQ: return a == s->k;
	case BPF_JGT: return a > s->k;
	case BPF_JGE: return a >= s->k;
	case BPF_JSET: return a & s->k;
	default: fail_msg("a jump of kind %#x", s->code); return false;
	}
}

/* What the @n instructions at @code decide about the system call @data. @big: byte order of its machine. */
static inline uint32_t bpf_run(const struct sock_filter *code, size_t n, bool big,
			       const struct seccomp_data *data)
{
	uint32_t a = 0;
	for (size_t i = 0; i < n; i++) {
		const struct sock_filter *s = &code[i];
		if (s->code == (BPF_RET | BPF_K))
			return s->k;
		if (s->code == (BPF_LD | BPF_W | BPF_ABS))
			a = bpf_load(data, big, s->k);
		else if (s->code == (BPF_ALU | BPF_AND | BPF_K))
			a &= s->k;
		else if (s->code == (BPF_JMP | BPF_JA))
			i += s->k;
		else if (BPF_CLASS(s->code) == BPF_JMP)
			i += bpf_jumps(s, a) ? s->jt : s->jf;
		else
			fail_msg("instruction %zu has code %#x", i, s->code);
	}
	fail_msg("the program ends without a decision");
	return 0;
}

#endif
