/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that wait: for one of several descriptors, for a moment, for threads and processes.
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>

#include "preload/osrt/interpose.h"

#undef pthread_join /* core/elf/glibc_compat.h */

typedef struct timespec timespec;

/* Returns an error number. */
#define LOCK(name, id, params, args) OS_CALL(int, name, id, params, args, NONE, ENOSYS)
#define WAIT_FOR(type, name, id, params, args)                                                     \
	OS_CALL(type, name, id, params, args, NONE, os_absent())

WAIT_FOR(int, poll, POLL, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout))
WAIT_FOR(int, ppoll, PPOLL,
	 (struct pollfd * fds, nfds_t count, const timespec *timeout, const sigset_t *mask),
	 (fds, count, timeout, mask))
WAIT_FOR(int, __poll_chk, POLL, (struct pollfd * fds, nfds_t count, int timeout, size_t room),
	 (fds, count, timeout, room))
WAIT_FOR(int, __ppoll_chk, PPOLL,
	 (struct pollfd * fds, nfds_t count, const timespec *timeout, const sigset_t *mask,
	  size_t room),
	 (fds, count, timeout, mask, room))
WAIT_FOR(int, select, SELECT, (int count, fd_set *in, fd_set *out, fd_set *odd, void *timeout),
	 (count, in, out, odd, timeout))
WAIT_FOR(int, pselect, PSELECT,
	 (int count, fd_set *in, fd_set *out, fd_set *odd, const timespec *timeout,
	  const sigset_t *mask),
	 (count, in, out, odd, timeout, mask))

OS_CALL(unsigned int, sleep, SLEEP, (unsigned int seconds), (seconds), NONE, seconds)
WAIT_FOR(int, usleep, USLEEP, (useconds_t time), (time))
WAIT_FOR(int, nanosleep, NANOSLEEP, (const timespec *time, timespec *rest), (time, rest))
LOCK(clock_nanosleep, CLOCK_NANOSLEEP,
     (clockid_t clock, int flags, const timespec *time, timespec *rest), (clock, flags, time, rest))
WAIT_FOR(int, pause, PAUSE, (void), ())

LOCK(pthread_mutex_lock, MUTEX_LOCK, (pthread_mutex_t * lock), (lock))
LOCK(pthread_mutex_timedlock, MUTEX_TIMEDLOCK, (pthread_mutex_t * lock, const timespec *until),
     (lock, until))
LOCK(pthread_mutex_clocklock, MUTEX_CLOCKLOCK,
     (pthread_mutex_t * lock, clockid_t clock, const timespec *until), (lock, clock, until))
LOCK(pthread_cond_wait, COND_WAIT, (pthread_cond_t * cond, pthread_mutex_t *lock), (cond, lock))
LOCK(pthread_cond_timedwait, COND_TIMEDWAIT,
     (pthread_cond_t * cond, pthread_mutex_t *lock, const timespec *until), (cond, lock, until))
LOCK(pthread_cond_clockwait, COND_CLOCKWAIT,
     (pthread_cond_t * cond, pthread_mutex_t *lock, clockid_t clock, const timespec *until),
     (cond, lock, clock, until))
LOCK(pthread_rwlock_rdlock, RWLOCK_RDLOCK, (pthread_rwlock_t * lock), (lock))
LOCK(pthread_rwlock_wrlock, RWLOCK_WRLOCK, (pthread_rwlock_t * lock), (lock))
LOCK(pthread_rwlock_timedrdlock, RWLOCK_TIMEDRDLOCK,
     (pthread_rwlock_t * lock, const timespec *until), (lock, until))
LOCK(pthread_rwlock_timedwrlock, RWLOCK_TIMEDWRLOCK,
     (pthread_rwlock_t * lock, const timespec *until), (lock, until))
LOCK(pthread_rwlock_clockrdlock, RWLOCK_CLOCKRDLOCK,
     (pthread_rwlock_t * lock, clockid_t clock, const timespec *until), (lock, clock, until))
LOCK(pthread_rwlock_clockwrlock, RWLOCK_CLOCKWRLOCK,
     (pthread_rwlock_t * lock, clockid_t clock, const timespec *until), (lock, clock, until))
LOCK(pthread_barrier_wait, BARRIER_WAIT, (pthread_barrier_t * barrier), (barrier))
LOCK(pthread_join, JOIN, (pthread_t thread, void **result_of), (thread, result_of))
LOCK(pthread_timedjoin_np, TIMEDJOIN, (pthread_t thread, void **result_of, const timespec *until),
     (thread, result_of, until))
LOCK(pthread_clockjoin_np, CLOCKJOIN,
     (pthread_t thread, void **result_of, clockid_t clock, const timespec *until),
     (thread, result_of, clock, until))
WAIT_FOR(int, sem_wait, SEM_WAIT, (sem_t * semaphore), (semaphore))
WAIT_FOR(int, sem_timedwait, SEM_TIMEDWAIT, (sem_t * semaphore, const timespec *until),
	 (semaphore, until))

WAIT_FOR(int, sem_clockwait, SEM_CLOCKWAIT,
	 (sem_t * semaphore, clockid_t clock, const timespec *until), (semaphore, clock, until))

WAIT_FOR(int, sigsuspend, SIGSUSPEND, (const sigset_t *mask), (mask))
LOCK(sigwait, SIGWAIT, (const sigset_t *set, int *number), (set, number))
WAIT_FOR(int, sigwaitinfo, SIGWAITINFO, (const sigset_t *set, siginfo_t *info), (set, info))
WAIT_FOR(int, sigtimedwait, SIGTIMEDWAIT,
	 (const sigset_t *set, siginfo_t *info, const timespec *timeout), (set, info, timeout))

WAIT_FOR(pid_t, wait, WAIT, (int *status), (status))
WAIT_FOR(pid_t, waitpid, WAITPID, (pid_t pid, int *status, int options), (pid, status, options))
WAIT_FOR(int, waitid, WAITID, (idtype_t type, id_t id, siginfo_t *info, int options),
	 (type, id, info, options))
WAIT_FOR(pid_t, wait3, WAIT3, (int *status, int options, void *usage), (status, options, usage))
WAIT_FOR(pid_t, wait4, WAIT4, (pid_t pid, int *status, int options, void *usage),
	 (pid, status, options, usage))
