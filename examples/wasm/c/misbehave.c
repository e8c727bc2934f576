// A guest that breaks the rules on command: `misbehave(name)`, `raw(bytes)`, and a few that need parameters. Its other
// functions work, so that a test can see a good call before and after.
#include "duplex.h"

// The payload of one frame each; what starts with = goes out as it is, because the point is that it is no frame.
static const struct { const char *name, *hex; } FRAMES[] = {
  {"version", "=020000000c82a26964a130a47479706501"},
  {"version-zero", "=000000000c82a26964a130a47479706501"},
  {"length-zero", "=0100000000"},
  {"length-huge", "=01ffffffff"},
  {"length-over-limit", "=0101000001"},
  {"undecodable", "c1"},
  {"truncated-value", "82a2"},
  {"trailing", "82a26964a130a4747970650100"},
  {"two-values", "82a26964a130a4747970650182a26964a130a47479706501"},
  {"duplicate-key", "83a26964a130a26964a131a47479706501"},
  {"key-integer", "810101c0"},
  {"key-nil", "81c0c0"},
  {"key-binary", "81c4016101"},
  {"extension", "83a26964a130a47479706501a6726573756c74d40001"},
  {"timestamp", "d6ff00000000"},
  {"record", "d4724091"},
  {"nan", "91cb7ff8000000000000"},
  {"infinity", "91cb7ff0000000000000"},
  {"infinity-32", "91ca7f800000"},
  {"utf8", "81a1ffc0"},
  {"utf8-surrogate", "a3eda080"},
  {"array-huge", "dd01ffffff"},
  {"map-huge", "df01ffffff"},
  {"text-huge", "db01ffffff"},
  {"binary-huge", "c601ffffff"},
  {"not-a-map", "93010203"},
  {"empty-map", "80"},
  {"type-text", "82a26964a130a474797065a131"},
  {"type-true", "82a26964a130a474797065c3"},
  {"type-missing", "81a26964a130"},
  {"type-six", "82a26964a130a47479706506"},
  {"type-negative", "82a26964a130a474797065ff"},
  {"type-fraction", "82a26964a130a474797065cb3ff8000000000000"},
  {"id-missing", "81a47479706501"},
  {"id-number", "82a2696401a47479706501"},
  {"id-empty", "82a26964a0a47479706501"},
  {"error-missing", "82a26964a130a47479706502"},
  {"error-number", "83a26964a130a47479706502a56572726f7207"},
  {"chunk-missing", "82a26964a130a47479706503"},
  {"name-missing", "82a26964a130a47479706500"},
  {"name-number", "83a26964a130a47479706500ac66756e6374696f6e4e616d6501"},
  {"expects-text", "84a26964a130a47479706500ac66756e6374696f6e4e616d65a161af65787065637473526573706f6e7365a16e"},
  {"unknown-id", "82a26964a46e6f7065a47479706501"},
  {"unknown-error", "83a26964a46e6f7065a47479706502a56572726f72a178"},
  {"unknown-chunk", "83a26964a46e6f7065a47479706503a56368756e6b01"},
  {"unknown-end", "82a26964a46e6f7065a47479706504"},
  {"foreign-prefix", "82a26964a3633032a47479706501"},
  {"not-granted", "83a26964a16da47479706500ac66756e6374696f6e4e616d65a6667320726d20"},
  {"name-proto", "83a26964a16da47479706500ac66756e6374696f6e4e616d65a95f5f70726f746f5f5f"},
  {"name-constructor", "83a26964a16da47479706500ac66756e6374696f6e4e616d65ab636f6e7374727563746f72"},
  {"name-to-string", "83a26964a16da47479706500ac66756e6374696f6e4e616d65a8746f537472696e67"},
  {"text", "=48656c6c6f2c20776f726c64210a"},
  {"half-a-frame", "=010000001000"},
};

static void hex(const char *digits) {
  if (*digits == '=') digits++;
  else { dx_byte(1); dx_big(strlen(digits) / 2, 4); }
  for (; *digits; digits += 2) {
    char pair[3] = {digits[0], digits[1], 0};
    dx_byte((uint8_t)strtol(pair, 0, 16));
  }
  dx_flush();
}

static int deeper(volatile int n) { return n > 2000000000 ? 0 : deeper(n + 1) + n; }

static void second_response(dx_call *call) {
  dx_end(dx_begin(2, call->id, 1));
  dx_end(dx_begin(2, call->id, 1));
}

static void misbehave(dx_call *call) {
  dx_value name = call->params;
  for (size_t i = 0; i < sizeof FRAMES / sizeof *FRAMES; i++) {
    if (dx_is(name, FRAMES[i].name)) { hex(FRAMES[i].hex); return; }
  }
  if (dx_is(name, "depth")) {
    size_t size = 100000;
    dx_byte(1); dx_big(size, 4);
    for (size_t i = 0; i < size; i++) dx_byte(0x91);
    dx_flush();
  } else if (dx_is(name, "second-response")) second_response(call);
  else if (dx_is(name, "id-long")) {
    char *id = calloc(1, 1 << 20);
    memset(id, 'a', 1 << 20);
    dx_byte(1); dx_big((1 << 20) + 15, 4); dx_map(2); dx_str("id"); dx_byte(0xdb); dx_big(1 << 20, 4); dx_raw(id, 1 << 20); dx_str("type"); dx_byte(1);
    dx_flush();
  } else if (dx_is(name, "exit")) exit(3);
  else if (dx_is(name, "exit-zero")) exit(0);
  else if (dx_is(name, "exit-in-frame")) { hex("=010000001000"); exit(4); }
  else if (dx_is(name, "trap")) __builtin_trap();
  else if (dx_is(name, "loop")) for (;;) __asm__ volatile("");
  else if (dx_is(name, "recursion")) dx_return_number(call, deeper(0));
  else if (dx_is(name, "close-output")) { close(1); for (;;) poll(0, 0, 1000); }
  else if (dx_is(name, "stderr-flood")) {
    char line[1024];
    memset(line, 'x', sizeof line);
    for (int i = 0; i < 20000; i++) if (write(2, line, sizeof line) < 0) break;
    if (write(2, "\x1b[31mthe end\x07\n", 14) < 0) exit(1);
    exit(5);
  } else if (dx_is(name, "deaf")) for (;;) poll(0, 0, 1000); // never reads again
  else if (dx_is(name, "escape-error")) dx_fail(call, "\x1b]0;owned\x07\x1b[2Jred");
  else dx_fail(call, "There is no such misbehaviour");
}

// Writes any bytes to standard output.
static void raw(dx_call *call) { dx_value bytes = dx_text(call->params); dx_raw(bytes.at, bytes.size); dx_flush(); }

// Allocates until it is refused, and touches every page. Returns how many mebibytes it got.
static void allocate(dx_call *call) {
  double got = 0;
  uint8_t *last = 0;
  for (uint8_t *block; (block = malloc(1 << 20)); got++) {
    for (int at = 0; at < 1 << 20; at += 4096) block[at] = 1;
    last = block;
  }
  free(last); // the answer needs room, too
  dx_return_number(call, got);
}

// { stream, size }: sends chunks for ever.
typedef struct { dx_value stream; uint32_t size; uint8_t *bytes; } flood_state;
static void flood(dx_call *call) {
  flood_state f = {dx_param(call, "stream"), (uint32_t)dx_num(dx_param(call, "size"), 1024), 0};
  f.bytes = calloc(1, f.size);
  for (;;) dx_send_chunk(f.stream, f.bytes, f.size);
}

// { name }: calls the host for ever and never reads an answer.
static void ignored(void *state, int failed, dx_value value) { (void)state; (void)failed; (void)value; }
static void pester(dx_call *call) { for (;;) { dx_call_host(dx_param(call, "name"), dx_param(call, "params"), ignored, 0); dx_replies.count = 0; } }

// { name }: calls the host twice with the same id.
static void reuse_id(dx_call *call) {
  for (int i = 0; i < 2; i++) {
    size_t s = dx_begin(3, (dx_value){(const uint8_t *)"\xa4same", 5}, 0);
    dx_str("functionName"); dx_copy(dx_param(call, "name")); dx_end(s);
  }
}

// { name }: returns, then calls the callback that has expired by then, and remembers what it heard.
static dx_value heard;
static void remember(void *state, int failed, dx_value value) { (void)state; (void)failed; heard = dx_keep(value); }
static void call_late(dx_call *call) {
  dx_value name = dx_keep(dx_param(call, "name"));
  dx_return_number(call, 1);
  dx_call_host(name, (dx_value){0, 0}, remember, 0);
}
static void last_heard(dx_call *call) { dx_return(call, heard); }

// { stream }: ends it, then sends another chunk.
static void chunk_after_end(dx_call *call) {
  dx_send_end(dx_param(call, "stream"));
  dx_send_chunk(dx_param(call, "stream"), "late", 4);
}

// { stream, chunks }: announces an error in the middle.
static void fail_stream(dx_call *call) {
  dx_send_chunk(dx_param(call, "stream"), "one", 3);
  size_t s = dx_begin(3, dx_param(call, "stream"), 5); dx_str("error"); dx_str("Connection lost"); dx_end(s);
  dx_return_number(call, 1);
}

// Tries what a sandbox must not have, and returns a count for each: files opened, variables seen.
extern char **environ;
static void probe(dx_call *call) {
  const char *paths[] = {"/etc/passwd", "..", ".", "/", "../../../../etc/passwd", "/dev/stdin", "created.txt"};
  int opened = 0, variables = 0;
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    opened += open(paths[i], O_RDONLY) >= 0;
    opened += open(paths[i], O_RDWR | O_CREAT) >= 0;
  }
  for (int fd = 3; fd < 64; fd++) { char byte; opened += read(fd, &byte, 1) >= 0 || write(fd, "x", 1) >= 0; }
  for (char **at = environ; at && *at; at++) variables++;
  size_t s = dx_result(call); dx_array(2); dx_number(opened); dx_number(variables); dx_done(call, s);
}

// A call that must not be answered is answered.
static void answer_anyway(dx_call *call) { call->silent = 0; dx_return_number(call, 1); }

// { seed, one_in }: from now on, flips bytes of what it sends.
static uint32_t seed, one_in;
static uint32_t next_random(void) { seed ^= seed << 13; seed ^= seed >> 17; seed ^= seed << 5; return seed; }
static void tamper(uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) if (next_random() % one_in == 0) bytes[i] = next_random() & 1 ? bytes[i] ^ (uint8_t)(1 << (next_random() & 7)) : (uint8_t)next_random();
}
static void mutate(dx_call *call) {
  seed = (uint32_t)dx_num(dx_param(call, "seed"), 1) | 1;
  one_in = (uint32_t)dx_num(dx_param(call, "oneIn"), 500);
  dx_return_number(call, 1);
  dx_flush();
  dx_tamper = tamper;
}

static void echo(dx_call *call) { dx_return(call, call->params); }
static void add(dx_call *call) { dx_return_number(call, dx_num(dx_at(call->params, 0), 0) + dx_num(dx_at(call->params, 1), 0)); }
static void forward(void *state, int failed, dx_value value) { if (failed) dx_fail(state, "the host refused"); else dx_return(state, value); }
static void call_host(dx_call *call) { dx_call_host(dx_param(call, "name"), dx_param(call, "params"), forward, call); }
static void produce(dx_call *call) {
  uint32_t count = (uint32_t)dx_num(dx_param(call, "count"), 0);
  for (uint32_t i = 0; i < count; i++) dx_send_chunk(dx_param(call, "stream"), &i, 4);
  dx_send_end(dx_param(call, "stream"));
  dx_return_number(call, count);
}

int main(void) {
  dx_on("misbehave", misbehave);
  dx_on("raw", raw);
  dx_on("allocate", allocate);
  dx_on("flood", flood);
  dx_on("pester", pester);
  dx_on("reuseId", reuse_id);
  dx_on("callLate", call_late);
  dx_on("lastHeard", last_heard);
  dx_on("chunkAfterEnd", chunk_after_end);
  dx_on("failStream", fail_stream);
  dx_on("answerAnyway", answer_anyway);
  dx_on("mutate", mutate);
  dx_on("probe", probe);
  dx_on("echo", echo);
  dx_on("add", add);
  dx_on("callHost", call_host);
  dx_on("produce", produce);
  return dx_serve();
}
