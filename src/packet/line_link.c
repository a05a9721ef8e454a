/* The line printer's link layers (for -e, and for what has nothing above them that could be shown) and ARP. */
#include "bytes.h"
#include "line_parts.h"

#include <linux/if_ether.h>

const char *rtap_line_direction(const struct rtap_pkt *pkt)
{
    static const char *const sll[] = {"In", "B", "M", "P", "Out"};
    unsigned type = 5;

    if (pkt->linktype == RTAP_LINKTYPE_LINUX_SLL && pkt->caplen >= 2)
        type = rtap_be16(pkt->data);
    else if (pkt->linktype == RTAP_LINKTYPE_LINUX_SLL2 && pkt->caplen >= 11)
        type = pkt->data[10];
    else if ((pkt->epb_flags & RTAP_EPB_DIRECTION) == RTAP_EPB_OUTBOUND)
        type = 4;
    else if ((pkt->epb_flags & RTAP_EPB_RECEPTION) >= RTAP_EPB_MULTICAST)
        switch (pkt->epb_flags & RTAP_EPB_RECEPTION) {
        case RTAP_EPB_MULTICAST: type = 2; break;
        case RTAP_EPB_BROADCAST: type = 1; break;
        default: type = 3; break;
        }
    else if ((pkt->epb_flags & RTAP_EPB_DIRECTION) == RTAP_EPB_INBOUND)
        type = 0;
    return type < sizeof(sll) / sizeof(sll[0]) ? sll[type] : "?";
}

/* "IPv4 (0x0800)", or with -q the name alone. */
static void put_type(struct rtap_line_job *job, uint16_t type)
{
    static const struct {
        uint16_t type;
        const char *name;
    } names[] = {
        {0x0800, "IPv4"},
        {0x86dd, "IPv6"},
        {0x0806, "ARP"},
        {0x8035, "Reverse ARP"},
        {0x8100, "802.1Q"},
        {0x88a8, "802.1Q-QinQ"},
        {0x9100, "802.1Q-9100"},
        {0x6558, "TEB"},
        {0x8847, "MPLS unicast"},
        {0x8848, "MPLS multicast"},
        {0x8863, "PPPoE D"},
        {0x8864, "PPPoE S"},
        {0x88cc, "LLDP"},
        {0x888e, "EAPOL"},
        {0x88e5, "802.1AE MACsec"},
        {0x88f7, "PTP"},
        {0x8809, "Slow Protocols"},
        {0x9000, "Loopback"},
    };
    const char *name = NULL;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && name == NULL; i++)
        if (names[i].type == type)
            name = names[i].name;
    if (!job->style->quiet)
        LIT(job, "ethertype ");
    if (name != NULL)
        rtap_out_text(&job->out, name);
    else if (job->style->quiet)
        LIT(job, "Unknown Ethertype");
    else
        LIT(job, "Unknown");
    if (!job->style->quiet || name == NULL) {
        LIT(job, " (0x");
        rtap_out_hex(&job->out, type, 4);
        LIT(job, ")");
    }
}

static void put_length(struct rtap_line_job *job)
{
    LIT(job, ", length ");
    rtap_out_dec(&job->out, job->pkt->len);
}

static bool is_tag(uint16_t type)
{
    return type == 0x8100 || type == 0x88a8 || type == 0x9100;
}

/* The link-layer header, for -e and for what has nothing above it that could be shown. */
void rtap_line_link(struct rtap_line_job *job)
{
    const struct rtap_pkt *pkt = job->pkt;
    const uint8_t *p = pkt->data;
    struct rtap_out *o = &job->out;
    uint32_t family;
    uint16_t type;

    switch (pkt->linktype) {
    case RTAP_LINKTYPE_ETHERNET:
        type = rtap_be16(p + 12);
        rtap_out_mac(o, p + 6, 6);
        LIT(job, " > ");
        rtap_out_mac(o, p, 6);
        LIT(job, ", ");
        if (type <= 1500) {
            LIT(job, "802.3, length ");
            rtap_out_dec(o, type);
            return;
        }
        put_type(job, type);
        put_length(job);
        break;
    case RTAP_LINKTYPE_LINUX_SLL:
    case RTAP_LINKTYPE_LINUX_SLL2: {
        bool two = pkt->linktype == RTAP_LINKTYPE_LINUX_SLL2;
        unsigned size = two ? p[11] : rtap_be16(p + 4);

        if (two) {
            LIT(job, "ifindex ");
            rtap_out_dec(o, rtap_be32(p + 4));
            LIT(job, " ");
        } else if (!job->style->interface) {
            for (size_t n = strlen(rtap_line_direction(pkt)); n < 3; n++)
                LIT(job, " ");
            rtap_out_text(o, rtap_line_direction(pkt));
            LIT(job, " ");
        }
        if (size == 6) {
            rtap_out_mac(o, p + (two ? 12 : 6), 6);
            LIT(job, " ");
        }
        type = rtap_be16(p + (two ? 0 : 14));
        if (type == 1 || type == 4)
            LIT(job, "802.3");
        else
            put_type(job, type);
        put_length(job);
        break;
    }
    case RTAP_LINKTYPE_NULL:
    case RTAP_LINKTYPE_LOOP:
        family = rtap_be32(p) > 0xffff ? rtap_le32(p) : rtap_be32(p);
        LIT(job, "AF ");
        rtap_out_text(o, job->look.ethertype == ETH_P_IP ? "IPv4" : job->look.ethertype != 0 ? "IPv6" : "Unknown");
        LIT(job, " (");
        rtap_out_dec(o, family);
        LIT(job, ")");
        put_length(job);
        break;
    case RTAP_LINKTYPE_PPP:
        rtap_out_text(o, job->look.ethertype == ETH_P_IP     ? "IP (0x0021)"
                         : job->look.ethertype == ETH_P_IPV6 ? "IP6 (0x0057)"
                                                             : "PPP");
        put_length(job);
        break;
    default:
        LIT(job, "linktype ");
        rtap_out_dec(o, pkt->linktype);
        put_length(job);
        break;
    }
    if (job->look.tags == 0 && pkt->linktype == RTAP_LINKTYPE_ETHERNET && is_tag(rtap_be16(p + 12)))
        CUT(job, "vlan");
    for (unsigned i = 0; i < job->look.tags; i++) {
        const uint8_t *tag = p + job->look.vlan + 4 * i;
        uint16_t tci = rtap_be16(tag);

        if (i == 0)
            LIT(job, ": vlan ");
        else
            LIT(job, ", vlan ");
        rtap_out_dec(o, tci & 0xfff);
        LIT(job, ", p ");
        rtap_out_dec(o, tci >> 13);
        if (tci & 0x1000)
            LIT(job, ", DEI");
        LIT(job, ", ");
        if (rtap_be16(tag + 2) > 1500)
            put_type(job, rtap_be16(tag + 2));
        else
            LIT(job, "802.3");
    }
}

void rtap_line_arp(struct rtap_line_job *job)
{
    const uint8_t *p = job->pkt->data + job->look.l3, *sha, *spa, *tha, *tpa;
    uint32_t left = rtap_line_left(job, (uint32_t)job->look.l3), hl, pl;
    struct rtap_out *o = &job->out;
    uint16_t op;

    if (left < 8 || left < 8 + 2u * p[4] + 2u * p[5]) {
        CUT(job, "arp");
        return;
    }
    hl = p[4];
    pl = p[5];
    op = rtap_be16(p + 6);
    sha = p + 8;
    spa = sha + hl;
    tha = spa + pl;
    tpa = tha + hl;
    if (!job->style->link)
        LIT(job, "ARP, ");
    if (rtap_be16(p + 2) != ETH_P_IP || pl != 4 || hl == 0 || job->style->verbose > 0) {
        if (rtap_be16(p) == 1) {
            LIT(job, "Ethernet");
        } else {
            LIT(job, "hardware #");
            rtap_out_dec(o, rtap_be16(p));
        }
        LIT(job, " (len ");
        rtap_out_dec(o, hl);
        LIT(job, "), ");
        if (rtap_be16(p + 2) == ETH_P_IP) {
            LIT(job, "IPv4");
        } else {
            LIT(job, "protocol 0x");
            rtap_out_hex(o, rtap_be16(p + 2), 4);
        }
        LIT(job, " (len ");
        rtap_out_dec(o, pl);
        LIT(job, ")");
        if (rtap_be16(p + 2) == ETH_P_IP && pl == 4 && hl > 0)
            LIT(job, ", ");
    }
    if (rtap_be16(p + 2) == ETH_P_IP && pl == 4 && hl > 0)
        switch (op) {
        case 1: {
            static const uint8_t zero[6];

            LIT(job, "Request who-has ");
            rtap_out_ip4(o, tpa);
            if (hl != 6 || memcmp(tha, zero, 6) != 0) {
                LIT(job, " (");
                rtap_out_mac(o, tha, hl);
                LIT(job, ")");
            }
            LIT(job, " tell ");
            rtap_out_ip4(o, spa);
            break;
        }
        case 2:
            LIT(job, "Reply ");
            rtap_out_ip4(o, spa);
            LIT(job, " is-at ");
            rtap_out_mac(o, sha, hl);
            break;
        case 3:
            LIT(job, "Reverse Request who-is ");
            rtap_out_mac(o, tha, hl);
            LIT(job, " tell ");
            rtap_out_mac(o, sha, hl);
            break;
        case 4:
            LIT(job, "Reverse Reply ");
            rtap_out_mac(o, tha, hl);
            LIT(job, " at ");
            rtap_out_ip4(o, tpa);
            break;
        default:
            LIT(job, "Unknown (");
            rtap_out_dec(o, op);
            LIT(job, ")");
            break;
        }
    LIT(job, ", length ");
    rtap_out_dec(o, job->pkt->len - (uint32_t)job->look.l3);
}
