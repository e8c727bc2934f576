// duplex-rpc for AssemblyScript guests in one file: values, frames, and a session that answers one call at a time. While a
// function waits for the host or for a stream, everything else that arrives is kept for later.

@external("wasi_snapshot_preview1", "fd_read")
declare function fd_read(fd: u32, iovs: usize, count: u32, result: usize): u32;
@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: u32, iovs: usize, count: u32, result: usize): u32;
@external("wasi_snapshot_preview1", "poll_oneoff")
declare function poll_oneoff(from: usize, to: usize, count: u32, result: usize): u32;
@external("wasi_snapshot_preview1", "proc_exit")
declare function proc_exit(code: u32): void;

/** Takes the place of the default, which would import a function of a browser. */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  proc_exit(134);
}

/** The largest frame that is taken, four times what a host sends by default. A larger one is refused on its header. */
export const MAX_FRAME: u32 = 64 << 20;

/** Whoever speaks another version, or sends what is no message, is not listened to any more. */
function refuse(): void {
  proc_exit(1);
}

export enum Kind { Nil, Bool, Number, Raw, Text, Array, Map }

/** A decoded value. What a guest has no use for taking apart (binary, large integers) stays as its bytes. */
export class Value {
  kind: Kind = Kind.Nil;
  number: f64 = 0;
  text: string = "";
  items: Value[] = [];
  keys: string[] = [];
  bytes: Uint8Array = new Uint8Array(0);

  get(key: string): Value {
    const at = this.keys.indexOf(key);
    return at < 0 ? new Value() : this.items[at];
  }

  at(index: i32): Value {
    return index < this.items.length ? this.items[index] : new Value();
  }

  /** Whether it can be the id of a stream, or the name of a function. */
  isId(): bool {
    return this.kind == Kind.Text && this.text != "";
  }

  /** Whether it is a whole number from 0 to `most`. */
  isWhole(most: f64): bool {
    return this.kind == Kind.Number && this.number >= 0 && this.number <= most && this.number == Math.floor(this.number);
  }

  /** Whether it is a list that starts with two numbers. */
  isPair(): bool {
    return this.kind == Kind.Array && this.at(0).kind == Kind.Number && this.at(1).kind == Kind.Number;
  }

  static of(number: f64): Value {
    const value = new Value();
    value.kind = Kind.Number;
    value.number = number;
    return value;
  }

  static str(text: string): Value {
    const value = new Value();
    value.kind = Kind.Text;
    value.text = text;
    return value;
  }

  static list(items: Value[]): Value {
    const value = new Value();
    value.kind = Kind.Array;
    value.items = items;
    return value;
  }

  static binary(content: Uint8Array): Value {
    const writer = new Writer();
    writer.lead(0xc6, content.length);
    writer.put(content);
    const value = new Value();
    value.kind = Kind.Raw;
    value.bytes = writer.done();
    return value;
  }
}

class Writer {
  bytes: Uint8Array = new Uint8Array(256);
  size: i32 = 0;

  byte(value: i32): void {
    if (this.size == this.bytes.length) {
      const larger = new Uint8Array(this.size * 2);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes[this.size++] = <u8>value;
  }

  put(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i++) this.byte(bytes[i]);
  }

  big(value: u64, count: i32): void {
    while (count-- > 0) this.byte(<i32>(value >> (8 * count)) & 0xff);
  }

  lead(lead: i32, size: i32): void {
    this.byte(lead);
    this.big(size, 4);
  }

  str(text: string): void {
    const utf8 = Uint8Array.wrap(String.UTF8.encode(text));
    this.lead(0xdb, utf8.length);
    this.put(utf8);
  }

  value(value: Value): void {
    if (value.kind == Kind.Nil) this.byte(0xc0);
    else if (value.kind == Kind.Bool) this.byte(value.number == 0 ? 0xc2 : 0xc3);
    else if (value.kind == Kind.Text) this.str(value.text);
    else if (value.kind == Kind.Raw) this.put(value.bytes);
    else if (value.kind == Kind.Number) {
      if (value.number == Math.floor(value.number) && Math.abs(value.number) < 9e15) {
        this.byte(0xd3);
        this.big(<u64>(<i64>value.number), 8);
      } else {
        this.byte(0xcb);
        this.big(reinterpret<u64>(value.number), 8);
      }
    } else {
      this.lead(value.kind == Kind.Array ? 0xdd : 0xdf, value.items.length);
      for (let i = 0; i < value.items.length; i++) {
        if (value.kind == Kind.Map) this.str(value.keys[i]);
        this.value(value.items[i]);
      }
    }
  }

  done(): Uint8Array {
    return this.bytes.slice(0, this.size);
  }
}

class Reader {
  at: i32 = 0;
  constructor(public bytes: Uint8Array) {}

  /** Refuses what says it has more than there is. */
  need(size: u64): void {
    if (size > <u64>(this.bytes.length - this.at)) refuse();
  }

  big(count: i32): u64 {
    let value: u64 = 0;
    this.need(count);
    while (count-- > 0) value = (value << 8) | this.bytes[this.at++];
    return value;
  }

  str(size: u64): Value {
    this.need(size);
    const text = String.UTF8.decodeUnsafe(this.bytes.dataStart + this.at, <i32>size);
    this.at += <i32>size;
    return Value.str(text);
  }

  many(kind: Kind, count: u64): Value {
    this.need(kind == Kind.Map ? 2 * count : count); // a value takes a byte at least
    const value = new Value();
    value.kind = kind;
    for (let i: u64 = 0; i < count; i++) {
      if (kind == Kind.Map) value.keys.push(this.value().text);
      value.items.push(this.value());
    }
    return value;
  }

  raw(from: i32): Value {
    const value = new Value();
    value.kind = Kind.Raw;
    value.bytes = this.bytes.slice(from, this.at);
    return value;
  }

  /** The one value that the bytes are. */
  only(): Value {
    const value = this.value();
    if (this.at != this.bytes.length) refuse();
    return value;
  }

  value(): Value {
    const from = this.at;
    const lead = <i32>this.big(1);
    if (lead < 0x80) return Value.of(lead);
    if (lead < 0x90) return this.many(Kind.Map, lead & 15);
    if (lead < 0xa0) return this.many(Kind.Array, lead & 15);
    if (lead < 0xc0) return this.str(lead & 31);
    if (lead >= 0xe0) return Value.of(lead - 256);
    if (lead == 0xc0) return new Value();
    if (lead == 0xc2 || lead == 0xc3) {
      const value = Value.of(lead - 0xc2);
      value.kind = Kind.Bool;
      return value;
    }
    if (lead >= 0xc4 && lead <= 0xc6) {
      const size = this.big(1 << (lead - 0xc4));
      this.need(size);
      this.at += <i32>size;
      return this.raw(from);
    }
    if (lead == 0xca) return Value.of(reinterpret<f32>(<u32>this.big(4)));
    if (lead == 0xcb) return Value.of(reinterpret<f64>(this.big(8)));
    if (lead >= 0xcc && lead <= 0xce) return Value.of(<f64>this.big(1 << (lead - 0xcc)));
    if (lead == 0xcf || lead == 0xd3) {
      const value = <i64>this.big(8);
      const exact = value < 9007199254740992 && value > (lead == 0xcf ? -1 : -9007199254740992);
      return exact ? Value.of(<f64>value) : this.raw(from);
    }
    if (lead == 0xd0) return Value.of(<f64>(<i8>this.big(1)));
    if (lead == 0xd1) return Value.of(<f64>(<i16>this.big(2)));
    if (lead == 0xd2) return Value.of(<f64>(<i32>this.big(4)));
    if (lead >= 0xd9 && lead <= 0xdb) return this.str(this.big(1 << (lead - 0xd9)));
    if (lead == 0xdc || lead == 0xdd) return this.many(Kind.Array, this.big(lead == 0xdc ? 2 : 4));
    if (lead < 0xde) refuse(); // an extension
    return this.many(Kind.Map, this.big(lead == 0xde ? 2 : 4));
  }
}

const iovec = memory.data(8, 4);
const result = memory.data(8, 4);

function readFully(bytes: Uint8Array): bool {
  for (let at = 0; at < bytes.length;) {
    store<u32>(iovec, <u32>(bytes.dataStart + at));
    store<u32>(iovec, <u32>(bytes.length - at), 4);
    if (fd_read(0, iovec, 1, result) != 0 || load<u32>(result) == 0) return false;
    at += load<u32>(result);
  }
  return true;
}

function write(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) {
    store<u32>(iovec, <u32>(bytes.dataStart + at));
    store<u32>(iovec, <u32>(bytes.length - at), 4);
    if (fd_write(1, iovec, 1, result) != 0) proc_exit(1);
    at += load<u32>(result);
  }
}

const later: Value[] = [];
let issued = 0;

function send(type: i32, id: string, key: string, value: Value, name: string = ""): void {
  const writer = new Writer();
  writer.byte(1);
  writer.big(0, 4);
  writer.byte(0x82 + (key == "" ? 0 : 1) + (name == "" ? 0 : 1));
  writer.str("type");
  writer.byte(type);
  writer.str("id");
  writer.str(id);
  if (name != "") {
    writer.str("functionName");
    writer.str(name);
  }
  if (key != "") {
    writer.str(key);
    writer.value(value);
  }
  const frame = writer.done();
  const size = frame.length - 5;
  for (let i = 0; i < 4; i++) frame[1 + i] = <u8>(size >> (8 * (3 - i)));
  write(frame);
}

/** Waits for a message of one of the types, with an id unless it is empty, and keeps the others for later. */
function wait(low: i32, high: i32, id: string): Value | null {
  for (let i = 0; i < later.length; i++) {
    if (wanted(later[i], low, high, id)) return later.splice(i, 1)[0];
  }
  const header = new Uint8Array(5);
  while (readFully(header)) {
    const size = (<u32>header[1] << 24) | (<u32>header[2] << 16) | (<u32>header[3] << 8) | <u32>header[4];
    if (header[0] != 1 || size > MAX_FRAME) refuse();
    const payload = new Uint8Array(size);
    if (!readFully(payload)) return null;
    const message = new Reader(payload).only();
    if (!isMessage(message)) refuse();
    if (wanted(message, low, high, id)) return message;
    // An answer that nobody waits for must not become that of a later call.
    if (!wanted(message, 1, 2, "")) later.push(message);
  }
  return null;
}

/** Whether a value has the fields of its type; others mean nothing. */
function isMessage(value: Value): bool {
  if (!value.get("id").isId() || !value.get("type").isWhole(5)) return false;
  const type = <i32>value.get("type").number;
  if (type == 2 || type == 5) return value.get("error").kind == Kind.Text;
  if (type == 3) return value.keys.includes("chunk");
  if (type != 0) return true;
  const expects = value.keys.includes("expectsResponse");
  return value.get("functionName").kind == Kind.Text && (!expects || value.get("expectsResponse").kind == Kind.Bool);
}

function wanted(message: Value, low: i32, high: i32, id: string): bool {
  const type = <i32>message.get("type").number;
  return type >= low && type <= high && (id == "" || message.get("id").text == id);
}

/** What a function ends with: a result, or an error when there is one. */
export class Outcome {
  constructor(public result: Value, public error: string | null = null) {}

  /** Numbers that are not finite have no place on the wire. */
  static number(number: f64): Outcome {
    return isFinite(number) ? new Outcome(Value.of(number)) : Outcome.failed("the result is not a finite number");
  }

  static failed(error: string): Outcome {
    return new Outcome(new Value(), error);
  }
}

function outcomeOf(message: Value, failure: i32, key: string): Outcome {
  if (<i32>message.get("type").number == failure) return Outcome.failed(message.get("error").text);
  return new Outcome(message.get(key));
}

/** Calls a function of the host and waits for its answer. */
export function callHost(name: string, params: Value): Outcome {
  const id = "g" + (issued++).toString();
  send(0, id, "params", params, name);
  const answer = wait(1, 2, id);
  if (!answer) return Outcome.failed("the host is gone");
  return outcomeOf(answer, 2, "result");
}

/** Sends one chunk of a stream. */
export function sendChunk(stream: string, chunk: Value): void {
  send(3, stream, "chunk", chunk);
}

/** Ends a stream. */
export function endStream(stream: string): void {
  send(4, stream, "", new Value());
}

/** Ends a stream with an error. */
export function failStream(stream: string, error: Value): void {
  send(5, stream, "error", error);
}

/** The next chunk of a stream or its error, or nothing at its end. */
export function receive(stream: string): Outcome | null {
  const message = wait(3, 5, stream);
  if (!message) return Outcome.failed("the host is gone");
  return message.get("type").number == 4 ? null : outcomeOf(message, 5, "chunk");
}

/** Sleeps. */
export function sleep(milliseconds: f64): void {
  const subscription = new Uint8Array(48);
  const event = new Uint8Array(32);
  store<u32>(subscription.dataStart, 1, 16);
  store<u64>(subscription.dataStart, <u64>(milliseconds * 1e6), 24);
  poll_oneoff(subscription.dataStart, event.dataStart, 1, result);
}

/** Answers calls until the host ends the input. */
export function serve(run: (name: string, params: Value) => Outcome): void {
  for (;;) {
    const call = wait(0, 0, "");
    if (!call) return;
    const outcome = run(call.get("functionName").text, call.get("params"));
    const silent = call.get("expectsResponse");
    if (silent.kind == Kind.Bool && silent.number == 0) continue;
    const error = outcome.error;
    if (error != null) send(2, call.get("id").text, "error", Value.str(error));
    else send(1, call.get("id").text, "result", outcome.result);
  }
}
