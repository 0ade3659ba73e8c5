// Command ferret is a MongoDB server for tests: FerretDB with its SQLite
// backend, in a module of its own so that its dependencies stay out of
// feedgate's.
//
// It listens on a loopback address, prints its URI in one line when it is
// ready, and stops on SIGTERM, on an interrupt or when its standard input is
// closed, so that it does not outlive the test that started it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // main has the first context
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		slog.New(slog.NewTextHandler(os.Stderr, nil)).Error("ferret stops", slog.Any("error", err))
		os.Exit(1) //nolint:forbidigo // main alone ends the process
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("ferret", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "loopback `address` to listen on; port 0 takes a free one")
	data := flags.String("data", "", "`folder` of the databases; a temporary one, removed at the end, if empty")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("read the flags: %w", err)
	}
	if *data == "" {
		folder, err := os.MkdirTemp("", "feedgate-ferret-")
		if err != nil {
			return fmt.Errorf("make a folder: %w", err)
		}
		defer func() { _ = os.RemoveAll(folder) }()
		*data = folder
	}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		stop()
	}()

	source := url.URL{
		Scheme: "file", Opaque: strings.TrimSuffix(*data, "/") + "/",
		RawQuery: "_pragma=synchronous(off)", // what a test writes need not outlive the machine
	}
	backend, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: "127.0.0.1:0"},
		Logger:    slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Handler:   "sqlite",
		SQLiteURL: source.String(),
	})
	if err != nil {
		return fmt.Errorf("set FerretDB up: %w", err)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = backend.Run(ctx) })
	defer running.Wait()
	defer stop()

	at, err := url.Parse(backend.MongoDBURI()) // waits until it listens
	if err != nil {
		return fmt.Errorf("read FerretDB's address: %w", err)
	}
	var config net.ListenConfig
	front, err := config.Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if _, err := fmt.Fprintf(stdout, "mongodb://%s/\n", front.Addr()); err != nil {
		return fmt.Errorf("print the address: %w", err)
	}
	if err := serve(ctx, front, at.Host); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
