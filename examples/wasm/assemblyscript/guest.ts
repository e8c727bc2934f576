// A guest with one function for each part of the protocol. `duplex.ts` carries the rest.
import { callHost, endStream, failStream, Kind, Outcome, receive, sendChunk, serve, sleep, Value } from './duplex';

function run(name: string, params: Value): Outcome {
  if (name == 'add') return new Outcome(Value.of(params.at(0).number + params.at(1).number));
  if (name == 'divide') {
    if (params.at(1).number == 0) return new Outcome(new Value(), 'Division by zero');
    return new Outcome(Value.of(params.at(0).number / params.at(1).number));
  }
  if (name == 'echo') return new Outcome(params);
  if (name == 'callHost') return callHost(params.get('name').text, params.get('params'));
  if (name == 'produce') return produce(params);
  if (name == 'consume') return consume(params.get('stream').text);
  if (name == 'sleep') {
    sleep(params.number);
    return new Outcome(Value.of(1));
  }
  return new Outcome(new Value(), 'There is no function ' + name);
}

function produce(params: Value): Outcome {
  const count = <i32>params.get('count').number;
  const bytes = new Uint8Array(<i32>params.get('size').number);
  for (let index = 0; index < count; index++) {
    store<u32>(bytes.dataStart, index);
    sendChunk(params.get('stream').text, Value.binary(bytes));
  }
  const error = params.get('error');
  if (error.kind == Kind.Nil) endStream(params.get('stream').text);
  else failStream(params.get('stream').text, error);
  return new Outcome(Value.of(count));
}

function consume(stream: string): Outcome {
  let count: f64 = 0;
  let sum: f64 = 0;
  for (let next = receive(stream); next; next = receive(stream)) {
    if (next.error != null) return next;
    count++;
    sum += next.result.number;
  }
  return new Outcome(Value.list([Value.of(count), Value.of(sum)]));
}

serve(run);
