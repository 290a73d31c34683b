//! The page in a real browser: charts draw, no complaints, no requests, nothing hostile runs. `ETALON_SHOTS` names a
//! folder for pages and screenshots.

use std::path::PathBuf;

use base64::Engine as _;
use model::MarkKind;
use serde_json::json;

use crate::chromium::Browser;
use crate::disk::volumes;
use crate::evidence::{Builder, Made};
use crate::html::{hostile, page};

/// Everything that a report can show.
fn rich() -> Made {
    let mut builder = Builder { clients: vec![1, 4, 16], seconds: 30, ..Builder::default() };
    builder.systems.push(("wal, synchronous=normal".to_owned(), |clients| 1_215.0 * (clients as f64).powf(0.31)));
    let mut made = builder.build();
    made.fail(made.position_of("wal"), "the server closed the connection unexpectedly");
    let last = made.evidence.runs.len() as u32 - 1;
    made.mark(last, MarkKind::ClientSaturated, "each of the client's 2 threads was busy 97 % of the time");
    made.mark(5, MarkKind::NotSteady, "the rate fell by 9 %");
    made.change("rollback-journal", "response_p99", |round, value| value * if round % 3 == 0 { 1.3 } else { 1.0 });
    made
}

fn write(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    if let Some(shots) = std::env::var_os("ETALON_SHOTS").map(PathBuf::from) {
        std::fs::create_dir_all(&shots).unwrap();
        std::fs::write(shots.join(name), text).unwrap();
    }
    path
}

fn check_quiet(browser: &Browser, path: &std::path::Path) {
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let own = format!("file://{}", path.display());
    let away: Vec<String> = browser.requests().into_iter().filter(|url| *url != own).collect();
    assert_eq!(away, Vec::<String>::new(), "nothing but the page itself is asked for");
}

#[test]
fn charts_are_drawn_and_answer_the_pointer() {
    let folder = tempfile::tempdir().unwrap();
    let text = page(&rich());
    // Nine cases, ninety runs: small enough for mail.
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
    let path = write(&folder, "report.html", &text);
    let mut browser = Browser::start();
    browser.emulate(1280, 900, "light");
    browser.open(&path);
    assert_eq!(browser.evaluate("document.documentElement.dataset.ready"), "yes");
    // 3 forests; a curve and bars over the clients; 3 cases with 3 metrics, 1 curve, 2 series each.
    assert_eq!(
        browser.evaluate("document.querySelectorAll('figure.chart .plot > svg').length"),
        json!(3 + 2 + 3 * (3 + 1 + 2))
    );
    assert_eq!(browser.evaluate("document.querySelectorAll('figure.chart.empty').length"), json!(0));
    // Measured and lost runs are marks in three pictures.
    assert_eq!(browser.evaluate("document.querySelectorAll('#runs .plot svg .pt').length"), json!(90 * 3));
    assert_eq!(browser.evaluate("document.querySelectorAll('#seconds svg.zoomable .ln').length"), json!(18));
    let wide = "document.documentElement.scrollWidth <= window.innerWidth";
    assert_eq!(browser.evaluate(wide), json!(true), "nothing sticks out");
    zoom_and_hover(&mut browser);
    sort_and_filter(&mut browser);
    check_quiet(&browser, &path);
    browser.emulate(390, 844, "light");
    assert_eq!(browser.evaluate(wide), json!(true), "nothing sticks out of a phone");
    assert_eq!(small_texts(&mut browser), json!([]), "letters that nobody can read on a phone");
    assert_eq!(headless_cases(&mut browser), json!([]), "cases whose head a phone does not show");
    check_labels(&mut browser, "on a phone");
    browser.emulate(1280, 900, "light");
    check_labels(&mut browser, "on a desk");
    browser.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    browser.emulate(720, 1000, "light");
    check_labels(&mut browser, "on paper");
}

/// Bars with long names, on a desk and on a phone.
#[test]
fn charts_of_disks_keep_their_labels() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "disk.html", &page(&volumes("random", "iops", "io/s")));
    let mut browser = Browser::start();
    for (width, height) in [(1280, 900), (390, 844)] {
        browser.emulate(width, height, "light");
        browser.open(&path);
        let wide = "document.documentElement.scrollWidth <= window.innerWidth";
        assert_eq!(browser.evaluate(wide), json!(true), "nothing sticks out at {width}");
        check_labels(&mut browser, &format!("disk at {width}"));
        assert_eq!(small_texts(&mut browser), json!([]));
        assert_eq!(headless_cases(&mut browser), json!([]));
        let narrow = "[...document.querySelectorAll('caption')].filter(c => c.textContent.trim() && c.offsetParent && \
                      c.getBoundingClientRect().width < 100).map(c => c.textContent)";
        assert_eq!(browser.evaluate(narrow), json!([]), "captions of one letter a line at {width}");
    }
    // Two bars, and a ring around the only knee.
    assert_eq!(browser.evaluate("document.querySelectorAll('#disk-iops .bar').length"), json!(2));
    assert_eq!(browser.evaluate("document.querySelectorAll('#depth-0 .knee').length"), json!(1));
    check_quiet(&browser, &path);
}

/// Labels of charts that are cut off, and texts that lie on each other.
const CUT: &str = "[...document.querySelectorAll('.plot svg text')].filter(t => { const b = t.getBBox(), \
                   v = t.ownerSVGElement.viewBox.baseVal; return t.checkVisibility() && b.width > 0 && (b.x < 0 || b.y < -3 || b.x + b.width > \
                   v.width || b.y + b.height > v.height + 3); }).map(t => t.textContent)";
const OVERLAPPING: &str = "(() => { const shown = e => e.checkVisibility(); const boxes = root => \
     [...root.querySelectorAll('svg text')].filter(shown).map(t => [t.textContent, t.getBoundingClientRect()]); \
     const over = all => all.flatMap(([x, a], i) => all.slice(i + 1).filter(([, b]) => Math.min(a.right, b.right) - \
     Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4).map(([y]) => x + ' over ' + \
     y)); const words = root => [...root.querySelectorAll('th, td, h1, h2, h3, p, li, dt, dd, figcaption')].filter(e => \
     shown(e) && !e.querySelector('p, li, td, th, svg, details, table')).map(e => [e.textContent.trim().slice(0, 40), \
     e.getBoundingClientRect()]).filter(([t]) => t); const blocks = [...document.querySelectorAll('header, section')]; return \
     [...[...document.querySelectorAll('.plot')].filter(shown).flatMap(p => over(boxes(p))), \
     ...blocks.flatMap(b => over(words(b)))].slice(0, 5); })()";

fn check_labels(browser: &mut Browser, what: &str) {
    assert_eq!(browser.evaluate(CUT), json!([]), "labels that are cut: {what}");
    assert_eq!(browser.evaluate(OVERLAPPING), json!([]), "texts that lie on each other: {what}");
}

/// Table cases that a narrow page shows without a heading.
fn headless_cases(browser: &mut Browser) -> serde_json::Value {
    browser.evaluate(
        "[...document.querySelectorAll('table.disk td, .results td')].filter(t => !t.dataset.l && t.textContent.trim())         .map(t => t.textContent).slice(0, 3)",
    )
}

/// Chart text shown below 9 pixels.
fn small_texts(browser: &mut Browser) -> serde_json::Value {
    browser.evaluate(
        "[...document.querySelectorAll('.plot svg text')].filter(t => t.getBoundingClientRect().height > 0 && \
         parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getScreenCTM().a < 9).map(t => t.textContent).slice(0, 3)",
    )
}

fn zoom_and_hover(browser: &mut Browser) {
    let labels =
        "[...document.querySelectorAll('#seconds-0-rate .plot > svg > text.tx')].map(t => t.textContent).join()";
    let whole = browser.evaluate(labels);
    browser.evaluate("document.querySelector('#seconds-0-rate .tools button').click()");
    assert_ne!(browser.evaluate(labels), whole, "zoom changes the labels");
    browser.evaluate("document.querySelector('#seconds-0-rate .tools button:last-child').click()");
    assert_eq!(browser.evaluate(labels), whole);
    browser
        .evaluate("document.querySelector('#seconds-0-rate').scrollIntoView({ behavior: 'instant', round: 'center' })");
    let corner = browser.evaluate(
        "(() => { const b = document.querySelector('#seconds-0-rate .plot svg').getBoundingClientRect(); \
         return [b.left + b.width / 2, b.top + b.height / 2]; })()",
    );
    browser.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": corner[0], "y": corner[1] }));
    let tip = browser.evaluate("document.querySelector('#seconds-0-rate .tip').textContent");
    let tip = tip.as_str().unwrap();
    assert!(tip.contains("rollback-journal ") && tip.contains("operations a second"), "{tip}");
    if let Some(folder) = std::env::var_os("ETALON_SHOTS").map(PathBuf::from) {
        browser.evaluate("document.querySelector('#seconds-0-rate .tools button').click()");
        browser.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": corner[0], "y": corner[1] }));
        let shot = browser.call("Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = base64::engine::general_purpose::STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("zoomed.png"), bytes).unwrap();
    }
}

fn sort_and_filter(browser: &mut Browser) {
    // The pairs' table: above it three systems have a column each.
    let first = "[...document.querySelectorAll('table.results')].find(t => t.tHead.textContent.includes('B against A'))\
                 .querySelector('tbody tr td.num').textContent";
    let before = browser.evaluate(first);
    browser.evaluate(
        "[...document.querySelectorAll('table.results th')].find(t => t.textContent === 'B against A').click()",
    );
    assert_ne!(browser.evaluate(first), before, "sorting changes the order");
    let shown = "[...document.querySelectorAll('table.results tbody tr')].filter(r => r.offsetParent).length";
    let all = browser.evaluate(shown).as_i64().unwrap();
    browser.evaluate("document.getElementById('relevant').click()");
    assert!(browser.evaluate(shown).as_i64().unwrap() < all, "the filter hides rows");
    browser.evaluate("document.getElementById('relevant').click()");
}

#[test]
fn hostile_names_are_inert() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "hostile.html", &page(&hostile()));
    let mut browser = Browser::start();
    browser.emulate(1280, 900, "dark");
    browser.open(&path);
    assert_eq!(browser.evaluate("document.documentElement.dataset.ready"), "yes");
    assert_eq!(browser.evaluate("window.owned === undefined"), json!(true));
    assert_eq!(browser.evaluate("document.querySelectorAll('img, iframe, object').length"), json!(0));
    assert_eq!(browser.evaluate("document.querySelectorAll('style').length"), json!(1));
    let data = browser.evaluate("JSON.parse(document.getElementById('etalon-data').textContent).experiment.name");
    assert_eq!(data, crate::html::HOSTILE[1]);
    check_quiet(&browser, &path);
    for width in [1280, 390] {
        browser.emulate(width, 844, "light");
        assert_eq!(
            browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth"),
            json!(true),
            "{width}"
        );
    }
    assert_eq!(headless_cases(&mut browser), json!([]));
    shots(&mut browser, "hostile");
}

#[test]
fn figures_are_there_without_scripts_and_on_paper() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "report.html", &page(&rich()));
    let mut browser = Browser::start();
    browser.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    browser.emulate(1280, 900, "light");
    browser.open(&path);
    assert_eq!(browser.evaluate("document.documentElement.dataset.ready === undefined"), json!(true));
    assert_eq!(browser.evaluate("document.querySelectorAll('#seconds svg .ln:not(.swatch .ln)').length"), json!(18));
    check_quiet(&browser, &path);
    browser.call("Emulation.setScriptExecutionDisabled", json!({ "value": false }));
    browser.open(&path);
    shots(&mut browser, "report");
}

#[test]
fn a_single_system_has_figures_and_no_changes() {
    let mut builder = Builder { rounds: 6, ..Builder::default() };
    builder.systems.truncate(1);
    let text = page(&builder.build());
    assert!(!text.contains("id=\"forest\"") && !text.contains("#forest"));
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "single.html", &text);
    let mut browser = Browser::start();
    browser.open(&path);
    assert_eq!(browser.evaluate("document.querySelectorAll('table.results tbody tr').length"), json!(6));
    assert_eq!(browser.evaluate("document.querySelectorAll('.verdict').length"), json!(3));
    check_quiet(&browser, &path);
    shots(&mut browser, "single");
}

/// Screenshots for people.
fn shots(browser: &mut Browser, name: &str) {
    let Some(folder) = std::env::var_os("ETALON_SHOTS").map(PathBuf::from) else { return };
    std::fs::create_dir_all(&folder).unwrap();
    let save = |file: &str, result: &serde_json::Value| {
        let bytes = base64::engine::general_purpose::STANDARD.decode(result["data"].as_str().unwrap()).unwrap();
        std::fs::write(folder.join(format!("{name}-{file}")), bytes).unwrap();
    };
    for (file, width, scheme) in [("light", 1280, "light"), ("dark", 1280, "dark"), ("phone", 390, "light")] {
        browser.emulate(width, 900, scheme);
        let height = browser.evaluate("document.documentElement.scrollHeight").as_i64().unwrap();
        for (slice, top) in (0..height).step_by(1_400).enumerate() {
            let clip = json!({ "x": 0, "y": top, "width": width, "height": (height - top).min(1_400), "scale": 1 });
            let shot = json!({ "captureBeyondViewport": true, "format": "png", "clip": clip });
            let shot = browser.call("Page.captureScreenshot", shot);
            save(&format!("{file}-{slice:02}.png"), &shot);
        }
    }
    let pdf = browser.call("Page.printToPDF", json!({ "printBackground": false, "preferCSSPageSize": true }));
    save("print.pdf", &pdf);
}
