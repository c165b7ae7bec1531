package outbound

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// allowed is a configuration's list, taken apart.
type allowed struct {
	hosts    map[string]bool // "host" and "host:port"
	networks []network
}

type network struct {
	prefix netip.Prefix
	port   string // "" for any
}

// Check refuses entries of an AllowPrivate list that mean nothing. The error lists them all, one a line,
// each with its index.
func Check(allowPrivate []string) error {
	var errs []error
	for i, entry := range allowPrivate {
		if err := (&allowed{hosts: map[string]bool{}}).add(entry); err != nil {
			errs = append(errs, fmt.Errorf("[%d]: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

func newAllowed(entries []string) *allowed {
	a := &allowed{hosts: map[string]bool{}}
	for _, e := range entries {
		_ = a.add(e) // what means nothing allows nothing
	}
	return a
}

func (a *allowed) add(entry string) error {
	bad := fmt.Errorf("%q is no host, host:port, address or network such as 10.0.0.0/8", entry)
	if p, err := netip.ParsePrefix(entry); err == nil {
		a.networks = append(a.networks, network{prefix: p.Masked()})
		return nil
	}
	host, port := entry, ""
	if h, p, err := net.SplitHostPort(entry); err == nil {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return bad
		}
		host, port = h, strconv.FormatUint(n, 10)
	}
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		ip = ip.WithZone("").Unmap()
		a.networks = append(a.networks, network{netip.PrefixFrom(ip, ip.BitLen()), port})
		return nil
	}
	if !isHost(host) {
		return bad
	}
	name := canonical(host)
	if port != "" {
		name += ":" + port
	}
	a.hosts[name] = true
	return nil
}

// host reports whether a host is allowed by its name, whatever addresses it has.
func (a *allowed) host(host, port string) bool {
	return a.hosts[canonical(host)] || a.hosts[canonical(host)+":"+port]
}

// address reports whether an address is allowed by itself.
func (a *allowed) address(ip netip.Addr, port string) bool {
	ip = ip.WithZone("")
	for _, n := range a.networks {
		if (n.port == "" || n.port == port) && (n.prefix.Contains(ip) || n.prefix.Contains(ip.Unmap())) {
			return true
		}
	}
	return false
}

var hostName = regexp.MustCompile(`^[\pL\pN_]([\pL\pN_-]*[\pL\pN_])?(\.[\pL\pN_]([\pL\pN_-]*[\pL\pN_])?)*\.?$`)

func isHost(s string) bool { return hostName.MatchString(s) && !disguised(s) }

// canonical is the form in which hosts are compared.
func canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

var number = regexp.MustCompile(`^(0[xX][0-9a-fA-F]*|[0-9]+)$`)

// disguised reports whether a host is a number that some systems read as an address: 2130706433, 0x7f.1,
// 0177.0.0.1. Addresses in their plain form never come here.
func disguised(host string) bool {
	host = strings.TrimSuffix(host, ".")
	return number.MatchString(host[strings.LastIndexByte(host, '.')+1:])
}
