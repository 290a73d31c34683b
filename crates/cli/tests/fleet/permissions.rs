//! The rules of `deploy/nats`, as a real nats-server enforces them.

use std::future::{Future, IntoFuture};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_nats::client::RequestErrorKind;
use async_nats::jetstream::{self, consumer, stream};
use async_nats::service::ServiceExt;
use async_nats::{Client, ConnectOptions, Event, ServerError};
use futures_util::StreamExt;

use crate::nats::{self, Nats, Place, Security};

/// How long something that must come is waited for, and how long to see that nothing comes.
const PATIENCE: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_millis(300);
const STEP: Duration = Duration::from_millis(10);

struct User {
    client: Client,
    complaints: Arc<Mutex<Vec<String>>>,
}

impl User {
    async fn connect(nats: &Nats, name: &str) -> User {
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let heard = complaints.clone();
        // As étalon does: no agent may read another's answers.
        let inbox = match name {
            "conductor" => "_INBOX_etalon".to_owned(),
            agent => format!("_INBOX_etalon.agent.{agent}"),
        };
        let options = ConnectOptions::with_nkey(nats.seed(name))
            .require_tls(true)
            .add_root_certificates(nats.authority())
            .custom_inbox_prefix(inbox)
            .event_callback(move |event| {
                if let Event::ServerError(ServerError::Other(text)) = event {
                    heard.lock().unwrap().push(text);
                }
                std::future::ready(())
            });
        let client = options.connect(nats.url()).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        User { client, complaints }
    }

    async fn publish(&self, subject: &str) -> Option<String> {
        self.client.publish(subject.to_owned(), "x".into()).await.unwrap();
        self.complaint(PATIENCE).await
    }

    async fn subscribe(&self, subject: &str, within: Duration) -> Option<String> {
        let _subscriber = self.client.subscribe(subject.to_owned()).await.unwrap();
        self.complaint(within).await
    }

    /// The server complains at once on the same connection; a busy machine hears it later.
    async fn complaint(&self, within: Duration) -> Option<String> {
        self.client.flush().await.unwrap();
        let end = Instant::now() + within;
        loop {
            let complaint = self.complaints.lock().unwrap().pop();
            if complaint.is_some() || Instant::now() >= end {
                return complaint;
            }
            tokio::time::sleep(STEP).await;
        }
    }

    /// Retries until somebody listens: another connection's subscription may reach the server later.
    async fn request(&self, subject: &str) -> async_nats::Message {
        let end = Instant::now() + PATIENCE;
        loop {
            match soon(self.client.request(subject.to_owned(), "".into())).await {
                Err(error) if error.kind() == RequestErrorKind::NoResponders && Instant::now() < end => {
                    tokio::time::sleep(STEP).await;
                }
                answer => return answer.unwrap(),
            }
        }
    }
}

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("nothing came")
}

async fn results_stream(conductor: &User) -> stream::Stream {
    let jetstream = jetstream::new(conductor.client.clone());
    let config = stream::Config {
        name: "ETALON_RESULTS".to_owned(),
        subjects: vec!["etalon.results.>".to_owned()],
        retention: stream::RetentionPolicy::WorkQueue,
        ..Default::default()
    };
    jetstream.get_or_create_stream(config).await.unwrap()
}

#[test]
fn the_shipped_configuration_waits_for_keys() {
    let nats = Nats::start(Security::Keys, Place::Loopback);
    let check = |file: &std::path::Path| Command::new(nats::program()).arg("-t").arg("-c").arg(file).output().unwrap();
    let good = check(&nats.configuration());
    assert!(good.status.success(), "{}", String::from_utf8_lossy(&good.stderr));
    let folder = nats.configuration().with_file_name("without-keys");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(nats.configuration(), folder.join("etalon.conf")).unwrap();
    std::fs::write(folder.join("users.conf"), nats::shipped("users.conf")).unwrap();
    let bad = check(&folder.join("etalon.conf"));
    assert!(!bad.status.success());
    let said = String::from_utf8_lossy(&bad.stderr).to_lowercase();
    assert!(said.contains("nkey"), "{said}");
}

#[test]
fn nobody_gets_in_without_a_key() {
    let nats = Nats::start(Security::Keys, Place::Loopback);
    run(async {
        let tls = || ConnectOptions::new().require_tls(true).add_root_certificates(nats.authority());
        let refused = tls().connect(nats.url()).await.unwrap_err().to_string();
        assert!(refused.contains("authorization violation"), "{refused}");
        let stranger = nkeys::KeyPair::new_user().seed().unwrap();
        let refused = tls().nkey(stranger).connect(nats.url()).await.unwrap_err().to_string();
        assert!(refused.contains("authorization violation"), "{refused}");
        // A server with an untrusted certificate is told nothing.
        let unknown = ConnectOptions::with_nkey(nats.seed("client-1")).require_tls(true);
        let refused = unknown.connect(nats.url()).await.unwrap_err().to_string();
        assert!(refused.contains("UnknownIssuer"), "{refused}");
    });
}

#[test]
fn an_agent_publishes_its_own_results_and_no_others() {
    let nats = Nats::start(Security::Keys, Place::Loopback);
    run(async {
        let conductor = User::connect(&nats, "conductor").await;
        let agent = User::connect(&nats, "client-1").await;
        let stream = results_stream(&conductor).await;
        let own = jetstream::new(agent.client.clone());
        let acknowledged = soon(own.publish("etalon.results.e1.client-1", "row".into())).await.unwrap();
        assert_eq!(soon(acknowledged.into_future()).await.unwrap().sequence, 1);
        for subject in [
            "etalon.results.e1.client-2",
            "etalon.results.e1.server",
            "etalon.agent.client-2.start",
            "etalon.agent.client-1.start",
            "$JS.API.STREAM.DELETE.ETALON_RESULTS",
            "$JS.API.STREAM.INFO.ETALON_RESULTS",
            "$SRV.PING",
            "_INBOX_etalon.forged",
        ] {
            let complaint = agent.publish(subject).await;
            let expected = format!("permissions violation for publish to \"{}\"", subject.to_lowercase());
            assert!(complaint.is_some_and(|text| text.to_lowercase().contains(&expected)), "{subject}");
        }
        assert_eq!(stream.get_info().await.unwrap().state.messages, 1);
        assert_eq!(read(&stream).await, [("etalon.results.e1.client-1".to_owned(), "row".to_owned())]);
        let forged = conductor.publish("etalon.results.e1.client-1").await;
        assert!(forged.is_some(), "a conductor has no results of its own");
        let other = conductor.publish("$JS.API.STREAM.CREATE.OTHER").await;
        assert!(other.is_some(), "there is one stream");
    });
}

/// Like the conductor, with acknowledgement.
async fn read(stream: &stream::Stream) -> Vec<(String, String)> {
    let name = "etalon-e1";
    let config = consumer::pull::Config {
        durable_name: Some(name.to_owned()),
        filter_subject: "etalon.results.e1.>".to_owned(),
        ..Default::default()
    };
    let consumer = stream.get_or_create_consumer(name, config).await.unwrap();
    let mut batch = consumer.fetch().max_messages(10).expires(Duration::from_secs(1)).messages().await.unwrap();
    let mut read = Vec::new();
    while let Some(message) = batch.next().await {
        let message = message.unwrap();
        message.double_ack().await.unwrap();
        read.push((message.subject.to_string(), String::from_utf8(message.payload.to_vec()).unwrap()));
    }
    read
}

#[test]
fn an_agent_hears_its_own_requests_and_no_others() {
    let nats = Nats::start(Security::Keys, Place::Loopback);
    run(async {
        let agent = User::connect(&nats, "client-1").await;
        for subject in [
            "etalon.agent.client-2.start",
            "etalon.agent.*.start",
            "etalon.agent.>",
            "etalon.results.>",
            "_INBOX_etalon.>",
            "_INBOX_etalon.agent.client-2.>",
            "_INBOX.>",
            "$JS.API.>",
            ">",
        ] {
            let complaint = agent.subscribe(subject, PATIENCE).await;
            let expected = format!("permissions violation for subscription to \"{}\"", subject.to_lowercase());
            assert!(complaint.is_some_and(|text| text.to_lowercase().contains(&expected)), "{subject}");
        }
        assert_eq!(agent.subscribe("etalon.agent.client-1.start", SILENCE).await, None);
    });
}

#[test]
fn a_conductor_finds_agents_and_each_answers_once() {
    let nats = Nats::start(Security::Keys, Place::Loopback);
    run(async {
        let conductor = User::connect(&nats, "conductor").await;
        let agent = User::connect(&nats, "server").await;
        let service = agent.client.service_builder().start("etalon", "0.1.0").await.unwrap();
        let mut endpoint = service.endpoint("etalon.agent.server.ping").await.unwrap();
        let found = conductor.request("$SRV.PING.etalon").await;
        assert!(String::from_utf8_lossy(&found.payload).contains("\"name\":\"etalon\""));
        let (answer, ()) = tokio::join!(conductor.request("etalon.agent.server.ping"), async {
            let request = soon(endpoint.next()).await.unwrap();
            let reply = request.message.reply.clone().unwrap();
            request.respond(Ok("pong".into())).await.unwrap();
            let complaint = agent.publish(&reply).await;
            assert!(complaint.is_some(), "a request is answered once");
        });
        assert_eq!(&answer.payload[..], b"pong");
    });
}
