// A guest with one function for each part of the protocol. `duplex.ts` carries the rest.
import { callHost, endStream, failStream, Kind, MAX_FRAME, Outcome, receive, sendChunk, serve, sleep, Value } from './duplex';

function run(name: string, params: Value): Outcome {
  if (name == 'add') {
    if (!params.isPair()) return Outcome.failed('add takes two numbers');
    return Outcome.number(params.at(0).number + params.at(1).number);
  }
  if (name == 'divide') {
    if (!params.isPair()) return Outcome.failed('divide takes two numbers');
    if (params.at(1).number == 0) return Outcome.failed('Division by zero');
    return Outcome.number(params.at(0).number / params.at(1).number);
  }
  if (name == 'echo') return new Outcome(params);
  if (name == 'callHost') {
    if (!params.get('name').isId()) return Outcome.failed('name must be the name of a function');
    return callHost(params.get('name').text, params.get('params'));
  }
  if (name == 'produce') return produce(params);
  if (name == 'consume') return consume(params.get('stream'));
  if (name == 'sleep') {
    if (!params.isWhole(2147483647)) return Outcome.failed('sleep takes a whole number from 0 to 2147483647');
    sleep(params.number);
    return new Outcome(Value.of(1));
  }
  return Outcome.failed('There is no function ' + name);
}

function produce(params: Value): Outcome {
  const stream = params.get('stream');
  const count = params.get('count');
  const size = params.get('size');
  const error = params.get('error');
  if (!stream.isId()) return Outcome.failed('stream must be the id of a stream');
  if (!count.isWhole(u32.MAX_VALUE)) return Outcome.failed('count must be a whole number from 0 to 4294967295');
  if (!size.isWhole(MAX_FRAME)) return Outcome.failed('size must be a whole number from 0 to 67108864');
  if (error.kind != Kind.Nil && error.kind != Kind.Text) return Outcome.failed('error must be a text');
  const bytes = new Uint8Array(<i32>size.number);
  for (let index: u32 = 0; index < <u32>count.number; index++) {
    if (bytes.length >= 4) store<u32>(bytes.dataStart, index);
    sendChunk(stream.text, Value.binary(bytes));
  }
  if (error.kind == Kind.Nil) endStream(stream.text);
  else failStream(stream.text, error);
  return new Outcome(count);
}

function consume(stream: Value): Outcome {
  if (!stream.isId()) return Outcome.failed('stream must be the id of a stream');
  let count: f64 = 0;
  let sum: f64 = 0;
  for (let next = receive(stream.text); next; next = receive(stream.text)) {
    if (next.error != null) return next;
    count++;
    sum += next.result.number;
  }
  const total = Outcome.number(sum);
  return total.error != null ? total : new Outcome(Value.list([Value.of(count), total.result]));
}

serve(run);
