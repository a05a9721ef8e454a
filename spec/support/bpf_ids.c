/*
 * bpf_ids: the kernel's BPF objects, one a line: "prog ID NAME", "map ID ", "link ID ". Needs CAP_SYS_ADMIN.
 *
 * Maps are not opened: to open and close a map of programs while its owner lets go of it makes the kernel lose it.
 */
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

static void list(const char *what, int next)
{
    union bpf_attr a;
    uint32_t id = 0;

    for (;;) {
        struct bpf_prog_info info = {0};

        memset(&a, 0, sizeof(a));
        a.start_id = id;
        if (call(next, &a) < 0)
            return;
        id = a.next_id;
        if (next == BPF_PROG_GET_NEXT_ID) {
            int fd;

            memset(&a, 0, sizeof(a));
            a.prog_id = id;
            fd = call(BPF_PROG_GET_FD_BY_ID, &a);
            if (fd < 0)
                continue; /* gone by now */
            memset(&a, 0, sizeof(a));
            a.info.bpf_fd = (uint32_t)fd;
            a.info.info_len = sizeof(info);
            a.info.info = (uintptr_t)&info;
            call(BPF_OBJ_GET_INFO_BY_FD, &a);
            close(fd);
        }
        printf("%s %u %s\n", what, id, info.name);
    }
}

int main(void)
{
    list("prog", BPF_PROG_GET_NEXT_ID);
    list("map", BPF_MAP_GET_NEXT_ID);
    list("link", BPF_LINK_GET_NEXT_ID);
    return 0;
}
