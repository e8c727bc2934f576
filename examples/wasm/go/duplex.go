// duplex-rpc for Go guests in one file, without dependencies: values, frames, and a session in which every call is a
// goroutine. Standard input does not block, so goroutines sleep and work while the guest waits for the host.
package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
)

// maxFrame is the largest frame that is taken, four times what a host sends by default. A larger one is refused on its header.
const maxFrame = 64 << 20

// refuse ends the guest: whoever speaks another version, or sends what is no message, is not listened to any more.
func refuse() { os.Exit(1) }

// Value is nil, bool, float64, int64, uint64, string, []byte, []Value or map[string]Value.
type Value = any

func get(value Value, key string) Value {
	entries, _ := value.(map[string]Value)
	return entries[key]
}

func at(value Value, index int) Value {
	items, _ := value.([]Value)
	if index >= len(items) {
		return nil
	}
	return items[index]
}

func text(value Value) string {
	content, _ := value.(string)
	return content
}

func number(value Value) float64 {
	switch content := value.(type) {
	case float64:
		return content
	case int64:
		return float64(content)
	case uint64:
		return float64(content)
	}
	return 0
}

func isText(value Value) bool {
	_, is := value.(string)
	return is
}

// isId says whether a value can be the id of a stream, or the name of a function.
func isId(value Value) bool { return text(value) != "" }

func isNumber(value Value) bool {
	switch value.(type) {
	case float64, int64, uint64:
		return true
	}
	return false
}

// isWhole says whether a value is a whole number from 0 to most.
func isWhole(value Value, most float64) bool {
	content := number(value)
	return isNumber(value) && content >= 0 && content <= most && content == math.Trunc(content)
}

// finite fails a function whose result has no place on the wire.
func finite(result float64) (Value, error) {
	if math.IsInf(result, 0) || math.IsNaN(result) {
		return nil, errors.New("the result is not a finite number")
	}
	return result, nil
}

// isPair says whether a value is a list that starts with two numbers.
func isPair(value Value) bool { return isNumber(at(value, 0)) && isNumber(at(value, 1)) }

// isMessage says whether a value has the fields of its type; others mean nothing.
func isMessage(message map[string]Value) bool {
	if !isId(message["id"]) || !isWhole(message["type"], 5) {
		return false
	}
	switch number(message["type"]) {
	case 0:
		expects, given := message["expectsResponse"]
		_, is := expects.(bool)
		return isText(message["functionName"]) && (is || !given)
	case 2, 5:
		return isText(message["error"])
	case 3:
		_, given := message["chunk"]
		return given
	}
	return true
}

func encode(out []byte, value Value) []byte {
	sized := func(lead byte, size int) []byte {
		return binary.BigEndian.AppendUint32(append(out, lead), uint32(size))
	}
	switch content := value.(type) {
	case bool:
		if content {
			return append(out, 0xc3)
		}
		return append(out, 0xc2)
	case int64:
		return binary.BigEndian.AppendUint64(append(out, 0xd3), uint64(content))
	case uint64:
		return binary.BigEndian.AppendUint64(append(out, 0xcf), content)
	case float64:
		if content == math.Trunc(content) && math.Abs(content) < 9e15 {
			return encode(out, int64(content))
		}
		return binary.BigEndian.AppendUint64(append(out, 0xcb), math.Float64bits(content))
	case string:
		return append(sized(0xdb, len(content)), content...)
	case []byte:
		return append(sized(0xc6, len(content)), content...)
	case []Value:
		out = sized(0xdd, len(content))
		for _, item := range content {
			out = encode(out, item)
		}
		return out
	case map[string]Value:
		out = sized(0xdf, len(content))
		for key, item := range content {
			out = encode(encode(out, key), item)
		}
		return out
	}
	return append(out, 0xc0)
}

// decoder reads what the host sent. What is not well-formed ends the guest.
type decoder struct{ rest []byte }

// only reads the one value that the bytes are.
func (d *decoder) only() Value {
	value := d.value()
	if len(d.rest) > 0 {
		refuse()
	}
	return value
}

// need refuses what says it has more than there is.
func (d *decoder) need(count uint64) {
	if count > uint64(len(d.rest)) {
		refuse()
	}
}

func (d *decoder) take(count uint64) []byte {
	d.need(count)
	head := d.rest[:count]
	d.rest = d.rest[count:]
	return head
}

func (d *decoder) big(count uint64) (value uint64) {
	for _, octet := range d.take(count) {
		value = value<<8 | uint64(octet)
	}
	return value
}

func (d *decoder) array(count uint64) Value {
	d.need(count) // a value takes a byte at least
	items := make([]Value, count)
	for index := range items {
		items[index] = d.value()
	}
	return items
}

func (d *decoder) entries(count uint64) Value {
	d.need(2 * count)
	entries := make(map[string]Value, count)
	for ; count > 0; count-- {
		key := text(d.value())
		entries[key] = d.value()
	}
	return entries
}

func (d *decoder) value() Value {
	lead := d.take(1)[0]
	switch {
	case lead < 0x80:
		return int64(lead)
	case lead < 0x90:
		return d.entries(uint64(lead & 15))
	case lead < 0xa0:
		return d.array(uint64(lead & 15))
	case lead < 0xc0:
		return string(d.take(uint64(lead & 31)))
	case lead >= 0xe0:
		return int64(int8(lead))
	case lead == 0xc2 || lead == 0xc3:
		return lead == 0xc3
	case lead >= 0xc4 && lead <= 0xc6:
		return append([]byte{}, d.take(d.big(1<<(lead-0xc4)))...)
	case lead == 0xca:
		return float64(math.Float32frombits(uint32(d.big(4))))
	case lead == 0xcb:
		return math.Float64frombits(d.big(8))
	case lead >= 0xcc && lead <= 0xcf:
		return d.big(1 << (lead - 0xcc))
	case lead == 0xd0:
		return int64(int8(d.big(1)))
	case lead == 0xd1:
		return int64(int16(d.big(2)))
	case lead == 0xd2:
		return int64(int32(d.big(4)))
	case lead == 0xd3:
		return int64(d.big(8))
	case lead >= 0xd9 && lead <= 0xdb:
		return string(d.take(d.big(1 << (lead - 0xd9))))
	case lead == 0xdc || lead == 0xdd:
		return d.array(d.big(2 << (lead - 0xdc)))
	case lead == 0xde || lead == 0xdf:
		return d.entries(d.big(2 << (lead - 0xde)))
	case lead != 0xc0:
		refuse() // an extension
	}
	return nil
}

// Host is the session with the host.
type Host struct {
	lock     sync.Mutex
	issued   int
	running  atomic.Int32
	answers  map[string]chan map[string]Value
	streams  map[string][]map[string]Value // what came and was not received yet
	streamed sync.Cond
}

func (host *Host) write(message map[string]Value) {
	payload := encode(nil, message)
	frame := append(binary.BigEndian.AppendUint32([]byte{1}, uint32(len(payload))), payload...)
	host.lock.Lock()
	defer host.lock.Unlock()
	if _, err := os.Stdout.Write(frame); err != nil {
		os.Exit(1)
	}
}

// Call calls a function of the host and waits for its answer.
func (host *Host) Call(name string, params Value) (Value, error) {
	answer := make(chan map[string]Value, 1)
	host.lock.Lock()
	id := fmt.Sprintf("g%d", host.issued)
	host.issued++
	host.answers[id] = answer
	host.lock.Unlock()
	host.write(map[string]Value{"type": int64(0), "id": id, "functionName": name, "params": params})
	message := <-answer
	if number(message["type"]) == 2 {
		return nil, errors.New(text(message["error"]))
	}
	return message["result"], nil
}

// Send sends one chunk of a stream.
func (host *Host) Send(stream string, chunk Value) {
	host.write(map[string]Value{"type": int64(3), "id": stream, "chunk": chunk})
}

// End ends a stream.
func (host *Host) End(stream string) { host.write(map[string]Value{"type": int64(4), "id": stream}) }

// Fail ends a stream with an error.
func (host *Host) Fail(stream string, problem Value) {
	host.write(map[string]Value{"type": int64(5), "id": stream, "error": problem})
}

// Receive waits for the next chunk of a stream. There is none at its end, and an error when it failed.
func (host *Host) Receive(stream string) (chunk Value, more bool, err error) {
	host.lock.Lock()
	defer host.lock.Unlock()
	for len(host.streams[stream]) == 0 {
		host.streamed.Wait()
	}
	message := host.streams[stream][0]
	host.streams[stream] = host.streams[stream][1:]
	if number(message["type"]) == 3 {
		return message["chunk"], true, nil
	}
	delete(host.streams, stream)
	if number(message["type"]) == 5 {
		err = errors.New(text(message["error"]))
	}
	return nil, false, err
}

func (host *Host) dispatch(message map[string]Value, run func(*Host, string, Value) (Value, error)) {
	id := text(message["id"])
	switch number(message["type"]) {
	case 0:
		host.running.Add(1)
		go func() {
			defer host.running.Add(-1)
			result, err := run(host, text(message["functionName"]), message["params"])
			if message["expectsResponse"] == false {
				return
			}
			if err != nil {
				host.write(map[string]Value{"type": int64(2), "id": id, "error": err.Error()})
			} else {
				host.write(map[string]Value{"type": int64(1), "id": id, "result": result})
			}
		}()
	case 1, 2:
		host.lock.Lock()
		answer := host.answers[id]
		delete(host.answers, id)
		host.lock.Unlock()
		if answer != nil {
			answer <- message
		}
	default:
		// Kept, so that whoever asks for it late still finds it.
		host.lock.Lock()
		host.streams[id] = append(host.streams[id], message)
		host.lock.Unlock()
		host.streamed.Broadcast()
	}
}

// Serve answers calls until the host ends the input.
func Serve(run func(*Host, string, Value) (Value, error)) {
	// The scheduler of Go has one thread here: a read that blocks would stop every goroutine.
	if err := syscall.SetNonblock(0, true); err != nil {
		os.Exit(2)
	}
	input := bufio.NewReaderSize(os.NewFile(0, "stdin"), 65536)
	host := &Host{answers: map[string]chan map[string]Value{}, streams: map[string][]map[string]Value{}}
	host.streamed.L = &host.lock
	for header := make([]byte, 5); ; {
		if _, err := io.ReadFull(input, header); err != nil {
			// The host is gone. Whatever needs nothing more of it, nor time, has its turn to answer.
			for turns := host.running.Load(); turns > 0; turns-- {
				runtime.Gosched()
			}
			return
		}
		size := binary.BigEndian.Uint32(header[1:])
		if header[0] != 1 || size > maxFrame {
			refuse()
		}
		payload := make([]byte, size)
		if _, err := io.ReadFull(input, payload); err != nil {
			return
		}
		message, _ := (&decoder{payload}).only().(map[string]Value)
		if !isMessage(message) {
			refuse()
		}
		host.dispatch(message, run)
	}
}
