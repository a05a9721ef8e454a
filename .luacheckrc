std = "lua54"
max_line_length = 120
include_files = { "**/*.lua", "**/*.rockspec", ".luacheckrc", ".busted" }
exclude_files = { ".build*" }
files["spec"] = { std = "+busted" }
files["rockspec"] = { std = "+rockspec" }
files["lua/ringtap/types.lua"] = { ignore = { "211", "212", "241" }, max_line_length = false }
