/* SQLite's prepared insert of rows that fill a page each, in a loop, with a checkpoint at the end: what it costs without
 * any tool around it.
 *
 * insert_loop FILE STATEMENTS SYNCHRONOUS prints the seconds from the first statement to the end of the checkpoint as a tidy
 * table. The table of rows, its statement and settings are those of étalon's plan `sqlserver-pages`.
 */
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
int sqlite3_step(sqlite3_stmt *);
int sqlite3_reset(sqlite3_stmt *);
int sqlite3_finalize(sqlite3_stmt *);
int sqlite3_close(sqlite3 *);
const char *sqlite3_errmsg(sqlite3 *);
#define SQLITE_DONE 101
#define OPEN_READWRITE_CREATE_NOMUTEX (0x2 | 0x4 | 0x8000)
#define ROWS 8

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(sqlite3 *db) {
    fprintf(stderr, "%s\n", db ? sqlite3_errmsg(db) : "arguments: FILE STATEMENTS SYNCHRONOUS");
    exit(1);
}

static void run(sqlite3 *db, const char *sql) {
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != 0) die(db);
}

static void clear(const char *file) {
    static const char *const ends[] = {"", "-wal", "-shm"};
    char path[4096];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", file, ends[i]);
        remove(path);
    }
}

int main(int count, char **arguments) {
    sqlite3 *db = NULL;
    sqlite3_stmt *insert = NULL;
    char text[512] = "INSERT INTO tio (tio_data) VALUES (zeroblob(8000))";
    if (count != 4) die(NULL);
    clear(arguments[1]);
    if (sqlite3_open_v2(arguments[1], &db, OPEN_READWRITE_CREATE_NOMUTEX, NULL) != 0) die(db);
    run(db, "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL");
    char synchronous[64];
    snprintf(synchronous, sizeof synchronous, "PRAGMA synchronous = %s", arguments[3]);
    run(db, synchronous);
    run(db, "CREATE TABLE tio (tio_id INTEGER PRIMARY KEY, tio_data BLOB NOT NULL); PRAGMA wal_checkpoint(TRUNCATE)");
    for (int row = 1; row < ROWS; row++) strcat(text, ", (zeroblob(8000))");
    double start = now_s();
    if (sqlite3_prepare_v2(db, text, -1, &insert, NULL) != 0) die(db);
    for (long n = atol(arguments[2]); n > 0; n--) {
        if (sqlite3_step(insert) != SQLITE_DONE) die(db);
        sqlite3_reset(insert);
    }
    run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    printf("system,metric,unit,value\nloop,elapsed,s,%.9f\n", now_s() - start);
    sqlite3_finalize(insert);
    sqlite3_close(db);
    clear(arguments[1]);
    return 0;
}
