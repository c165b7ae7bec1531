package outbound

import (
	"net/netip"
	"slices"
)

// networks lists what is not public though it looks like an ordinary address.
var networks = prefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // shared by carriers, metadata of one cloud
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // the host agent of one cloud
	"169.254.0.0/16",   // link-local, metadata of most clouds
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments, metadata of one cloud
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/3",      // multicast, reserved, broadcast
	"2001::/23",        // protocol assignments, Teredo among them
	"2001:db8::/32",    // documentation
	"3fff::/20",        // documentation
)

var (
	global  = netip.MustParsePrefix("2000::/3") // the only part of IPv6 that is public
	sixToIV = netip.MustParsePrefix("2002::/16")
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(all))
	for i, s := range all {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// Public reports whether an address is one of the public internet. An IPv4 address inside an IPv6 one
// (mapped, NAT64, 6to4) is judged as what it stands for.
func Public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return false
	}
	if a.Is4() {
		return true
	}
	b := a.As16()
	switch {
	case nat64.Contains(a):
		return Public(netip.AddrFrom4([4]byte(b[12:16])))
	case sixToIV.Contains(a):
		return Public(netip.AddrFrom4([4]byte(b[2:6])))
	}
	return global.Contains(a)
}
