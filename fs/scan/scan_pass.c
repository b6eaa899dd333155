#include "fs/scan/scan_pass.h"

#include <errno.h>

#include "work/os/thread.h"
#include "fs/call/call.h"
#include "fs/images/catalogue.h"
#include "fs/images/evicted.h"
#include "fs/images/last_use.h"
#include "fs/scan/index_store.h"
#include "fs/scan/recheck.h"
#include "fs/scan/remote.h"
#include "fs/scan/scan_look.h"
#include "fs/scan/scan_urgent.h"
#include "fs/scan/sweep.h"
#include "fs/sys/metrics.h"

static void finish(struct sweep *s, int err)
{
	struct scan *scan = s->scan;
	struct list woken;
	list_init(&woken);
	const struct scan_report report = {
		.err = err,
		.unknown = s->trouble    ? s->trouble
			   : scan->again ? -EIO
					 : 0,
		.hashing = s->n_hashing != 0,
	};
	/*
	 * After an incomplete walk no file counts as removed: a file server may just not respond.
	 */
	if (scan->remote)
		remote_recheck(scan->remote);
	images_scanned(scan->images, scan->pass, &report, &woken);
	calls_resume(&woken);
	images_recheck(scan->images, scan->search);
	last_use_save(scan->images, scan->cache);
	bool dropped = !err && index_sweep(&scan->index, scan->pass);
	if (!err) {
		watch_sweep(&scan->watch, scan->pass);
		skipped_sweep(scan->skipped, scan->pass);
	}
	scan->n_truncated = s->cuts.n;
	scan->n_records = scan->index.files.n;
	if (s->unsaved || dropped)
		scan_save_index(scan);
	s->unsaved = 0;
	cache_trim(scan->cache);                         /* the index takes room, too */
	images_close_evicted(scan->images, scan->cache); /* other daemons evict, too */
}

static void look_for_urgent(void *user)
{
	scan_one_urgent(user);
}

/* One that cannot be walked leaves what it has unknown, and the others are walked. */
static int walk_roots(struct sweep *s, const struct walk_visitor *visitor)
{
	const struct scan *scan = s->scan;
	int first = 0;
	if (scan->n_roots == 1)
		return walk(s->root, path_open_to_all(scan->source), visitor);
	for (size_t i = 0; i < scan->n_roots; i++) {
		int err = scan_look_root(s, scan->roots[i].below, visitor);
		if (err == -ECANCELED || err == -ECHILD || err == -ENOMEM)
			return err;
		first = first ? first : err;
	}
	return first;
}

static int walk_source(struct sweep *s)
{
	struct scan *scan = s->scan;
	int err = sweep_begin(s);
	if (err)
		return err;
	struct walk_visitor visitor = sweep_visitor(s);
	visitor.between = look_for_urgent;
	watch_cache(&scan->watch, scan->cache->dir, scan->pass);
	watch_debug_dirs(&scan->watch, scan->search, scan->n_roots, scan->pass);
	err = walk_roots(s, &visitor);
	if (err != -ECANCELED && sweep_settle(s, !err))
		err = -ENOMEM;
	return err;
}

static void count(const struct sweep *s, int err, int64_t ms)
{
	struct metrics *metrics = s->scan->metrics;
	metric_add(&metrics->scan_ms, (uint64_t)ms);
	metric_add(&metrics->scanned_files, s->n_files);
	metric_add(&metrics->scans[err ? SCAN_INCOMPLETE : SCAN_COMPLETE], 1); /* last: as in scan_look() */
}

int scan_pass(struct scan *scan)
{
	struct sweep s = {.scan = scan, .root = -1};
	int64_t start = monotonic_ms();
	scan->pass++;
	scan->again = 0;
	sweep_take_jobs(&s);
	int err = walk_source(&s);
	if (err != -ECANCELED) {
		finish(&s, err);
		count(&s, err, monotonic_ms() - start);
		log_say(scan->log, scan->pass == 1 ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG,
			"scan: %zu files in '%s', %zu with images, %zu damaged, %zu opened, %zu for their "
			"permissions, %.2f s",
			s.n_files, scan->names, s.n_images, s.n_bad, s.n_opened, s.n_permissions,
			(double)(monotonic_ms() - start) / 1000);
	}
	sweep_end(&s);
	return err ? err : s.trouble;
}
