//! duplex-rpc for Rust guests in one file, without dependencies: values, frames, and a session that answers one call at a
//! time. While a function waits for the host or for a stream, everything else that arrives is kept for later.
use std::collections::VecDeque;
use std::io::{self, Read, Write};

/// The largest frame that is taken, four times what a host sends by default. A larger one is refused on its header.
pub const MAX_FRAME: u32 = 64 << 20;

/// Whoever speaks another version, or sends what is no message, is not listened to any more.
fn refuse() -> ! {
    std::process::exit(1)
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Nil,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(String),
    Binary(Vec<u8>),
    Array(Vec<Value>),
    Map(Vec<(String, Value)>),
}

impl Value {
    pub fn get(&self, key: &str) -> &Value {
        static NIL: Value = Value::Nil;
        match self {
            Value::Map(entries) => entries.iter().find(|(name, _)| name == key).map_or(&NIL, |(_, value)| value),
            _ => &NIL,
        }
    }
    pub fn at(&self, index: usize) -> &Value {
        static NIL: Value = Value::Nil;
        match self {
            Value::Array(items) => items.get(index).unwrap_or(&NIL),
            _ => &NIL,
        }
    }
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Int(value) => Some(*value as f64),
            Value::UInt(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            _ => None,
        }
    }
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
    /// A whole number from 0 to `most`.
    pub fn whole(&self, most: u32) -> Option<u32> {
        self.number().filter(|number| (0.0..=most as f64).contains(number) && number.fract() == 0.0).map(|number| number as u32)
    }
    /// What can be the id of a stream, or the name of a function.
    pub fn id(&self) -> Option<&str> {
        self.text().filter(|text| !text.is_empty())
    }
    fn has(&self, key: &str) -> bool {
        matches!(self, Value::Map(entries) if entries.iter().any(|(name, _)| name == key))
    }
    fn is_type(&self, low: u32, high: u32) -> bool {
        self.get("type").whole(5).map_or(false, |kind| kind >= low && kind <= high)
    }
    /// Whether it has the fields of its type; others mean nothing.
    fn is_message(&self) -> bool {
        let expects = matches!(self.get("expectsResponse"), Value::Bool(_)) || !self.has("expectsResponse");
        self.get("id").id().is_some()
            && match self.get("type").whole(5) {
                Some(0) => self.get("functionName").text().is_some() && expects,
                Some(2 | 5) => self.get("error").text().is_some(),
                Some(3) => self.has("chunk"),
                kind => kind.is_some(),
            }
    }
}
/// Numbers that are not finite have no place on the wire.
impl TryFrom<f64> for Value {
    type Error = String;
    fn try_from(value: f64) -> Result<Self, String> {
        if !value.is_finite() {
            return Err("the result is not a finite number".to_string());
        }
        Ok(if value.fract() == 0.0 && value.abs() < 9e15 { Value::Int(value as i64) } else { Value::Float(value) })
    }
}
impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_string())
    }
}

fn encode(value: &Value, out: &mut Vec<u8>) {
    let size = |out: &mut Vec<u8>, lead: u8, size: usize| {
        out.push(lead);
        out.extend((size as u32).to_be_bytes());
    };
    match value {
        Value::Nil => out.push(0xc0),
        Value::Bool(value) => out.push(0xc2 + *value as u8),
        Value::Int(value) if (0..128).contains(value) => out.push(*value as u8),
        Value::Int(value) => { out.push(0xd3); out.extend(value.to_be_bytes()) }
        Value::UInt(value) => { out.push(0xcf); out.extend(value.to_be_bytes()) }
        Value::Float(value) => { out.push(0xcb); out.extend(value.to_be_bytes()) }
        Value::Text(text) => { size(out, 0xdb, text.len()); out.extend(text.as_bytes()) }
        Value::Binary(bytes) => { size(out, 0xc6, bytes.len()); out.extend(bytes) }
        Value::Array(items) => { size(out, 0xdd, items.len()); items.iter().for_each(|item| encode(item, out)) }
        Value::Map(entries) => {
            size(out, 0xdf, entries.len());
            for (key, value) in entries {
                encode(&Value::Text(key.clone()), out);
                encode(value, out);
            }
        }
    }
}

/// Decodes what the host sent. What is not well-formed ends the guest.
struct Decoder<'a>(&'a [u8]);
impl<'a> Decoder<'a> {
    /// The one value that the bytes are.
    fn only(mut self) -> Value {
        let value = self.value();
        if self.0.is_empty() { value } else { refuse() }
    }
    fn take(&mut self, count: u64) -> &'a [u8] {
        if count > self.0.len() as u64 {
            refuse()
        }
        let (head, rest) = self.0.split_at(count as usize);
        self.0 = rest;
        head
    }
    fn big(&mut self, count: u64) -> u64 {
        self.take(count).iter().fold(0, |value, byte| value << 8 | *byte as u64)
    }
    fn text(&mut self, size: u64) -> Value {
        Value::Text(String::from_utf8(self.take(size).to_vec()).unwrap_or_else(|_| refuse()))
    }
    /// Refuses more values than there can be, before there is room for them: a value takes a byte at least.
    fn fits(&self, count: u64) {
        if count > self.0.len() as u64 {
            refuse()
        }
    }
    fn array(&mut self, count: u64) -> Value {
        self.fits(count);
        Value::Array((0..count).map(|_| self.value()).collect())
    }
    fn map(&mut self, count: u64) -> Value {
        self.fits(2 * count);
        Value::Map((0..count).map(|_| (self.value().text().unwrap_or("").to_string(), self.value())).collect())
    }
    fn value(&mut self) -> Value {
        let lead = self.take(1)[0];
        match lead {
            0x00..=0x7f => Value::Int(lead as i64),
            0x80..=0x8f => self.map(lead as u64 & 15),
            0x90..=0x9f => self.array(lead as u64 & 15),
            0xa0..=0xbf => self.text(lead as u64 & 31),
            0xc2 | 0xc3 => Value::Bool(lead == 0xc3),
            0xc4..=0xc6 => { let size = self.big(1 << (lead - 0xc4)); Value::Binary(self.take(size).to_vec()) }
            0xca => Value::Float(f32::from_bits(self.big(4) as u32) as f64),
            0xcb => Value::Float(f64::from_bits(self.big(8))),
            0xcc..=0xcf => match self.big(1 << (lead - 0xcc)) { value if value > i64::MAX as u64 => Value::UInt(value), value => Value::Int(value as i64) },
            0xd0 => Value::Int(self.big(1) as i8 as i64),
            0xd1 => Value::Int(self.big(2) as i16 as i64),
            0xd2 => Value::Int(self.big(4) as i32 as i64),
            0xd3 => Value::Int(self.big(8) as i64),
            0xd9..=0xdb => { let size = self.big(1 << (lead - 0xd9)); self.text(size) }
            0xdc | 0xdd => { let count = self.big(if lead == 0xdc { 2 } else { 4 }); self.array(count) }
            0xde | 0xdf => { let count = self.big(if lead == 0xde { 2 } else { 4 }); self.map(count) }
            0xe0..=0xff => Value::Int(lead as i8 as i64),
            0xc0 => Value::Nil,
            _ => refuse(), // an extension
        }
    }
}

/// The session with the host.
#[derive(Default)]
pub struct Host {
    later: VecDeque<Value>,
    issued: u64,
}

impl Host {
    fn write(&self, fields: Vec<(&str, Value)>) {
        let mut payload = Vec::new();
        encode(&Value::Map(fields.into_iter().map(|(key, value)| (key.to_string(), value)).collect()), &mut payload);
        let mut out = io::stdout().lock();
        out.write_all(&[1]).and_then(|_| out.write_all(&(payload.len() as u32).to_be_bytes())).and_then(|_| out.write_all(&payload)).expect("write");
    }
    /// The next message. Nothing when the host is gone.
    fn read(&self) -> Option<Value> {
        let mut input = io::stdin().lock();
        let mut header = [0; 5];
        io::stdout().flush().ok()?;
        input.read_exact(&mut header).ok()?;
        let size = u32::from_be_bytes([header[1], header[2], header[3], header[4]]);
        if header[0] != 1 || size > MAX_FRAME {
            refuse()
        }
        let mut payload = vec![0; size as usize];
        input.read_exact(&mut payload).ok()?;
        let message = Decoder(&payload).only();
        if message.is_message() { Some(message) } else { refuse() }
    }
    /// Waits for a message, and keeps the others for later.
    fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        if let Some(at) = self.later.iter().position(&wanted) {
            return self.later.remove(at);
        }
        loop {
            let message = self.read()?;
            if wanted(&message) {
                return Some(message);
            }
            // An answer that nobody waits for must not become that of a later call.
            if !message.is_type(1, 2) {
                self.later.push_back(message);
            }
        }
    }
    /// Calls a function of the host and waits for its answer.
    pub fn call(&mut self, name: &str, params: &Value) -> Result<Value, String> {
        let id = format!("g{}", self.issued);
        self.issued += 1;
        self.write(vec![("type", Value::Int(0)), ("id", Value::from(&id[..])), ("functionName", Value::from(name)), ("params", params.clone())]);
        let answer = self.wait(|message| message.is_type(1, 2) && message.get("id").text() == Some(&id)).ok_or("the host is gone")?;
        if answer.is_type(2, 2) { Err(answer.get("error").text().unwrap_or("").to_string()) } else { Ok(answer.get("result").clone()) }
    }
    /// Sends one chunk of a stream.
    pub fn send(&self, stream: &str, chunk: Value) {
        self.write(vec![("type", Value::Int(3)), ("id", Value::from(stream)), ("chunk", chunk)]);
    }
    /// Ends a stream.
    pub fn end(&self, stream: &str) {
        self.write(vec![("type", Value::Int(4)), ("id", Value::from(stream))]);
    }
    /// Ends a stream with an error.
    pub fn fail(&self, stream: &str, error: &Value) {
        self.write(vec![("type", Value::Int(5)), ("id", Value::from(stream)), ("error", error.clone())]);
    }
    /// The next chunk of a stream, or nothing at its end.
    pub fn receive(&mut self, stream: &str) -> Result<Option<Value>, String> {
        let message = self.wait(|message| message.is_type(3, 5) && message.get("id").text() == Some(stream)).ok_or("the host is gone")?;
        match message.get("type").whole(5) {
            Some(3) => Ok(Some(message.get("chunk").clone())),
            Some(4) => Ok(None),
            _ => Err(message.get("error").text().unwrap_or("").to_string()),
        }
    }
    /// Answers calls until the host ends the input.
    pub fn serve(&mut self, mut run: impl FnMut(&mut Host, &str, &Value) -> Result<Value, String>) {
        while let Some(call) = self.wait(|message| message.is_type(0, 0)) {
            let answer = run(self, call.get("functionName").text().unwrap_or(""), call.get("params"));
            if *call.get("expectsResponse") == Value::Bool(false) {
                continue;
            }
            let (kind, key, value) = match answer {
                Ok(value) => (1, "result", value),
                Err(error) => (2, "error", Value::Text(error)),
            };
            self.write(vec![("type", Value::Int(kind)), ("id", call.get("id").clone()), (key, value)]);
        }
    }
}
