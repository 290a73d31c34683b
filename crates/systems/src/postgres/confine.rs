//! Limits plans at an agent: no programs or files of its host.

use std::collections::BTreeMap;

use model::Value;

use super::connect::Endpoint;
use super::url::Address;
use crate::postgres::lane::{Client, literal};
use crate::server::refusal::failure;
use families::permits::Permits;
use load::error::Failure;

/// Settings allowed at an agent: speed, memory, durability. No commands, libraries, paths, addresses or keys. Of other
/// releases, too. <https://www.postgresql.org/docs/current/runtime-config.html>
const SETTINGS: &[&str] = &[
    "autovacuum",
    "autovacuum_analyze_scale_factor",
    "autovacuum_analyze_threshold",
    "autovacuum_freeze_max_age",
    "autovacuum_max_workers",
    "autovacuum_multixact_freeze_max_age",
    "autovacuum_naptime",
    "autovacuum_vacuum_cost_delay",
    "autovacuum_vacuum_cost_limit",
    "autovacuum_vacuum_insert_scale_factor",
    "autovacuum_vacuum_insert_threshold",
    "autovacuum_vacuum_max_threshold",
    "autovacuum_vacuum_scale_factor",
    "autovacuum_vacuum_threshold",
    "autovacuum_work_mem",
    "autovacuum_worker_slots",
    "backend_flush_after",
    "bgwriter_delay",
    "bgwriter_flush_after",
    "bgwriter_lru_maxpages",
    "bgwriter_lru_multiplier",
    "checkpoint_completion_target",
    "checkpoint_flush_after",
    "checkpoint_segments",
    "checkpoint_timeout",
    "checkpoint_warning",
    "client_connection_check_interval",
    "commit_delay",
    "commit_siblings",
    "commit_timestamp_buffers",
    "compute_query_id",
    "constraint_exclusion",
    "cpu_index_tuple_cost",
    "cpu_operator_cost",
    "cpu_tuple_cost",
    "cursor_tuple_fraction",
    "deadlock_timeout",
    "default_statistics_target",
    "default_toast_compression",
    "default_transaction_deferrable",
    "default_transaction_isolation",
    "default_transaction_read_only",
    "dynamic_shared_memory_type",
    "effective_cache_size",
    "effective_io_concurrency",
    "enable_async_append",
    "enable_bitmapscan",
    "enable_distinct_reordering",
    "enable_gathermerge",
    "enable_group_by_reordering",
    "enable_hashagg",
    "enable_hashjoin",
    "enable_incremental_sort",
    "enable_indexonlyscan",
    "enable_indexscan",
    "enable_material",
    "enable_memoize",
    "enable_mergejoin",
    "enable_nestloop",
    "enable_parallel_append",
    "enable_parallel_hash",
    "enable_partition_pruning",
    "enable_partitionwise_aggregate",
    "enable_partitionwise_join",
    "enable_presorted_aggregate",
    "enable_self_join_elimination",
    "enable_seqscan",
    "enable_sort",
    "enable_tidscan",
    "file_copy_method",
    "from_collapse_limit",
    "fsync",
    "full_page_writes",
    "geqo",
    "geqo_effort",
    "geqo_generations",
    "geqo_pool_size",
    "geqo_seed",
    "geqo_selection_bias",
    "geqo_threshold",
    "gin_fuzzy_search_limit",
    "gin_pending_list_limit",
    "hash_mem_multiplier",
    "huge_page_size",
    "huge_pages",
    "idle_in_transaction_session_timeout",
    "idle_session_timeout",
    "io_combine_limit",
    "io_max_combine_limit",
    "io_max_concurrency",
    "io_method",
    "io_workers",
    "jit",
    "jit_above_cost",
    "jit_inline_above_cost",
    "jit_optimize_above_cost",
    "join_collapse_limit",
    "lock_timeout",
    "log_autovacuum_min_duration",
    "log_checkpoints",
    "log_connections",
    "log_disconnections",
    "log_duration",
    "log_lock_waits",
    "log_min_duration_statement",
    "log_statement",
    "log_temp_files",
    "maintenance_io_concurrency",
    "maintenance_work_mem",
    "max_connections",
    "max_files_per_process",
    "max_locks_per_transaction",
    "max_parallel_maintenance_workers",
    "max_parallel_workers",
    "max_parallel_workers_per_gather",
    "max_pred_locks_per_page",
    "max_pred_locks_per_relation",
    "max_pred_locks_per_transaction",
    "max_prepared_transactions",
    "max_stack_depth",
    "max_wal_senders",
    "max_wal_size",
    "max_worker_processes",
    "min_dynamic_shared_memory",
    "min_parallel_index_scan_size",
    "min_parallel_table_scan_size",
    "min_wal_size",
    "multixact_member_buffers",
    "multixact_offset_buffers",
    "notify_buffers",
    "old_snapshot_threshold",
    "parallel_leader_participation",
    "parallel_setup_cost",
    "parallel_tuple_cost",
    "plan_cache_mode",
    "random_page_cost",
    "recursive_worktable_factor",
    "seq_page_cost",
    "serializable_buffers",
    "shared_buffers",
    "shared_memory_type",
    "statement_timeout",
    "stats_fetch_consistency",
    "subtransaction_buffers",
    "summarize_wal",
    "superuser_reserved_connections",
    "synchronize_seqscans",
    "synchronous_commit",
    "tcp_keepalives_count",
    "tcp_keepalives_idle",
    "tcp_keepalives_interval",
    "tcp_user_timeout",
    "temp_buffers",
    "temp_file_limit",
    "track_activities",
    "track_activity_query_size",
    "track_commit_timestamp",
    "track_cost_delay_timing",
    "track_counts",
    "track_functions",
    "track_io_timing",
    "track_wal_io_timing",
    "transaction_buffers",
    "transaction_timeout",
    "update_process_title",
    "vacuum_buffer_usage_limit",
    "vacuum_cost_delay",
    "vacuum_cost_limit",
    "vacuum_cost_page_dirty",
    "vacuum_cost_page_hit",
    "vacuum_cost_page_miss",
    "vacuum_defer_cleanup_age",
    "vacuum_failsafe_age",
    "vacuum_freeze_min_age",
    "vacuum_freeze_table_age",
    "vacuum_max_eager_freeze_failure_rate",
    "vacuum_multixact_failsafe_age",
    "vacuum_multixact_freeze_min_age",
    "vacuum_multixact_freeze_table_age",
    "vacuum_truncate",
    "wal_buffers",
    "wal_compression",
    "wal_init_zero",
    "wal_level",
    "wal_log_hints",
    "wal_recycle",
    "wal_sender_timeout",
    "wal_skip_threshold",
    "wal_summary_keep_time",
    "wal_sync_method",
    "wal_writer_delay",
    "wal_writer_flush_after",
    "work_mem",
];

/// Settings allowed at an agent. Logical WAL is not: a replication login could decode it with any library that the
/// server can read.
pub(super) fn safe(settings: &BTreeMap<String, Value>) -> Vec<&'static str> {
    // PostgreSQL ignores case, and accepts `-` for `_`.
    let is_decoded = settings.iter().any(|(name, level)| {
        name.to_ascii_lowercase().replace('-', "_") == "wal_level"
            && !["minimal", "replica"].contains(&level.to_string().as_str())
    });
    SETTINGS.iter().copied().filter(|name| !(is_decoded && *name == "wal_level")).collect()
}

/// Owns an agent's private server: only étalon logs in as it, and it runs no statement of a plan.
pub(super) const OWNER: &str = "etalon_owner";

/// Predefined roles for the host's programs and files. <https://www.postgresql.org/docs/current/predefined-roles.html>
const STRONG: &str = "'pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files'";

/// Why a login could run programs or reach files on the server's host. The session's original role counts, since it
/// can return to that.
const POWER: &str = "SELECT CASE WHEN r.rolsuper THEN 'is a superuser' WHEN r.rolcreaterole THEN 'may make roles, \
                     and so give itself any' WHEN EXISTS (SELECT FROM pg_catalog.pg_roles s WHERE s.rolname IN (STRONG) \
                     AND pg_catalog.pg_has_role(r.oid, s.oid, 'MEMBER')) THEN 'belongs to a role that stands for \
                     the files or programs of the host' WHEN r.rolreplication AND \
                     current_setting('wal_level') = 'logical' THEN 'may have changes decoded by any library' ELSE '' END \
                     FROM pg_catalog.pg_roles r WHERE r.rolname = session_user";

/// Refuses a login that could run programs or reach files on the server's host, unless allowed.
pub(super) fn refuse_strong(client: &mut Client, address: &Address, permits: &Permits) -> Result<(), Failure> {
    if !permits.are_bounded() {
        return Ok(());
    }
    let power = client.one(&POWER.replace("STRONG", STRONG));
    let power = power.map_err(|error| failure("ask what the role may do", &error))?;
    if power.is_empty() {
        return Ok(());
    }
    let how = "name a role that can do no more than a benchmark needs: `CREATE ROLE bench LOGIN`, `GRANT CREATE ON DATABASE \
               … TO bench`";
    permits.strong_login(&address.user, &power, how)
}

/// Makes the role for a plan's statements: own tables, counters, checkpoints and backups; no files or programs.
pub(super) fn make_role(owner: &Endpoint, role: &str, password: Option<&str>) -> Result<(), Failure> {
    let tried = "make the role of a private server";
    let mut client = owner.connect("")?;
    let password = password.map(|password| format!(" PASSWORD {}", literal(password))).unwrap_or_default();
    // A restored server has it already.
    let database = &owner.address.database;
    let mut statements = vec![
        format!("CREATE ROLE {role} LOGIN REPLICATION{password}"),
        format!("GRANT CREATE, CONNECT, TEMPORARY ON DATABASE {database} TO {role}"),
        format!("GRANT pg_monitor TO {role}"),
    ];
    let checkpoint = client.one("SELECT count(*) FROM pg_catalog.pg_roles WHERE rolname = 'pg_checkpoint'");
    if checkpoint.map_err(|error| failure(tried, &error))? != "0" {
        statements.push(format!("GRANT pg_checkpoint TO {role}"));
    }
    for statement in statements {
        client.execute(&statement).map_err(|error| failure(tried, &error))?;
    }
    client.close();
    Ok(())
}
