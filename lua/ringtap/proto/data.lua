--- What is carried and no other table takes.
return {
    name = "data", title = "Data", hidden = true,
    header = "$len",
    { "data", "bytes", "Data" },
    { "len", value = "$cap < $len ? $cap : $len" },
}
