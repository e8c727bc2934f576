//! A guest with one function for each part of the protocol. `duplex.rs` carries the rest.
mod duplex;
use duplex::{Host, Value};
use std::{thread::sleep, time::Duration};

fn run(host: &mut Host, name: &str, params: &Value) -> Result<Value, String> {
    match name {
        "add" => Ok(Value::from(params.at(0).number() + params.at(1).number())),
        "divide" if params.at(1).number() == 0.0 => Err("Division by zero".to_string()),
        "divide" => Ok(Value::from(params.at(0).number() / params.at(1).number())),
        "echo" => Ok(params.clone()),
        "callHost" => host.call(params.get("name"), params.get("params")),
        "produce" => produce(host, params),
        "consume" => consume(host, params.get("stream")),
        "sleep" => {
            sleep(Duration::from_millis(params.number() as u64));
            Ok(Value::from(1.0))
        }
        _ => Err(format!("There is no function {name}")),
    }
}

fn produce(host: &mut Host, params: &Value) -> Result<Value, String> {
    let (count, size) = (params.get("count").number() as u32, params.get("size").number() as usize);
    for index in 0..count {
        let mut chunk = vec![0; size];
        chunk[..4].copy_from_slice(&index.to_le_bytes());
        host.send(params.get("stream"), Value::Binary(chunk));
    }
    match params.get("error") {
        Value::Nil => host.end(params.get("stream")),
        error => host.fail(params.get("stream"), error),
    }
    Ok(Value::from(count as f64))
}

fn consume(host: &mut Host, stream: &Value) -> Result<Value, String> {
    let (mut count, mut sum) = (0.0, 0.0);
    while let Some(chunk) = host.receive(stream)? {
        count += 1.0;
        sum += chunk.number();
    }
    Ok(Value::Array(vec![Value::from(count), Value::from(sum)]))
}

fn main() {
    Host::default().serve(run);
}
