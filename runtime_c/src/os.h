/* The system as the library sees it; os_posix.c is the only file that calls it. */
#ifndef PPT_OS_H
#define PPT_OS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "pptrt.h"

typedef pthread_mutex_t ppt_mutex;
typedef pthread_cond_t ppt_condition;
typedef pthread_t ppt_thread;

ppt_status ppt_mutex_init(ppt_mutex *mutex);
void ppt_mutex_destroy(ppt_mutex *mutex);
void ppt_mutex_lock(ppt_mutex *mutex);
void ppt_mutex_unlock(ppt_mutex *mutex);
ppt_status ppt_condition_init(ppt_condition *condition);
void ppt_condition_destroy(ppt_condition *condition);
void ppt_condition_wait(ppt_condition *condition, ppt_mutex *mutex);
void ppt_condition_wake_all(ppt_condition *condition);
ppt_status ppt_thread_start(ppt_thread *thread, void *(*run)(void *), void *user);
void ppt_thread_join(ppt_thread thread);

/* Lets another thread run on this processor. */
void ppt_thread_yield(void);

/* Nanoseconds of a clock that only goes forward. */
uint64_t ppt_clock(void);

/* Processors that this process may use, at least 1. */
uint32_t ppt_processor_count(void);

/* The number of this process, never 0. */
uint64_t ppt_process_number(void);

/* An environment variable or NULL. */
const char *ppt_environment(const char *name);

/* malloc and free with alignment, for contexts without hooks. */
void *ppt_system_allocate(size_t size, size_t alignment);
void ppt_system_release(void *memory);

/* A file that is read in pieces. */
typedef struct ppt_file {
  int descriptor;
  size_t size;
} ppt_file;

ppt_status ppt_file_open(const char *path, ppt_file *file);
ppt_status ppt_file_read(const ppt_file *file, const char *path, void *bytes);
void ppt_file_close(ppt_file *file);

/* Code that the system has loaded. `base` is what addresses of the image are relative to. */
typedef struct ppt_image {
  void *handle;
  uintptr_t base;
} ppt_image;

ppt_status ppt_image_load_file(const char *path, ppt_image *image);
ppt_status ppt_image_load_memory(const void *bytes, size_t size, ppt_image *image);
void ppt_image_unload(ppt_image *image);

#endif
