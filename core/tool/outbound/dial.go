package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"parley/core/tool"
)

// RefusedError says that a request was not sent, because its host may not be reached.
type RefusedError struct {
	Host   string
	Reason string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("request to %s refused: %s; if it is meant, name it in outbound.allowPrivate", e.Host, e.Reason)
}

// Is says that nothing ran.
func (e *RefusedError) Is(target error) bool { return target == tool.ErrNotStarted }

type dialer struct {
	allow    *allowed
	resolver Resolver
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
}

func newDialer(c Config) *dialer {
	d := &dialer{allow: newAllowed(c.AllowPrivate), resolver: c.Resolver, dial: c.dial}
	if d.resolver == nil {
		d.resolver = net.DefaultResolver
	}
	return d
}

// DialContext connects to a host that may be reached. All failures prove that nothing was sent.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &notStarted{err}
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addrs, err := d.resolve(ctx, host, port)
	if err != nil {
		return nil, &notStarted{err}
	}
	var failures []error
	for i, a := range addrs {
		conn, err := d.connect(ctx, network, a, port, addrs, len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
	}
	return nil, &notStarted{errors.Join(failures...)}
}

// resolve looks a host up once and judges every address: one that is not public spoils all, since a name
// that mixes them is a trick or a mistake.
func (d *dialer) resolve(ctx context.Context, host, port string) ([]netip.Addr, error) {
	ip, err := netip.ParseAddr(host)
	addrs := []netip.Addr{ip}
	if err != nil {
		if disguised(host) {
			return nil, &RefusedError{host, "it is an address in disguise: write it in its plain form"}
		}
		if addrs, err = d.resolver.LookupNetIP(ctx, "ip", host); err != nil {
			return nil, fmt.Errorf("look up %s: %w", host, err)
		}
		if len(addrs) == 0 {
			return nil, fmt.Errorf("look up %s: it has no address", host)
		}
	}
	if d.allow.host(host, port) {
		return addrs, nil
	}
	for _, a := range addrs {
		if Public(a) || d.allow.address(a, port) {
			continue
		}
		if a.String() == host {
			return nil, &RefusedError{net.JoinHostPort(host, port), "the address is not public"}
		}
		return nil, &RefusedError{net.JoinHostPort(host, port), "its address " + a.String() + " is not public"}
	}
	return addrs, nil
}

// connect dials one address that was judged, within its share of what time is left.
func (d *dialer) connect(ctx context.Context, network string, a netip.Addr, port string, judged []netip.Addr, left int) (net.Conn, error) {
	address := net.JoinHostPort(a.String(), port)
	if d.dial != nil {
		return d.dial(ctx, network, address)
	}
	nd := net.Dialer{Timeout: dialTimeout / 3, Control: func(_, address string, _ syscall.RawConn) error {
		return among(address, judged)
	}}
	if left == 1 {
		nd.Timeout = dialTimeout
	}
	return nd.DialContext(ctx, network, address)
}

// among refuses to connect to anything but what was judged.
func among(address string, judged []netip.Addr) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(judged, func(j netip.Addr) bool { return j.Unmap().WithZone("") == ip.Unmap().WithZone("") }) {
		return &RefusedError{address, "it was not judged"}
	}
	return nil
}
