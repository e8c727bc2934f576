// A guest with one function for each part of the protocol. duplex.go carries the rest.
package main

import (
	"encoding/binary"
	"errors"
	"time"
)

func run(host *Host, name string, params Value) (Value, error) {
	switch name {
	case "add":
		return number(at(params, 0)) + number(at(params, 1)), nil
	case "divide":
		if number(at(params, 1)) == 0 {
			return nil, errors.New("Division by zero")
		}
		return number(at(params, 0)) / number(at(params, 1)), nil
	case "echo":
		return params, nil
	case "callHost":
		return host.Call(text(get(params, "name")), get(params, "params"))
	case "produce":
		return produce(host, params)
	case "consume":
		return consume(host, text(get(params, "stream")))
	case "sleep":
		time.Sleep(time.Duration(number(params)) * time.Millisecond)
		return 1.0, nil
	}
	return nil, errors.New("There is no function " + name)
}

func produce(host *Host, params Value) (Value, error) {
	stream, count := text(get(params, "stream")), int(number(get(params, "count")))
	for index := 0; index < count; index++ {
		chunk := make([]byte, int(number(get(params, "size"))))
		binary.LittleEndian.PutUint32(chunk, uint32(index))
		host.Send(stream, chunk)
	}
	if problem := get(params, "error"); problem != nil {
		host.Fail(stream, problem)
	} else {
		host.End(stream)
	}
	return float64(count), nil
}

func consume(host *Host, stream string) (Value, error) {
	count, sum := 0.0, 0.0
	for chunk := range host.Receive(stream) {
		if problem, failed := chunk.(error); failed {
			return nil, problem
		}
		count++
		sum += number(chunk)
	}
	return []Value{count, sum}, nil
}

func main() { Serve(run) }
