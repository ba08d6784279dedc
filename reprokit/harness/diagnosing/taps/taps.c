/* Counts by calling shared object what no seed governs: entropy, clocks, threads, locks. Holds it where that is
 * asked for, and disturbs the order of threads and processes where that is asked for.
 *
 * Preloaded by `reprokit diagnose` and `--stress`. A process shows that this was loaded by a file in $REPROKIT_TAPS,
 * which is its table of counters; see `seen.py` and `inside/reprokit_taps.py` for the readers. $REPROKIT_TAPS_HOLD
 * names what is held: "entropy" (a keyed stream for each thread and object), "clock" (one that goes on by a
 * microsecond each time it is read), "threads" (each has ended before the next one starts), "locks" (threads begin
 * together and take mutexes in turn), "alone" (none is started: who asks for one is told that there is no room).
 * Python's own code is never held. $REPROKIT_TAPS_STRESS is a seed, how seldom
 * and how long: it delays threads, locks and processes, those of Python too.
 */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define OBJECTS 128
#define MOST_PROCESSES 10000
#define CALLER __builtin_return_address(0)
#define ADD(counter, amount) __atomic_fetch_add(&(counter), (amount), __ATOMIC_RELAXED)
#define GET(counter) __atomic_load_n(&(counter), __ATOMIC_ACQUIRE)
#define SET(counter, value) __atomic_store_n(&(counter), (value), __ATOMIC_RELEASE)
/* The function that would have been called without this library. */
#define REAL(name)                                                      \
    ({                                                                  \
        static __typeof__(&name) found;                                 \
        if (!found) found = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
        found;                                                          \
    })

/* What the readers know of it: 256 bytes for the process, then 256 for each object. */
struct object {
    char path[192];
    uint64_t is_python, draws, bytes, clocks, threads, locks, order, spare;
};
struct table {
    char magic[8];
    uint64_t pid, began_ns, was_forked, objects, alive, peak, late, holds, delays, delayed_ns, gave_up, spare[20];
    struct object of[OBJECTS];
};
enum { ENTROPY = 1, CLOCK = 2, THREADS = 4, LOCKS = 8, ALONE = 16 };

/* What a thread is called in every run, and how far its streams are. */
static __thread struct {
    uint64_t name, children, drawn[OBJECTS], read[OBJECTS];
    void *caller;  /* of the standard library of C++, which asks in its place */
    int is_within; /* a call that is counted already */
    uint64_t chance;   /* of the delays */
    struct turn *turn; /* where it takes locks in turn */
} own __attribute__((tls_model("initial-exec")));

static struct table *table;
static char folder[PATH_MAX];
static uint64_t holds, key[2], now_ns = 1000000000000ull, process, forks;
static void *main_program;
static struct {
    uint64_t seed, one_in, most_us;
} stress;

static uint64_t rotated(uint64_t x, int by) { return x << by | x >> (64 - by); }

/* SipHash-2-4 of three words. Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012. */
static uint64_t mixed(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t v0 = key[0] ^ 0x736f6d6570736575ull, v1 = key[1] ^ 0x646f72616e646f6dull;
    uint64_t v2 = key[0] ^ 0x6c7967656e657261ull, v3 = key[1] ^ 0x7465646279746573ull;
    uint64_t words[4] = {a, b, c, (uint64_t)24 << 56};
    for (int word = 0; word < 5; word++) {
        if (word < 4) v3 ^= words[word];
        else v2 ^= 0xff;
        for (int round = 0; round < (word < 4 ? 2 : 4); round++) {
            v0 += v1, v1 = rotated(v1, 13) ^ v0, v0 = rotated(v0, 32);
            v2 += v3, v3 = rotated(v3, 16) ^ v2;
            v0 += v3, v3 = rotated(v3, 21) ^ v0;
            v2 += v1, v1 = rotated(v1, 17) ^ v2, v2 = rotated(v2, 32);
        }
        if (word < 4) v0 ^= words[word];
    }
    return v0 ^ v1 ^ v2 ^ v3;
}

static uint64_t of_text(const char *text) {
    uint64_t found = 14695981039346656037ull; /* FNV-1a */
    while (*text) found = (found ^ (unsigned char)*text++) * 1099511628211ull;
    return found;
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The number of an object in the table; -1 where there is no room. */
static int numbered(const char *path, int is_main) {
    static int lock;
    size_t length = strlen(path), room = sizeof table->of[0].path - 1;
    const char *kept = length > room ? path + length - room : path, *name = last_part(path);
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
    uint64_t number = 0, known = table->objects;
    while (number < known && strcmp(table->of[number].path, kept)) number++;
    if (number == known && known < OBJECTS) {
        struct object *new = &table->of[number];
        strcpy(new->path, kept);
        new->is_python = is_main ? !strncmp(name, "python", 6) || !strncmp(name, "pypy", 4)
                                 : !strncmp(name, "libpython", 9) || !strncmp(name, "libpypy", 7);
        SET(table->objects, known + 1);
    }
    SET(lock, 0);
    return number < OBJECTS ? (int)number : -1;
}

/* The object that a return address lies in; found addresses are kept, 48 bits each next to a number. */
static int object_of(void *address) {
    static uint64_t found[4096];
    if (!table || own.is_within) return -1;
    uint64_t key_of = (uint64_t)(uintptr_t)address << 16;
    uint64_t *entry = &found[(uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15ull >> 52];
    uint64_t seen = GET(*entry);
    if ((seen & ~0xffffull) == key_of && (seen & 0xffff) && (seen & 0xffff) <= table->objects)
        return (int)(seen & 0xffff) - 1;
    Dl_info info;
    char path[PATH_MAX];
    int error = errno, is_main = 0, number;
    if (!dladdr(address, &info) || !info.dli_fname) {
        number = numbered("code without a file", 0);
    } else if ((is_main = info.dli_fbase == main_program)) {
        ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
        path[size < 0 ? 0 : size] = 0;
        number = numbered(size < 0 ? info.dli_fname : path, 1);
    } else {
        number = numbered(info.dli_fname, 0);
    }
    errno = error;
    if (number >= 0) SET(*entry, key_of | (uint64_t)(number + 1));
    return number;
}

static int is_held(int object, uint64_t what) { return holds & what && object >= 0 && !table->of[object].is_python; }

/* Count so many bytes of entropy; whether they are given here, from the keyed stream of thread and object. */
static int drew(void *caller, void *buffer, size_t size) {
    int object = object_of(caller);
    if (object < 0) return 0;
    ADD(table->of[object].draws, 1);
    ADD(table->of[object].bytes, size);
    if (!is_held(object, ENTROPY)) return 0;
    uint64_t who = of_text(last_part(table->of[object].path)), block = 0;
    unsigned char *to = buffer;
    for (size_t at = 0; at < size; at++, block >>= 8) {
        if (at % 8 == 0) block = mixed(process ^ own.name, who, own.drawn[object]++);
        to[at] = (unsigned char)block;
    }
    return 1;
}

/* Count that a clock was read; whether it is held, and then its nanoseconds. */
static int read_clock(void *caller, int is_of_day, uint64_t *ns) {
    int object = object_of(caller);
    if (object < 0) return 0;
    ADD(table->of[object].clocks, 1);
    if (!is_held(object, CLOCK)) return 0;
    *ns = (is_of_day ? now_ns : 1000000000000ull) + 1000 * own.read[object]++;
    return 1;
}

/* ---- the process */

static struct timespec moment(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now;
}

static uint64_t ns_now(void) {
    struct timespec now = moment();
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static void pause_of(uint64_t ns) {
    struct timespec pause = {(time_t)(ns / 1000000000ull), (long)(ns % 1000000000ull)};
    int error = errno;
    syscall(SYS_nanosleep, &pause, NULL);
    errno = error;
}

/* Marsaglia's xorshift; each thread has its own, which takes nothing from the program. */
static uint64_t chance(void) {
    uint64_t x = own.chance;
    if (!x) x = stress.seed ^ (uint64_t)syscall(SYS_gettid) * 0x9e3779b97f4a7c15ull ^ process ^ 1;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return own.chance = x;
}

/* One time in so many, wait up to so long; all waits of a process together for half of its time at most. */
static void may_wait(uint64_t one_in, uint64_t most_us) {
    if (!stress.seed || !table) return;
    uint64_t drawn = chance();
    if (drawn % one_in) return;
    uint64_t ns = (drawn >> 20) % (most_us * 1000 + 1), done = GET(table->delayed_ns);
    if (done > (ns_now() - table->began_ns) / 2 + 200000000ull) return;
    ADD(table->delayed_ns, ns);
    ADD(table->delays, 1);
    pause_of(ns);
}

/* Only where another thread or process may wait for it. */
static void may_wait_at_lock(void) {
    if (stress.seed && table && (GET(table->alive) > 1 || forks || table->was_forked))
        may_wait(stress.one_in, stress.most_us);
}

static void may_wait_at_start(void) { may_wait(2, 10 * stress.most_us); }

static void open_table(int was_forked) {
    struct table *new = MAP_FAILED;
    for (int number = 0; number < MOST_PROCESSES && *folder; number++) {
        char path[PATH_MAX + 32];
        snprintf(path, sizeof path, "%s/taps-%d.bin", folder, number);
        int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (file < 0 && errno == EEXIST) continue;
        if (file >= 0 && !posix_fallocate(file, 0, sizeof *new)) /* a full disk would end the program later */
            new = mmap(NULL, sizeof *new, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (file >= 0) close(file);
        if (!was_forked) process = mixed(1, (uint64_t)number, 0);
        break;
    }
    table = new == MAP_FAILED ? NULL : new;
    if (!table) return;
    table->pid = (uint64_t)getpid();
    table->began_ns = ns_now();
    table->was_forked = (uint64_t)was_forked;
    table->alive = table->peak = 1;
    table->holds = holds;
    memcpy(table->magic, "RPKTAPS1", 8);
}

static void before_fork(void) { forks++; }

static void in_child(void) {
    if (table) munmap(table, sizeof *table);
    table = NULL;
    process = mixed(2, process, forks);
    forks = own.chance = 0;
    own.turn = NULL;
    open_table(1);
    may_wait_at_start();
}

__attribute__((constructor)) static void begin(void) {
    const char *where = getenv("REPROKIT_TAPS"), *held = getenv("REPROKIT_TAPS_HOLD");
    const char *told = getenv("REPROKIT_TAPS_KEY"), *now = getenv("REPROKIT_TAPS_NOW");
    const char *delays = getenv("REPROKIT_TAPS_STRESS");
    Dl_info info;
    if (!where || strlen(where) >= sizeof folder) return;
    strcpy(folder, where);
    if (held && strstr(held, "entropy")) holds |= ENTROPY;
    if (held && strstr(held, "clock")) holds |= CLOCK;
    if (held && strstr(held, "threads")) holds |= THREADS;
    if (held && strstr(held, "locks")) holds |= LOCKS;
    if (held && strstr(held, "alone")) holds |= ALONE;
    if (delays && sscanf(delays, "%16lx,%lu,%lu", (unsigned long *)&stress.seed, (unsigned long *)&stress.one_in,
                         (unsigned long *)&stress.most_us) != 3)
        stress.seed = 0;
    if (!stress.one_in) stress.one_in = 1;
    if (told) sscanf(told, "%16lx%16lx", (unsigned long *)&key[0], (unsigned long *)&key[1]);
    if (now) now_ns = strtoull(now, NULL, 10) * 1000000000ull;
    if (dladdr((void *)getauxval(AT_ENTRY), &info)) main_program = info.dli_fbase;
    open_table(0);
    pthread_atfork(before_fork, NULL, in_child);
    may_wait_at_start();
}

/* ---- entropy */

ssize_t getrandom(void *buffer, size_t size, unsigned int flags) {
    return drew(CALLER, buffer, size) ? (ssize_t)size : REAL(getrandom)(buffer, size, flags);
}

int getentropy(void *buffer, size_t size) {
    return drew(CALLER, buffer, size) ? 0 : REAL(getentropy)(buffer, size);
}

static void from_the_system(void *buffer, size_t size) {
    for (size_t at = 0; at < size;) {
        long got = syscall(SYS_getrandom, (char *)buffer + at, size - at, 0);
        if (got > 0) at += (size_t)got;
        else if (errno != EINTR) abort();
    }
}

void arc4random_buf(void *buffer, size_t size) {
    if (!drew(CALLER, buffer, size)) from_the_system(buffer, size);
}

uint32_t arc4random(void) {
    uint32_t found;
    if (!drew(CALLER, &found, sizeof found)) from_the_system(&found, sizeof found);
    return found;
}

uint32_t arc4random_uniform(uint32_t bound) {
    uint32_t found, least = bound < 2 ? 0 : -bound % bound; /* below it some remainders would come more often */
    do {
        if (!drew(CALLER, &found, sizeof found)) from_the_system(&found, sizeof found);
    } while (found < least);
    return bound < 2 ? 0 : found % bound;
}

/* An open /dev/urandom is known by its number, and asked what it is: numbers are used again. */
static unsigned char opened[1024];

static int noted(const char *path, int file) {
    if (file >= 0 && file < (int)sizeof opened && path && (!strcmp(path, "/dev/urandom") || !strcmp(path, "/dev/random")))
        opened[file] = 1;
    return file;
}

static int is_random(int file) {
    struct stat seen;
    if (file < 0 || file >= (int)sizeof opened || !opened[file]) return 0;
    int error = errno;
    int is = !fstat(file, &seen) && S_ISCHR(seen.st_mode) && major(seen.st_rdev) == 1 &&
             (minor(seen.st_rdev) == 8 || minor(seen.st_rdev) == 9);
    opened[file] = (unsigned char)is;
    errno = error;
    return is;
}

#define MODE_OF(flags)                                  \
    ({                                                  \
        va_list words;                                  \
        va_start(words, flags);                         \
        mode_t mode = 0;                                \
        if ((flags) & (O_CREAT | __O_TMPFILE)) mode = va_arg(words, mode_t); \
        va_end(words);                                  \
        mode;                                           \
    })

int open(const char *path, int flags, ...) { return noted(path, REAL(open)(path, flags, MODE_OF(flags))); }
int open64(const char *path, int flags, ...) { return noted(path, REAL(open64)(path, flags, MODE_OF(flags))); }

int openat(int at, const char *path, int flags, ...) {
    return noted(path, REAL(openat)(at, path, flags, MODE_OF(flags)));
}

int openat64(int at, const char *path, int flags, ...) {
    return noted(path, REAL(openat64)(at, path, flags, MODE_OF(flags)));
}

FILE *fopen(const char *path, const char *mode) {
    FILE *file = REAL(fopen)(path, mode);
    if (file) noted(path, fileno(file));
    return file;
}

FILE *fopen64(const char *path, const char *mode) {
    FILE *file = REAL(fopen64)(path, mode);
    if (file) noted(path, fileno(file));
    return file;
}

ssize_t read(int file, void *buffer, size_t size) {
    return is_random(file) && drew(CALLER, buffer, size) ? (ssize_t)size : REAL(read)(file, buffer, size);
}

size_t fread(void *buffer, size_t size, size_t count, FILE *file) {
    int is_entropy = is_random(fileno(file)) && drew(CALLER, buffer, size * count);
    return is_entropy ? count : REAL(fread)(buffer, size, count, file);
}

long syscall(long number, ...) {
    va_list words;
    va_start(words, number);
    long a = va_arg(words, long), b = va_arg(words, long), c = va_arg(words, long);
    long d = va_arg(words, long), e = va_arg(words, long), f = va_arg(words, long);
    va_end(words);
    if (number == SYS_getrandom && drew(CALLER, (void *)a, (size_t)b)) return b;
    return REAL(syscall)(number, a, b, c, d, e, f);
}

/* ---- clocks */

static int is_of_day(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    uint64_t ns;
    if (!read_clock(CALLER, is_of_day(clock), &ns)) return REAL(clock_gettime)(clock, at);
    at->tv_sec = (time_t)(ns / 1000000000ull), at->tv_nsec = (long)(ns % 1000000000ull);
    return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    uint64_t ns;
    if (!read_clock(CALLER, 1, &ns)) return REAL(gettimeofday)(at, zone);
    at->tv_sec = (time_t)(ns / 1000000000ull), at->tv_usec = (suseconds_t)(ns % 1000000000ull / 1000);
    return 0;
}

/* Python's libffi takes a mark for its memory from the clock when ctypes is imported. What a program calls by ctypes
 * is called from there too, but through a register. */
static int is_of_libffi_itself(const unsigned char *caller) {
#ifdef __x86_64__
    int object = object_of((void *)caller);
    if (object < 0 || strncmp(last_part(table->of[object].path), "libffi.so", 9)) return 0;
    return caller[-2] != 0xff || (caller[-1] & 0xf8) != 0xd0; /* is no `call *register` */
#else
    (void)caller;
    return 0;
#endif
}

time_t time(time_t *at) {
    uint64_t ns;
    if (is_of_libffi_itself(CALLER) || !read_clock(CALLER, 1, &ns)) return REAL(time)(at);
    if (at) *at = (time_t)(ns / 1000000000ull);
    return (time_t)(ns / 1000000000ull);
}

static int64_t ns_of(clockid_t clock, void *caller) {
    uint64_t ns;
    struct timespec at;
    if (read_clock(caller, is_of_day(clock), &ns)) return (int64_t)ns;
    REAL(clock_gettime)(clock, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

/* std::chrono of libstdc++ (nanoseconds) and libc++ (microseconds of the day, else nanoseconds). */
int64_t _ZNSt6chrono3_V212system_clock3nowEv(void) { return ns_of(CLOCK_REALTIME, CALLER); }
int64_t _ZNSt6chrono3_V212steady_clock3nowEv(void) { return ns_of(CLOCK_MONOTONIC, CALLER); }
int64_t _ZNSt3__16chrono12system_clock3nowEv(void) { return ns_of(CLOCK_REALTIME, CALLER) / 1000; }
int64_t _ZNSt3__16chrono12steady_clock3nowEv(void) { return ns_of(CLOCK_MONOTONIC, CALLER); }

/* ---- what an object of C++ would have called: its own, or its standard library's */

static void *original(void *caller, const char *name, void *ours) {
    Dl_info info;
    void *library = dladdr(caller, &info) && info.dli_fbase != main_program
                        ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                        : NULL;
    void *found = library ? dlsym(library, name) : NULL;
    if (library) dlclose(library);
    return found && found != ours ? found : dlsym(RTLD_NEXT, name);
}

static unsigned int random_device(void *self, void *caller, const char *name, void *ours) {
    unsigned int value;
    if (drew(caller, &value, sizeof value)) return value;
    unsigned int (*real)(void *) = (unsigned int (*)(void *))original(caller, name, ours);
    if (!real) {
        from_the_system(&value, sizeof value);
        return value;
    }
    own.is_within++;
    value = real(self);
    own.is_within--;
    return value;
}

unsigned int _ZNSt13random_device9_M_getvalEv(void *self) {
    return random_device(self, CALLER, __func__, (void *)_ZNSt13random_device9_M_getvalEv);
}

unsigned int _ZNSt3__113random_deviceclEv(void *self) {
    return random_device(self, CALLER, __func__, (void *)_ZNSt3__113random_deviceclEv);
}

/* ---- locks: who takes them in which order, in turn where that is held, delayed under stress */

#define MOST_TURNS 256
#define MOST_WAITED 30000000000ull /* nanoseconds, of all threads together: then locks are held no longer */
#define NOTED_LOCKS 4096
enum { FREE, THERE, AWAY };

/* A thread that takes locks in turn: the one that took fewest is next, of those the one that was started first. */
struct turn {
    int state;
    uint64_t taken;
};
static struct turn turns[MOST_TURNS];
static uint64_t turns_made, last_started_ns, waited_ns;

static struct turn *new_turn(void) {
    uint64_t number = ADD(turns_made, 1);
    SET(last_started_ns, ns_now());
    if (number >= MOST_TURNS) return NULL;
    SET(turns[number].state, THERE);
    return &turns[number];
}

/* Wait until none was started for a while. */
static void begin_together(void) {
    while (ns_now() - GET(last_started_ns) < 30000000ull) pause_of(1000000);
}

static struct turn *next_turn(void) {
    struct turn *found = NULL;
    uint64_t number = GET(turns_made);
    for (uint64_t one = 0; one < number && one < MOST_TURNS; one++)
        if (GET(turns[one].state) == THERE && (!found || GET(turns[one].taken) < GET(found->taken))) found = &turns[one];
    return found;
}

/* Wait for one's turn; a thread that does not come for 200 ms waits for something else and is passed over. In a
 * pool whose threads sleep until there is work that is almost every time: the program would not come to its end. */
static void wait_for_turn(void) {
    uint64_t began = ns_now(), before = GET(waited_ns);
    SET(own.turn->state, THERE);
    for (int count = 0;; count++) {
        struct turn *next = next_turn();
        if (!next || next == own.turn) break;
        if (count == 4000) SET(next->state, AWAY), count = 0;
        pause_of(50000);
        if (before + (ns_now() - began) > MOST_WAITED) break;
    }
    uint64_t spent = ns_now() - began;
    if (ADD(waited_ns, spent) + spent > MOST_WAITED) SET(table->gave_up, 1);
}

/* Which thread took a lock where: the first ones, then one in 64. The page offset of a site is the same in every
 * run. */
static void took(int object, void *caller) {
    struct object *one = &table->of[object];
    uint64_t number = ADD(one->locks, 1), before = GET(one->order), after;
    if (number >= NOTED_LOCKS && number % 64) return;
    do after = (before ^ own.name ^ ((uint64_t)(uintptr_t)caller & 0xfff)) * 1099511628211ull + 1;
    while (!__atomic_compare_exchange_n(&one->order, &before, after, 1, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

int pthread_mutex_lock(pthread_mutex_t *lock) {
    int object = object_of(CALLER), is_held_here = own.turn && is_held(object, LOCKS);
    if (is_held_here && GET(waited_ns) > MOST_WAITED) is_held_here = 0;
    may_wait_at_lock();
    if (is_held_here) wait_for_turn();
    int failed = REAL(pthread_mutex_lock)(lock);
    if (is_held_here) ADD(own.turn->taken, 1);
    if (!failed && object >= 0) took(object, CALLER);
    return failed;
}

/* Python's locks and queues are made of these, and so are those between its processes. */
int sem_wait(sem_t *one) {
    may_wait_at_lock();
    return REAL(sem_wait)(one);
}

int sem_trywait(sem_t *one) {
    may_wait_at_lock();
    return REAL(sem_trywait)(one);
}

int sem_timedwait(sem_t *restrict one, const struct timespec *restrict until) {
    may_wait_at_lock();
    return REAL(sem_timedwait)(one, until);
}

int sem_clockwait(sem_t *restrict one, clockid_t clock, const struct timespec *restrict until) { /* glibc 2.30 */
    may_wait_at_lock();
    return REAL(sem_clockwait)(one, clock, until);
}

int sem_post(sem_t *one) {
    may_wait_at_lock();
    int failed = REAL(sem_post)(one);
    may_wait_at_lock();
    return failed;
}

/* ---- threads */

struct start {
    void *(*routine)(void *);
    void *argument;
    uint64_t name;
    struct turn *turn;
    int has_ended;
    int is_kept; /* who waits for it looks at it after its end */
};

static void ended(void *given) {
    struct start *start = given;
    if (start->turn) SET(start->turn->state, AWAY);
    if (table) ADD(table->alive, (uint64_t)-1);
    if (start->is_kept) SET(start->has_ended, 1);
    else free(start);
}

static void *started(void *given) {
    struct start *start = given;
    void *found;
    own.name = start->name;
    own.turn = start->turn;
    pthread_cleanup_push(ended, start);
    if (own.turn) begin_together();
    if (stress.seed && chance() % 2) setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), (int)(chance() % 20));
    may_wait_at_start();
    found = start->routine(start->argument);
    pthread_cleanup_pop(1);
    return found;
}

/* Whether a thread has ended within a second; one that waits for work does not. */
static int has_ended(struct start *start) {
    struct timespec pause = {0, 50000};
    for (int count = 0; count < 10000 && !GET(start->has_ended); count++) nanosleep(&pause, NULL);
    return GET(start->has_ended);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*routine)(void *), void *argument) {
    int object = object_of(own.caller ? own.caller : CALLER);
    own.caller = NULL;
    if (is_held(object, ALONE)) return EAGAIN;
    struct start *start = table ? malloc(sizeof *start) : NULL;
    if (!start) return REAL(pthread_create)(thread, how, routine, argument);
    int waits = is_held(object, THREADS) && !GET(table->late);
    struct turn *turn = is_held(object, LOCKS) ? new_turn() : NULL;
    *start = (struct start){routine, argument, mixed(3, own.name, ++own.children), turn, 0, waits};
    uint64_t alive = ADD(table->alive, 1) + 1;
    if (alive > table->peak) table->peak = alive;
    int failed = REAL(pthread_create)(thread, how, started, start);
    if (failed) {
        ADD(table->alive, (uint64_t)-1);
        if (turn) SET(turn->state, AWAY);
        free(start);
        return failed;
    }
    if (object >= 0) ADD(table->of[object].threads, 1);
    if (waits && !has_ended(start)) SET(table->late, 1);
    may_wait_at_start();
    return 0;
}

/* std::thread of libstdc++, which starts a thread for who calls it. */
void _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(void *self, void *state,
                                                                                          void (*depend)(void)) {
    void (*real)(void *, void *, void (*)(void)) = (void (*)(void *, void *, void (*)(void)))original(
        CALLER, __func__,
        (void *)_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE);
    if (!real) abort(); /* its caller was linked with one */
    own.caller = CALLER;
    real(self, state, depend);
}

/* ---- programs that are started: one that leaves no table of its own is not seen */

/* Note a program that a process becomes, before it does: what cannot be executed is left out. */
static void starts(const char *path, long pid, struct timespec now) {
    char name[PATH_MAX + 64];
    int error = errno;
    if (table && path && strchr(path, '/') && !access(path, X_OK)) {
        snprintf(name, sizeof name, "%s/program-%ld-%ld%09ld", folder, pid, (long)now.tv_sec, now.tv_nsec);
        int file = REAL(open)(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        ssize_t size = file < 0 ? 0 : write(file, path, strlen(path));
        if (file >= 0 && size >= 0) close(file);
    }
    errno = error;
}

int execve(const char *path, char *const words[], char *const variables[]) {
    starts(path, getpid(), moment());
    return REAL(execve)(path, words, variables);
}

int execv(const char *path, char *const words[]) {
    starts(path, getpid(), moment());
    return REAL(execv)(path, words);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *files, const posix_spawnattr_t *how,
                char *const words[], char *const variables[]) {
    pid_t new;
    struct timespec began = moment();
    int failed = REAL(posix_spawn)(&new, path, files, how, words, variables);
    if (!failed) starts(path, new, began);
    if (!failed && pid) *pid = new;
    return failed;
}
