//! The load that a promise allows, from the plan to the page.

use serde_json::Value;

use crate::scene::Scene;
use crate::slow::is_slow;
use crate::until_sure::rows;

const PROMISE: &str = "promise = { response_p99 = \"20ms\" }";

const PRICE: &str = ", but on b capacity per EUR at its promise is less.";

/// One simulated server of twice the speed of the other.
fn plan(prices: [&str; 2], benchmark: &str) -> String {
    let [a, b] = prices.map(|price| if price.is_empty() { String::new() } else { format!("price = \"{price}\"\n") });
    format!(
        "[systems.a]\nurl = \"sim:?service_us=400&servers=1\"\n{a}[systems.b]\nurl = \"sim:?service_us=200&servers=1\"\n{b}\
         [[benchmarks]]\nname = \"points\"\nworkload = \"transactions\"\nscript = \"select-only\"\nclients = 32\n\
         arrivals = \"poisson\"\n{benchmark}\n[schedule]\nseed = 7\nrounds = 6\nwarmup = \"100ms\"\nduration = \"2s\"\n"
    )
}

#[test]
fn systems_are_compared_by_the_load_that_a_promise_allows_and_by_what_it_costs() {
    let scene = Scene::new();
    scene.write("p.toml", &plan(["1 EUR/h", "3 EUR/h"], PROMISE));
    let foreseen = scene.etalon(&["plan", "p.toml", "--json"]);
    let foreseen: Value = serde_json::from_str(&foreseen.stdout).unwrap();
    // Twelve runs of eight short ones.
    assert!((200.0..260.0).contains(&foreseen["expected_s"].as_f64().unwrap()), "{}", foreseen["expected_s"]);
    // A search may take more.
    let words = |more: &[&str]| {
        let text = scene.etalon(&[&["plan", "p.toml"], more].concat()).stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let counted = "is counted with 8 short runs, as most take, and takes 23 at most";
    let (fixed, range) = (words(&[]), words(&["--rounds", "6..12"]));
    assert!(fixed.contains("12 runs, about 3 min 40 s;") && fixed.contains(counted), "{fixed}");
    assert!(range.contains("24 runs at most, about 7 min 21 s for all of them;") && range.contains(counted), "{range}");
    let lengthened = "at low rates a short run lasts up to 20 s, and all of them about 28 min 52 s";
    assert!(fixed.contains(lengthened), "{fixed}");
    let ran = scene.etalon(&["run", "p.toml", "--json"]);
    ran.says(0, &[lengthened]);
    let rows = rows(&ran.stdout);
    let row =
        |metric: &str| rows.iter().find(|row| row["metric"] == metric).unwrap_or_else(|| panic!("{metric}: {rows:?}"));
    let (capacity, money) = (row("capacity"), row("capacity_per_EUR"));
    assert_eq!((capacity["unit"].as_str(), capacity["verdict"].as_str()), (Some("tx/s"), Some("faster")));
    assert_eq!((money["unit"].as_str(), money["verdict"].as_str()), (Some("tx/EUR"), Some("slower")));
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    let answer = object["answer"].as_str().unwrap();
    assert!(answer.contains("the load of a in points at its promise") && answer.contains(PRICE), "{answer}");
    let ratio = |row: &Value| row["ratio"].as_f64().unwrap();
    // 4,770 over 2,270 a second, and a third of that for the same money.
    assert!((ratio(capacity) / 2.10 - 1.0).abs() < 0.05, "{capacity}");
    assert!((ratio(capacity) / 3.0 / ratio(money) - 1.0).abs() < 1e-9);
    let store = scene.store();
    let store = store.to_str().unwrap();
    let whole: Value = serde_json::from_str(&ran.stdout).unwrap();
    let tried = whole["loads_tried"].as_array().unwrap();
    let closed = tried.iter().filter(|point| point["rate"].is_null() && point["is_kept"].is_null()).count();
    assert_eq!(closed, 12, "one in each search");
    let kept =
        |kept: bool| tried.iter().filter(|point| point["is_kept"] == kept && point["case"]["clients"] == 32).count();
    assert!(kept(true) >= 12 && kept(false) >= 12 && tried.len() >= 12 * 7, "{tried:?}");
    let shown = scene.etalon(&["compare", store]);
    let words = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let promised =
        "capacity of points: the highest rate at which 99 of 100 responses come within 20 ms, and at most 0.1 % fail";
    assert!(words.contains(promised), "{words}");
    scene.etalon(&["report", store, "-o", "page.html"]).says(0, &[]);
    let page = std::fs::read_to_string(scene.path().join("page.html")).unwrap();
    assert!(page.contains("id=\"capacity\"") && page.contains("Each run sought the highest load"), "no drawing");
    assert!(page.matches("class=\"pt").count() >= 2 * 6 * 7, "not all that was tried is drawn");
    assert!(page.contains("as answered"), "the closed loop is in the table");
    assert!(
        page.contains(">promised: 20 ms</text>") && page.contains("A run is a search by short runs, of which each is")
    );
}

#[test]
fn prices_that_say_nothing_are_refused() {
    let scene = Scene::new();
    for (prices, benchmark, says) in [
        (["1 EUR/h", "2 USD/h"], PROMISE, "the `price` of `a` is in EUR, that of `b` in USD"),
        (["1 EUR/h", ""], PROMISE, "`a` has a `price`, and `b` has none"),
        (["1 EUR/h", "2 EUR/h"], "rate = 100", "no benchmark has a `promise`"),
        (
            ["1 EUR", "2 EUR/h"],
            PROMISE,
            "is no price: a number above 0, a space, any currency, and `/h` or `/month`, as in",
        ),
        (["", ""], "promise = { response_p99 = \"soon\" }", "promise.response_p99"),
        (["", ""], "promise = {}", "`promise` in benchmark `points` is empty"),
        (["", ""], "promise = {}", "write `promise = { response_p99 = …, errors = …, max_clients = … }`"),
    ] {
        scene.write("p.toml", &plan(prices, benchmark));
        scene.etalon(&["run", "p.toml"]).says(2, &[says]);
    }
    assert!(!scene.path().join("etalon-results").exists());
}

#[test]
fn a_capacity_below_the_lowest_load_is_shown_as_that_everywhere() {
    let scene = Scene::new();
    scene.write("p.toml", &plan(["", ""], "promise = { response_p99 = \"300us\" }"));
    let ran = scene.etalon(&["run", "p.toml", "--json"]);
    ran.says(0, &[]);
    assert!(ran.stdout.contains("no-load-kept"), "{}", ran.stdout);
    let found = rows(&ran.stdout);
    let capacity = found.iter().find(|row| row["metric"] == "capacity").unwrap();
    assert_eq!(["a", "b"].map(|side| capacity[side]["bound"].clone()), ["below", "below"]);
    assert!(capacity["verdict"].is_null(), "how far below is not known: {capacity}");
    let store = scene.store();
    let store = store.to_str().unwrap();
    let shown = scene.etalon(&["compare", store]).stdout;
    assert!(shown.lines().any(|line| line.contains("capacity") && line.matches("< ").count() == 2), "{shown}");
    scene.etalon(&["report", store, "-o", "page.html"]).says(0, &[]);
    let page = std::fs::read_to_string(scene.path().join("page.html")).unwrap();
    assert!(page.contains(">a: &lt; ") && page.contains(">b: &lt; "), "the picture names what the table has");
    // A whole one is more than one that is less than a figure.
    scene.write("p.toml", &plan(["", ""], "promise = { response_p99 = \"1500us\" }"));
    let ran = scene.etalon(&["run", "p.toml", "--json"]);
    let found = rows(&ran.stdout);
    let capacity = found.iter().find(|row| row["metric"] == "capacity").unwrap();
    assert_eq!((capacity["a"]["bound"].as_str(), capacity["b"]["bound"].as_str()), (Some("below"), None));
    assert_eq!(capacity["verdict"], "faster", "{capacity}");
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(object["answer"].as_str().unwrap().contains(" carries at least "), "{}", object["answer"]);
}

/// The closed loop counts what succeeded, a tenth of what the promise allows to be asked.
#[test]
fn a_capacity_above_the_highest_load_is_shown_as_that() {
    let scene = Scene::new();
    let plan = plan(["", ""], "promise = { response_p99 = \"1s\", errors = 0.95 }");
    scene.write("p.toml", &plan.replace("servers=1", "servers=1&errors=0.9"));
    let ran = scene.etalon(&["run", "p.toml", "--json", "--rounds", "1", "--system", "a"]);
    ran.says(0, &[]);
    assert!(ran.stdout.contains("ask with more `clients`, or promise less time"), "{}", ran.stdout);
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    let answer = object["answer"].as_str().unwrap();
    assert!(answer.starts_with("a carries at least ") && answer.contains("with 99 % under 1 s in points"), "{answer}");
    let tried = object["loads_tried"].as_array().unwrap();
    assert!(tried.iter().all(|point| point["rate"].is_null() || point["is_kept"] == true), "{tried:?}");
}

/// Of sixteen servers one client reaches one: that is its capacity, and every form says so.
#[test]
fn a_capacity_that_is_that_of_its_clients_says_so() {
    let scene = Scene::new();
    let plan = plan(["", ""], PROMISE).replace("servers=1", "servers=16").replace("clients = 32", "clients = 1");
    scene.write("p.toml", &plan);
    let ran = scene.etalon(&["run", "p.toml", "--json"]);
    ran.says(0, &[]);
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    let answer = object["answer"].as_str().unwrap();
    assert!(answer.ends_with("; more clients may carry more on a and b."), "{answer}");
    let rows = rows(&ran.stdout);
    let capacity = rows.iter().find(|row| row["metric"] == "capacity").unwrap();
    assert_eq!(capacity["verdict"], "faster", "with so many clients it is");
    let told = |row: &Value| row["warnings"].as_array().unwrap().iter().any(|one| one["kind"] == "too-few-clients");
    assert!(told(capacity), "{capacity}");
    let shown = scene.etalon(&["compare", scene.store().to_str().unwrap()]);
    let words = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("too few clients in 6 of 6 runs of A: in the first, at ") && words.contains("More `clients`"),
        "{words}"
    );
    let alone = scene.etalon(&["run", "p.toml", "--rounds", "1", "--system", "a", "--json"]);
    let object: Value = serde_json::from_str(&alone.stdout).unwrap();
    let answer = object["answer"].as_str().unwrap();
    assert!(answer.contains("tx/s with 99 % under 20 ms in points; more clients may carry more. Nothing"), "{object}");
}

/// Of two servers two clients reach both, and eight carry no more: chance says which of the two seem to.
#[test]
fn clients_of_whom_more_carried_no_more_are_not_said_to_be_too_few() {
    let scene = Scene::new();
    let two_servers = plan(["", ""], PROMISE).replace("servers=1", "servers=2&noise=0").replace("=200&", "=400&");
    scene.write("p.toml", &two_servers.replace("clients = 32", "clients = [2, 8]").replace("seed = 7", "seed = 6"));
    let told = |ran: &str| {
        let object: Value = serde_json::from_str(ran).unwrap();
        let answer = object["answer"].as_str().unwrap().to_owned();
        assert!(!answer.contains("may carry more"), "{answer}");
        object
    };
    // Of those that seem to carry the most, all runs are marked.
    let is_marked = |row: &Value| row["warnings"].to_string().contains("too-few-clients");
    let by_clients = |of: &Value, clients: i64| {
        let is_it = |row: &&Value| row["metric"] == "capacity" && row["case"]["clients"] == clients;
        of.as_array().unwrap().iter().find(is_it).unwrap().clone()
    };
    let pair = told(&scene.etalon(&["run", "p.toml", "--json"]).stdout);
    let [two, eight] = [2, 8].map(|clients| by_clients(&pair["comparisons"], clients));
    let carried = |row: &Value, side: &str| row[side]["estimate"].as_f64().unwrap();
    assert!(
        is_marked(&two) && ["a", "b"].iter().all(|side| carried(&two, side) > carried(&eight, side)),
        "{two} {eight}"
    );
    let alone = told(&scene.etalon(&["run", "p.toml", "--json", "--system", "b", "--rounds", "1"]).stdout);
    let [two, eight] = [2, 8].map(|clients| by_clients(&alone["figures"], clients));
    assert!(is_marked(&two) && carried(&two, "side") > carried(&eight, "side"), "{two} {eight}");
    // The views have the same figures as the table.
    let views = alone["views"].as_array().unwrap();
    let peak = &views.iter().find(|view| view["title"] == "Peaks").unwrap()["rows"][0];
    assert_eq!(peak[2]["value"].as_f64().unwrap(), carried(&two, "side"), "{peak}");
}

/// Real I/Os: which rate it is depends on the disk.
#[test]
fn a_disk_has_a_capacity_in_ios() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path().join("there")).unwrap();
    scene.write(
        "p.toml",
        "[systems.d]\nurl = \"disk:there\"\n[[benchmarks]]\nworkload = \"disk\"\nsize_mb = 4\ndepth = 4\n\
         promise = { response_p99 = \"200ms\" }\n[schedule]\nrounds = 1\nwarmup = \"10ms\"\nduration = \"300ms\"\n",
    );
    let ran = scene.etalon(&["run", "p.toml", "--json"]);
    ran.says(0, &[]);
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    let figures = object["figures"].as_array().unwrap();
    let capacity = figures.iter().find(|figure| figure["metric"] == "capacity").unwrap();
    assert_eq!(capacity["unit"], "io/s");
    let tried = object["loads_tried"].as_array().unwrap();
    assert!(tried[0]["rate"].is_null() && tried[0]["throughput"].as_f64().unwrap() > 0.0, "{tried:?}");
    assert!(tried.iter().any(|point| point["rate"].is_number()), "{tried:?}");
    let views = object["views"].to_string();
    assert!(views.contains("8 KB at its promise"), "what a disk does at most is not known: {views}");
}

/// The knee lies at 38.5 a second: even the longest short runs have fewer operations than it takes in one plan, and in the other those
/// that are lengthened have as many.
#[test]
fn equal_capacities_of_few_operations_are_not_told_apart() {
    let scene = Scene::new();
    for (name, duration, is_voided) in [("few", "2s", true), ("enough", "20s", false)] {
        if !is_voided && !is_slow() {
            println!("skipped: eight capacities of 5,000 operations a short run take ETALON_SLOW=1");
            continue;
        }
        let mut sure = Vec::new();
        for seed in 1..=8 {
            let text = format!(
                "[systems.a]\nurl = \"sim:?service_us=10000&spread=1&servers=1\"\n\
                 [systems.b]\nurl = \"sim:?service_us=10000&spread=1&servers=1\"\n\
                 [[benchmarks]]\nname = \"points\"\nworkload = \"transactions\"\nscript = \"select-only\"\nclients = 32\n\
                 arrivals = \"poisson\"\npromise = {{ response_p99 = \"75ms\" }}\n[schedule]\nseed = {seed}\nrounds = 6\n\
                 warmup = \"1s\"\nduration = \"{duration}\"\n"
            );
            scene.write("p.toml", &text);
            let ran = scene.etalon(&["run", "p.toml", "--json", "-o", &format!("{name}-{seed}")]);
            ran.says(0, &[]);
            let rows = rows(&ran.stdout);
            let capacity = rows.iter().find(|row| row["metric"] == "capacity").unwrap();
            let few = capacity["warnings"].to_string().contains("too-few-operations");
            assert_eq!((few, capacity["verdict"].is_null()), (is_voided, is_voided), "{capacity}");
            sure.extend(
                capacity["verdict"]
                    .as_str()
                    .filter(|verdict| ["faster", "slower"].contains(verdict))
                    .map(str::to_owned),
            );
        }
        println!("{name} operations: {} of 8 experiments of equals end with a difference", sure.len());
        // One in 20 is what the level allows.
        assert!(sure.len() <= usize::from(!is_voided), "{sure:?}");
    }
}

/// Twenty-two clients keep it of four servers of 2 ms, fourteen of one of 200 µs.
#[test]
fn clients_are_answered_with_the_rate_at_which_they_ran() {
    let scene = Scene::new();
    let four = "sim:?service_us=2000&servers=4&spread=1&noise=0";
    let asked = ["--p99", "20ms", "--set", "schedule.seed=1", "--json"];
    let ran = scene.etalon(&[&["run", four, "--script", "select-only"], &asked[..]].concat());
    ran.says(0, &[]);
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    let answer = object["answer"].as_str().unwrap();
    assert!(answer.starts_with("sim carries 22 clients ") || answer.starts_with("sim carries 23 clients "), "{answer}");
    assert!(answer.contains(" with 99 % under 20 ms in select-only, at 2 0"), "{answer}");
    let tried = object["loads_tried"].as_array().unwrap();
    assert!(tried.iter().all(|point| point["clients"].is_number() && point["is_kept"].is_boolean()), "{tried:?}");
    let store = scene.store();
    scene.etalon(&["report", store.to_str().unwrap(), "-o", "page.html"]).says(0, &[]);
    let page = std::fs::read_to_string(scene.path().join("page.html")).unwrap();
    assert!(page.contains(">clients (logarithmic)</text>") && page.contains("<th class=\"num\">clients</th>"));
    // Each case is named, and a bound is one.
    let ran = scene.etalon(
        &[&["run", four, "--script", "tpcb-like,select-only", "--rounds", "2", "--max-clients", "9"], &asked[..]]
            .concat(),
    );
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    let answer = object["answer"].as_str().unwrap();
    assert!(answer.contains("at least 9 clients") && answer.contains("in tpcb-like"), "{answer}");
    assert!(answer.contains(", at least ") && !answer.contains("at at least"), "{answer}");
    assert!(answer.contains("in select-only"), "{answer}");
}

#[test]
fn two_servers_are_compared_by_the_clients_that_they_carry() {
    let scene = Scene::new();
    scene.write(
        "p.toml",
        &plan(["", ""], "promise = { response_p99 = \"5ms\", max_clients = 64 }")
            .replace("clients = 32\narrivals = \"poisson\"\n", ""),
    );
    let ran = scene.etalon(&["run", "p.toml", "--json"]);
    ran.says(0, &[]);
    let rows = rows(&ran.stdout);
    let clients = rows.iter().find(|row| row["metric"] == "capacity_clients").unwrap();
    assert_eq!(clients["verdict"], "faster", "{clients}");
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    let answer = object["answer"].as_str().unwrap();
    assert!(
        answer.starts_with("b carries about ") && answer.contains(" times the clients of a in points at its promise"),
        "{answer}"
    );
}
