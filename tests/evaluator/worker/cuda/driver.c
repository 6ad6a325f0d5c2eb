/* A driver's library with made-up cards, so that the real pynvml has something to call. Three of them: two alike, and
   one that is divided into two instances. What varies is read from FAKE_* variables at each call. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID = 2, UNSUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, NOT_LOADED = 9, UNINITIALIZED = 1 };
typedef struct { const char *uuid, *name; int board; } Card;

static Card cards[] = {
    {"GPU-11111111-aaaa-0000-0000-000000000001", "Fake A", 0},
    {"GPU-11111111-bbbb-0000-0000-000000000002", "Fake A", 1},
    {"GPU-33333333-cccc-0000-0000-000000000003", "Fake A", 2},
    {"MIG-44444444-dddd-0000-0000-000000000004", "Fake A MIG 1g.10gb", 2},
    {"MIG-55555555-eeee-0000-0000-000000000005", "Fake A MIG 1g.10gb", 2},
};
static int users = 0;

static unsigned long long number(const char *name, unsigned long long otherwise) {
    const char *given = getenv(name);
    return given ? strtoull(given, 0, 10) : otherwise;
}
static int start(void) {
    if (number("FAKE_NOT_LOADED", 0)) return NOT_LOADED;
    users++;
    return OK;
}
int nvmlInitWithFlags(unsigned flags) { return start(); }
int nvmlInit_v2(void) { return start(); }
int nvmlInit(void) { return start(); }
int nvmlShutdown(void) { return users > 0 ? (users--, OK) : UNINITIALIZED; }
int fake_users(void) { return users; }
const char *nvmlErrorString(int code) { return "an error"; }
int nvmlSystemGetDriverVersion(char *out, unsigned n) { strncpy(out, "580.65.06", n); return OK; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = number("FAKE_CARDS", 3); return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, Card **out) { *out = &cards[i]; return i < 3 ? OK : INVALID; }
int nvmlDeviceGetHandleByUUID(const char *uuid, Card **out) {
    for (int i = 0; i < 5; i++) if (!strcmp(cards[i].uuid, uuid)) { *out = &cards[i]; return OK; }
    return NOT_FOUND;
}
int nvmlDeviceGetUUID(Card *c, char *out, unsigned n) { strncpy(out, c->uuid, n); return OK; }
int nvmlDeviceGetName(Card *c, char *out, unsigned n) {
    strncpy(out, c == &cards[1] && getenv("FAKE_OTHER") ? "Fake B" : c->name, n);
    return OK;
}
int nvmlDeviceGetMigMode(Card *c, unsigned *now, unsigned *next) {
    if (c != &cards[2]) return UNSUPPORTED;
    *now = *next = 1;
    return OK;
}
int nvmlDeviceGetMaxMigDeviceCount(Card *c, unsigned *n) { *n = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(Card *c, unsigned i, Card **out) {
    /* The first place is empty, as after an instance was taken away. */
    if (i < 1 || i > 2) return NOT_FOUND;
    *out = &cards[2 + i];
    return OK;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Card *c, Card **out) { *out = &cards[c->board]; return OK; }

static int whole(Card *c) { return c == &cards[c->board]; }
int nvmlDeviceGetCudaComputeCapability(Card *c, int *major, int *minor) { *major = 9; *minor = 0; return whole(c) ? OK : UNSUPPORTED; }
int nvmlDeviceGetClockInfo(Card *c, int domain, unsigned *mhz) { *mhz = domain == 1 ? 1755 : 2619; return whole(c) ? OK : UNSUPPORTED; }
#ifndef OLD
int nvmlDeviceGetCurrentClocksEventReasons(Card *c, unsigned long long *bits) { *bits = number("FAKE_REASONS", 1); return whole(c) ? OK : UNSUPPORTED; }
#endif
int nvmlDeviceGetCurrentClocksThrottleReasons(Card *c, unsigned long long *bits) { *bits = number("FAKE_REASONS", 1); return whole(c) ? OK : UNSUPPORTED; }
int nvmlDeviceGetPowerUsage(Card *c, unsigned *mw) { *mw = 312500; return whole(c) ? OK : UNSUPPORTED; }
int nvmlDeviceGetTemperature(Card *c, int sensor, unsigned *degrees) { *degrees = 54; return whole(c) && sensor == 0 ? OK : UNSUPPORTED; }
typedef struct { unsigned long long total, free, used; } Memory;
int nvmlDeviceGetMemoryInfo(Card *c, Memory *m) { m->total = 150000000000; m->used = 2500000000; m->free = m->total - m->used; return OK; }
typedef struct { unsigned long long reference, violation; } Violation;
int nvmlDeviceGetViolationStatus(Card *c, int policy, Violation *v) {
    v->reference = 1;
    v->violation = policy == 1 ? number("FAKE_THERMAL", 0) : 0;
    return policy <= 1 ? OK : UNSUPPORTED;
}
typedef struct { unsigned pid; unsigned long long used; unsigned gpu, compute; } Process;
int nvmlDeviceGetComputeRunningProcesses_v3(Card *c, unsigned *n, Process *out) {
    const char *given = getenv("FAKE_PIDS");
    unsigned room = *n, found = 0;
    if (!given) return UNSUPPORTED;
    for (const char *at = given; *at; at++) {
        char *end;
        unsigned pid = strtoul(at, &end, 10);
        if (end == at) break;
        if (out && found < room) { out[found].pid = pid; out[found].used = 700000000; }
        found++;
        at = end;
        if (!*at) break;
    }
    *n = found;
    return found > room ? TOO_SMALL : OK;
}
