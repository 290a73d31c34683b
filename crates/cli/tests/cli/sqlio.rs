//! SQLIO's command lines and batch files, carried out unchanged.

use crate::scene::Scene;

/// The article's two parameter files, with small sizes.
fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("paramMT.txt", "D:\\testfile.dat 4 0x0 16\r\n").write("paramST.txt", "D:\\testfile.dat 1 0x0 16\r\n");
    scene
}

/// The article's lines, down to the `timeout` with an `echo` glued to it, but for a second.
const BATCH: &str = "echo ****** Read Tests *****\r\n\r\necho ******random_R_8KB**********\r\n\
    sqlio -kR -s1 -frandom -o1 -b8 -LS -BH -FparamMT.txt > Cluster_4KB_test.txt\r\ntimeout /T 5\r\n\
    sqlio -kR -s1 -frandom -o2 -b8 -LS -BH -FparamMT.txt >> Cluster_4KB_test.txt\r\n\
    timeout /T 5 echo ******sequential_W_8KB**********\r\n\
    sqlio -kW -s1 -fsequential -o1 -b8 -LS -BH -FparamST.txt >> Cluster_4KB_test.txt\r\ntimeout /T 5\r\n\
    sqlio -kW -s1 -fsequential -o2 -b8 -LS -BH -FparamST.txt >> Cluster_4KB_test.txt\r\ntimeout /T 5\r\n";

#[test]
fn the_old_command_line_prints_the_old_output() {
    let scene = scene();
    let line = ["-kR", "-s1", "-frandom", "-o2", "-b8", "-LS", "-BH", "-FparamMT.txt"];
    let ran = scene.etalon(&[&["sqlio", "--sqlio-exact"], &line[..]].concat());
    ran.says(0, &["D:\\testfile.dat is testfile.dat in the system's folder"]);
    let head = "sqlio v1.5.SG\nusing system counter for latency timings, 1000000000 counts per second\n\
        parameter file used: paramMT.txt\n\tfile D:\\testfile.dat with 4 threads (0-3) using mask 0x0 (0)\n\
        4 threads reading for 1 secs from file D:\\testfile.dat\n\tusing 8KB random IOs\n\
        \tenabling multiple I/Os per thread with 2 outstanding\n\
        \tbuffering set to use hardware disk cache (but not file cache)\n\
        using specified size: 16 MB for file: D:\\testfile.dat\ninitialization done\nCUMULATIVE DATA:\n\
        throughput metrics:\nIOs/sec:";
    assert!(ran.stdout.starts_with(head), "{}", ran.stdout);
    for label in ["MBs/sec:", "Min_Latency(ms): ", "Avg_Latency(ms): ", "Max_Latency(ms): ", "ms: 0  1  2", "%:"] {
        assert_eq!(ran.stdout.lines().filter(|line| line.starts_with(label)).count(), 1, "{label}: {}", ran.stdout);
    }
    // The stored rate is the printed one.
    let rate = ran.stdout.lines().find_map(|line| line.strip_prefix("IOs/sec:")).unwrap().trim();
    let store = scene.store().display().to_string();
    let compared = scene.etalon(&["--json", "compare", &store, "--metrics", "iops"]);
    let json: serde_json::Value = serde_json::from_str(&compared.stdout).unwrap();
    let stored = json["figures"][0]["side"]["median"].as_f64().unwrap();
    assert!((stored - rate.parse::<f64>().unwrap()).abs() < 0.01 * stored, "{stored} {rate}");
    // From the store alone.
    let again = scene.etalon(&["compare", &store, "--format", "sqlio"]);
    assert!(again.stdout.contains("4 threads reading for 1 secs from file testfile.dat"), "{}", again.stdout);
    assert!(again.stdout.contains(&format!("IOs/sec:{rate:>9}")), "{}", again.stdout);
    assert!(!scene.path().join("testfile.dat").exists(), "what étalon made is gone");
    // The importer reads it.
    scene.write("old.txt", &ran.stdout);
    let imported = scene.etalon(&["import", "sqlio", "old.txt", "-o", "old"]);
    assert!(imported.stderr.contains("1 result of sqlio 1.5.SG"), "{}", imported.stderr);
    assert!(!imported.stderr.contains("not understood"), "{}", imported.stderr);
}

#[test]
fn files_of_different_sizes_are_made_as_their_lines_say() {
    let scene = Scene::new();
    scene.write("two.txt", "a.dat 2 0x0 8\nb.dat 1 0x0 300\n");
    let line = ["-kR", "-s1", "-frandom", "-o2", "-b8", "-LS", "-BH", "-Ftwo.txt"];
    let exact = |options: &[&str]| scene.etalon(&[&["--quiet", "sqlio", "--sqlio-exact"], options, &line[..]].concat());
    let ran = exact(&["--output", "whole"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for part in [
        "\tfile a.dat with 2 threads (0-1) using mask 0x0 (0)\n\tfile b.dat with 1 thread (2) using mask 0x0 (0)\n\
         3 threads reading for 1 secs from files a.dat b.dat\n",
        "using specified size: 8 MB for file: a.dat\nusing specified size: 300 MB for file: b.dat\n",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    // The quick form shrinks the large file and prints its real size.
    let quick = exact(&["--quick"]);
    assert_eq!(quick.code, 0, "{}", quick.stderr);
    let sizes = "using specified size: 8 MB for file: a.dat\nusing specified size: 256 MB for file: b.dat\n";
    assert!(quick.stdout.contains(sizes), "{}", quick.stdout);
    let again = scene.etalon(&["compare", scene.store().to_str().unwrap(), "--format", "sqlio"]);
    assert!(again.stdout.contains(sizes), "{}", again.stdout);
}

#[test]
fn a_batch_file_is_an_experiment_on_several_volumes() {
    let scene = scene();
    scene.write("clusters.bat", BATCH);
    let systems = ["--system", "4KB=disk:a", "--system", "64KB=disk:b"];
    let short = ["--set", "schedule.rounds=2", "--set", "schedule.duration=200ms"];
    let planned = scene.etalon(&[&["plan", "clusters.bat"], &systems[..]].concat());
    assert_eq!(planned.code, 0, "{}", planned.stderr);
    assert!(planned.stdout.contains("random_R_8KB @ 4KB") && planned.stdout.contains("sequential_W_8KB @ 64KB"));
    let ran = scene.etalon(&[&["run", "clusters.bat"], &systems[..], &short[..]].concat());
    ran.says(0, &["4 runs of SQLIO in 2 groups", "the pauses between runs are left out"]);
    for part in [
        "random_R_8KB: A = 4KB, B = 64KB",
        "Best of each group, I/Os a second",
        "Best of each group, MiB a second",
        "What the best of a group hides",
        "random read, 8 KB, I/Os a second",
        "sequential write, 8 KB, MiB a second",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let exact = scene.etalon(&["compare", &scene.store().display().to_string(), "--format", "sqlio"]);
    assert_eq!(exact.stdout.matches("sqlio v1.5.SG").count(), 2 * 2 * 4, "{}", exact.stdout);
    assert!(!scene.path().join("a").exists() && !scene.path().join("b").exists(), "what étalon made is gone");
}

#[test]
fn a_batch_with_different_lengths_runs_each_as_long_as_it_says() {
    let scene = scene();
    let lines = "sqlio -kR -s1 -frandom -o4 -b8 a.dat\r\nsqlio -kR -s2 -frandom -o4 -b8 a.dat\r\n\
                 sqlio -kR -s1 -frandom -o8 -b8 a.dat\r\n";
    // An editor's mark of the encoding is no part of the first line.
    scene.write("lengths.bat", &format!("\u{feff}{lines}"));
    let size = ["--set", "benchmarks.*.size_mb=1"];
    let planned = scene.etalon(&["plan", "lengths.bat"]);
    planned.says(0, &["runs of different lengths"]);
    for group in ["random_R_8KB_1s", "random_R_8KB_2s"] {
        assert!(planned.stdout.contains(group), "{}", planned.stdout);
    }
    let ran = scene.etalon(&[&["sqlio", "--batch", "lengths.bat", "--sqlio-exact"][..], &size].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let said: Vec<&str> = ran.stdout.lines().filter(|line| line.contains("for ") && line.contains(" secs")).collect();
    let expected = ["1 thread reading for 1 secs from file a.dat", "1 thread reading for 2 secs from file a.dat"];
    assert_eq!(said, [expected[0], expected[1], expected[0]]);
    let quick = scene.etalon(&["plan", "lengths.bat", "--quick", "--set", "benchmarks.*.duration=300ms"]);
    assert_eq!(quick.code, 0, "{}", quick.stderr);
}

#[test]
fn what_cannot_be_carried_out_is_said_with_its_line() {
    let scene = scene();
    scene.write("bad.txt", "# ok\nD:\\t.dat 4 0×0 16\n").write("loop.bat", "for %%i in (1 2) do sqlio -kR -o%%i\n");
    scene.write("empty.bat", "echo nothing\n").write("absent.bat", "sqlio -kR -frandom -Fnowhere.txt\n");
    for (args, said) in [
        (&["sqlio", "-kR", "-frandom", "-Fbad.txt"][..], "bad.txt: line 2, column 12: 0×0: this is no mask"),
        (&["sqlio", "-kR", "-frandom", "-Fabsent.txt"], "cannot read the parameter file absent.txt"),
        (&["sqlio", "-kRW"], "SQLIO mixes no reads with writes"),
        (&["sqlio", "-k", "R"], "write -kR, without a blank"),
        (&["sqlio", "-RX", "-frandom"], "X: is a whole drive"),
        (&["sqlio", "--batch", "loop.bat", "-kR"], "cannot be used with"),
        (&["sqlio", "-kR", "--sqlio-exact"], "étalon's own options stand before SQLIO's"),
        (&["run", "loop.bat"], "loop.bat:1: for: loops, conditions and variables"),
        (&["run", "empty.bat"], "empty.bat runs no sqlio"),
        (&["run", "absent.bat"], "absent.bat:1: cannot read the parameter file nowhere.txt"),
    ] {
        scene.etalon(args).says(2, &[said]);
    }
    assert!(!scene.path().join("etalon-results").exists(), "nothing was run");
}

/// Two published outputs of 2012: several runs per file, the analyzer's plural, tabs lost by a blog.
#[test]
fn published_outputs_are_compared_with_both_charts() {
    let scene = Scene::new();
    let run = |verb: &str, way: &str, kb: u32, pattern: &str, depth: u32, ios: f64| {
        format!(
            "sqlio v1.5.SG\nusing system counter for latency timings, 2597685 counts per second\n\
             parameter file used: param.txt\nfile d:\\testfile.dat with 4 threads (0-3) using mask 0x0 (0)\n\
             4 threads {verb} for 300 secs {way} file d:\\testfile.dat\nusing {kb}KB {pattern} IOs\n\
             enabling multiple I/Os per thread with {depth} outstanding\n\
             buffering set to use hardware disk cache (but not file cache)\n\
             using specified size: 5000 MB for file: d:\\testfile.dat\ninitialization done\nCUMULATIVE DATA:\n\
             throughput metrics:\nIOs/sec:{ios:9.2}\nMBs/sec:{:9.2}\nlatency metrics:\nMin_Latency(ms): 0\n\
             Avg_Latency(ms): 1\nMax_Latency(ms): 30\n",
            (ios * f64::from(kb) * 100.0 / 1024.0).floor() / 100.0
        )
    };
    let file = |factor: f64| -> String {
        let depths = [(1, 4_000.0), (2, 8_000.0), (4, 8_100.0)];
        let reads = depths.map(|(depth, ios)| run("reading", "from", 8, "random", depth, ios * factor));
        let writes = depths.map(|(depth, ios)| run("writing", "to", 8, "sequential", depth, ios * factor));
        reads.into_iter().chain(writes).collect()
    };
    scene.write("a.txt", &file(1.0)).write("b.txt", &file(1.1));
    let imported = scene.etalon(&["import", "sqlio", "4 KB=a.txt", "64 KB=b.txt", "-o", "x"]);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    let compared = scene.etalon(&["compare", "x.etalon"]);
    for part in [
        "random_R_8KB: A = 4 KB, B = 64 KB",
        "sequential_W_8KB: A = 4 KB, B = 64 KB",
        "Best of each group, I/Os a second",
        "8 910 at depth 4",
        "Best of each group, MiB a second",
        "63.3 at depth 4",
        "mean latency",
        // 4 threads with 2 outstanding at 8000 a second: Little's law.
        "1.00 ms  knee?",
    ] {
        assert!(compared.stdout.contains(part), "{part}: {}", compared.stdout);
    }
}
