package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
)

// FerretDB reads the documents of an update and then writes them, without a
// transaction, so that updates at the same time can be lost. MongoDB changes
// each document atomically. The turnstile makes up for that: it stands before
// FerretDB and lets one command that may write through at a time.

// longestMessage bounds one message of MongoDB's wire protocol, in bytes.
const longestMessage = 48_000_000 + 16*1024

// serve passes commands on until ctx ends, and waits for its connections.
func serve(ctx context.Context, front net.Listener, backend string) error {
	stop := context.AfterFunc(ctx, func() { _ = front.Close() })
	defer stop()
	var (
		turn    sync.Mutex
		clients sync.WaitGroup
	)
	defer clients.Wait()
	for {
		client, err := front.Accept()
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		clients.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = client.Close() })
			defer stop()
			defer func() { _ = client.Close() }()
			var dialer net.Dialer
			server, err := dialer.DialContext(ctx, "tcp", backend)
			if err != nil {
				return
			}
			defer func() { _ = server.Close() }()
			for pass(&turn, client, server) == nil { //nolint:revive // each turn is one command
			}
		})
	}
}

// reads tells whether a command of MongoDB's wire protocol only reads. What it
// does not know may write.
func reads(command []byte) bool {
	const opMsg, body = 2013, 0
	if len(command) < 27 || binary.LittleEndian.Uint32(command[12:]) != opMsg {
		return true // the greeting of an older protocol
	}
	// After head and flags comes a section: its kind, the document's length, its
	// first element's type and its name, which is the command's.
	if command[20] != body {
		return false
	}
	name, _, _ := bytes.Cut(command[26:], []byte{0})
	switch string(name) {
	case "hello", "isMaster", "ismaster", "ping", "find", "getMore", "count", "distinct", "aggregate", "endSessions":
		return true
	}
	return false
}

// pass lets one command and its answer through.
func pass(turn *sync.Mutex, client, server net.Conn) error {
	command, err := message(client)
	if err != nil {
		return err
	}
	answer, err := exchange(turn, server, command)
	if err != nil {
		return err
	}
	_, err = client.Write(answer)
	return err
}

func exchange(turn *sync.Mutex, server net.Conn, command []byte) ([]byte, error) {
	if !reads(command) {
		turn.Lock()
		defer turn.Unlock()
	}
	if _, err := server.Write(command); err != nil {
		return nil, err
	}
	return message(server)
}

// message reads one message: its length in four bytes, which count too, and the rest.
func message(from io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length < 16 || length > longestMessage {
		return nil, fmt.Errorf("a message of %d bytes", length)
	}
	whole := make([]byte, length)
	copy(whole, head[:])
	if _, err := io.ReadFull(from, whole[4:]); err != nil {
		return nil, err
	}
	return whole, nil
}
