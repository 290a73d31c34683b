//! Passwords are in nothing that a plan leaves behind.

use crate::common::{GOOD, SMALL, parse};
use model::Value;
use model::plan::{redact_text, redact_url};
use proptest::prelude::*;

#[test]
fn passwords_of_urls() {
    for (url, expected) in [
        ("postgres://u:p@h:5432/db", "postgres://u:***@h:5432/db"),
        ("postgres://:p@h/db", "postgres://:***@h/db"),
        ("postgres://u:p%40%2Fw@h/db", "postgres://u:***@h/db"),
        ("postgres://u:p@ss@h/db", "postgres://u:***@h/db"),
        ("postgres://u:p/w@h/db", "postgres://u:***@h/db"),
        ("postgres://u:p:w@h/db", "postgres://u:***@h/db"),
        ("postgres://u:p#w@h/db", "postgres://u:***@h/db"),
        ("postgres://u:p?w@h/db", "postgres://u:***@h/db"),
        ("postgres://u:p?a=b@h/db", "postgres://u:***@h/db"),
        ("postgres://u:12?w@h/db", "postgres://u:***@h/db"),
        ("postgres://u:p w@h/db", "postgres://u:***@h/db"),
        ("postgres://u:pässwörd@h/db", "postgres://u:***@h/db"),
        ("postgres://u:p@h1:1,h2:2/db", "postgres://u:***@h1:1,h2:2/db"),
        ("postgres://u:p@[::1]:5432/db", "postgres://u:***@[::1]:5432/db"),
        (
            "postgres://u:p@h/db?sslmode=require&password=q&x=1",
            "postgres://u:***@h/db?sslmode=require&password=***&x=1",
        ),
        ("postgres://h/db?user=u&PassWord=q", "postgres://h/db?user=u&PassWord=***"),
        ("postgres://h/db?pass%77ord=q&sslpassword=r?s=t", "postgres://h/db?pass%77ord=***&sslpassword=***"),
        ("sqlserver://h:1433;user=sa;password=p;encrypt=true", "sqlserver://h:1433;user=sa;password=***;encrypt=true"),
        ("mysql:u:p@h", "mysql:u:***@h"),
        ("host=h password=p user=u", "host=h password=*** user=u"),
        ("host=h password = 'p w\\' x' user=u", "host=h password = '***' user=u"),
        ("password='p", "password='***"),
        ("PGPASSWORD=p psql", "PGPASSWORD=*** psql"),
        // Slips of the fingers.
        ("postgres://h/db?pasword=q&x=1", "postgres://h/db?pasword=***&x=1"),
        ("postgres://h/db?Passwrd=q", "postgres://h/db?Passwrd=***"),
        ("mysql://h/db?pw=q", "mysql://h/db?pw=***"),
        ("mysql://h/db?x=1;password=q", "mysql://h/db?x=1;password=***"),
        ("mysql://u:p/db", "mysql://u:***"),
        ("mysql://u:p", "mysql://u:***"),
        ("Server=h;Password=p", "Server=h;Password=***"),
    ] {
        assert_eq!(redact_url(url), expected, "{url}");
        assert_eq!(redact_url(expected), expected, "masking twice changes nothing");
    }
}

#[test]
fn what_holds_none_stays() {
    for url in [
        "",
        ":",
        "://",
        "postgres://",
        "postgres://h",
        "postgres://u@h/db",
        "postgres://u:@h/db",
        "postgres://h:5432/db",
        "postgres://h:5432/db?application_name=a@b",
        "postgres://h1:1,h2:2/db?x=a@b",
        "postgres://[::1]:5432/db?x=a@b",
        "postgres:///db?host=/run/a@b",
        "postgres://h/db?password=",
        "postgres://h/db?passfile=/x&sslmode=require&user=u",
        "nats://h:4222",
        "tls://h1:4222,h2:4222",
        "sqlite:///var/x@y.db",
        "sqlite:C:/data/x@y.db",
        "sqlite:x.db",
        "env:DATABASE_URL",
        "sim:tps=1000",
        "password_encryption=scram",
        "é://é?é",
    ] {
        assert_eq!(redact_url(url), url);
    }
}

#[test]
fn a_redacted_plan_holds_none() {
    let text = GOOD
        .replace("s3cret@", "s3cret@h,")
        .replace("jit = false", "jit = false, password = \"s3cret\", primary_conninfo = \"host=h password=s3cret\"")
        .replace("./mine.sql", "postgres://x:s3cret@h/mine.sql");
    let plan = parse(&text).unwrap();
    assert_eq!(serde_json::to_string(&plan).unwrap().matches("s3cret").count(), 3 + 8);
    let redacted = plan.redacted();
    assert!(!serde_json::to_string(&redacted).unwrap().contains("s3cret"));
    assert_eq!(redacted.systems[0].settings["password"], Value::Text("***".into()));
    assert_eq!(redacted.systems[0].settings["work_mem"], Value::Int(64), "the rest stays");
    assert_eq!(redacted.redacted(), redacted);
    assert_eq!(redacted.hash(), plan.hash(), "a changed password makes no other experiment");
}

#[test]
fn the_hash_covers_everything_else() {
    let hash = |text: &str| parse(text).unwrap().hash();
    assert_eq!(hash(GOOD).len(), 64);
    assert_eq!(hash(GOOD), hash(&GOOD.replace("s3cret", "other")));
    assert_eq!(hash(GOOD), hash(&format!("# a comment\n{GOOD}")));
    for (old, new) in [
        ("rounds = 6", "rounds = 7"),
        ("seed = 1844", "seed = 44"),
        ("work_mem = 64", "work_mem = 65"),
        ("work_mem = 64", "work_mem = \"64\""),
        ("localhost", "remote"),
        ("\"5%\"", "\"4%\""),
        ("0.5]", "0.6]"),
        ("\"tcp\"", "\"socket\""),
        ("\"wal\"", "\"wal2\""),
    ] {
        assert_ne!(hash(GOOD), hash(&GOOD.replace(old, new)), "{old}");
    }
    // Stores keep it: it must not change from version to version.
    assert_eq!(hash(SMALL), "2f0629758a919d4e00ec1201b041288d53f9580ddb0753f51eadea84544a84cb");
}

#[test]
fn a_password_of_a_connection_string_may_look_like_a_url() {
    let text = "host=h password=hunter2://x dbname=y";
    assert_eq!(redact_url(text), "host=h password=*** dbname=y");
}

#[test]
fn the_text_of_a_plan_holds_none() {
    let text = r#"
# the password is s3cret, as in s3cretary; it was postgres://bench:0ld@localhost before
[systems.a]
url = "postgres://bench:s3cret@localhost/bench" # password=0ld
[systems.b]
url = 'mysql://u:p%40ss@h/b?x=1'
settings = { password = "t0p", level = 3, conninfo = "host=h password='s3cret'" }
[systems.c]
url = "mysql://u:q\"uo\u0074e@h/c"
[[benchmarks]]
workload = "transactions"
note = "fine"
"#;
    let plan = parse(text).unwrap();
    let redacted = redact_text(text, &plan);
    assert_eq!(
        redacted,
        r#"
# the password is ***, as in s3cretary; it was postgres://bench:***@localhost before
[systems.a]
url = "postgres://bench:***@localhost/bench" # password=***
[systems.b]
url = 'mysql://u:***@h/b?x=1'
settings = { password = "***", level = 3, conninfo = "host=h password='***'" }
[systems.c]
url = "mysql://u:***@h/c"
[[benchmarks]]
workload = "transactions"
note = "fine"
"#
    );
    assert_eq!(parse(&redacted).unwrap().systems, plan.redacted().systems, "it is a plan still");
    assert_eq!(redact_text(&redacted, &plan), redacted);
}

#[test]
fn a_password_that_is_also_an_open_word() {
    let text = SMALL.replace("postgres://u@h/a", "postgres://postgres:postgres@h/postgres");
    let plan = parse(&text).unwrap();
    assert_eq!(redact_text(&text, &plan), text.replace(":postgres@", ":***@"));
    let text = SMALL.replace("postgres://u@h/a", "postgres://u:a@h/a");
    let plan = parse(&text).unwrap();
    assert_eq!(redact_text(&text, &plan), text.replace(":a@", ":***@"));
}

proptest! {
    #[test]
    fn masks_any_password(password in "[!-~€ä ]{1,12}", tail in "(:5432)?(/db)?(\\?x=1)?") {
        // `host:1/db?x=a@b` may be a password with bare characters in it, and is a host with a port and a query.
        prop_assume!(!(password.contains(['/', '@']) && password.contains('?')));
        let url = format!("postgres://user:{password}@host{tail}");
        prop_assert_eq!(redact_url(&url), format!("postgres://user:***@host{tail}"));
    }

    #[test]
    fn no_text_keeps_a_password(password in "[a-zA-Z0-9%!\"\\\\$&'()*+,;=@:/ €-]{4,12}") {
        let password = format!("Q{password}Q");
        let quoted = toml::Value::String(format!("postgres://user:{password}@host/db")).to_string();
        let text = SMALL.replace("\"postgres://u@h/a\"", &quoted).replace("[systems.b]", &format!("# {password} \n[systems.b]"));
        let plan = parse(&text).unwrap();
        let redacted = redact_text(&text, &plan);
        prop_assert!(!redacted.contains(&password), "{}", redacted);
        prop_assert_eq!(&parse(&redacted).unwrap().systems[0].url, "postgres://user:***@host/db");
    }

    #[test]
    fn never_panics(url in "\\PC{0,40}", other in "[a-z:/@?&=%'\"\\\\; é]{0,40}") {
        let _ = (redact_url(&url), redact_url(&other), redact_url(&format!("{other}password={url}")));
        let _ = redact_text(&other, &parse(GOOD).unwrap());
    }
}

/// A plan with such a URL and setting, as a store gives it back.
fn stored(url: &str, setting: &str) -> model::Plan {
    let text = format!(
        "[systems.a]\nurl = \"{url}\"\nsettings = {{ {setting} }}\n[[benchmarks]]\nworkload = \"transactions\"\n\
         script = \"select-only\"\nclients = 1\n[schedule]\nrounds = 1\n"
    );
    parse(&text).unwrap_or_else(|errors| panic!("{errors}")).redacted()
}

#[test]
fn a_mask_is_an_absent_password() {
    for (url, expected) in [
        ("postgres://u:p@h:5432/db", "postgres://u@h:5432/db"),
        ("postgres://u:***@h/db", "postgres://u@h/db"),
        ("postgres://h/db?user=u&password=q", "postgres://h/db?user=u"),
        ("postgres://h/db?password=q&user=u", "postgres://h/db?user=u"),
        ("postgres://u@h/db", "postgres://u@h/db"),
    ] {
        let unmasked = stored(url, "").unmasked();
        assert_eq!(unmasked.plan.systems[0].url, expected, "{url}");
        assert_eq!(
            unmasked.without_password.len(),
            usize::from(url.contains("p@") || url.contains("***") || url.contains("=q"))
        );
        assert!(unmasked.lost.is_empty());
    }
    // The same plan, as far as anybody can tell.
    assert_eq!(stored("postgres://u:p@h/db", "").hash(), stored("postgres://u:***@h/db", "").hash());
}

#[test]
fn a_masked_setting_has_no_other_source() {
    for (setting, is_lost) in [
        ("my_secret = \"s\"", true),
        ("primary_conninfo = \"host=h password=p\"", true),
        ("work_mem = \"4MB\"", false),
        ("stars = \"***\"", false),
    ] {
        let lost = stored("postgres://h/db", setting).unmasked().lost;
        assert_eq!(lost.len(), usize::from(is_lost), "{setting}: {lost:?}");
    }
}
