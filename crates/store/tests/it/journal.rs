use model::{PlannedRun, Reading, RunRecord, RunState};
use store::{ChangeState, Kept, Rest, Store, StoreError, StoredChange, StoredRun};

use crate::fixture::{create, header, names_in, order, plan, record};

#[test]
fn from_planned_to_measured() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    let mut store = create(&path, 2);
    let order = order(6, 2);
    assert_eq!(store.pending().unwrap(), order);
    assert_eq!(store.cases().len(), 6);

    let id = store.begin_run(order[3], 77).unwrap();
    let running = store.runs().unwrap().remove(3);
    assert_eq!((running.id, running.planned, running.attempt), (id.get(), order[3], 1));
    assert_eq!((running.state, running.started_unix_ms), (RunState::Running, Some(77)));
    assert!(store.measurements().unwrap().is_empty());

    store.finish_run(id, &record(3, 1000)).unwrap();
    let measured = store.runs().unwrap().remove(3);
    assert_eq!((measured.state, measured.elapsed_s), (RunState::Measured, record(3, 0).elapsed_s));
    let found = store.measurements().unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].run_id, found[0].position, found[0].round, found[0].case), (id.get(), 3, 0, 3));
    assert_eq!(store.pending().unwrap().len(), 11);
    assert!(store.pending().unwrap().iter().all(|planned| planned.position != 3));
    store.close().unwrap();
    assert_eq!(names_in(dir.path()), ["x.etalon"]);
}

#[test]
fn a_failed_run_is_pending_and_gets_another_attempt() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = create(&dir.path().join("x.etalon"), 1);
    let planned = order(6, 1)[2];
    for (attempt, state) in [(1, RunState::Failed), (2, RunState::Aborted)] {
        let id = store.begin_run(planned, attempt).unwrap();
        let mut record = record(2, 100);
        (record.state, record.reason) = (state, Some("why".into()));
        store.finish_run(id, &record).unwrap();
        assert!(store.pending().unwrap().contains(&planned));
        assert!(store.measurements().unwrap().is_empty(), "of measured runs only");
        assert_eq!(store.series_of(id.get()).unwrap().len(), 4, "but what there is can be looked at");
    }
    let id = store.begin_run(planned, 3).unwrap();
    store.finish_run(id, &record(2, 100)).unwrap();
    let attempts: Vec<_> = store
        .runs()
        .unwrap()
        .into_iter()
        .filter(|run| run.planned == planned)
        .map(|run| (run.attempt, run.state, run.reason.is_some()))
        .collect();
    assert_eq!(attempts, [(1, RunState::Failed, true), (2, RunState::Aborted, true), (3, RunState::Measured, false)]);
    assert_eq!(store.marks().unwrap().len(), 3);
    assert!(!store.pending().unwrap().contains(&planned));
    store.check_integrity().unwrap();
}

#[test]
fn a_run_is_measured_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    let mut store = create(&path, 1);
    let planned = order(6, 1)[0];
    let id = store.begin_run(planned, 1).unwrap();
    let again = store.begin_run(planned, 1).unwrap_err();
    assert!(matches!(again, StoreError::WrongState { found: RunState::Running, .. }), "{again}");
    store.finish_run(id, &record(0, 10)).unwrap();
    let twice = store.finish_run(id, &record(0, 10)).unwrap_err();
    assert!(matches!(twice, StoreError::WrongState { found: RunState::Measured, .. }), "{twice}");
    let again = store.begin_run(planned, 1).unwrap_err();
    assert!(matches!(again, StoreError::WrongState { found: RunState::Measured, .. }), "{again}");
    assert_eq!(store.measurements().unwrap().len(), 2);
    drop(store);
    // The schema says so too.
    let conn = rusqlite::Connection::open(&path).unwrap();
    let twin = "INSERT INTO runs (position, round, case_id, attempt, state, started_unix_ms)
                VALUES (0, 0, 0, 2, 'measured', 1)";
    assert!(conn.execute(twin, []).is_err());
}

#[test]
fn what_is_not_planned_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = create(&dir.path().join("x.etalon"), 1);
    let planned = order(6, 1)[0];
    for wrong in
        [PlannedRun { position: 6, ..planned }, PlannedRun { round: 1, ..planned }, PlannedRun { case: 1, ..planned }]
    {
        let error = store.begin_run(wrong, 1).unwrap_err();
        assert!(matches!(error, StoreError::NotPlanned { planned, .. } if planned == wrong), "{error}");
    }
}

#[test]
fn records_that_contradict_themselves_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = create(&dir.path().join("x.etalon"), 1);
    let id = store.begin_run(order(6, 1)[0], 1).unwrap();
    let flawed: [fn(&mut RunRecord); 9] = [
        |r| r.state = RunState::Running,
        |r| r.state = RunState::Planned,
        |r| r.state = RunState::Failed,
        |r| r.elapsed_s = f64::NAN,
        |r| r.elapsed_s = -1.0,
        |r| r.measurements[0].reading = Reading::Value(f64::NAN),
        |r| r.measurements[1] = r.measurements[0].clone(),
        |r| r.series[1] = r.series[0].clone(),
        |r| r.series[0].errors = u64::MAX,
    ];
    for spoil in flawed {
        let mut record = record(0, 10);
        spoil(&mut record);
        let error = store.finish_run(id, &record).unwrap_err();
        assert!(matches!(error, StoreError::Refused { .. }), "{error}");
        assert_eq!(store.runs().unwrap()[0].state, RunState::Running);
    }
    store.finish_run(id, &record(0, 10)).unwrap();
}

#[test]
fn orders_that_do_not_fit_are_refused_and_leave_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    fn at(position: u32, round: u32, case: u32) -> PlannedRun {
        PlannedRun { position, round, case }
    }
    for order in [vec![at(1, 0, 0)], vec![at(0, 0, 0), at(0, 0, 1)], vec![at(0, 0, 0), at(1, 0, 0)], vec![at(0, 0, 6)]]
    {
        let error = Store::create(&path, &header(plan()), &order).unwrap_err();
        assert!(matches!(error, StoreError::Refused { .. }), "{error}");
        assert!(names_in(dir.path()).is_empty());
    }
    let mut endless = plan();
    endless.comparison.margin = f64::INFINITY;
    let error = Store::create(&path, &header(endless), &[]).unwrap_err();
    assert!(!matches!(error, StoreError::Exists { .. }), "{error}");
    assert!(names_in(dir.path()).is_empty());
}

#[test]
fn running_runs_of_a_dead_process_are_aborted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    let mut store = create(&path, 1);
    let order = order(6, 1);
    store.begin_run(order[1], 1).unwrap();
    drop(store);
    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.abort_running("the process ended").unwrap(), 1);
    assert_eq!(store.abort_running("the process ended").unwrap(), 0);
    let run = store.runs().unwrap().remove(1);
    assert_eq!((run.state, run.reason.as_deref()), (RunState::Aborted, Some("the process ended")));
    assert_eq!(store.pending().unwrap(), order);
    let id = store.begin_run(order[1], 2).unwrap();
    store.finish_run(id, &record(1, 10)).unwrap();
}

#[test]
fn the_views_are_for_people() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    let mut store = create(&path, 1);
    let id = store.begin_run(order(6, 1)[1], 1_763_700_000_000).unwrap();
    store.finish_run(id, &record(1, 10)).unwrap();
    store.close().unwrap();
    let conn = rusqlite::Connection::open(&path).unwrap();
    fn text(conn: &rusqlite::Connection, sql: &str) -> String {
        conn.query_row(sql, [], |row| row.get(0)).unwrap()
    }
    assert_eq!(
        text(
            &conn,
            "SELECT concat_ws('|', benchmark, system, point, round, metric, unit, value) FROM results WHERE value > 0"
        ),
        r#"tpcb|b|{"clients":1}|0|throughput|tx/s|1.1"#
    );
    assert_eq!(
        text(
            &conn,
            "SELECT concat_ws('|', position, system, attempt, state, started_utc) FROM journal WHERE state = 'measured'"
        ),
        "1|b|1|measured|2025-11-21 04:40:00"
    );
    assert_eq!(text(&conn, "SELECT hex(application_id) FROM pragma_application_id"), "31313633313532343632");
    assert_eq!(&std::fs::read(&path).unwrap()[68..72], b"ETLN");
}

/// Measures a run, with its position in its figures.
fn measure(store: &mut Store, planned: PlannedRun) -> i64 {
    let id = store.begin_run(planned, 1).unwrap();
    store.finish_run(id, &record(planned.position, 10)).unwrap();
    id.get()
}

fn positions(store: &Store) -> Vec<u32> {
    store.pending().unwrap().iter().map(|planned| planned.position).collect()
}

#[test]
fn a_round_that_stopped_half_way_is_planned_again_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = create(&dir.path().join("x.etalon"), 3);
    let order = order(6, 3);
    let first: Vec<i64> = order[..8].iter().map(|planned| measure(&mut store, *planned)).collect();
    assert_eq!(store.plan_rest(Rest::WholeRounds).unwrap(), 2);
    assert_eq!(positions(&store), (6..18).collect::<Vec<u32>>());
    assert_eq!(store.measurements().unwrap().len(), 16, "they count until they are measured again");
    assert_eq!(store.plan_rest(Rest::WholeRounds).unwrap(), 2, "once is enough");

    let id = store.begin_run(order[6], 2).unwrap();
    store.finish_run(id, &RunRecord::without_result(RunState::Failed, "why")).unwrap();
    let again = measure(&mut store, order[6]);
    fn state(store: &Store, id: i64) -> StoredRun {
        store.runs().unwrap().into_iter().find(|run| run.id == id).unwrap()
    }
    let superseded = state(&store, first[6]);
    assert_eq!((superseded.state, superseded.started_unix_ms), (RunState::Superseded, Some(1)));
    assert!(superseded.reason.unwrap().contains("measured again"));
    assert_eq!(store.series_of(first[6]).unwrap().len(), 4, "what it left is there");
    let all = store.measurements().unwrap().into_iter().filter(|m| m.position == 6);
    assert_eq!(all.map(|m| m.run_id).collect::<Vec<_>>(), [again; 2]);

    let id = store.begin_run(order[7], 3).unwrap();
    assert_eq!(store.abort_running("killed").unwrap(), 1);
    assert_eq!(state(&store, first[7]).state, RunState::Measured);
    assert_ne!(id.get(), first[7]);
    assert_eq!(store.plan_rest(Rest::WholeRounds).unwrap(), 2);
    for planned in &order[6..] {
        measure(&mut store, *planned);
    }
    assert_eq!((positions(&store).len(), store.plan_rest(Rest::WholeRounds).unwrap()), (0, 0));
    assert_eq!(store.measurements().unwrap().len(), 36);
    store.check_integrity().unwrap();
}

#[test]
fn told_so_only_what_is_pending_is_planned() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = create(&dir.path().join("x.etalon"), 1);
    let order = order(6, 1);
    for planned in &order[..4] {
        measure(&mut store, *planned);
    }
    assert_eq!(store.plan_rest(Rest::OnlyPending).unwrap(), 0);
    assert_eq!(positions(&store), [4, 5]);
    store.plan_rest(Rest::WholeRounds).unwrap();
    store.begin_run(order[0], 2).unwrap();
    store.abort_running("killed").unwrap();
    assert_eq!(store.plan_rest(Rest::OnlyPending).unwrap(), 0);
    assert_eq!(positions(&store), [4, 5]);
    measure(&mut store, order[4]);
    measure(&mut store, order[5]);
    assert!(positions(&store).is_empty());
    assert_eq!(store.measurements().unwrap().len(), 12);
}

#[test]
fn only_who_made_a_store_removes_it_and_only_before_the_first_run() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    assert_eq!(create(&path, 1).close_unless_untouched().unwrap(), Kept::No);
    assert!(names_in(dir.path()).is_empty());

    create(&path, 1).close().unwrap();
    assert_eq!(Store::open(&path).unwrap().close_unless_untouched().unwrap(), Kept::Yes);
    assert_eq!(names_in(dir.path()), ["x.etalon"], "it was there before");
    std::fs::remove_file(&path).unwrap();

    let mut started = create(&path, 1);
    started.begin_run(order(6, 1)[0], 1).unwrap();
    assert_eq!(started.close_unless_untouched().unwrap(), Kept::Yes);
    assert_eq!(names_in(dir.path()), ["x.etalon"]);
    std::fs::remove_file(&path).unwrap();

    // What cannot be read is not taken for empty.
    let damaged = create(&path, 1);
    rusqlite::Connection::open(&path).unwrap().execute_batch("ALTER TABLE runs RENAME TO moved").unwrap();
    assert!(damaged.close_unless_untouched().is_err());
    assert_eq!(names_in(dir.path()), ["x.etalon"]);
    std::fs::remove_file(&path).unwrap();

    // Nor what is another's by now.
    let ours = create(&path, 1);
    rusqlite::Connection::open(&path).unwrap().execute("UPDATE writer SET token = 'another'", []).unwrap();
    let error = ours.close_unless_untouched().unwrap_err();
    assert!(matches!(error, StoreError::TakenOver { .. }), "{error}");
    assert_eq!(names_in(dir.path()), ["x.etalon"]);
}

#[test]
fn what_could_be_looked_at_is_not_measured_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = create(&dir.path().join("x.etalon"), 2);
    let order = order(6, 2);
    for planned in order.iter().filter(|planned| planned.position != 3) {
        measure(&mut store, *planned);
    }
    let id = store.begin_run(order[3], 2).unwrap();
    assert_eq!(store.plan_rest(Rest::OnlyPending).unwrap(), 0);
    store.finish_run(id, &RunRecord::without_result(RunState::Failed, "why")).unwrap();
    assert_eq!(store.plan_rest(Rest::WholeRounds).unwrap(), 0, "every run has ended");
    assert_eq!(positions(&store), [3]);
}

#[test]
fn a_change_is_known_to_the_next_étalon_until_it_is_undone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.etalon");
    let store = create(&path, 1);
    let unsure = StoredChange {
        server: "before".to_owned(),
        system: "after".to_owned(),
        state: ChangeState::Unsure,
        session: Some("17".to_owned()),
    };
    let made = StoredChange { state: ChangeState::Made, session: None, ..unsure.clone() };
    store.put_change(&unsure).unwrap();
    assert_eq!(Store::open_read_only(&path).unwrap().read_changes().unwrap(), [unsure]);
    store.put_change(&made).unwrap();
    store.close().unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.read_changes().unwrap(), std::slice::from_ref(&made));
    store.remove_change("before").unwrap();
    assert!(store.read_changes().unwrap().is_empty());
    store.close().unwrap();
    let reader = Store::open_read_only(&path).unwrap();
    assert!(matches!(reader.put_change(&made), Err(StoreError::ReadOnly { .. })));
}
