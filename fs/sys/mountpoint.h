/*
 * mountpoint.h - prepares the mount point, and notifies the service manager.
 */
#ifndef FS_SYS_MOUNTPOINT_H
#define FS_SYS_MOUNTPOINT_H

#include "gsym/gsym.h"
#include "work/os/log.h"

/*
 * Detaches mounts whose daemon died ("Transport endpoint is not connected") from @path, then checks that it
 * is a directory and stores its absolute path, the caller's to free, also on failure. 0; -EBUSY if gsymfs is
 * mounted there already; or another negative errno.
 */
int mountpoint_prepare(const char *path, const struct log *log, char **ret, struct gsym_diag *diag);

/*
 * Detaches the mounts at @path whose daemon died or whose connection was aborted: their number, or a negative
 * errno. May not be called while the daemon at @path is this process, and serves: it is asked.
 */
int mountpoint_detach_dead(const char *path);

/* Tells systemd, if it started us with Type=notify; @state as in sd_notify(3). */
void service_notify(const char *state);

#endif
