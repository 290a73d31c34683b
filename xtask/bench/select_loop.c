/* SQLite's prepared select by primary key in a loop: what it costs without any tool around it.
 *
 * select_loop FILE SECONDS CACHE_SIZE clock|no-clock prints the selects a second as a tidy table. The table, its
 * rows, the connection and the statement are those of étalon's `select-only` at scale 1. With `clock` the clock is read
 * once a select, as whoever measures latencies must; else once in 1024.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* From sqlite3.h, which is not installed everywhere. */
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
int sqlite3_open_v2(const char *, sqlite3 **, int, const char *);
int sqlite3_exec(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
int sqlite3_prepare_v2(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
int sqlite3_bind_int64(sqlite3_stmt *, int, long long);
int sqlite3_step(sqlite3_stmt *);
int sqlite3_reset(sqlite3_stmt *);
int sqlite3_finalize(sqlite3_stmt *);
int sqlite3_close(sqlite3 *);
int sqlite3_busy_timeout(sqlite3 *, int);
const char *sqlite3_errmsg(sqlite3 *);
#define SQLITE_ROW 100
#define SQLITE_DONE 101
#define OPEN_READWRITE_CREATE_NOMUTEX (0x2 | 0x4 | 0x8000)
#define ROWS 100000

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(sqlite3 *db) {
    fprintf(stderr, "%s\n", db ? sqlite3_errmsg(db) : "arguments: FILE SECONDS CACHE_SIZE clock|no-clock");
    exit(1);
}

static void run(sqlite3 *db, const char *sql) {
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != 0) die(db);
}

int main(int count, char **arguments) {
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    char text[256];
    if (count != 5) die(NULL);
    remove(arguments[1]);
    if (sqlite3_open_v2(arguments[1], &db, OPEN_READWRITE_CREATE_NOMUTEX, NULL) != 0) die(db);
    sqlite3_busy_timeout(db, 10000);
    run(db, "BEGIN");
    run(db, "CREATE TABLE pgbench_accounts (aid INTEGER PRIMARY KEY NOT NULL, bid INTEGER, abalance INTEGER, filler CHAR(84))");
    snprintf(text, sizeof text,
             "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
             "INSERT INTO pgbench_accounts SELECT i, 1, 0, printf('%%84s', '') FROM n", ROWS);
    run(db, text);
    run(db, "COMMIT");
    run(db, "ANALYZE");
    sqlite3_close(db);
    if (sqlite3_open_v2(arguments[1], &db, OPEN_READWRITE_CREATE_NOMUTEX, NULL) != 0) die(db);
    sqlite3_busy_timeout(db, 10000);
    snprintf(text, sizeof text, "PRAGMA cache_size = %d", atoi(arguments[3]));
    run(db, text);
    if (sqlite3_prepare_v2(db, "SELECT abalance FROM pgbench_accounts WHERE aid = ?1", -1, &statement, NULL) != 0) die(db);

    int reads_clock = strcmp(arguments[4], "clock") == 0;
    uint64_t state = 0x9e3779b97f4a7c15u, selects = 0;
    double start = now_s(), now = start, end = start + atof(arguments[2]);
    while (now < end) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        sqlite3_bind_int64(statement, 1, 1 + (long long)((state >> 32) * ROWS >> 32));
        if (sqlite3_step(statement) != SQLITE_ROW || sqlite3_step(statement) != SQLITE_DONE) die(db);
        sqlite3_reset(statement);
        selects++;
        if (reads_clock || selects % 1024 == 0) {
            now = now_s();
        }
    }
    printf("system,metric,unit,value\nloop,throughput,tx/s,%.3f\n", (double)selects / (now - start));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    remove(arguments[1]);
    return 0;
}
