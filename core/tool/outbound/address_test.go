package outbound_test

import (
	"net/netip"
	"strings"
	"testing"

	"parley/core/tool/outbound"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for want, list := range map[bool]string{
		true: `8.8.8.8 1.1.1.1 100.63.255.255 100.128.0.1 169.253.255.255 172.15.255.255 172.32.0.1 192.167.1.1 192.0.1.1 198.17.0.1
			223.255.255.255 2606:4700::1111 2a00:1450::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1`,
		false: `0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254 168.63.129.16 169.254.169.254 172.16.0.1
			172.31.255.255 192.0.0.192 192.0.2.1 192.168.1.1 198.18.0.1 198.51.100.1 203.0.113.9 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255
			:: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 64:ff9b::127.0.0.1 64:ff9b::a00:1 64:ff9b:1::1
			2002:7f00:1::1 2002:a00:1::1 2001:0:1::1 2001:db8::1 3fff::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 2606:4700::1111%eth0
			fec0::1 ff02::1 100::1 4000::1`,
	} {
		for _, s := range strings.Fields(list) {
			if outbound.Public(netip.MustParseAddr(s)) != want {
				t.Errorf("Public(%s) is not %v", s, want)
			}
		}
	}
	if outbound.Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	good := []string{"db.internal", "db.internal:8080", "localhost", "10.0.0.0/8", "10.1.2.3", "10.1.2.3:80", "fc00::/7", "::1", "[::1]:8080", "my_host", "bücher.example"}
	if err := outbound.Check(good); err != nil {
		t.Error(err)
	}
	bad := []string{"", "*", "http://x", "a b", "10.0.0.0/33", "x:0", "x:99999", "x:", "x:http", "2130706433", "0x7f.1", "0177.0.0.1", "user@x", "x/y", ".", "-x"}
	for _, b := range bad {
		if outbound.Check([]string{b}) == nil {
			t.Errorf("%q is taken", b)
		}
	}
	err := outbound.Check([]string{"ok", "*", "x:0"})
	if err == nil || !strings.Contains(err.Error(), "[1]: ") || !strings.Contains(err.Error(), "[2]: ") {
		t.Errorf("want both named: %v", err)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"10.0.0.0/8", "x:80", "[::1]:1", "fe80::1%a", "0x7f.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if outbound.Check([]string{s}) == nil && strings.ContainsAny(s, "*@ \n") && !strings.Contains(s, "%") {
			t.Errorf("%q is taken", s)
		}
	})
}
