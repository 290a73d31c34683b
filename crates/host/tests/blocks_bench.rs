//! Block I/O against fio, interleaved on one file, and the null form's rate. It takes minutes and a quiet machine, and
//! judges nothing: `cargo test --release -p host --test blocks_bench -- --ignored --nocapture`.
//!
//! `ETALON_BENCH_FILE` names the file (made if it is not there, 4 GiB), `ETALON_BENCH_SECONDS` the seconds a cell.

#![cfg(target_os = "linux")]
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests; the lint spares test functions but not their helpers"
)]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use host::blocks::{BlockDone, BlockOp, BlockRing, Content, Form, Options};
use host::clock::now_ns;

const BLOCK: u32 = 8192;
const ROUNDS: usize = 5;

#[derive(Clone, Copy, Default)]
struct Figures {
    iops: f64,
    cpu_us: f64,
    p50_us: f64,
    p99_us: f64,
    entries_per_op: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Read,
    Write,
}

/// CPU time of this thread, in nanoseconds.
fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn seconds() -> f64 {
    std::env::var("ETALON_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5.0)
}

/// A closed loop of `depth`, with a stamp at each submission and one for each batch of ends.
fn ours(file: File, span: u64, depth: u32, form: Form, kind: Kind, seconds: f64) -> Figures {
    let batch = std::env::var("ETALON_BENCH_BATCH").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let options = Options { form, batch, ..Options::new(depth, BLOCK) };
    let mut ring = BlockRing::new(&options, vec![file]).unwrap();
    let mut random = 88_172_645_463_325_252_u64;
    let mut content = Content::new(now_ns());
    let mut stamps = vec![0; depth as usize];
    let mut times = Vec::with_capacity(20_000_000);
    let mut done: Vec<BlockDone> = Vec::with_capacity(depth as usize);
    let blocks = span / u64::from(BLOCK);
    let (begin, cpu) = (now_ns(), thread_cpu_ns());
    let end = begin + (seconds * 1e9) as u64;
    let deadline = if std::env::var_os("ETALON_BENCH_FOREVER").is_some() { u64::MAX } else { end + 5_000_000_000 };
    let mut operations = 0_u64;
    let mut now = begin;
    done.extend((0..depth).map(|slot| BlockDone { slot, result: Ok(BLOCK) }));
    loop {
        for ended in done.drain(..) {
            assert_eq!(ended.result, Ok(BLOCK));
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let offset = ((u128::from(random) * u128::from(blocks)) >> 64) as u64 * u64::from(BLOCK);
            let op = match kind {
                Kind::Read => BlockOp::Read { offset, bytes: BLOCK },
                Kind::Write => {
                    content.fill(ring.buffer_mut(ended.slot).unwrap());
                    BlockOp::Write { offset, bytes: BLOCK }
                }
            };
            stamps[ended.slot as usize] = now;
            ring.submit(ended.slot, 0, op).unwrap();
        }
        ring.reap(deadline, &mut done).unwrap();
        now = now_ns();
        operations += done.len() as u64;
        if form != Form::Null {
            times.extend(done.iter().map(|ended| (now - stamps[ended.slot as usize]) as u32));
        }
        if now >= end {
            break;
        }
    }
    let (elapsed, cpu) = (now - begin, thread_cpu_ns() - cpu);
    times.sort_unstable();
    let quantile = |share: f64| times.get((times.len() as f64 * share) as usize).map_or(0.0, |ns| f64::from(*ns) / 1e3);
    Figures {
        iops: operations as f64 / elapsed as f64 * 1e9,
        cpu_us: cpu as f64 / operations as f64 / 1e3,
        p50_us: quantile(0.5),
        p99_us: quantile(0.99),
        entries_per_op: ring.kernel_entries() as f64 / operations as f64,
    }
}

/// What fio makes of the same cell, from its JSON; `None` without a fio.
fn fio(path: &Path, depth: u32, engine: &str, kind: Kind, seconds: f64) -> Option<Figures> {
    let mut command = Command::new("fio");
    command.args([
        "--name=a",
        "--thread",
        "--output-format=json",
        "--time_based",
        "--norandommap",
        "--group_reporting",
        "--lat_percentiles=1",
    ]);
    command.arg(format!("--filename={}", path.display()));
    command.arg(format!("--rw={}", if kind == Kind::Read { "randread" } else { "randwrite" }));
    command.args([format!("--bs={BLOCK}"), format!("--iodepth={depth}"), format!("--runtime={seconds}")]);
    command.arg(format!("--ioengine={engine}"));
    if engine == "io_uring" {
        command.args(["--direct=1", "--fixedbufs", "--registerfiles"]);
    } else {
        command.args(["--size=4g"]);
    }
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let side = text.split(if kind == Kind::Read { "\"read\"" } else { "\"write\"" }).nth(1)?;
    let number = |text: &str, key: &str| -> Option<f64> {
        text.split(&format!("\"{key}\""))
            .nth(1)?
            .trim_start_matches([' ', ':'])
            .split([',', '\n'])
            .next()?
            .trim()
            .parse()
            .ok()
    };
    let iops = number(side, "iops")?;
    let clat = side.split("\"lat_ns\"").nth(1)?;
    let cpu_percent = number(&text, "usr_cpu")? + number(&text, "sys_cpu")?;
    Some(Figures {
        iops,
        cpu_us: cpu_percent / 100.0 * 1e6 / iops,
        p50_us: number(clat, "50.000000").unwrap_or(0.0) / 1e3,
        p99_us: number(clat, "99.000000").unwrap_or(0.0) / 1e3,
        entries_per_op: 0.0,
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn print(name: &str, depth: u32, figures: &[Figures]) {
    let of = |get: fn(&Figures) -> f64| median(figures.iter().map(get).collect());
    println!(
        "{name:<22} depth {depth:>2}  {:>10.0} IOPS  {:>6.2} µs CPU  p50 {:>7.1}  p99 {:>7.1}  {:.2} entries/op",
        of(|f| f.iops),
        of(|f| f.cpu_us),
        of(|f| f.p50_us),
        of(|f| f.p99_us),
        of(|f| f.entries_per_op)
    );
}

fn bench_file() -> (PathBuf, u64) {
    let path =
        std::env::var_os("ETALON_BENCH_FILE").map_or_else(|| "/var/tmp/etalon-blocks-bench".into(), PathBuf::from);
    let bytes = 4_u64 << 30;
    if std::fs::metadata(&path).map_or(0, |data| data.len()) < bytes {
        use std::io::Write;
        let mut file = File::create(&path).unwrap();
        let (mut content, mut chunk) = (Content::new(now_ns()), vec![0; 1 << 20]);
        for _ in 0..bytes >> 20 {
            content.fill(&mut chunk);
            file.write_all(&chunk).unwrap();
        }
        file.sync_all().unwrap();
    }
    (path, bytes)
}

fn direct(path: &Path) -> File {
    let flags = rustix::fs::OFlags::DIRECT.bits() as i32;
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).unwrap()
}

#[test]
#[ignore = "a measurement"]
fn against_fio() {
    let (path, span) = bench_file();
    let only_reads = std::env::var_os("ETALON_BENCH_READS").is_some();
    for kind in [Kind::Read, Kind::Write].into_iter().take(if only_reads { 1 } else { 2 }) {
        let name = if kind == Kind::Read { "read" } else { "write" };
        for depth in [1, 8, 32] {
            let (mut own, mut peer) = (Vec::new(), Vec::new());
            for round in 0..ROUNDS {
                let mut run_own = || own.push(ours(direct(&path), span, depth, Form::Ring, kind, seconds()));
                let mut run_peer = || peer.extend(fio(&path, depth, "io_uring", kind, seconds()));
                if round % 2 == 0 {
                    run_own();
                    run_peer();
                } else {
                    run_peer();
                    run_own();
                }
            }
            print(&format!("{name}: étalon io_uring"), depth, &own);
            if !peer.is_empty() {
                print(&format!("{name}: fio io_uring"), depth, &peer);
                let pairs = || own.iter().zip(&peer);
                let iops = median(pairs().map(|(own, peer)| own.iops / peer.iops).collect());
                let cpu = median(pairs().map(|(own, peer)| own.cpu_us / peer.cpu_us).collect());
                println!("{:<22} depth {depth:>2}  IOPS {iops:.3}  CPU {cpu:.3} (étalon / fio)", "");
            }
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn null_rate() {
    for depth in [1, 8, 32] {
        let (mut own, mut peer) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let file = File::open("/dev/null").unwrap();
            own.push(ours(file, 4 << 30, depth, Form::Null, Kind::Read, 1.0));
            peer.extend(fio(Path::new("null"), depth, "null", Kind::Read, 2.0));
        }
        print("null: étalon", depth, &own);
        if !peer.is_empty() {
            print("null: fio", depth, &peer);
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn content_rate() {
    let (mut content, mut block) = (Content::new(1), vec![0; BLOCK as usize]);
    let mut costs_ns = Vec::new();
    for _ in 0..ROUNDS * 20 {
        let before = now_ns();
        for _ in 0..1_000 {
            content.fill(std::hint::black_box(&mut block));
        }
        costs_ns.push((now_ns() - before) as f64 / 1_000.0);
    }
    let cost_ns = median(costs_ns);
    println!("a fresh block of {BLOCK} bytes costs {cost_ns:.0} ns, {:.3} ns a byte", cost_ns / f64::from(BLOCK));
}
