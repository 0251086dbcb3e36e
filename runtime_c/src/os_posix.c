/* POSIX systems: files, code, threads, time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/* ---------------------------------------------------------------- memory and environment */

void *ppt_system_allocate(size_t size, size_t alignment) {
  void *memory = NULL;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

void ppt_system_release(void *memory) {
  free(memory);
}

const char *ppt_environment(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

/* ---------------------------------------------------------------- files */

ppt_status ppt_file_open(const char *path, ppt_file *file) {
  struct stat about;
  file->size = 0;
  file->descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (file->descriptor < 0) return ppt_fail(PPT_E_IO, "cannot open %s: %s", path, strerror(errno));
  if (fstat(file->descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
    ppt_file_close(file);
    return ppt_fail(PPT_E_IO, "%s is not a file", path);
  }
  file->size = (size_t)about.st_size;
  return PPT_OK;
}

ppt_status ppt_file_read(const ppt_file *file, const char *path, void *bytes) {
  size_t done = 0;
  while (done < file->size) {
    ssize_t part = pread(file->descriptor, (char *)bytes + done, file->size - done, (off_t)done);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return ppt_fail(PPT_E_IO, "cannot read %s: %s", path, strerror(errno));
    if (part == 0) return ppt_fail(PPT_E_IO, "%s became shorter while it was read", path);
    done += (size_t)part;
  }
  return PPT_OK;
}

void ppt_file_close(ppt_file *file) {
  if (file->descriptor >= 0) close(file->descriptor);
  file->descriptor = -1;
}

/* ---------------------------------------------------------------- code */

static ppt_status load(const char *path, ppt_image *image) {
  struct link_map *map = NULL;
  image->base = 0;
  image->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!image->handle) return ppt_fail(PPT_E_LOAD, "%s", dlerror());
  if (dlinfo(image->handle, RTLD_DI_LINKMAP, &map) != 0) {
    ppt_image_unload(image);
    return ppt_fail(PPT_E_LOAD, "the system does not say where it loaded %s", path);
  }
  image->base = (uintptr_t)map->l_addr;
  return PPT_OK;
}

ppt_status ppt_image_load_file(const char *path, ppt_image *image) {
  char full[4096]; /* a name without a folder would be searched in the system's library folders */
  if (strchr(path, '/')) return load(path, image);
  int length = snprintf(full, sizeof full, "./%s", path);
  if (length < 0 || (size_t)length >= sizeof full) return ppt_fail(PPT_E_LOAD, "the path %s is too long", path);
  return load(full, image);
}

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

static int memory_file(void) {
  int descriptor = (int)syscall(SYS_memfd_create, "pptrt", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  if (descriptor < 0 && errno == EINVAL) /* before Linux 6.3 */
    descriptor = (int)syscall(SYS_memfd_create, "pptrt", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return descriptor;
}

static bool write_all(int descriptor, const char *bytes, size_t size) {
  while (size) {
    ssize_t part = write(descriptor, bytes, size);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return false;
    bytes += part;
    size -= (size_t)part;
  }
  return true;
}

ppt_status ppt_image_load_memory(const void *bytes, size_t size, ppt_image *image) {
  char path[64];
  ppt_status status = PPT_OK;
  image->handle = NULL;
  int descriptor = memory_file();
  if (descriptor < 0) return ppt_fail(PPT_E_LOAD, "no file in memory: %s", strerror(errno));
  if (!write_all(descriptor, bytes, size) ||
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
    TRY(ppt_fail(PPT_E_LOAD, "cannot write a file in memory: %s", strerror(errno)));
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  TRY(load(path, image));
done:
  close(descriptor);
  return status;
}

void ppt_image_unload(ppt_image *image) {
  if (image->handle) dlclose(image->handle);
  image->handle = NULL;
}

/* ---------------------------------------------------------------- threads and time */

ppt_status ppt_mutex_init(ppt_mutex *mutex) {
  int error = pthread_mutex_init(mutex, NULL);
  return error ? ppt_fail(PPT_E_SYSTEM, "no mutex: %s", strerror(error)) : PPT_OK;
}

void ppt_mutex_destroy(ppt_mutex *mutex) {
  pthread_mutex_destroy(mutex);
}

void ppt_mutex_lock(ppt_mutex *mutex) {
  pthread_mutex_lock(mutex);
}

void ppt_mutex_unlock(ppt_mutex *mutex) {
  pthread_mutex_unlock(mutex);
}

ppt_status ppt_condition_init(ppt_condition *condition) {
  int error = pthread_cond_init(condition, NULL);
  return error ? ppt_fail(PPT_E_SYSTEM, "no condition variable: %s", strerror(error)) : PPT_OK;
}

void ppt_condition_destroy(ppt_condition *condition) {
  pthread_cond_destroy(condition);
}

void ppt_condition_wait(ppt_condition *condition, ppt_mutex *mutex) {
  pthread_cond_wait(condition, mutex);
}

void ppt_condition_wake_all(ppt_condition *condition) {
  pthread_cond_broadcast(condition);
}

ppt_status ppt_thread_start(ppt_thread *thread, void *(*run)(void *), void *user) {
  int error = pthread_create(thread, NULL, run, user);
  return error ? ppt_fail(PPT_E_SYSTEM, "cannot start a thread: %s", strerror(error)) : PPT_OK;
}

void ppt_thread_yield(void) {
  sched_yield();
}

void ppt_thread_join(ppt_thread thread) {
  pthread_join(thread, NULL);
}

uint64_t ppt_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint32_t ppt_processor_count(void) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return (uint32_t)CPU_COUNT(&allowed);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (uint32_t)online : 1;
}

uint64_t ppt_process_number(void) {
  return (uint64_t)getpid();
}
