/*
 * The protocols and fields that the line printer knows by name. They are looked up in the engine once, and again when
 * its tables have changed; a line is then made with pointers and numbers alone.
 */
#ifndef RTAP_PACKET_LINE_FIELDS_H
#define RTAP_PACKET_LINE_FIELDS_H

#include "engine.h"

/* Protocols, by the name of their table. */
#define RTAP_LINE_PROTOS(X)     \
    X(ETH, "eth")               \
    X(SLL, "sll")               \
    X(SLL2, "sll2")             \
    X(NULL, "null")             \
    X(PPP, "ppp")               \
    X(RAW, "raw")               \
    X(VLAN, "vlan")             \
    X(AD, "ieee8021ad")         \
    X(ARP, "arp")               \
    X(IP, "ip")                 \
    X(IPV6, "ipv6")             \
    X(HOPOPTS, "ipv6.hopopts")  \
    X(ROUTING, "ipv6.routing")  \
    X(FRAGMENT, "ipv6.fraghdr") \
    X(DSTOPTS, "ipv6.dstopts")  \
    X(AH, "ah")                 \
    X(ESP, "esp")               \
    X(GRE, "gre")               \
    X(TCP, "tcp")               \
    X(UDP, "udp")               \
    X(UDPLITE, "udplite")       \
    X(SCTP, "sctp")             \
    X(DCCP, "dccp")             \
    X(ICMP, "icmp")             \
    X(ICMPV6, "icmpv6")         \
    X(IGMP, "igmp")

/* Fields with a fixed place, of one protocol each. */
#define RTAP_LINE_FIELDS(X)                             \
    X(ETH_DST, ETH, "eth.dst")                          \
    X(ETH_SRC, ETH, "eth.src")                          \
    X(ETH_TYPE, ETH, "eth.type")                        \
    X(ETH_LEN, ETH, "eth.len")                          \
    X(ETH_NEITHER, ETH, "eth.invalid_lentype")          \
    X(VLAN_ID, VLAN, "vlan.id")                         \
    X(VLAN_PRIORITY, VLAN, "vlan.priority")             \
    X(VLAN_DEI, VLAN, "vlan.dei")                       \
    X(VLAN_TYPE, VLAN, "vlan.etype")                    \
    X(VLAN_LEN, VLAN, "vlan.len")                       \
    X(AD_ID, AD, "ieee8021ad.id")                       \
    X(AD_PRIORITY, AD, "ieee8021ad.priority")           \
    X(AD_DEI, AD, "ieee8021ad.dei")                     \
    X(AD_TYPE, AD, "ieee8021ad.etype")                  \
    X(AD_LEN, AD, "ieee8021ad.len")                     \
    X(SLL_DIRECTION, SLL, "sll.pkttype")                \
    X(SLL_SRC, SLL, "sll.src.eth")                      \
    X(SLL_TYPE, SLL, "sll.etype")                       \
    X(SLL_FAMILY, SLL, "sll.ltype")                     \
    X(SLL_GRE, SLL, "sll.gretype")                      \
    X(SLL2_INDEX, SLL2, "sll.ifindex")                  \
    X(SLL2_DIRECTION, SLL2, "sll.pkttype")              \
    X(SLL2_SRC, SLL2, "sll.src.eth")                    \
    X(SLL2_TYPE, SLL2, "sll.etype")                     \
    X(SLL2_FAMILY, SLL2, "sll.ltype")                   \
    X(SLL2_GRE, SLL2, "sll.gretype")                    \
    X(ARP_HARDWARE, ARP, "arp.hw.type")                 \
    X(ARP_PROTOCOL, ARP, "arp.proto.type")              \
    X(IP_VERSION, IP, "ip.version")                     \
    X(IP_HLEN, IP, "ip.hdr_len")                        \
    X(IP_TOS, IP, "ip.dsfield")                         \
    X(IP_ECN, IP, "ip.dsfield.ecn")                     \
    X(IP_LEN, IP, "ip.len")                             \
    X(IP_ID, IP, "ip.id")                               \
    X(IP_RB, IP, "ip.flags.rb")                         \
    X(IP_DF, IP, "ip.flags.df")                         \
    X(IP_MF, IP, "ip.flags.mf")                         \
    X(IP_OFFSET, IP, "ip.frag_offset")                  \
    X(IP_TTL, IP, "ip.ttl")                             \
    X(IP_PROTO, IP, "ip.proto")                         \
    X(IP_SRC, IP, "ip.src")                             \
    X(IP_DST, IP, "ip.dst")                             \
    X(IPV6_VERSION, IPV6, "ipv6.version")               \
    X(IPV6_CLASS, IPV6, "ipv6.tclass")                  \
    X(IPV6_FLOW, IPV6, "ipv6.flow")                     \
    X(IPV6_LEN, IPV6, "ipv6.plen")                      \
    X(IPV6_NEXT, IPV6, "ipv6.nxt")                      \
    X(IPV6_HLIM, IPV6, "ipv6.hlim")                     \
    X(IPV6_SRC, IPV6, "ipv6.src")                       \
    X(IPV6_DST, IPV6, "ipv6.dst")                       \
    X(HOPOPTS_NEXT, HOPOPTS, "ipv6.hopopts.nxt")        \
    X(DSTOPTS_NEXT, DSTOPTS, "ipv6.dstopts.nxt")        \
    X(ROUTING_NEXT, ROUTING, "ipv6.routing.nxt")        \
    X(ROUTING_LEN, ROUTING, "ipv6.routing.len")         \
    X(ROUTING_TYPE, ROUTING, "ipv6.routing.type")       \
    X(ROUTING_LEFT, ROUTING, "ipv6.routing.segleft")    \
    X(FRAGMENT_NEXT, FRAGMENT, "ipv6.fraghdr.nxt")      \
    X(FRAGMENT_OFFSET, FRAGMENT, "ipv6.fraghdr.offset") \
    X(FRAGMENT_ID, FRAGMENT, "ipv6.fraghdr.ident")      \
    X(AH_NEXT, AH, "ah.next_header")                    \
    X(ESP_SPI, ESP, "esp.spi")                          \
    X(ESP_SEQUENCE, ESP, "esp.sequence")                \
    X(GRE_VERSION, GRE, "gre.flags.version")            \
    X(TCP_SPORT, TCP, "tcp.srcport")                    \
    X(TCP_DPORT, TCP, "tcp.dstport")                    \
    X(TCP_SEQ, TCP, "tcp.seq")                          \
    X(TCP_ACK, TCP, "tcp.ack")                          \
    X(TCP_HLEN, TCP, "tcp.hdr_len")                     \
    X(TCP_CWR, TCP, "tcp.flags.cwr")                    \
    X(TCP_ECE, TCP, "tcp.flags.ece")                    \
    X(TCP_URG, TCP, "tcp.flags.urg")                    \
    X(TCP_ACKED, TCP, "tcp.flags.ack")                  \
    X(TCP_PUSH, TCP, "tcp.flags.push")                  \
    X(TCP_RESET, TCP, "tcp.flags.reset")                \
    X(TCP_SYN, TCP, "tcp.flags.syn")                    \
    X(TCP_FIN, TCP, "tcp.flags.fin")                    \
    X(TCP_WINDOW, TCP, "tcp.window_size_value")         \
    X(TCP_URGENT, TCP, "tcp.urgent_pointer")            \
    X(UDP_SPORT, UDP, "udp.srcport")                    \
    X(UDP_DPORT, UDP, "udp.dstport")                    \
    X(UDP_LENGTH, UDP, "udp.length")                    \
    X(UDP_SUM, UDP, "udp.checksum")                     \
    X(UDPLITE_SPORT, UDPLITE, "udp.srcport")            \
    X(UDPLITE_DPORT, UDPLITE, "udp.dstport")            \
    X(SCTP_SPORT, SCTP, "sctp.srcport")                 \
    X(SCTP_DPORT, SCTP, "sctp.dstport")                 \
    X(DCCP_SPORT, DCCP, "dccp.srcport")                 \
    X(DCCP_DPORT, DCCP, "dccp.dstport")                 \
    X(ICMP_TYPE, ICMP, "icmp.type")                     \
    X(ICMP_SUM, ICMP, "icmp.checksum")                  \
    X(ICMPV6_TYPE, ICMPV6, "icmpv6.type")               \
    X(ICMPV6_SUM, ICMPV6, "icmpv6.checksum")            \
    X(IGMP_TYPE, IGMP, "igmp.type")

/* Fields that a walk finds, by name. */
#define RTAP_LINE_NAMES(X)                                 \
    X(NULL_FAMILY, "null.family")                          \
    X(NULL_TYPE, "null.type")                              \
    X(AH_SPI, "ah.spi")                                    \
    X(PPP_PROTOCOL, "ppp.protocol")                        \
    X(ARP_OPCODE, "arp.opcode")                            \
    X(ARP_HW_SIZE, "arp.hw.size")                          \
    X(ARP_PROTO_SIZE, "arp.proto.size")                    \
    X(ARP_SRC_MAC, "arp.src.hw_mac")                       \
    X(ARP_SRC_AX25, "arp.src.hw_ax25")                     \
    X(ARP_SRC_HW, "arp.src.hw")                            \
    X(ARP_SRC_IP, "arp.src.proto_ipv4")                    \
    X(ARP_DST_MAC, "arp.dst.hw_mac")                       \
    X(ARP_DST_AX25, "arp.dst.hw_ax25")                     \
    X(ARP_DST_HW, "arp.dst.hw")                            \
    X(ARP_DST_IP, "arp.dst.proto_ipv4")                    \
    X(IP_OPT_TYPE, "ip.opt.type")                          \
    X(IP_OPT_LEN, "ip.opt.len")                            \
    X(TCP_KIND, "tcp.option_kind")                         \
    X(TCP_OPT_LEN, "tcp.option_len")                       \
    X(TCP_MSS, "tcp.options.mss_val")                      \
    X(TCP_WSCALE, "tcp.options.wscale.shift")              \
    X(TCP_SACK_LEFT, "tcp.options.sack_le")                \
    X(TCP_SACK_RIGHT, "tcp.options.sack_re")               \
    X(TCP_TSVAL, "tcp.options.timestamp.tsval")            \
    X(TCP_TSECR, "tcp.options.timestamp.tsecr")            \
    X(IGMP_VERSION, "igmp.version")                        \
    X(IGMP_MAX_RESP, "igmp.max_resp")                      \
    X(IGMP_GROUP, "igmp.maddr")                            \
    X(IGMP_RECORDS, "igmp.num_grp_recs")                   \
    X(ICMP_CODE, "icmp.code")                              \
    X(ICMP_IDENT, "icmp.ident")                            \
    X(ICMP_SEQ, "icmp.seq")                                \
    X(ICMP_GATEWAY, "icmp.redir_gw")                       \
    X(ICMP_MTU, "icmp.mtu")                                \
    X(ICMP_POINTER, "icmp.pointer")                        \
    X(ICMPV6_CODE, "icmpv6.code")                          \
    X(ICMPV6_IDENT, "icmpv6.echo.identifier")              \
    X(ICMPV6_SEQ, "icmpv6.echo.sequence_number")           \
    X(ICMPV6_MTU, "icmpv6.mtu")                            \
    X(ICMPV6_POINTER, "icmpv6.pointer")                    \
    X(ICMPV6_NS_TARGET, "icmpv6.nd.ns.target_address")     \
    X(ICMPV6_NA_TARGET, "icmpv6.nd.na.target_address")     \
    X(ICMPV6_RD_TARGET, "icmpv6.nd.rd.target_address")     \
    X(ICMPV6_RD_DST, "icmpv6.rd.na.destination_address")   \
    X(ICMPV6_DELAY, "icmpv6.mld.maximum_response_delay")   \
    X(ICMPV6_RESPONSE, "icmpv6.mld.maximum_response_code") \
    X(ICMPV6_GROUP, "icmpv6.mld.multicast_address")        \
    X(ICMPV6_RECORDS, "icmpv6.mldr.nb_mcast_records")

#define PROTO_ENTRY(id, name) LP_##id,
#define FIELD_ENTRY(id, proto, name) LF_##id,
#define NAME_ENTRY(id, name) LN_##id,
enum rtap_line_proto { RTAP_LINE_PROTOS(PROTO_ENTRY) LP_COUNT };
enum rtap_line_field { RTAP_LINE_FIELDS(FIELD_ENTRY) LF_COUNT };
enum rtap_line_name { RTAP_LINE_NAMES(NAME_ENTRY) LN_COUNT };
#undef PROTO_ENTRY
#undef FIELD_ENTRY
#undef NAME_ENTRY

struct rtap_line_place {            /* where a field is, in its layer */
    const struct rtap_proto *proto; /* NULL: no table has the field */
    const struct rtap_decl *decl;
    uint32_t at, end; /* bytes */
    /* most numbers: of 1, 2 or 4 bytes those bits that are under mask after a shift to the right; 0: it is none of them
     * */
    uint8_t width, shift;
    uint32_t mask, scale;
};

struct rtap_line_fields {
    unsigned version;                         /* of the engine, when this was looked up */
    const struct rtap_proto *proto[LP_COUNT]; /* NULL: there is none */
    struct rtap_line_place field[LF_COUNT];
    uint16_t name[LN_COUNT];                               /* 0: no field has it */
    const struct rtap_decl *ip_opt_type, *ip_opt_len;      /* NULL: there is none */
    uint16_t ethertype, ip_proto, null_type, ppp_protocol; /* dissector tables */
};

/* The engine's, up to date; with everything missing when there is no memory. */
const struct rtap_line_fields *rtap_line_fields(struct rtap_engine *e);

#endif
