//! SQLIO's language, read and written, against what was published.

#![cfg(test)]

use formats::into_experiment;
use formats::sqlio::{
    Affinity, BUCKETS, Buffering, CpuKind, Ending, Hundredths, InitiationUs, LatencyMs, Op, ParamLine, Pattern,
    PoolLine, RedirectMode, Report, SizeLine, SizeOrigin, Spread, SqlioOutput, Timing, Wording, group_name,
    import_output, little_latency_ms, parse_command, parse_params, parse_script, read_output, split_words,
};
use proptest::prelude::*;

fn command(line: &str) -> formats::sqlio::Command {
    parse_command(&split_words(line)).unwrap()
}

fn refusal(line: &str) -> (String, String) {
    let error = parse_command(&split_words(line)).unwrap_err();
    (error.to_string(), error.hint().unwrap_or_default().to_owned())
}

#[test]
fn the_articles_command_line_is_read() {
    let read = command("-kR -s300 -frandom -o8 -b8 -LS -BH -FparamMT.txt");
    assert_eq!((read.op, read.seconds, read.pattern, read.outstanding), (Op::Read, 300, Pattern::Random, Some(8)));
    assert_eq!(
        (read.block_kb, read.cache(), read.param_file.as_deref()),
        (8, Buffering::Hardware, Some("paramMT.txt"))
    );
    assert!(read.files.is_empty() && read.warnings.is_empty());
    let params = parse_params("D:\\testfile.dat 24 0x0 5000").unwrap();
    let pools = read.thread_pools(Some(&params)).unwrap();
    assert_eq!((pools[0].threads, pools[0].size_mb), (24, Some(5000)));
    assert!(read.thread_pools(None).unwrap_err().to_string().contains("paramMT.txt names no file"));
}

#[test]
fn defaults_are_those_of_the_readme() {
    let read = command("");
    assert_eq!((read.op, read.threads, read.seconds, read.pattern), (Op::Read, 1, 30, Pattern::Stride(64)));
    assert_eq!((read.block_kb, read.ios_per_run, read.outstanding, read.cache()), (2, 64, None, Buffering::None));
    assert_eq!(read.files, ["testfile.dat"]);
}

#[test]
fn drives_raw_devices_and_processors_are_read() {
    assert_eq!(command("-dDEF \\test").files, ["D:\\test", "E:\\test", "F:\\test"]);
    let raw = ["D:", "E:", "F:", "1:", "2:", "3:"];
    assert_eq!(command("-RDEF123").files, raw);
    assert_eq!(command("-RD,E,F,1,2,3").files, raw);
    assert_eq!(command("-RX,12 a.dat").files, ["a.dat", "X:", "12:"]);
    assert_eq!(command("-pI3").affinity, Affinity::Cpu { cpu: 3, kind: CpuKind::Ideal });
    let spread = Spread::RoundRobin(CpuKind::Hard);
    assert_eq!(command("-aR0xf -t16 -f64").affinity, Affinity::Mask { mask: 15, spread });
    assert_eq!(command("-64 -v1.1.1 -D11").warnings.len(), 3);
    // A published run has -d and -t beside -F; the file's own line counts.
    assert_eq!(command("-kW -s5 -dD -t2 -o8 -Fparam.txt").warnings.len(), 1);
}

#[test]
fn refusals_name_the_option_and_say_what_to_write() {
    for (line, message, hint) in [
        ("-k R", "-k has no value", "write -kR, without a blank"),
        ("-o 8", "-o has no value", "write -o8, without a blank"),
        ("-kRW", "-kRW: SQLIO mixes no reads with writes", "one run with -kR, one with -kW"),
        ("-fseq", "-fseq: no such pattern", "did you mean -fsequential?"),
        ("-frandon", "-frandon: no such pattern", "did you mean -frandom?"),
        ("-B8", "-B8: no such cache mode", "a block of 8 KB is -b8, in lower case"),
        ("-K4", "-K4 is no option of SQLIO", "upper and lower case differ: -kR or -kW"),
        (
            "-mC4",
            "-mC4 (I/O in several buffers, copied or scattered) is not supported",
            "leave -m out: the same blocks \
          are read and written as single buffers",
        ),
        (
            "-o2 -mS4",
            "-m and -o exclude each other",
            "leave -m out: the same blocks are read and written as single buffers",
        ),
        ("--help", "--help is no option of SQLIO", "options have one letter, as in -kR -s30 -frandom -b8"),
        ("-t257", "-t257: it must be 1 to 256", ""),
        ("-t0", "-t0: it must be 1 to 256", ""),
        ("-b0", "-b0: it must be 1 to 1048576", ""),
        ("-s99999999999", "-s99999999999: it must be 1 to 4294967295", ""),
        ("-s3 -s4", "-s stands twice", ""),
        (
            "-f1 -t2",
            "-f1 with more than 1 threads: threads share the blocks of a stripe",
            "fewer threads, a larger -f, or \
          -fsequential",
        ),
        ("-dDE a b", "-d takes one file, which is to be on each of the drives", ""),
        ("-p1 -a3", "-p and -a exclude each other", ""),
        ("-a0", "-a0: no such value", "write -a0xf"),
        ("-", "- alone is no option", ""),
    ] {
        let (found, found_hint) = refusal(line);
        assert_eq!((found.as_str(), found_hint.as_str()), (message, hint), "{line}");
    }
}

#[test]
fn sizes_count_only_without_stripes() {
    let lines = [ParamLine { file: "a".to_owned(), threads: 2, mask: 0, size_mb: Some(1) }];
    assert!(command("-f64 -Fp").thread_pools(Some(&lines)).unwrap_err().to_string().contains("-frandom"));
    assert!(command("-frandom -Fp").thread_pools(Some(&lines)).is_ok());
    let many = vec![ParamLine { threads: 200, ..lines[0].clone() }; 2];
    assert!(command("-frandom -Fp").thread_pools(Some(&many)).unwrap_err().to_string().contains("at most 256"));
}

/// As printed in a blog of 2013, where the page has lost the tabs.
const BLOG_2013: &str = "sqlio v1.5.SG
using system counter for latency timings, 2597685 counts per second
parameter file used: param.txt
file d:\\testfile.dat with 4 threads (0-3) using mask 0x0 (0)
4 threads writing for 5 secs to file d:\\testfile.dat
using 8KB sequential IOs
enabling multiple I/Os per thread with 8 outstanding
buffering set to use hardware disk cache (but not file cache)
using specified size: 100 MB for file: d:\\testfile.dat
initialization done
CUMULATIVE DATA:
throughput metrics:
IOs/sec: 28807.29
MBs/sec:   225.05
latency metrics:
Min_Latency(ms): 0
Avg_Latency(ms): 1
Max_Latency(ms): 3
histogram:
ms: 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24+
%:  0 99  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0  0
";

fn all_understood(output: &SqlioOutput) {
    assert_eq!(output.not_understood, []);
}

#[test]
fn a_published_output_is_read() {
    let output = read_output(BLOG_2013.as_bytes());
    all_understood(&output);
    let [run] = output.runs.as_slice() else { panic!("{output:?}") };
    let report = &run.report;
    assert_eq!((report.threads, report.op, report.seconds), (Some(4), Some(Op::Write), Some(5)));
    assert_eq!((report.block_kb, report.pattern), (Some(8), Some(Pattern::Sequential)));
    assert_eq!((report.outstanding, report.buffering), (Some(8), Some(Buffering::Hardware)));
    assert_eq!((report.ios_per_s, report.mbs_per_s), (Some(Hundredths(2_880_729)), Some(Hundredths(22_505))));
    assert_eq!(report.latency, Some(LatencyMs { min: 0, avg: 1, max: 3 }));
    assert_eq!(report.histogram.map(|h| h[1]), Some(99));
    assert_eq!(
        report.sizes[0],
        SizeLine { origin: SizeOrigin::Specified, mb: 100, file: "d:\\testfile.dat".to_owned() }
    );
    assert_eq!(group_name(report).as_deref(), Some("sequential_W_8KB"));
    // 4 threads with 8 in flight at 28807.29 I/Os a second: 1.11 ms, which is printed as 1.
    assert!((little_latency_ms(report).unwrap() - 1.1108).abs() < 0.001);
    // Written again, it is what it was before the page took the tabs.
    assert_eq!(report.render(Wording::AsSqlio).replace('\t', ""), BLOG_2013);
}

#[test]
fn a_markdown_copy_with_quotes_and_escapes_is_read() {
    // The example of a vendor's documentation: quoted, underscores escaped, two blanks at the ends, no cache line.
    let text = "> IOs/sec:  7808.43\n> \n> MBs/sec:    15.25\n> \n> sqlio v1.5.SG  \n\
        > using system counter for latency timings, 3579545 counts per second  \n> parameter file used: param.txt  \n\
        > file c:testfile.dat with 2 threads (0-1) using mask 0x0 (0)  \n\
        > 2 threads writing for 360 secs to file c:testfile.dat  \n> using 8KB sequential IOs  \n\
        > enabling multiple I/Os per thread with 8 outstanding  \n\
        > using specified size: 100 MB for file: c:testfile.dat  \n> initialization done  \n> CUMULATIVE DATA:  \n\
        > throughput metrics:  \n> IOs/sec: 3434.19  \n> MBs/sec: 26.82  \n> latency metrics:  \n\
        > Min\\_Latency(ms): 0  \n> Avg\\_Latency(ms): 4  \n> Max\\_Latency(ms): 282\n";
    let output = read_output(text.as_bytes());
    let report = &output.runs[0].report;
    assert_eq!(output.runs.len(), 1);
    assert_eq!((report.ios_per_s, report.buffering), (Some(Hundredths(343_419)), None));
    assert_eq!(report.latency, Some(LatencyMs { min: 0, avg: 4, max: 282 }));
    // Figures without a run are no run's.
    let lines: Vec<u64> = output.not_understood.iter().map(|line| line.line).collect();
    assert_eq!(lines, [1, 3]);
}

#[test]
fn a_page_that_lost_its_line_ends_is_read() {
    let text = "8 threads writing for 360 secs to file d:\\TestFile.DAT using 4KB random IOs enabling multiple I/Os per \
        thread with 8 outstanding buffering set to use hardware disk cache (but not file cache)<br>\n\
        IOs/sec:  8145.77<br>\nMin_Latency(ms): 1<br>\nAvg_Latency(ms): 7<br>\nMax_Latency(ms): 99<br>\n";
    let output = read_output(text.as_bytes());
    all_understood(&output);
    let report = &output.runs[0].report;
    assert_eq!(report.files, ["d:\\TestFile.DAT"]);
    assert_eq!((report.block_kb, report.pattern, report.outstanding), (Some(4), Some(Pattern::Random), Some(8)));
    assert_eq!((report.ios_per_s, report.latency.map(|l| l.avg)), (Some(Hundredths(814_577)), Some(7)));
    let page =
        format!("<p>{}</p>", BLOG_2013.replace('\n', "&nbsp; <br />").replace("ms: 0  1", "ms:&nbsp;0&#32;&#x20;1"));
    let copied = read_output(page.as_bytes());
    all_understood(&copied);
    assert_eq!(copied.runs[0].report, read_output(BLOG_2013.as_bytes()).runs[0].report);
    let one_line = read_output(BLOG_2013.replace('\n', " ").as_bytes());
    all_understood(&one_line);
    assert_eq!(one_line.runs[0].report, copied.runs[0].report);
}

#[test]
fn many_runs_with_echoes_and_hand_mended_threads_are_read() {
    let single = BLOG_2013.replace("4 threads (0-3)", "1 thread (0)").replace("4 threads writing", "1 thread writing");
    let mended =
        single.replace("1 thread ", "1 threads ").replace("(0)", "(0-0)").replace("mask 0x0 (0-0)", "mask 0x0 (0)");
    let text = format!(
        "\u{feff}****** Read Tests *****\r\n\r\n******random_R_8KB**********\r\nC:\\SQLIO>sqlio -kW -s5 -Fparam.txt \r\n{single}\
         C:\\SQLIO>timeout /T 5\nWaiting for 0 seconds, press a key to continue ...\n{mended}=====\nwhat is this\n{BLOG_2013}"
    );
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [text.as_bytes().to_vec(), text.replace('\n', "\r\n").into_bytes(), utf16] {
        let output = read_output(&bytes);
        assert_eq!(output.runs.len(), 3);
        assert!(output.runs.iter().all(|run| run.label.as_deref() == Some("random_R_8KB")));
        assert_eq!(output.runs[0].command.as_deref(), Some("sqlio -kW -s5 -Fparam.txt"));
        assert_eq!(output.runs[1].command, None);
        assert_eq!(output.runs[0].report, output.runs[1].report);
        assert_eq!(output.runs[0].report.threads, Some(1));
        let lines: Vec<&str> = output.not_understood.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(lines, ["what is this"]);
    }
}

#[test]
fn a_run_that_was_cut_has_no_figures_and_failed() {
    let cut: String = BLOG_2013.lines().take(10).map(|line| format!("{line}\n")).collect();
    let output = read_output(format!("{cut}{BLOG_2013}").as_bytes());
    assert_eq!((output.runs[0].ending, output.runs[1].ending), (Ending::Cut, Ending::Whole));
    let imported = import_output(&output, "4 KB", "a.txt");
    assert!(imported.notes[1].starts_with("1 of 2 results"), "{:?}", imported.notes);
    let runs = into_experiment("x", &[imported]).unwrap().runs;
    let places: Vec<(u32, u32, bool)> =
        runs.iter().map(|(planned, record)| (planned.round, planned.case, record.reason.is_some())).collect();
    assert_eq!(places, [(0, 0, true), (1, 0, false)]);
    // One that was cut before it told what it does has been of the only case there is.
    let early: String = BLOG_2013.lines().take(4).map(|line| format!("{line}\n")).collect();
    let imported = import_output(&read_output(format!("{BLOG_2013}{early}").as_bytes()), "4 KB", "a.txt");
    let runs = into_experiment("x", &[imported]).unwrap().runs;
    assert_eq!(runs.iter().map(|(planned, _)| (planned.round, planned.case)).collect::<Vec<_>>(), [(0, 0), (1, 0)]);
}

#[test]
fn what_is_no_figure_is_not_taken_for_one() {
    let text = BLOG_2013
        .replace("IOs/sec: 28807.29", "IOs/sec: 28,807.29")
        .replace("buffering set to use hardware", "buffering set to use magic");
    let output = read_output(text.as_bytes());
    assert_eq!((output.runs[0].report.ios_per_s, output.runs[0].report.buffering), (None, None));
    let lines: Vec<u64> = output.not_understood.iter().map(|line| line.line).collect();
    assert_eq!(lines, [8, 13]);
    assert_eq!(read_output(b"").runs, []);
}

#[test]
fn two_outputs_become_an_experiment() {
    let half = read_output(BLOG_2013.replace("28807.29", "14403.00").as_bytes());
    let imports = [
        import_output(&read_output(BLOG_2013.repeat(3).as_bytes()), "8 KB", "a.txt"),
        import_output(&half, "64 KB", "b.txt"),
    ];
    let experiment = into_experiment("clusters", &imports).unwrap();
    assert_eq!((experiment.runs.len(), experiment.plan.schedule.rounds), (4, 3));
    assert_eq!(experiment.plan.benchmarks[0].points.len(), 1);
}

/// The article's groups are rebuilt from what the runs say of themselves, since its `echo` lines went to the console.
#[test]
fn the_articles_groups_are_rebuilt_and_compared_by_their_depths() {
    let run = |threads: u32, op: &str, kb: u32, pattern: &str, depth: u32, ios: f64| {
        let (verb, way) = if op == "R" { ("reading", "from") } else { ("writing", "to") };
        BLOG_2013
            .replace("4 threads writing for 5 secs to", &format!("{threads} threads {verb} for 300 secs {way}"))
            .replace("8KB sequential", &format!("{kb}KB {pattern}"))
            .replace("with 8 outstanding", &format!("with {depth} outstanding"))
            .replace("28807.29", &format!("{ios:.2}"))
            .replace("1 threads", "1 thread")
    };
    let matrix = |factor: f64| -> String {
        let groups = [
            (24, "R", 8, "random"),
            (24, "R", 64, "random"),
            (24, "R", 512, "random"),
            (24, "W", 8, "random"),
            (1, "W", 256, "random"),
            (24, "W", 1, "sequential"),
            (24, "W", 8, "sequential"),
        ];
        let runs = groups.iter().flat_map(|group| [1, 2, 4, 8, 16].map(|depth| (*group, depth)));
        runs.map(|((threads, op, kb, pattern), depth)| {
            run(threads, op, kb, pattern, depth, factor * 1000.0 * f64::from(depth).sqrt() / f64::from(kb).sqrt())
        })
        .collect()
    };
    let imports = [("4 KB", 1.0), ("64 KB", 1.1)].map(|(system, factor)| {
        import_output(&read_output(matrix(factor).as_bytes()), system, &format!("{system}.txt"))
    });
    let experiment = into_experiment("clusters", &imports).unwrap();
    let groups: Vec<&str> = experiment.plan.benchmarks.iter().map(|one| one.name.as_str()).collect();
    let rebuilt = [
        "random_R_8KB",
        "random_R_64KB",
        "random_R_512KB",
        "random_W_8KB",
        "random_W_256KB",
        "sequential_W_1KB",
        "sequential_W_8KB",
    ];
    assert_eq!(groups, rebuilt);
    assert!(experiment.plan.benchmarks.iter().all(|one| one.points.len() == 5));
    assert_eq!((experiment.runs.len(), experiment.plan.schedule.rounds), (70, 1));
    let roles = |position: usize| {
        let measurements = &experiment.runs[position].1.measurements;
        ["iops", "bandwidth"].map(|id| measurements.iter().find(|one| one.metric.id == id).unwrap().metric.role)
    };
    use model::Role::{Primary, Secondary};
    assert_eq!((roles(0), roles(69)), ([Primary, Secondary], [Secondary, Primary]));
}

#[test]
fn a_run_without_o_has_one_outstanding_io() {
    let text = BLOG_2013.replace("enabling multiple I/Os per thread with 8 outstanding\n", "");
    let imported = import_output(&read_output(text.as_bytes()), "a", "a.txt");
    let result = &imported.results[0];
    assert_eq!(result.keys["depth"].as_int(), Some(1));
    assert!(result.notes.iter().any(|note| note.contains("each I/O is waited for")));
}

/// A script of the shape of the article's, down to a `timeout` with an `echo` glued to it.
const SCRIPT: &str = "@echo off\r\nrem clusters\r\necho ****** Read Tests *****\r\n\r\necho ******random_R_8KB**********\r\n\
    sqlio -kR -s300 -frandom -o1 -b8 -LS -BH -FparamMT.txt > Cluster_4KB_test.txt\r\ntimeout /T 5\r\n\
    C:\\tools\\SQLIO.exe -kR -s300 -frandom -o2 -b8 -LS -BH -FparamMT.txt>>Cluster_4KB_test.txt 2>&1\r\n\
    timeout /T 5 echo ******random_R_64KB**********\r\n\
    call sqlio -kR -s300 -frandom -o1 -b64 -LS -BH -FparamMT.txt >> \"Cluster 4KB test.txt\" & timeout /T 7 /NOBREAK >nul\r\n";

#[test]
fn a_batch_file_is_read() {
    let script = parse_script(SCRIPT.as_bytes());
    assert_eq!(script.problems, []);
    let found: Vec<_> = script
        .runs
        .iter()
        .map(|run| {
            let output = run.output.as_ref().unwrap();
            (
                run.line,
                run.label.as_deref().unwrap(),
                run.command.outstanding,
                output.file.as_str(),
                output.mode,
                run.pause_s,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (6, "random_R_8KB", Some(1), "Cluster_4KB_test.txt", RedirectMode::Replace, 5),
            (8, "random_R_8KB", Some(2), "Cluster_4KB_test.txt", RedirectMode::Append, 5),
            (10, "random_R_64KB", Some(1), "Cluster 4KB test.txt", RedirectMode::Append, 7),
        ]
    );
}

#[test]
fn what_a_batch_file_cannot_do_here_is_a_problem() {
    let script = parse_script(
        b"set d=D:\nsqlio -kR %d%\\a.dat\nfor %%i in (1 2) do sqlio -kR -o%%i\nsqlio -kX\nformat d:\nsqlio -kR >\n:next\nping -n 6 localhost\n",
    );
    let lines: Vec<u64> = script.problems.iter().map(|problem| problem.line).collect();
    assert_eq!((lines, script.runs.len()), (vec![1, 2, 3, 4, 5, 6], 0));
}

fn name() -> impl Strategy<Value = String> {
    "[a-zA-Z]:?[\\\\/a-z0-9_.]{1,20}"
}

fn reports() -> impl Strategy<Value = Report> {
    let head = (
        proptest::option::of(1..u64::MAX),
        proptest::option::of(name()),
        1..=256_u32,
        prop_oneof![Just(Op::Read), Just(Op::Write)],
        1..1_000_000_u32,
        proptest::collection::vec(name(), 1..3),
        1..2048_u32,
        prop_oneof![Just(Pattern::Random), Just(Pattern::Sequential), (1..9999_u32).prop_map(Pattern::Stride)],
        proptest::option::of(1..1000_u32),
        proptest::option::of(prop_oneof![
            Just(Buffering::None),
            Just(Buffering::Hardware),
            Just(Buffering::Software),
            Just(Buffering::All)
        ]),
    );
    let figures = (
        0..u64::MAX / 100,
        0..u64::MAX / 100,
        proptest::option::of((0..9_u64, 0..99_u64, 0..99_999_u64)),
        proptest::option::of((0..9_u64, 0..99_u64, 0..99_999_u64)),
        proptest::collection::vec(0..=100_u32, BUCKETS),
        1..u64::MAX,
    );
    (head, figures).prop_map(|(head, (ios, mbs, latency, initiation, histogram, size))| {
        let (counts, param_file, threads, op, seconds, files, kb, pattern, outstanding, buffering) = head;
        let pool =
            |file: &String| PoolLine { file: file.clone(), threads, first: 0, last: threads - 1, mask: u64::from(kb) };
        Report {
            version: Some("1.5.SG".to_owned()),
            timer: counts.map(|_| Timing::System),
            timer_counts_per_s: counts,
            pools: if param_file.is_some() { files.iter().map(pool).collect() } else { Vec::new() },
            param_file,
            threads: Some(threads),
            op: Some(op),
            seconds: Some(seconds),
            sizes: vec![SizeLine { origin: SizeOrigin::Current, mb: size, file: files[0].clone() }],
            files,
            block_kb: Some(kb),
            pattern: Some(pattern),
            outstanding,
            buffering,
            ios_per_s: Some(Hundredths(ios)),
            mbs_per_s: Some(Hundredths(mbs)),
            initiation: initiation.filter(|_| latency.is_some()).map(|(min, avg, max)| InitiationUs { min, avg, max }),
            histogram: latency.and_then(|_| histogram.try_into().ok()),
            latency: latency.map(|(min, avg, max)| LatencyMs { min, avg, max }),
        }
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(reports in proptest::collection::vec(reports(), 1..4), analyzer: bool, windows: bool) {
        let wording = if analyzer { Wording::ForAnalyzer } else { Wording::AsSqlio };
        let mut text: String = reports.iter().map(|report| report.render(wording)).collect();
        if windows {
            text = text.replace('\n', "\r\n");
        }
        let output = read_output(text.as_bytes());
        prop_assert_eq!(&output.not_understood, &[]);
        let read: Vec<Report> = output.runs.into_iter().map(|run| run.report).collect();
        prop_assert_eq!(read, reports);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes: Vec<u8>) {
        let _ = read_output(&bytes);
        let _ = parse_script(&bytes);
    }

    #[test]
    fn no_damage_makes_a_reader_panic(cut in 0..900_usize, junk in "[ -~µ×\n\t<>&]{0,12}") {
        let mut text: Vec<char> = BLOG_2013.chars().collect();
        let at = cut.min(text.len());
        text.splice(at..at, junk.chars());
        let output = read_output(text.iter().collect::<String>().as_bytes());
        let _ = into_experiment("x", &[import_output(&output, "a", "b")]);
        let mut script: Vec<char> = SCRIPT.chars().collect();
        let at = cut.min(script.len());
        script.splice(at..at, junk.chars());
        let _ = parse_script(script.iter().collect::<String>().as_bytes());
        let _ = parse_command(&split_words(&junk));
    }
}
