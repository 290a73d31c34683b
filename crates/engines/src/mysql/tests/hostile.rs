//! Texts of a plan that would bring further options along.

use std::collections::BTreeSet;
use std::ffi::OsString;

use super::*;
use crate::server::testing::conductor::{no_setting_brings_another, some_of};

of_both_products! {
    no_permitted_setting_brings_another_along,
    a_server_with_more_than_it_was_given_is_found_out,
}

/// Sources, libraries and a login's rights, as the server says them.
fn origins(endpoint: &Endpoint) -> BTreeSet<String> {
    let mut client = endpoint.open_client(Purpose::Control).unwrap();
    let sql = match product() {
        Product::MariaDb => {
            "SELECT variable_name FROM information_schema.system_variables WHERE global_value_origin IN ('CONFIG', \
             'COMMAND-LINE')"
        }
        Product::MySql => {
            "SELECT variable_name FROM performance_schema.variables_info WHERE variable_source NOT IN ('COMPILED', \
             'DYNAMIC')"
        }
    };
    let mut names: BTreeSet<String> = client
        .query_text_rows(sql)
        .unwrap()
        .into_iter()
        .flatten()
        .flatten()
        .map(|name| name.to_ascii_lowercase())
        .collect();
    let libraries = "SELECT plugin_name FROM information_schema.plugins WHERE plugin_library IS NOT NULL";
    names.extend(client.query_text_rows(libraries).unwrap().into_iter().flatten().flatten());
    assert_eq!(client.query_first_value("SELECT @@max_connect_errors").unwrap(), "100");
    let grants = client.query_text_rows("SHOW GRANTS").unwrap();
    assert!(!format!("{grants:?}").contains("GRANT ALL PRIVILEGES ON *.*"), "{grants:?}");
    client.close_and_wait();
    names
}

fn no_permitted_setting_brings_another_along() {
    let kinds = ["sql_mode", "optimizer_switch", "default_storage_engine", "log_bin", "innodb_page_size"];
    let names = some_of(&confine::SETTINGS, &kinds);
    no_setting_brings_another::<MySqlServer>(&names, "max_connect_errors=77", private::Private::restart_with, origins);
}

fn a_server_with_more_than_it_was_given_is_found_out() {
    let mut private = testing::started::<MySqlServer>(Connect::Socket, &[("max_connect_errors", "77")], None).unwrap();
    let (private, endpoint) = (&mut private.0, &private.1);
    let given = private.spec.args.clone();
    let strays = |arguments: &[OsString]| {
        crate::server::private::Recipe::unplanned_settings(&private.recipe, endpoint, Path::new(""), arguments).unwrap()
    };
    assert_eq!(strays(&given), [""; 0]);
    let fewer: Vec<OsString> =
        given.iter().filter(|argument| !argument.to_string_lossy().contains("max_connect")).cloned().collect();
    assert_eq!(strays(&fewer), ["max_connect_errors"]);
    for name in ["skip_grant_tables", "loose-skip-grant-tables", "loose_datadir", "enable-networking"] {
        assert_eq!(testing::refused_start::<MySqlServer>(&[(name, "1")]).kind, FailureKind::Plan, "{name}");
    }
}
