#include "fs/scan/scan_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fs/scan/index.h"
#include "fs/call/call.h"
#include "fs/images/catalogue.h"
#include "fs/images/image_find.h"
#include "fs/images/image_release.h"
#include "fs/images/scan_request.h"
#include "fs/scan/recheck.h"
#include "fs/scan/remote.h"
#include "fs/scan/scan_look.h"
#include "fs/scan/sweep.h"
#include "fs/sys/metrics.h"

/* ---- What calls ask for meanwhile ---- */

/* Where SOURCE may have files by build id: it may be any of the directories down to there itself. */
static const char *const id_places[] = {
	"", ".build-id/", "debug/.build-id/", "lib/debug/.build-id/", "usr/lib/debug/.build-id/",
};

static const char *const id_suffixes[] = {".debug", ""};

static bool is_build_id(const char *id)
{
	size_t n = strlen(id);
	return n > 2 && strspn(id, "0123456789abcdef") == n;
}

static bool is_found(struct sweep *s, const char *id)
{
	struct images *images = s->scan->images;
	mutex_lock(&images->lock);
	const struct image *image = images_find(images, id);
	bool found = image && image_is_there(image);
	mutex_unlock(&images->lock);
	return found;
}

static void look_at_place(struct sweep *s, const char *root, const char *place, const char *id)
{
	for (size_t i = 0; i < ARRAY_SIZE(id_suffixes); i++) {
		char path[PATH_MAX];
		int n = snprintf(path, sizeof(path), "%s%s%s%.2s/%s%s", root, *root ? "/" : "", place, id,
				 id + 2, id_suffixes[i]);
		if (n < (int)sizeof(path))
			scan_look_aside(s, path);
	}
}

static void look_for_id(struct sweep *s, const char *id)
{
	const struct scan *scan = s->scan;
	for (size_t i = 0; is_build_id(id) && i < ARRAY_SIZE(id_places); i++) {
		for (size_t k = 0; k < scan->n_roots; k++)
			look_at_place(s, scan->roots[k].below, id_places[i], id);
		if (is_found(s, id))
			return;
	}
}

/*
 * Looks for one path or id that calls wait for, if there is any, before its turn in the walk, and resumes
 * them. One at a time, so that the walk goes on however many calls ask.
 */
static void serve_request(void *user)
{
	struct sweep *s = user;
	struct images *images = s->scan->images;
	struct scan_request request;
	struct list woken;
	if (!scan_request_any(images) || !scan_request_take(images, &request))
		return;
	if (request.path)
		scan_look_aside(s, request.path);
	else
		look_for_id(s, request.id);
	list_init(&woken);
	scan_request_done(images, &request, &woken);
	calls_resume(&woken);
	free(request.path);
}

/* ---- The walk ---- */

static void finish_pass(struct sweep *s, int err)
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
	/* After an incomplete walk no file counts as removed: a file server may just not respond. */
	if (scan->remote)
		remote_recheck(scan->remote);
	images_scanned(scan->images, scan->pass, &report, &woken);
	calls_resume(&woken);
	images_recheck(scan->images, scan->search);
	images_save_use(scan->images, scan->cache);
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
	visitor.between = serve_request;
	watch_cache(&scan->watch, scan->cache->dir, scan->pass);
	watch_debug_dirs(&scan->watch, scan->search, scan->n_roots, scan->pass);
	err = walk_roots(s, &visitor);
	if (err != -ECANCELED && sweep_settle(s, !err))
		err = -ENOMEM;
	return err;
}

/* A file system that is not mounted is an empty directory, whose scan is complete. */
static void note_images(const struct sweep *s)
{
	struct scan *scan = s->scan;
	bool emptied = !s->n_images && scan->had_images;
	scan->had_images |= s->n_images != 0;
	atomic_store(&scan->metrics->scan_completed, (int64_t)time(NULL));
	if (emptied && !atomic_exchange(&scan->metrics->source_emptied, true))
		log_warning(scan->log,
			    "scan: '%s' has no images any more: is a file system not mounted there?",
			    scan->names);
	else if (!emptied)
		atomic_store(&scan->metrics->source_emptied, false);
}

static void count_pass(const struct sweep *s, int err, int64_t ms)
{
	struct metrics *metrics = s->scan->metrics;
	metric_add(&metrics->scan_ms, (uint64_t)ms);
	metric_add(&metrics->scanned_files, s->n_files);
	if (!err)
		note_images(s);
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
		finish_pass(&s, err);
		count_pass(&s, err, monotonic_ms() - start);
		log_say(scan->log, scan->pass == 1 ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG,
			"scan: %zu files in '%s', %zu with images, %zu damaged, %zu opened, %zu for their "
			"permissions, %.2f s",
			s.n_files, scan->names, s.n_images, s.n_bad, s.n_opened, s.n_permissions,
			(double)(monotonic_ms() - start) / 1000);
	}
	sweep_end(&s);
	return err ? err : s.trouble;
}
