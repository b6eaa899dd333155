/*
 * sanitizer.h - whether this is a build with ASan or TSan, whose run-time needs /proc, huge reservations and
 * a standard error to report to.
 */
#ifndef GSYM_BASE_SANITIZER_H
#define GSYM_BASE_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZER 1
#endif
#endif
#ifndef SANITIZER
#define SANITIZER 0
#endif

#endif
