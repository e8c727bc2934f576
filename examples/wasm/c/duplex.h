// duplex-rpc for C guests in one header: frames, a small MessagePack reader and writer, and an event loop that serves calls,
// runs streams and timers, and calls the host, all at the same time and on one thread.
#ifndef DUPLEX_H
#define DUPLEX_H
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct { const uint8_t *at; uint32_t size; } dx_value; // one encoded value, or nothing when size is 0
typedef struct { dx_value id, params; int silent; } dx_call;   // copied: lives until it is answered
typedef void (*dx_function)(dx_call *call);
typedef void (*dx_reply)(void *state, int failed, dx_value value);            // the answer of the host
typedef void (*dx_chunk)(void *state, dx_value chunk, int ended);             // ended: 0 chunk, 1 end, 2 error
typedef int (*dx_step)(void *state);                                          // 0 when there is nothing left to do

// The largest frame that is taken, four times what a host sends by default. A larger one is refused on its header.
#define DX_MAX_FRAME (64u << 20)

// ---- output: gathered, and written before the guest waits ------------------------------------------------------------
static uint8_t *dx_out; static size_t dx_out_size, dx_out_room;
static void (*dx_tamper)(uint8_t *bytes, size_t size);
static void dx_flush(void) {
  if (dx_tamper) dx_tamper(dx_out, dx_out_size);
  for (size_t at = 0; at < dx_out_size;) {
    ssize_t n = write(1, dx_out + at, dx_out_size - at);
    if (n < 0) exit(1);
    at += (size_t)n;
  }
  dx_out_size = 0;
}
static uint8_t *dx_room(size_t size) {
  if (dx_out_size + size > dx_out_room) {
    dx_out_room = (dx_out_size + size) * 2;
    if (!(dx_out = realloc(dx_out, dx_out_room))) __builtin_trap();
  }
  dx_out_size += size;
  return dx_out + dx_out_size - size;
}
static void dx_raw(const void *bytes, size_t size) { memcpy(dx_room(size), bytes, size); }
static void dx_byte(uint8_t byte) { *dx_room(1) = byte; }
static void dx_big(uint64_t value, int bytes) { while (bytes--) dx_byte((uint8_t)(value >> (8 * bytes))); }
static void dx_str_n(const char *text, size_t size) {
  if (size < 32) dx_byte(0xa0 | (uint8_t)size);
  else { dx_byte(0xdb); dx_big(size, 4); }
  dx_raw(text, size);
}
static void dx_str(const char *text) { dx_str_n(text, strlen(text)); }
static void dx_map(uint8_t count) { dx_byte(0x80 | count); }
static void dx_array(uint8_t count) { dx_byte(0x90 | count); }
static void dx_number(double value) {
  if (value == (double)(int64_t)value && value >= -9e15 && value <= 9e15) {
    int64_t whole = (int64_t)value;
    if (whole >= 0 && whole < 128) dx_byte((uint8_t)whole);
    else { dx_byte(0xd3); dx_big((uint64_t)whole, 8); }
  } else { uint64_t bits; memcpy(&bits, &value, 8); dx_byte(0xcb); dx_big(bits, 8); }
}
static void dx_bin(const void *bytes, uint32_t size) { dx_byte(0xc6); dx_big(size, 4); dx_raw(bytes, size); }
static void dx_copy(dx_value value) { if (value.size) dx_raw(value.at, value.size); else dx_byte(0xc0); }
static size_t dx_begin(uint8_t fields, dx_value id, uint8_t type) {
  dx_byte(1);
  dx_big(0, 4);
  size_t start = dx_out_size;
  dx_map(fields); dx_str("id"); dx_copy(id); dx_str("type"); dx_byte(type);
  return start;
}
static void dx_end(size_t start) {
  uint32_t size = (uint32_t)(dx_out_size - start);
  for (int i = 0; i < 4; i++) dx_out[start - 4 + i] = (uint8_t)(size >> (8 * (3 - i)));
  if (dx_out_size > 32768) dx_flush();
}

// ---- input: values are slices of a payload that was checked when it came, so that nothing below reads beyond it ------
static uint64_t dx_read_big(const uint8_t *at, int bytes) { uint64_t v = 0; while (bytes--) v = v << 8 | *at++; return v; }
static const uint8_t *dx_head(const uint8_t *at, char *kind, uint64_t *count) { // skips the header of a value
  uint8_t lead = *at++;
  *kind = 'i'; *count = 0;
  if (lead < 0x80 || lead >= 0xe0) return at;
  if (lead < 0x90) { *kind = 'm'; *count = lead & 15; return at; }
  if (lead < 0xa0) { *kind = 'a'; *count = lead & 15; return at; }
  if (lead < 0xc0) { *kind = 's'; *count = lead & 31; return at; }
  if (lead <= 0xc3) { *kind = lead == 0xc0 ? 'n' : 'b'; return at; }
  if (lead <= 0xc6) { *kind = 'x'; int n = 1 << (lead - 0xc4); *count = dx_read_big(at, n); return at + n; }
  if (lead == 0xca || lead == 0xcb) { *kind = 'f'; return at + (lead == 0xca ? 4 : 8); }
  if (lead >= 0xcc && lead <= 0xd3) return at + (1 << ((lead - 0xcc) & 3));
  if (lead >= 0xd9 && lead <= 0xdb) { *kind = 's'; int n = 1 << (lead - 0xd9); *count = dx_read_big(at, n); return at + n; }
  int n = lead & 1 ? 4 : 2;
  *kind = lead >= 0xde ? 'm' : 'a'; *count = dx_read_big(at, n);
  return at + n;
}
static dx_value dx_slice(const uint8_t *at) {
  const uint8_t *start = at;
  for (uint64_t left = 1, count; left; left--) {
    char kind;
    at = dx_head(at, &kind, &count);
    if (kind == 's' || kind == 'x') at += count;
    else if (kind == 'a') left += count;
    else if (kind == 'm') left += 2 * count;
  }
  return (dx_value){start, (uint32_t)(at - start)};
}
static int dx_well_formed(const uint8_t *at, const uint8_t *end) { // whether the bytes are one value, and nothing else
  // Bytes that come before the content, or are it, by what leads from 0xc0 to 0xdf. None for extensions, which have no place here.
  static const uint8_t heads[32] = {1, 0, 1, 1, 2, 3, 5, 0, 0, 0, 5, 9, 2, 3, 5, 9, 2, 3, 5, 9, 0, 0, 0, 0, 0, 2, 3, 5, 3, 5, 3, 5};
  uint64_t left = 1, count;
  for (char kind; left; left--) {
    if (at == end) return 0;
    int head = *at >= 0xc0 && *at < 0xe0 ? heads[*at - 0xc0] : 1;
    if (!head || end - at < head) return 0;
    at = dx_head(at, &kind, &count);
    uint64_t rest = (uint64_t)(end - at);
    if (kind == 's' || kind == 'x') { if (count > rest) return 0; at += count; continue; }
    left += kind == 'm' ? 2 * count : count;
    if (left - 1 > rest) return 0; // a value takes a byte at least
  }
  return at == end;
}
static char dx_kind(dx_value value) { // nil, bool, integer, float, string, x (binary), array, map; 0 when there is none
  char kind = 0; uint64_t count;
  if (value.size) dx_head(value.at, &kind, &count);
  return kind;
}
static dx_value dx_text(dx_value value) { // the bytes of a string or binary
  char kind = 0; uint64_t count = 0;
  if (!value.size) return value;
  const uint8_t *at = dx_head(value.at, &kind, &count);
  return kind == 's' || kind == 'x' ? (dx_value){at, (uint32_t)count} : (dx_value){0, 0};
}
static int dx_is_id(dx_value value) { return dx_kind(value) == 's' && dx_text(value).size > 0; } // or the name of a function
static int dx_is(dx_value value, const char *text) {
  dx_value bytes = dx_text(value);
  return bytes.at && bytes.size == strlen(text) && !memcmp(bytes.at, text, bytes.size);
}
static dx_value dx_get(dx_value map, const char *key) {
  char kind = 0; uint64_t count = 0;
  if (!map.size) return map;
  const uint8_t *at = dx_head(map.at, &kind, &count);
  if (kind != 'm') return (dx_value){0, 0};
  for (; count; count--) {
    dx_value name = dx_slice(at), value = dx_slice(at + name.size);
    if (dx_is(name, key)) return value;
    at = value.at + value.size;
  }
  return (dx_value){0, 0};
}
static dx_value dx_at(dx_value array, uint32_t index) {
  char kind = 0; uint64_t count = 0;
  if (!array.size) return array;
  const uint8_t *at = dx_head(array.at, &kind, &count);
  if (kind != 'a' || index >= count) return (dx_value){0, 0};
  while (index--) at += dx_slice(at).size;
  return dx_slice(at);
}
static double dx_num(dx_value value, double otherwise) {
  if (!value.size) return otherwise;
  const uint8_t *at = value.at + 1; uint8_t lead = *value.at;
  if (lead < 0x80) return lead;
  if (lead >= 0xe0) return (int8_t)lead;
  if (lead == 0xca) { uint32_t bits = (uint32_t)dx_read_big(at, 4); float f; memcpy(&f, &bits, 4); return f; }
  if (lead == 0xcb) { uint64_t bits = dx_read_big(at, 8); double d; memcpy(&d, &bits, 8); return d; }
  if (lead >= 0xcc && lead <= 0xcf) return (double)dx_read_big(at, 1 << (lead - 0xcc));
  if (lead == 0xd0) return (int8_t)*at;
  if (lead == 0xd1) return (int16_t)dx_read_big(at, 2);
  if (lead == 0xd2) return (int32_t)dx_read_big(at, 4);
  if (lead == 0xd3) return (double)(int64_t)dx_read_big(at, 8);
  return otherwise;
}
static int dx_is_number(dx_value value) { char kind = dx_kind(value); return kind == 'i' || kind == 'f'; }
static int dx_is_whole(dx_value value, double most) { // from 0 on
  double number = dx_num(value, -1);
  return number >= 0 && number <= most && number == (double)(uint64_t)number;
}
static dx_value dx_keep(dx_value value) { // a copy that outlives the payload
  uint8_t *copy = value.size ? malloc(value.size) : 0;
  if (copy) memcpy(copy, value.at, value.size);
  return (dx_value){copy, value.size};
}
static dx_value dx_param(dx_call *call, const char *key) { // nil is the same as nothing
  dx_value value = dx_get(call->params, key);
  return dx_kind(value) == 'n' ? (dx_value){0, 0} : value;
}

// ---- answers ---------------------------------------------------------------------------------------------------------
static void dx_free(dx_call *call) { free((void *)call->id.at); free((void *)call->params.at); free(call); }
static size_t dx_result(dx_call *call) { size_t s = dx_begin(3, call->id, 1); dx_str("result"); return s; }
static void dx_done(dx_call *call, size_t start) { // after dx_result and one value
  if (call->silent) dx_out_size = start - 5;
  else dx_end(start);
  dx_free(call);
}
static void dx_return(dx_call *call, dx_value value) { size_t s = dx_result(call); dx_copy(value); dx_done(call, s); }
static void dx_fail(dx_call *call, const char *error) {
  size_t s = dx_begin(3, call->id, 2); dx_str("error"); dx_str(error); dx_done(call, s);
}
static void dx_fail_with(dx_call *call, dx_value error) { size_t s = dx_begin(3, call->id, 2); dx_str("error"); dx_copy(error); dx_done(call, s); }
static int dx_is_finite(double value) { return value - value == 0; } // others have no place on the wire
static void dx_return_number(dx_call *call, double value) {
  if (!dx_is_finite(value)) { dx_fail(call, "the result is not a finite number"); return; }
  size_t s = dx_result(call); dx_number(value); dx_done(call, s);
}
static int dx_takes(dx_call *call, int fits, const char *error) { if (!fits) dx_fail(call, error); return fits; }
static void dx_send_chunk(dx_value stream, const void *bytes, uint32_t size) {
  size_t s = dx_begin(3, stream, 3); dx_str("chunk"); dx_bin(bytes, size); dx_end(s);
}
static void dx_send_end(dx_value stream) { dx_end(dx_begin(2, stream, 4)); }
static void dx_send_error(dx_value stream, dx_value text) { size_t s = dx_begin(3, stream, 5); dx_str("error"); dx_copy(text); dx_end(s); }

// ---- what is going on: tables that grow ------------------------------------------------------------------------------
typedef struct { dx_value key; void *run, *state; } dx_entry;
typedef struct { dx_entry *list; uint32_t count, room; } dx_table;
static dx_table dx_functions, dx_replies, dx_streams, dx_steps;
typedef struct { uint64_t due; void (*run)(void *); void *state; } dx_timer;
static dx_timer *dx_timers; static uint32_t dx_timer_count;
static void dx_put(dx_table *table, dx_value key, void *run, void *state) {
  if (table->count == table->room) table->list = realloc(table->list, (table->room = table->room * 2 + 8) * sizeof(dx_entry));
  table->list[table->count++] = (dx_entry){key, run, state};
}
static dx_entry *dx_find(dx_table *table, dx_value key) {
  dx_value bytes = dx_text(key);
  for (uint32_t i = 0; i < table->count; i++) {
    dx_value other = dx_text(table->list[i].key);
    if (other.size == bytes.size && !memcmp(other.at, bytes.at, bytes.size)) return &table->list[i];
  }
  return 0;
}
static void dx_drop(dx_table *table, dx_entry *entry) {
  free((void *)entry->key.at);
  *entry = table->list[--table->count];
}
static void dx_on(const char *name, dx_function function) {
  size_t mark = dx_out_size;
  dx_str(name);
  dx_put(&dx_functions, dx_keep((dx_value){dx_out + mark, (uint32_t)(dx_out_size - mark)}), (void *)function, 0);
  dx_out_size = mark;
}
static void dx_call_host(dx_value name, dx_value params, dx_reply reply, void *state) {
  static uint32_t next;
  char text[16]; uint8_t id[17];
  int length = snprintf(text, sizeof text, "g%u", next++);
  id[0] = 0xa0 | (uint8_t)length;
  memcpy(id + 1, text, (size_t)length);
  dx_value key = dx_keep((dx_value){id, (uint32_t)length + 1});
  dx_put(&dx_replies, key, (void *)reply, state);
  size_t s = dx_begin(4, key, 0); dx_str("functionName"); dx_copy(name); dx_str("params"); dx_copy(params); dx_end(s);
}
static void dx_receive(dx_value stream, dx_chunk consumer, void *state) { dx_put(&dx_streams, dx_keep(stream), (void *)consumer, state); }
static void dx_repeat(dx_step step, void *state) { dx_put(&dx_steps, (dx_value){0, 0}, (void *)step, state); }
static uint64_t dx_now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000; }
static void dx_after(double milliseconds, void (*run)(void *), void *state) {
  dx_timers = realloc(dx_timers, (dx_timer_count + 1) * sizeof(dx_timer));
  dx_timers[dx_timer_count++] = (dx_timer){dx_now() + (uint64_t)milliseconds, run, state};
}

// ---- the loop --------------------------------------------------------------------------------------------------------
static int dx_is_message(dx_value message) { // whether it has the fields of its type; others mean nothing
  dx_value type = dx_get(message, "type"), expects = dx_get(message, "expectsResponse");
  if (!dx_is_id(dx_get(message, "id")) || !dx_is_whole(type, 5)) return 0;
  switch ((int)dx_num(type, -1)) {
    case 0: return dx_kind(dx_get(message, "functionName")) == 's' && (!expects.size || dx_kind(expects) == 'b');
    case 2: case 5: return dx_kind(dx_get(message, "error")) == 's';
    case 3: return dx_get(message, "chunk").size > 0;
    default: return 1;
  }
}
static void dx_dispatch(dx_value message) {
  dx_value id = dx_get(message, "id"), type = dx_get(message, "type");
  int kind = (int)dx_num(type, -1);
  dx_entry *entry;
  if (kind == 0) {
    dx_value silent = dx_get(message, "expectsResponse");
    dx_call *call = malloc(sizeof *call);
    *call = (dx_call){dx_keep(id), dx_keep(dx_get(message, "params")), silent.size && *silent.at == 0xc2};
    entry = dx_find(&dx_functions, dx_get(message, "functionName"));
    if (entry) ((dx_function)entry->run)(call);
    else dx_fail(call, "There is no such function");
  } else if (kind <= 2 && (entry = dx_find(&dx_replies, id))) {
    dx_reply reply = (dx_reply)entry->run; void *state = entry->state;
    dx_drop(&dx_replies, entry);
    reply(state, kind == 2, dx_get(message, kind == 2 ? "error" : "result"));
  } else if (kind >= 3 && (entry = dx_find(&dx_streams, id))) {
    dx_chunk consumer = (dx_chunk)entry->run; void *state = entry->state;
    if (kind > 3) dx_drop(&dx_streams, entry);
    consumer(state, dx_get(message, kind == 5 ? "error" : "chunk"), kind - 3);
  }
}
static int dx_serve(void) {
#ifdef DX_NONBLOCK
  if (fcntl(0, F_SETFL, O_NONBLOCK) != 0) return 2;
#endif
  static uint8_t *in; static size_t size, room;
  for (;;) {
    for (uint32_t i = dx_steps.count; i-- > 0;) {
      dx_entry step = dx_steps.list[i];
      if (!((dx_step)step.run)(step.state)) dx_steps.list[i] = dx_steps.list[--dx_steps.count];
    }
    int wait = dx_steps.count ? 0 : -1;
    uint64_t now = dx_timer_count ? dx_now() : 0;
    for (uint32_t i = dx_timer_count; i-- > 0;) {
      dx_timer timer = dx_timers[i];
      if (timer.due <= now) { dx_timers[i] = dx_timers[--dx_timer_count]; timer.run(timer.state); wait = 0; }
      else if (wait < 0 || timer.due - now < (uint64_t)wait) wait = (int)(timer.due - now);
    }
    if (!dx_steps.count) dx_flush();
    if (room - size < 65536 && !(in = realloc(in, room = room * 2 + 65536))) __builtin_trap();
    struct pollfd input = {0, POLLIN, 0};
#ifdef DX_NONBLOCK // reads first and waits when there is nothing, as the runtime of Go does
    ssize_t n = read(0, in + size, room - size);
    if (n < 0 && errno == EAGAIN) { poll(&input, 1, wait); continue; }
#else
    if (wait >= 0 && poll(&input, 1, wait) < 1) continue;
    ssize_t n = read(0, in + size, room - size);
#endif
    if (n <= 0) return 0;
    size += (size_t)n;
    size_t at = 0;
    while (size - at >= 5) {
      uint32_t length = (uint32_t)dx_read_big(in + at + 1, 4);
      int refused = in[at] != 1 || length > DX_MAX_FRAME;
      if (!refused && size - at - 5 < length) break;
      dx_value message = {in + at + 5, length};
      // Whoever speaks another version, or sends what is no message, is not listened to any more.
      if (refused || !dx_well_formed(message.at, message.at + length) || !dx_is_message(message)) { dx_flush(); return 1; }
      dx_dispatch(message);
      at += 5 + length;
    }
    memmove(in, in + at, size -= at);
  }
}
#endif
