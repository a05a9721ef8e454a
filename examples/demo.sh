#!/bin/sh
# Two network namespaces, a veth pair, real UDP and TCP traffic, and a Lua script that captures it through the ring.
# Usage: demo.sh BUILD_DIR, as root. Whatever happens, the namespaces are gone at the end.
set -eu

build=$1
here=$(cd "$(dirname "$0")/.." && pwd)
a=ringtap-demo-a-$$ b=ringtap-demo-b-$$
pids=

[ "$(id -u)" = 0 ] || { echo "demo: needs root (network namespaces, packet sockets)" >&2; exit 1; }

finish() {
    status=$?
    trap '' EXIT INT TERM
    for p in $pids; do kill "$p" 2>/dev/null || :; done
    wait
    for n in "$a" "$b"; do ip netns del "$n" 2>/dev/null || :; done
    exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

ip netns add "$a"
ip netns add "$b"
ip -n "$a" link add veth0 type veth peer name veth0 netns "$b"
for n in "$a" "$b"; do
    ip netns exec "$n" sh -c 'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6' 2>/dev/null || :
    ip -n "$n" link set lo up
    ip -n "$n" link set veth0 up
done
ip -n "$a" addr add 192.0.2.1/24 dev veth0
ip -n "$b" addr add 192.0.2.2/24 dev veth0

export LUA_PATH="$here/lua/?.lua;$here/lua/?/init.lua;;" LUA_CPATH="$here/$build/lib/?.so;;"
filter='udp port 5000 or tcp port 8000'
echo "\$ lua5.4 examples/capture.lua veth0 '$filter'"
ip netns exec "$b" lua5.4 "$here/examples/capture.lua" veth0 "$filter" 30 &
capture=$!
pids="$pids $capture"

# The capture is ready when the kernel lists its socket as running.
for _ in $(seq 50); do
    ip netns exec "$b" awk '$6 == 1 { found = 1 } END { exit !found }' /proc/net/packet && break
    sleep 0.1
done

# perl is part of every Debian system.
ip netns exec "$b" perl -MIO::Socket::INET -e '
    $SIG{ALRM} = sub { exit 1 }; alarm 10;
    my $u = IO::Socket::INET->new(LocalAddr => "192.0.2.2", LocalPort => 5000, Proto => "udp") or die $!;
    my $s = IO::Socket::INET->new(LocalAddr => "192.0.2.2", LocalPort => 8000, Listen => 1) or die $!;
    my $c = $s->accept; print $c "ringtap says hello to " . <$c>; close $c;' &
pids="$pids $!"
for _ in $(seq 50); do # 1F40 is port 8000
    ip netns exec "$b" grep -q ':1F40 ' /proc/net/tcp && break
    sleep 0.1
done
ip netns exec "$a" perl -MIO::Socket::INET -e '
    $SIG{ALRM} = sub { exit 1 }; alarm 10;
    my $u = IO::Socket::INET->new(PeerAddr => "192.0.2.2", PeerPort => 5000, Proto => "udp") or die $!;
    for my $i (1 .. 20) { $u->send("datagram $i") or die $!; select undef, undef, undef, 0.01 }
    my $o = IO::Socket::INET->new(PeerAddr => "192.0.2.2", PeerPort => 9, Proto => "udp") or die $!;
    $o->send("not for us");
    my $t = IO::Socket::INET->new(PeerAddr => "192.0.2.2", PeerPort => 8000) or die $!;
    print $t "the demo\n"; my $answer = <$t>; close $t;'

wait "$capture"
