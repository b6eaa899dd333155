/*
 * shown_match.h - the function that a log calls by a demangled name, "ns::work(int)+0x12", as perf, LLDB and
 * WinDbg do. Names are compared as answers show them, else without result and parameters, as WinDbg has them.
 */
#ifndef LOG_ENGINE_SHOWN_MATCH_H
#define LOG_ENGINE_SHOWN_MATCH_H

#include "log/line/filter_types.h"
#include "log/engine/symbol_match.h"

/*
 * Finds the only function of that name that the offset is inside. 0; -ENOENT: none; -ENOTUNIQ: several;
 * -ENOMEM.
 */
int shown_match(const struct filter_image *image, const struct kernel_symbol *symbol,
		struct symbol_match *ret);

#endif
