/* bpf_ids: the kernel's BPF objects, one a line: "prog ID NAME", "map ID NAME", "link ID". Needs CAP_SYS_ADMIN. */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int call(int command, union bpf_attr *attr)
{
    return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static void list(const char *what, int next, int open_by_id)
{
    union bpf_attr a;
    uint32_t id = 0;

    for (;;) {
        struct bpf_prog_info prog = {0};
        struct bpf_map_info map = {0};
        int fd;

        memset(&a, 0, sizeof(a));
        a.start_id = id;
        if (call(next, &a) < 0)
            return;
        id = a.next_id;
        memset(&a, 0, sizeof(a));
        a.prog_id = id; /* map_id and link_id are at the same place */
        fd = call(open_by_id, &a);
        if (fd < 0)
            continue; /* gone by now */
        memset(&a, 0, sizeof(a));
        a.info.bpf_fd = (uint32_t)fd;
        if (open_by_id != BPF_LINK_GET_FD_BY_ID) {
            a.info.info_len = open_by_id == BPF_PROG_GET_FD_BY_ID ? sizeof(prog) : sizeof(map);
            a.info.info = open_by_id == BPF_PROG_GET_FD_BY_ID ? (uintptr_t)&prog : (uintptr_t)&map;
            call(BPF_OBJ_GET_INFO_BY_FD, &a);
        }
        printf("%s %u %s\n", what, id, prog.name[0] ? prog.name : map.name);
        close(fd);
    }
}

int main(void)
{
    list("prog", BPF_PROG_GET_NEXT_ID, BPF_PROG_GET_FD_BY_ID);
    list("map", BPF_MAP_GET_NEXT_ID, BPF_MAP_GET_FD_BY_ID);
    list("link", BPF_LINK_GET_NEXT_ID, BPF_LINK_GET_FD_BY_ID);
    return 0;
}
