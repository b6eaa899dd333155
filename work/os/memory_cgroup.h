/*
 * memory_cgroup.h - how much memory the control group of this process may use, as systemd's MemoryMax= or a
 * container sets it.
 */
#ifndef WORK_OS_MEMORY_CGROUP_H
#define WORK_OS_MEMORY_CGROUP_H

#include <stdint.h>

/*
 * The bytes that a worker may use: @wanted, but at most three quarters of what this process's control groups
 * allow all their processes together. Above that limit the kernel kills one of them; below it an allocation
 * fails, and the worker says so. @wanted where no limit can be read.
 */
uint64_t memory_cgroup_share(uint64_t wanted);

#endif
