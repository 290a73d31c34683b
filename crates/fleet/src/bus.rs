//! The only file that knows NATS: requests, a service, and a stream of results, for blocking code.
//!
//! The client is asynchronous; each [`Bus`] has a private runtime with one thread, which during a run only answers a
//! renewal a second.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::jetstream::{self, AckKind, consumer, stream};
use async_nats::service::ServiceExt as _;
use async_nats::{Client, ConnectOptions, HeaderMap, Request as NatsRequest};
use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::runtime::{Builder, Runtime};

/// The micro service of all agents.
pub const SERVICE: &str = "etalon";
/// Holds results until the store has them.
pub const STREAM: &str = "ETALON_RESULTS";
/// Subject prefix of results.
pub const RESULTS: &str = "etalon.results";
/// Subject prefix of answers, étalon's own so that permissions can be given for it.
pub const INBOX: &str = "_INBOX_etalon";

/// How long a connection to the server may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval of connection checks.
const PING_EVERY: Duration = Duration::from_secs(2);
/// How long the server may take to answer for a stream.
const STREAM_TIMEOUT: Duration = Duration::from_secs(5);
/// Lifetime of results that no one fetches.
const KEPT_FOR: Duration = Duration::from_secs(7 * 86_400);
/// Unacknowledged results are delivered again after this: to the conductor that resumes, or to the same one, which
/// recognises the id.
pub const ACK_WAIT: Duration = Duration::from_secs(5);
/// Concurrent answers of one agent.
const MOST_ANSWERS: usize = 32;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// Such as `nats://host:4222`, `tls://host:4222` or `nats://user:password@host:4222`. A name without a password is
    /// a token, as in NATS's own clients.
    pub url: String,
    /// Credentials (a JWT with its key), or an NKey's seed.
    pub creds: Option<PathBuf>,
    /// An authority that is trusted in addition to the operating system's.
    pub ca: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// No connection came about.
    #[error("cannot connect to the NATS server at {url}: {cause}")]
    Connect { url: String, cause: String },
    /// No listener on the subject.
    #[error("nobody answers on {0}")]
    NoListener(String),
    /// There was no answer in time.
    #[error("no answer on {0} in time")]
    Silent(String),
    #[error("cannot {tried}: {cause}")]
    Other { tried: String, cause: String },
}

/// Makes a function from a cause to the error of what was tried.
fn bus_error(tried: impl Into<String>) -> impl FnOnce(String) -> BusError {
    let tried = tried.into();
    move |cause| BusError::Other { tried, cause }
}

/// Makes the error of a server that cannot be reached, without its login.
fn cannot_connect(server: &Server, cause: String) -> BusError {
    BusError::Connect { url: without_login(&server.url), cause }
}

/// Makes the error of subjects that cannot be served.
fn cannot_serve(prefix: &str, error: &async_nats::Error) -> BusError {
    BusError::Other { tried: format!("serve {prefix}"), cause: error.to_string() }
}

/// Answers requests.
pub trait Handler: Send + Sync + 'static {
    /// Answers a verb at once, on the bus's own thread; `None` for one that may take longer. Must not block.
    fn answer_at_once(&self, verb: &str) -> Option<Vec<u8>>;

    /// Answers any other request; may block.
    fn answer(&self, verb: &str, request: &[u8]) -> Vec<u8>;
}

pub struct Bus {
    client: Client,
    jetstream: jetstream::Context,
    /// Taken on drop: within another runtime one cannot wait for its end.
    runtime: Option<Runtime>,
}

impl Drop for Bus {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Bus {
    /// Connects to a NATS server.
    pub fn connect(server: &Server, name: &str, inbox: &str) -> Result<Bus, BusError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(MOST_ANSWERS)
            .thread_name("etalon-bus")
            .enable_all()
            .build()
            .map_err(|error| cannot_connect(server, error.to_string()))?;
        let mut options = connect_options(server).map_err(|cause| cannot_connect(server, cause))?.name(name);
        options = options.custom_inbox_prefix(inbox).connection_timeout(CONNECT_TIMEOUT).ping_interval(PING_EVERY);
        // JetStream's context spawns a task, so it must be made inside the runtime.
        let (client, jetstream) = runtime
            .block_on(async {
                let client = options.connect(without_login(&server.url)).await?;
                Ok((client.clone(), jetstream::new(client)))
            })
            .map_err(|error: async_nats::ConnectError| cannot_connect(server, error.to_string()))?;
        Ok(Bus { client, jetstream, runtime: Some(runtime) })
    }

    /// Runs a future to its end and returns its value; fails if the bus is closed.
    fn block_on<T>(&self, work: impl Future<Output = T>) -> Result<T, BusError> {
        let runtime = self.runtime.as_ref().ok_or_else(|| BusError::Other {
            tried: "use the bus".to_owned(),
            cause: "it has been closed".to_owned(),
        })?;
        Ok(runtime.block_on(work))
    }

    /// The most that one message may hold, in bytes.
    pub fn largest_message(&self) -> usize {
        self.client.max_payload()
    }

    /// Sends a request, and waits for its answer for at most `within`.
    ///
    /// # Errors
    /// [`BusError::NoListener`] if the server knows of no listener, [`BusError::Silent`] without an answer in time.
    pub fn request(&self, subject: &str, payload: Vec<u8>, within: Duration) -> Result<Vec<u8>, BusError> {
        let request = NatsRequest::new().payload(payload.into()).timeout(Some(within));
        let answer = self.block_on(self.client.send_request(subject.to_owned(), request))?;
        answer.map(|message| message.payload.to_vec()).map_err(|error| match error.kind() {
            RequestErrorKind::NoResponders => BusError::NoListener(subject.to_owned()),
            RequestErrorKind::TimedOut => BusError::Silent(subject.to_owned()),
            _ => BusError::Other { tried: format!("ask on {subject}"), cause: error.to_string() },
        })
    }

    /// Publishes a message that expects no answer.
    pub fn publish_without_answer(&self, subject: &str, payload: Vec<u8>) -> Result<(), BusError> {
        let sent = self.block_on(self.client.publish(subject.to_owned(), payload.into()))?;
        sent.map_err(|error| BusError::Other { tried: format!("speak on {subject}"), cause: error.to_string() })
    }

    /// Waits briefly until everything sent has reached the server.
    pub fn flush(&self) {
        let flush = async { tokio::time::timeout(STREAM_TIMEOUT, self.client.flush()).await.is_ok() };
        // What could not be sent was not said.
        let _ = self.block_on(flush);
    }

    /// Serves `PREFIX.VERB` for each verb as an instance of [`SERVICE`], until the bus is dropped.
    pub fn serve(
        &self,
        version: &str,
        metadata: HashMap<String, String>,
        prefix: &str,
        verbs: &[&str],
        handler: Arc<dyn Handler>,
    ) -> Result<(), BusError> {
        self.block_on(async {
            let builder = self.client.service_builder().description("An agent of the benchmark étalon");
            let service = builder
                .metadata(metadata)
                .start(SERVICE, version)
                .await
                .map_err(|error| cannot_serve(prefix, &error))?;
            let group = service.group(prefix);
            for verb in verbs {
                let endpoint = group.endpoint(*verb).await.map_err(|error| cannot_serve(prefix, &error))?;
                tokio::spawn(answer_all(endpoint, (*verb).to_owned(), Arc::clone(&handler)));
            }
            // The service ends with its last handle.
            tokio::spawn(async move {
                let _service = service;
                std::future::pending::<()>().await;
            });
            self.client.flush().await.map_err(|error| bus_error("serve")(error.to_string()))
        })?
    }

    /// Asks for all instances of the service, and lists the metadata of those that answer in time.
    pub fn discover_instances(&self, within: Duration) -> Result<Vec<HashMap<String, String>>, BusError> {
        let failed = bus_error("ask for agents");
        self.block_on(async {
            let inbox = self.client.new_inbox();
            let mut answers = self.client.subscribe(inbox.clone()).await.map_err(|error| error.to_string())?;
            let subject = format!("$SRV.PING.{SERVICE}");
            self.client.publish_with_reply(subject, inbox, Bytes::new()).await.map_err(|error| error.to_string())?;
            let mut found = Vec::new();
            let deadline = tokio::time::Instant::now() + within;
            while let Ok(Some(message)) = tokio::time::timeout_at(deadline, answers.next()).await {
                let answer: serde_json::Value = serde_json::from_slice(&message.payload).unwrap_or_default();
                let metadata = answer.get("metadata").cloned().unwrap_or_default();
                if let Ok(metadata) = serde_json::from_value(metadata) {
                    found.push(metadata);
                }
            }
            Ok(found)
        })?
        .map_err(failed)
    }

    /// Publishes a result and waits until the stream has stored it; an `id` is stored once.
    pub fn publish(&self, subject: &str, id: &str, payload: Vec<u8>) -> Result<(), BusError> {
        let mut headers = HeaderMap::new();
        headers.insert(async_nats::header::NATS_MESSAGE_ID, id);
        let failed = bus_error(format!("hand a result to the stream {STREAM}"));
        self.block_on(async {
            let work = async {
                let sent = self.jetstream.publish_with_headers(subject.to_owned(), headers, payload.into()).await;
                sent.map_err(|error| error.to_string())?.await.map_err(|error| error.to_string())
            };
            tokio::time::timeout(STREAM_TIMEOUT, work).await.unwrap_or_else(|_| Err("no answer in time".to_owned()))
        })?
        .map(|_| ())
        .map_err(failed)
    }

    /// Opens the results of an experiment from any agent, making the stream if it is missing.
    pub fn open_experiment_results(self: &Arc<Bus>, experiment: &str) -> Result<Results, BusError> {
        let failed = bus_error(format!("use the stream {STREAM}"));
        let config = stream::Config {
            name: STREAM.to_owned(),
            subjects: vec![format!("{RESULTS}.>")],
            retention: stream::RetentionPolicy::WorkQueue,
            max_age: KEPT_FOR,
            ..stream::Config::default()
        };
        let reader = consumer::pull::Config {
            durable_name: Some(format!("etalon-{experiment}")),
            filter_subject: format!("{RESULTS}.{experiment}.>"),
            ack_wait: ACK_WAIT,
            ..consumer::pull::Config::default()
        };
        let consumer = self.block_on(async {
            let work = async {
                let stream = self.jetstream.get_or_create_stream(config).await.map_err(|error| error.to_string())?;
                let name = reader.durable_name.clone().unwrap_or_default();
                stream.get_or_create_consumer(&name, reader).await.map_err(|error| error.to_string())
            };
            tokio::time::timeout(STREAM_TIMEOUT, work).await.unwrap_or_else(|_| {
                Err("JetStream does not answer: is it switched on (`jetstream {}` in the server's configuration)?"
                    .to_owned())
            })
        })?;
        Ok(Results { bus: Arc::clone(self), consumer: consumer.map_err(failed)? })
    }
}

pub struct Results {
    bus: Arc<Bus>,
    consumer: consumer::Consumer<consumer::pull::Config>,
}

pub struct Delivery {
    pub agent: String,
    pub id: String,
    pub payload: Vec<u8>,
    message: jetstream::Message,
}

impl Results {
    /// Fetches at most `most` results that are there now.
    pub fn fetch(&self, most: usize) -> Result<Vec<Delivery>, BusError> {
        let failed = bus_error("fetch results");
        self.bus
            .block_on(async {
                let batch = self.consumer.fetch().max_messages(most);
                let mut messages = batch.messages().await.map_err(|error| error.to_string())?;
                let mut found = Vec::new();
                while let Some(message) = messages.next().await {
                    let message = message.map_err(|error| error.to_string())?;
                    let id =
                        message.headers.as_ref().and_then(|headers| headers.get(async_nats::header::NATS_MESSAGE_ID));
                    let id = id.map(|id| id.as_str().to_owned()).unwrap_or_default();
                    let agent = message.subject.rsplit('.').next().unwrap_or_default().to_owned();
                    found.push(Delivery { agent, id, payload: message.payload.to_vec(), message });
                }
                Ok(found)
            })?
            .map_err(failed)
    }

    /// Asks for the number of results in the stream, delivered or not.
    pub fn count_outstanding(&self) -> Result<u64, BusError> {
        let failed = bus_error("count results");
        let info = self.bus.block_on(async {
            let info = tokio::time::timeout(STREAM_TIMEOUT, self.consumer.get_info()).await;
            info.map_err(|_| "no answer in time".to_owned())?.map_err(|error| error.to_string())
        })?;
        info.map(|info| info.num_pending + info.num_ack_pending as u64).map_err(failed)
    }

    /// Tells the stream that results may be dropped.
    pub fn acknowledge(&self, deliveries: &[Delivery]) -> Result<(), BusError> {
        let failed = bus_error("acknowledge results");
        self.bus
            .block_on(async {
                for delivery in deliveries {
                    delivery.message.ack_with(AckKind::Ack).await.map_err(|error| error.to_string())?;
                }
                self.bus.client.flush().await.map_err(|error| error.to_string())
            })?
            .map_err(failed)
    }
}

/// Answers the requests of a verb until the bus is dropped.
async fn answer_all(mut requests: async_nats::service::endpoint::Endpoint, verb: String, handler: Arc<dyn Handler>) {
    while let Some(request) = requests.next().await {
        if let Some(answer) = handler.answer_at_once(&verb) {
            // The requester may have gone.
            let _ = request.respond(Ok(answer.into())).await;
            continue;
        }
        let (handler, verb) = (Arc::clone(&handler), verb.clone());
        tokio::spawn(async move {
            let payload = request.message.payload.clone();
            let answered = tokio::task::spawn_blocking(move || handler.answer(&verb, &payload)).await;
            let _ = request.respond(Ok(answered.unwrap_or_default().into())).await;
        });
    }
}

/// Makes the options of a connection, with the server's credentials and authority.
fn connect_options(server: &Server) -> Result<ConnectOptions, String> {
    let mut options = match &server.creds {
        None => ConnectOptions::new(),
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
            let mut lines = text.lines().map(str::trim);
            match lines.find(|line| line.starts_with("SU")) {
                Some(seed) if !text.contains("BEGIN NATS USER JWT") => ConnectOptions::with_nkey(seed.to_owned()),
                _ => ConnectOptions::with_credentials(&text)
                    .map_err(|_| format!("{} holds neither credentials nor an NKey's seed", path.display()))?,
            }
        }
    };
    if let (None, Some(login)) = (&server.creds, login_of_url(&server.url)) {
        let decoded = model::plan::percent_decode;
        options = match login.split_once(':') {
            Some((user, password)) => options.user_and_password(decoded(user), decoded(password)),
            None => options.token(decoded(login)),
        };
    }
    if let Some(ca) = &server.ca {
        options = options.add_root_certificates(ca.clone()).require_tls(true);
    }
    Ok(options)
}

/// Cuts the login from a URL, what is before the last `@`: user and password, or a token.
fn login_of_url(url: &str) -> Option<&str> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.rsplit_once('@').map(|(login, _)| login)
}

/// Copies a URL without the login that may be in it.
fn without_login(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        (None, Some((_, host))) => host.to_owned(),
        _ => url.to_owned(),
    }
}
