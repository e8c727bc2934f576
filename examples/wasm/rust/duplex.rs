//! duplex-rpc for Rust guests in one file, without dependencies: values, frames, and a session that answers one call at a
//! time. While a function waits for the host or for a stream, everything else that arrives is kept for later.
use std::collections::VecDeque;
use std::io::{self, Read, Write};

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
    pub fn number(&self) -> f64 {
        match self {
            Value::Int(value) => *value as f64,
            Value::UInt(value) => *value as f64,
            Value::Float(value) => *value,
            _ => 0.0,
        }
    }
    pub fn text(&self) -> &str {
        match self {
            Value::Text(text) => text,
            _ => "",
        }
    }
}
impl From<f64> for Value {
    fn from(value: f64) -> Self {
        if value.fract() == 0.0 && value.abs() < 9e15 { Value::Int(value as i64) } else { Value::Float(value) }
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

/// Decodes what the host sent, which is trusted to be well-formed: anything else ends the guest.
struct Decoder<'a>(&'a [u8]);
impl<'a> Decoder<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(count);
        self.0 = rest;
        head
    }
    fn big(&mut self, count: usize) -> u64 {
        self.take(count).iter().fold(0, |value, byte| value << 8 | *byte as u64)
    }
    fn text(&mut self, size: u64) -> Value {
        Value::Text(String::from_utf8(self.take(size as usize).to_vec()).expect("UTF-8"))
    }
    fn array(&mut self, count: u64) -> Value {
        Value::Array((0..count).map(|_| self.value()).collect())
    }
    fn map(&mut self, count: u64) -> Value {
        Value::Map((0..count).map(|_| (self.value().text().to_string(), self.value())).collect())
    }
    fn value(&mut self) -> Value {
        let lead = self.take(1)[0];
        match lead {
            0x00..=0x7f => Value::Int(lead as i64),
            0x80..=0x8f => self.map(lead as u64 & 15),
            0x90..=0x9f => self.array(lead as u64 & 15),
            0xa0..=0xbf => self.text(lead as u64 & 31),
            0xc2 | 0xc3 => Value::Bool(lead == 0xc3),
            0xc4..=0xc6 => { let size = self.big(1 << (lead - 0xc4)); Value::Binary(self.take(size as usize).to_vec()) }
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
            _ => Value::Nil,
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
    /// The next message. Nothing when the host is gone, or speaks another version, or sends what is no message.
    fn read(&self) -> Option<Value> {
        let mut input = io::stdin().lock();
        let mut header = [0; 5];
        io::stdout().flush().ok()?;
        input.read_exact(&mut header).ok().filter(|_| header[0] == 1)?;
        let mut payload = vec![0; u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize];
        input.read_exact(&mut payload).ok()?;
        Some(Decoder(&payload).value()).filter(|message| *message.get("type") != Value::Nil)
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
            self.later.push_back(message);
        }
    }
    /// Calls a function of the host and waits for its answer.
    pub fn call(&mut self, name: &Value, params: &Value) -> Result<Value, String> {
        let id = format!("g{}", self.issued);
        self.issued += 1;
        self.write(vec![("type", Value::Int(0)), ("id", Value::from(&id[..])), ("functionName", name.clone()), ("params", params.clone())]);
        let answer = self.wait(|message| matches!(message.get("type").number() as u8, 1 | 2) && message.get("id").text() == id);
        let answer = answer.ok_or("the host is gone")?;
        if answer.get("type").number() == 2.0 { Err(answer.get("error").text().to_string()) } else { Ok(answer.get("result").clone()) }
    }
    /// Sends one chunk of a stream.
    pub fn send(&self, stream: &Value, chunk: Value) {
        self.write(vec![("type", Value::Int(3)), ("id", stream.clone()), ("chunk", chunk)]);
    }
    /// Ends a stream.
    pub fn end(&self, stream: &Value) {
        self.write(vec![("type", Value::Int(4)), ("id", stream.clone())]);
    }
    /// Ends a stream with an error.
    pub fn fail(&self, stream: &Value, error: &Value) {
        self.write(vec![("type", Value::Int(5)), ("id", stream.clone()), ("error", error.clone())]);
    }
    /// The next chunk of a stream, or nothing at its end.
    pub fn receive(&mut self, stream: &Value) -> Result<Option<Value>, String> {
        let message = self.wait(|message| message.get("type").number() >= 3.0 && message.get("id") == stream).ok_or("the host is gone")?;
        match message.get("type").number() as u8 {
            3 => Ok(Some(message.get("chunk").clone())),
            4 => Ok(None),
            _ => Err(message.get("error").text().to_string()),
        }
    }
    /// Answers calls until the host ends the input.
    pub fn serve(&mut self, mut run: impl FnMut(&mut Host, &str, &Value) -> Result<Value, String>) {
        while let Some(call) = self.wait(|message| message.get("type").number() == 0.0) {
            let answer = run(self, call.get("functionName").text(), call.get("params"));
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
