//! A guest with one function for each part of the protocol. `duplex.rs` carries the rest.
mod duplex;
use duplex::{Host, Value, MAX_FRAME};
use std::{thread::sleep, time::Duration};

fn run(host: &mut Host, name: &str, params: &Value) -> Result<Value, String> {
    let pair = params.at(0).number().zip(params.at(1).number());
    match name {
        "add" => pair.ok_or("add takes two numbers".to_string()).and_then(|(left, right)| Value::try_from(left + right)),
        "divide" => match pair.ok_or("divide takes two numbers")? {
            (_, by) if by == 0.0 => Err("Division by zero".to_string()),
            (number, by) => Value::try_from(number / by),
        },
        "echo" => Ok(params.clone()),
        "callHost" => host.call(params.get("name").id().ok_or("name must be the name of a function")?, params.get("params")),
        "produce" => produce(host, params),
        "consume" => consume(host, params.get("stream").id().ok_or("stream must be the id of a stream")?),
        "sleep" => {
            let milliseconds = params.whole(2147483647).ok_or("sleep takes a whole number from 0 to 2147483647")?;
            sleep(Duration::from_millis(milliseconds.into()));
            Ok(Value::Int(1))
        }
        _ => Err(format!("There is no function {name}")),
    }
}

fn produce(host: &mut Host, params: &Value) -> Result<Value, String> {
    let stream = params.get("stream").id().ok_or("stream must be the id of a stream")?;
    let count = params.get("count").whole(u32::MAX).ok_or("count must be a whole number from 0 to 4294967295")?;
    let size = params.get("size").whole(MAX_FRAME).ok_or("size must be a whole number from 0 to 67108864")? as usize;
    let error = params.get("error");
    if !matches!(error, Value::Nil | Value::Text(_)) {
        return Err("error must be a text".to_string());
    }
    for index in 0..count {
        let mut chunk = vec![0; size];
        if size >= 4 {
            chunk[..4].copy_from_slice(&index.to_le_bytes());
        }
        host.send(stream, Value::Binary(chunk));
    }
    match error {
        Value::Nil => host.end(stream),
        error => host.fail(stream, error),
    }
    Ok(Value::Int(count.into()))
}

fn consume(host: &mut Host, stream: &str) -> Result<Value, String> {
    let (mut count, mut sum) = (0, 0.0);
    while let Some(chunk) = host.receive(stream)? {
        count += 1;
        sum += chunk.number().unwrap_or(0.0);
    }
    Ok(Value::Array(vec![Value::Int(count), Value::try_from(sum)?]))
}

fn main() {
    Host::default().serve(run);
}
