/*
 * mutex.h - mutexes whose rules are checked: by clang's thread-safety analysis when it compiles, and by
 * assertions in debug and sanitizer builds when the program runs.
 *
 * A field names its mutex with GUARDED_BY(&lock); a function names those that its caller holds with
 * REQUIRES(&x->lock), and those that its caller must not hold with EXCLUDES(&x->lock). Other compilers see
 * plain pthread mutexes.
 *
 * Every struct mutex has a rank, see enum lock_rank: the lock order of the daemon. A thread may lock one only
 * while all that it holds rank lower. In release builds ranks take no space and nothing is checked.
 *
 * Plain pthread mutexes, without a rank, are those of split.c and unit_stream.c, which may not include this
 * header, and of http_exchange.c. While one of them is held no struct mutex is locked but LOCK_ASK: split.c
 * opens a package, for which a worker asks its client.
 */
#ifndef WORK_OS_MUTEX_H
#define WORK_OS_MUTEX_H

#include <pthread.h>
#include <stdint.h>

#ifdef __clang__
#define THREAD_SAFETY(x) __attribute__((x))
#else
#define THREAD_SAFETY(x)
#endif

#define CAPABILITY(name)  THREAD_SAFETY(capability(name))
#define REQUIRES(...)     THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define EXCLUDES(...)     THREAD_SAFETY(locks_excluded(__VA_ARGS__))
#define ACQUIRES(...)     THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define RELEASES(...)     THREAD_SAFETY(release_capability(__VA_ARGS__))
#define ASSERTS_HELD(...) THREAD_SAFETY(assert_capability(__VA_ARGS__))
#define NOT_ANALYZED      THREAD_SAFETY(no_thread_safety_analysis)

/* Older versions do not resolve the name of a sibling in a C struct. */
#if defined(__clang__) && __clang_major__ >= 22
#define GUARDED_BY(lock) __attribute__((guarded_by(lock)))
#else
#define GUARDED_BY(lock)
#endif

/*
 * The lock order. A mutex of one rank is never locked by a thread that holds one of the same or a higher
 * rank. libfuse's own lock of a request ranks lowest: it is held while libfuse calls an interrupt function
 * (call.c).
 */
enum lock_rank {
	LOCK_ZYGOTE, /* work/run: the process that forks workers */
	LOCK_FETCH,  /* work/run: the state of debuginfod's servers */
	LOCK_SHARE,  /* work/run: what is to be given to a shared store, and leases of it */
	LOCK_ASK,    /* gsym worker: one question to the client at a time */
	LOCK_TABLE,  /* fs/answer: one open table, which may look at its revision */
	LOCK_IMAGES, /* fs/images: images, revisions, parked calls; not held over a blocking system call */
	LOCK_STREAM, /* fs/answer: the buffers of one open q or log */
	LOCK_NODES,  /* fs/name: inodes of addresses */
	LOCK_OPEN_FILES, /* fs/tree: the list of open files */
	LOCK_HASH_LANE,  /* fs/scan: files to be hashed, and what came of them */
	LOCK_SKIPPED,    /* fs/scan: files that hold no known image */
	LOCK_ACCOUNT,    /* fs/answer: memory charged to users */
	LOCK_STORE,      /* store/client: requests; in the process that transfers, those that it serves */
	LOCK_SWIFT,      /* work/swift: the process for Swift's names, locked by who shows one */
	LOCK_RANKS,
};

struct CAPABILITY("mutex") mutex {
	pthread_mutex_t pthread;
#ifndef NDEBUG
	enum lock_rank rank;
	pthread_t holder; /* valid while held */
	_Bool held;       /* written by the holder alone */
#endif
};

/* Never fails: glibc's default mutexes allocate nothing. */
void mutex_init(struct mutex *mutex, enum lock_rank rank);
void mutex_destroy(struct mutex *mutex);

#ifdef NDEBUG

static inline void mutex_lock(struct mutex *mutex) ACQUIRES(mutex) NOT_ANALYZED
{
	pthread_mutex_lock(&mutex->pthread);
}

static inline void mutex_unlock(struct mutex *mutex) RELEASES(mutex) NOT_ANALYZED
{
	pthread_mutex_unlock(&mutex->pthread);
}

static inline void mutex_assert_held(const struct mutex *mutex) ASSERTS_HELD(mutex)
{
	(void)mutex;
}

#else

void mutex_lock(struct mutex *mutex) ACQUIRES(mutex);
void mutex_unlock(struct mutex *mutex) RELEASES(mutex);

/* Aborts unless the calling thread holds @mutex. */
void mutex_assert_held(const struct mutex *mutex) ASSERTS_HELD(mutex);

#endif

/* pthread_cond_wait(3) and pthread_cond_timedwait(3): 0 or ETIMEDOUT. */
void mutex_wait(struct mutex *mutex, pthread_cond_t *cond) REQUIRES(mutex);
int mutex_wait_until(struct mutex *mutex, pthread_cond_t *cond, const struct timespec *until) REQUIRES(mutex);

#endif
