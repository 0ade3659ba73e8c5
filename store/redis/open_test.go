package redis

import (
	"crypto/tls"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"feedgate/feed"
)

func TestClusterURLNamesManyHosts(t *testing.T) {
	t.Parallel()
	opt, err := clusterOptions("rediss", "user:p%40ss@one:7000,two:7001/?pool_size=5")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"one:7000", "two:7001"}; !slices.Equal(opt.Addrs, want) {
		t.Errorf("hosts: got %v, want %v", opt.Addrs, want)
	}
	if opt.Username != "user" || opt.Password != "p@ss" {
		t.Errorf("user: got %q %q, want user p@ss", opt.Username, opt.Password)
	}
	if opt.TLSConfig == nil || opt.TLSConfig.ServerName != "" {
		t.Errorf("TLS: got %+v, want it without a name", opt.TLSConfig)
	}
	opt, err = clusterOptions("redis", "one:7000")
	if err != nil || !slices.Equal(opt.Addrs, []string{"one:7000"}) || opt.TLSConfig != nil {
		t.Errorf("one host: got %+v %v, want it without TLS", opt, err)
	}
}

func TestAServerMayAskForTLSAndAPassword(t *testing.T) {
	t.Parallel()
	web := httptest.NewUnstartedServer(nil) // for its certificate
	web.StartTLS()
	certificates := web.TLS.Certificates
	web.Close()
	s := miniredis.NewMiniRedis()
	s.RequireUserAuth("feedgate", "secret")
	if err := s.StartTLS(&tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS12}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for url, want := range map[string]bool{
		"rediss://feedgate:secret@" + s.Addr() + "?skip_verify=true": true,
		"rediss://feedgate:wrong@" + s.Addr() + "?skip_verify=true":  false,
		"rediss://feedgate:secret@" + s.Addr():                       false, // who signed that?
		"redis://feedgate:secret@" + s.Addr():                        false,
		"redis+cluster://feedgate:secret@" + s.Addr():                false,
	} {
		h, err := Open(t.Context(), Config{URL: url})
		if (err == nil) != want {
			t.Errorf("Open(%q): got %v, want success %v", url, err, want)
		}
		if err != nil {
			continue
		}
		if err := h.Do(t.Context(), &feed.ReadMarks{Authors: []feed.ID{1, 2}}); err != nil {
			t.Errorf("Do on %q: %v", url, err)
		}
		h.Close()
	}
}
