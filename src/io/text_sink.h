/* Packets as lines of text on a descriptor: a struct sink of kind "text". See packet/format.h for the lines. */
#ifndef RTAP_IO_TEXT_SINK_H
#define RTAP_IO_TEXT_SINK_H

#include "../packet/format.h"
#include "sink.h"

/* fd and format are taken over, on success only; `name` is for messages. line_buffered (or a terminal at fd) writes
 * after every packet; otherwise the caller kicks when it has nothing else to do. 0 or -errno. */
int rtap_text_open(struct rtap_sink **out, int fd, const char *name, struct rtap_format *format, bool line_buffered,
                   char *err, size_t errlen);

#endif
