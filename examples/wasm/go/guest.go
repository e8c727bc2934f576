// A guest with one function for each part of the protocol. duplex.go carries the rest.
package main

import (
	"encoding/binary"
	"errors"
	"math"
	"time"
)

func run(host *Host, name string, params Value) (Value, error) {
	switch name {
	case "add":
		if !isPair(params) {
			return nil, errors.New("add takes two numbers")
		}
		return finite(number(at(params, 0)) + number(at(params, 1)))
	case "divide":
		if !isPair(params) {
			return nil, errors.New("divide takes two numbers")
		}
		if number(at(params, 1)) == 0 {
			return nil, errors.New("Division by zero")
		}
		return finite(number(at(params, 0)) / number(at(params, 1)))
	case "echo":
		return params, nil
	case "callHost":
		if !isId(get(params, "name")) {
			return nil, errors.New("name must be the name of a function")
		}
		return host.Call(text(get(params, "name")), get(params, "params"))
	case "produce":
		return produce(host, params)
	case "consume":
		return consume(host, get(params, "stream"))
	case "sleep":
		if !isWhole(params, 2147483647) {
			return nil, errors.New("sleep takes a whole number from 0 to 2147483647")
		}
		time.Sleep(time.Duration(number(params)) * time.Millisecond)
		return 1.0, nil
	}
	return nil, errors.New("There is no function " + name)
}

func produce(host *Host, params Value) (Value, error) {
	stream, problem := text(get(params, "stream")), get(params, "error")
	count, size := get(params, "count"), get(params, "size")
	switch {
	case !isId(stream):
		return nil, errors.New("stream must be the id of a stream")
	case !isWhole(count, math.MaxUint32):
		return nil, errors.New("count must be a whole number from 0 to 4294967295")
	case !isWhole(size, maxFrame):
		return nil, errors.New("size must be a whole number from 0 to 67108864")
	case problem != nil && !isText(problem):
		return nil, errors.New("error must be a text")
	}
	for index := 0; index < int(number(count)); index++ {
		chunk := make([]byte, int(number(size)))
		if len(chunk) >= 4 {
			binary.LittleEndian.PutUint32(chunk, uint32(index))
		}
		host.Send(stream, chunk)
	}
	if problem != nil {
		host.Fail(stream, problem)
	} else {
		host.End(stream)
	}
	return count, nil
}

func consume(host *Host, stream Value) (Value, error) {
	if !isId(stream) {
		return nil, errors.New("stream must be the id of a stream")
	}
	count, sum := 0.0, 0.0
	for {
		chunk, more, err := host.Receive(text(stream))
		if err != nil {
			return nil, err
		}
		if !more {
			total, err := finite(sum)
			return []Value{count, total}, err
		}
		count++
		sum += number(chunk)
	}
}

func main() { Serve(run) }
