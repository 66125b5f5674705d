/* SPDX-License-Identifier: Apache-2.0
 *
 * The SQLite sink of export.h: one transaction, names once in StringIds. One thread per export.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/names.h"
#include "transform/export.h"

struct database {
	sqlite3 *db;
	sqlite3_stmt *insert[GT_EXPORT_TABLE_COUNT_];
	struct gt_names names; /* number n is id n in StringIds */
	char path[4096];
};

/* Values whose meaning nsys explains in tables of their own. */
static const char enumerations[] =
	"CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
	"INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (0,'CUDA_MEMCPY_KIND_UNKNOWN','Unknown'),"
	"(1,'CUDA_MEMCPY_KIND_HTOD','Host-to-Device'),(2,'CUDA_MEMCPY_KIND_DTOH','Device-to-Host'),"
	"(3,'CUDA_MEMCPY_KIND_HTOA','Host-to-Array'),(4,'CUDA_MEMCPY_KIND_ATOH','Array-to-Host'),"
	"(5,'CUDA_MEMCPY_KIND_ATOA','Array-to-Array'),(6,'CUDA_MEMCPY_KIND_ATOD','Array-to-Device')"
	","
	"(7,'CUDA_MEMCPY_KIND_DTOA','Device-to-Array'),(8,'CUDA_MEMCPY_KIND_DTOD','Device-to-"
	"Device'),"
	"(9,'CUDA_MEMCPY_KIND_HTOH','Host-to-Host'),(10,'CUDA_MEMCPY_KIND_PTOP','Peer-to-Peer'),"
	"(11,'CUDA_MEMCPY_KIND_UVM_HTOD','Unified Host-to-Device'),"
	"(12,'CUDA_MEMCPY_KIND_UVM_DTOH','Unified Device-to-Host'),"
	"(13,'CUDA_MEMCPY_KIND_UVM_DTOD','Unified Device-to-Device');"
	"CREATE TABLE ENUM_CUDA_UNIF_MEM_MIGRATION (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
	"INSERT INTO ENUM_CUDA_UNIF_MEM_MIGRATION VALUES "
	"(0,'CUDA_UNIF_MEM_MIGRATION_CAUSE_UNKNOWN','Unknown'),"
	"(1,'CUDA_UNIF_MEM_MIGRATION_CAUSE_USER','User'),"
	"(2,'CUDA_UNIF_MEM_MIGRATION_CAUSE_COHERENCE','Coherence'),"
	"(3,'CUDA_UNIF_MEM_MIGRATION_CAUSE_PREFETCH','Prefetch'),"
	"(4,'CUDA_UNIF_MEM_MIGRATION_CAUSE_EVICTION','Eviction'),"
	"(5,'CUDA_UNIF_MEM_MIGRATION_CAUSE_ACCESS_COUNTERS','Access counters');"
	"CREATE TABLE ENUM_CUDA_UNIF_MEM_ACCESS_TYPE (id INTEGER PRIMARY KEY, name TEXT, label "
	"TEXT);"
	"INSERT INTO ENUM_CUDA_UNIF_MEM_ACCESS_TYPE VALUES "
	"(0,'CUDA_UNIF_MEM_ACCESS_TYPE_UNKNOWN','Unknown'),"
	"(1,'CUDA_UNIF_MEM_ACCESS_TYPE_READ','Read'),"
	"(2,'CUDA_UNIF_MEM_ACCESS_TYPE_WRITE','Write'),"
	"(3,'CUDA_UNIF_MEM_ACCESS_TYPE_ATOMIC','Atomic'),"
	"(4,'CUDA_UNIF_MEM_ACCESS_TYPE_PREFETCH','Prefetch');"
	"CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
	"INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0,'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE','Pageable'),"
	"(1,'CUDA_MEMOPR_MEMORY_KIND_PINNED','Pinned'),(2,'CUDA_MEMOPR_MEMORY_KIND_DEVICE','Device'"
	"),"
	"(3,'CUDA_MEMOPR_MEMORY_KIND_ARRAY','Array'),(4,'CUDA_MEMOPR_MEMORY_KIND_MANAGED','Managed'"
	"),"
	"(5,'CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC','Device Static'),"
	"(6,'CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC','Managed Static'),"
	"(7,'CUDA_MEMOPR_MEMORY_KIND_UNKNOWN','Unknown');"
	"CREATE TABLE ENUM_CUDA_KERNEL_LAUNCH_TYPE (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
	"INSERT INTO ENUM_CUDA_KERNEL_LAUNCH_TYPE VALUES "
	"(0,'CUDA_KERNEL_LAUNCH_TYPE_UNKNOWN','Unknown'),"
	"(1,'CUDA_KERNEL_LAUNCH_TYPE_REGULAR','Regular'),"
	"(2,'CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE','Cooperative Single Device');"
	"CREATE TABLE ENUM_CUPTI_SYNC_TYPE (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
	"INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES "
	"(0,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN','Unknown'),"
	"(1,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE','Event Synchronize'),"
	"(2,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT','Stream Wait Event'),"
	"(3,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE','Stream Synchronize'),"
	"(4,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE','Context Synchronize');"
	"CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
	"INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (34,'NvtxMark','NVTX mark'),"
	"(59,'NvtxPushPopRange','NVTX push/pop range'),"
	"(60,'NvtxStartEndRange','NVTX start/end range'),"
	"(75,'NvtxDomainCreate','NVTX domain');";

static int failed(struct gt_export_sink *sink)
{
	struct database *d = sink->priv;

	snprintf(sink->error, sizeof(sink->error), "%.400s: %s", d->path, sqlite3_errmsg(d->db));
	return -EIO;
}

static int run_sql(struct gt_export_sink *sink, const char *sql)
{
	struct database *d = sink->priv;

	return sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : failed(sink);
}

static int create_table(struct gt_export_sink *sink, enum gt_export_table_id id)
{
	const struct gt_export_table *table = &gt_export_tables[id];
	struct database *d = sink->priv;
	char *sql = NULL, *insert = NULL;
	size_t size;
	FILE *out = open_memstream(&sql, &size), *in = open_memstream(&insert, &size);
	int rc;

	if (!out || !in)
		return -ENOMEM;
	fprintf(out, "CREATE TABLE %s (", table->name);
	fprintf(in, "INSERT INTO %s VALUES (", table->name);
	for (size_t i = 0; i < table->width; i++) {
		fprintf(out, "%s%s %s", i ? ", " : "", table->columns[i].name,
			table->columns[i].kind == GT_EXPORT_TEXT ? "TEXT" : "INTEGER");
		fputs(i ? ",?" : "?", in);
	}
	fputs(")", out);
	fputs(")", in);
	fclose(out);
	fclose(in);
	rc = run_sql(sink, sql);
	if (!rc && sqlite3_prepare_v2(d->db, insert, -1, &d->insert[id], NULL) != SQLITE_OK)
		rc = failed(sink);
	free(sql);
	free(insert);
	return rc;
}

static int open_database(struct gt_export_sink *sink, const char *path)
{
	struct database *d = calloc(1, sizeof(*d));
	int rc = 0;

	if (!d)
		return -ENOMEM;
	if (!access(path, F_OK)) {
		snprintf(sink->error, sizeof(sink->error),
			 "%.400s: exists already, and is not overwritten", path);
		free(d);
		return -EEXIST;
	}
	snprintf(d->path, sizeof(d->path), "%s", path);
	sink->priv = d;
	if (gt_names_init(&d->names))
		return -ENOMEM;
	if (sqlite3_open(path, &d->db) != SQLITE_OK)
		return failed(sink);
	rc = run_sql(sink, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;");
	if (!rc)
		rc = run_sql(sink, enumerations);
	for (int i = 0; !rc && i < GT_EXPORT_TABLE_COUNT_; i++)
		rc = create_table(sink, (enum gt_export_table_id)i);
	return rc;
}

static int bind_value(struct database *d, sqlite3_stmt *stmt, int column, enum gt_export_kind kind,
		      const struct gt_export_value *value)
{
	if (!value->known)
		return sqlite3_bind_null(stmt, column);
	switch (kind) {
	case GT_EXPORT_TEXT:
		return sqlite3_bind_text(stmt, column, value->text, (int)value->len, SQLITE_STATIC);
	case GT_EXPORT_NAME:
		return sqlite3_bind_int64(stmt, column,
					  gt_names_put(&d->names, value->text, value->len));
	default:
		return sqlite3_bind_int64(stmt, column, value->number);
	}
}

static int add_row(struct gt_export_sink *sink, enum gt_export_table_id id,
		   const struct gt_export_value *values)
{
	struct database *d = sink->priv;
	sqlite3_stmt *stmt = d->insert[id];

	for (size_t i = 0; i < gt_export_tables[id].width; i++)
		if (bind_value(d, stmt, (int)i + 1, gt_export_tables[id].columns[i].kind,
			       &values[i]) != SQLITE_OK)
			return failed(sink);
	if (sqlite3_step(stmt) != SQLITE_DONE)
		return failed(sink);
	sqlite3_reset(stmt);
	return 0;
}

static int name_process(struct gt_export_sink *sink, int64_t global_pid)
{
	static const char *const tables[] = {"KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE",
					     "SYNCHRONIZATION"};
	char sql[256];
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(tables) / sizeof(tables[0]); i++) {
		snprintf(sql, sizeof(sql),
			 "UPDATE CUPTI_ACTIVITY_KIND_%s SET globalPid = %lld WHERE globalPid IS "
			 "NULL",
			 tables[i], (long long)global_pid);
		rc = run_sql(sink, sql);
	}
	return rc;
}

static int write_names(struct gt_export_sink *sink)
{
	struct database *d = sink->priv;
	sqlite3_stmt *stmt;
	int rc = run_sql(sink,
			 "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)");

	if (rc || sqlite3_prepare_v2(d->db, "INSERT INTO StringIds VALUES (?,?)", -1, &stmt,
				     NULL) != SQLITE_OK)
		return rc ? rc : failed(sink);
	for (size_t i = 0; !rc && i < d->names.text.count; i++) {
		sqlite3_bind_int64(stmt, 1, (sqlite3_int64)i);
		sqlite3_bind_text(stmt, 2, d->names.text.at[i], -1, SQLITE_STATIC);
		if (sqlite3_step(stmt) != SQLITE_DONE)
			rc = failed(sink);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return rc;
}

static int close_database(struct gt_export_sink *sink, bool was_failed)
{
	struct database *d = sink->priv;
	int rc = 0;

	if (!was_failed)
		rc = write_names(sink);
	if (!was_failed && !rc)
		rc = run_sql(sink, "COMMIT");
	for (int i = 0; i < GT_EXPORT_TABLE_COUNT_; i++)
		sqlite3_finalize(d->insert[i]);
	sqlite3_close(d->db);
	if (was_failed || rc)
		unlink(d->path);
	gt_names_fini(&d->names);
	free(d);
	sink->priv = NULL;
	return rc;
}

const struct gt_export_sink gt_export_sqlite = {
	.open = open_database,
	.row = add_row,
	.process = name_process,
	.close = close_database,
};
