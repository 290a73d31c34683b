//! The Kubernetes manifest and the container file, read by a parser: what refers to something finds it.

use std::fs;
use std::path::{Path, PathBuf};

use yaml_rust2::{Yaml, YamlLoader};

use crate::nats::shipped;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn manifest() -> Vec<Yaml> {
    let text = fs::read_to_string(root().join("deploy/kubernetes/etalon.yaml")).unwrap();
    YamlLoader::load_from_str(&text).unwrap()
}

fn find<'a>(documents: &'a [Yaml], kind: &str, name: &str) -> &'a Yaml {
    let is_it = |yaml: &&Yaml| text(&yaml["kind"]) == kind && text(&yaml["metadata"]["name"]) == name;
    let found: Vec<&Yaml> = documents.iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "{kind} {name}");
    found[0]
}

fn text(yaml: &Yaml) -> &str {
    yaml.as_str().unwrap_or_else(|| panic!("{yaml:?} is no text"))
}

fn list(yaml: &Yaml) -> &[Yaml] {
    yaml.as_vec().unwrap_or_else(|| panic!("{yaml:?} is no list"))
}

/// From the line with `from` to the next `}` of that indentation.
fn block<'a>(users: &'a str, from: &str) -> &'a str {
    let start = users.find(from).unwrap_or_else(|| panic!("{from}"));
    let rest = &users[start..];
    &rest[..rest.find("\n  }\n").unwrap()]
}

#[test]
fn every_document_is_of_the_namespace() {
    let documents = manifest();
    assert!(documents.len() >= 5);
    for document in &documents {
        assert!(document["apiVersion"].as_str().is_some(), "{document:?}");
        if text(&document["kind"]) != "Namespace" {
            assert_eq!(text(&document["metadata"]["namespace"]), "etalon");
        }
    }
}

#[test]
fn the_manifest_holds_the_shipped_configuration() {
    let documents = manifest();
    let data = &find(&documents, "ConfigMap", "etalon-nats")["data"];
    assert_eq!(text(&data["etalon.conf"]), shipped("etalon.conf"));
    let (here, there) = (text(&data["users.conf"]), shipped("users.conf"));
    assert_eq!(block(here, "nkey: $CONDUCTOR_KEY"), block(&there, "nkey: $CONDUCTOR_KEY"));
    let job = find(&documents, "Job", "etalon-agents");
    let agents = job["spec"]["completions"].as_i64().unwrap();
    for index in 0..agents {
        let own = block(here, &format!("nkey: $AGENT_{index}_KEY"));
        let own = own.replace(&format!("AGENT_{index}_KEY"), "CLIENT_2_KEY");
        assert_eq!(own.replace(&format!("agent-{index}"), "client-2"), block(&there, "nkey: $CLIENT_2_KEY"));
    }
    assert_eq!(here.matches("nkey: $").count() as i64, 1 + agents);
}

#[test]
fn agents_are_an_indexed_job_and_keep_their_names() {
    let documents = manifest();
    let spec = &find(&documents, "Job", "etalon-agents")["spec"];
    assert_eq!(text(&spec["completionMode"]), "Indexed");
    assert_eq!(spec["completions"], spec["parallelism"], "all run at once");
    let pod = &spec["template"]["spec"];
    let container = &list(&pod["containers"])[0];
    let words: Vec<&str> = list(&container["args"]).iter().map(text).collect();
    assert_eq!(words[0], "agent");
    let after = |flag: &str| words[1 + words.iter().position(|word| *word == flag).unwrap()];
    assert_eq!(after("--name"), "agent-$(INDEX)");
    let env = list(&container["env"]);
    let index = env.iter().find(|variable| text(&variable["name"]) == "INDEX").unwrap();
    let field = text(&index["valueFrom"]["fieldRef"]["fieldPath"]);
    assert_eq!(field, "metadata.annotations['batch.kubernetes.io/job-completion-index']");
    let service = find(&documents, "Service", "etalon-nats");
    let port = list(&service["spec"]["ports"])[0]["port"].as_i64().unwrap();
    assert_eq!(after("--nats"), format!("tls://etalon-nats.etalon.svc:{port}"));
    let mounts = list(&container["volumeMounts"]);
    assert!(mounts.iter().any(|mount| text(&mount["mountPath"]) == after("--creds")), "the key is mounted there");
    let key = mounts.iter().find(|mount| text(&mount["name"]) == "keys").unwrap();
    assert_eq!(text(&key["subPathExpr"]), "agent-$(INDEX).nk", "its own and no other's");
}

#[test]
fn what_a_pod_mounts_is_there_and_it_has_no_rights() {
    let documents = manifest();
    for (kind, name) in [("StatefulSet", "etalon-nats"), ("Job", "etalon-agents")] {
        let spec = &find(&documents, kind, name)["spec"];
        let pod = &spec["template"]["spec"];
        let mut volumes: Vec<&str> = list(&pod["volumes"]).iter().map(|volume| text(&volume["name"])).collect();
        let claims = spec["volumeClaimTemplates"].as_vec().map(Vec::as_slice).unwrap_or_default();
        volumes.extend(claims.iter().map(|claim| text(&claim["metadata"]["name"])));
        let container = &list(&pod["containers"])[0];
        for mount in list(&container["volumeMounts"]) {
            assert!(volumes.contains(&text(&mount["name"])), "{name}: {mount:?}");
        }
        assert_eq!(pod["securityContext"]["runAsNonRoot"].as_bool(), Some(true));
        assert_eq!(pod["automountServiceAccountToken"].as_bool(), Some(false));
        let context = &container["securityContext"];
        assert_eq!(context["allowPrivilegeEscalation"].as_bool(), Some(false));
        assert_eq!(context["readOnlyRootFilesystem"].as_bool(), Some(true));
        assert_eq!(text(&list(&context["capabilities"]["drop"])[0]), "ALL");
    }
    let map = list(&find(&documents, "StatefulSet", "etalon-nats")["spec"]["template"]["spec"]["volumes"]);
    let sources = list(&map[0]["projected"]["sources"]);
    assert_eq!(text(&sources[0]["configMap"]["name"]), "etalon-nats");
    let files: Vec<&str> = list(&sources[1]["secret"]["items"]).iter().map(|item| text(&item["path"])).collect();
    for file in files {
        assert!(shipped("etalon.conf").contains(&format!("\"/etc/etalon-nats/{file}\"")), "{file}");
    }
}

/// The container file is not built here: that takes a container engine and a registry.
#[test]
fn the_container_file_copies_what_is_there_and_runs_without_rights() {
    let file = fs::read_to_string(root().join("deploy/Containerfile")).unwrap();
    let ignored = fs::read_to_string(root().join("deploy/Containerfile.dockerignore")).unwrap();
    let copied = file.lines().filter_map(|line| line.strip_prefix("COPY ")).filter(|line| !line.starts_with("--from"));
    let mut count = 0;
    for line in copied {
        let words: Vec<&str> = line.split_whitespace().collect();
        for source in &words[..words.len() - 1] {
            assert!(root().join(source).exists(), "{source}");
            assert!(ignored.lines().any(|kept| kept == format!("!{source}")), "{source} is not sent to the build");
            count += 1;
        }
    }
    assert!(count >= 4);
    assert_eq!(file.lines().filter(|line| line.starts_with("FROM ")).count(), 2);
    assert!(file.contains("cargo build --profile dist --locked --package cli --bin etalon"));
    let last = &file[file.rfind("FROM ").unwrap()..];
    assert!(last.contains("\nUSER 65532:65532\n") && last.contains("\nENTRYPOINT [\"/usr/local/bin/etalon\"]\n"));
}
