-- Filters inside the XDP program: one answer from the program (BPF_PROG_TEST_RUN), from the kernel's socket filter on a
-- real socket, from libpcap's own interpreter, and from f:matches().
local cases = require "support.filter_cases"
local ringtap = require "ringtap"
local support = require "support"

local filter = ringtap.filter
local root_it = support.is_root() and it or pending

local SEED = tonumber(os.getenv("SEED") or 20240613)
local CAPTURES = "../shared/captures"

local function hex(s)
    return (s:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function compile(expr, options)
    return assert(filter.compile(expr, options))
end

local dns = "\2\0\0\0\0\2\2\0\0\0\0\1\8\0\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\xc0\0\2\1\xc0\0\2\2\0\x35\0\x35\0\8\0\0"

-- ------------------------------------------------------------------ the others

local function says_vlan(expr)
    return (" " .. expr .. " "):find("[ (]vlan[ )]") ~= nil
end

-- The question of spec/support/filter_engines.c about one expression.
local function question(expr, program)
    local parts = { string.pack("<I1s4I4", says_vlan(expr) and 0 or 1, expr, program and #program or 0) }
    for _, i in ipairs(program or {}) do
        parts[#parts + 1] = string.pack("<I2I1I1I4", i.code, i.jt, i.jf, i.k)
    end
    return table.concat(parts)
end

-- Ask them all about all frames. Returns for each expression, by its number: compiled, and a string with a byte for
-- each frame.
local function ask_others(frames, questions)
    local parts = { string.pack("<I4", #frames) }
    for i, frame in ipairs(frames) do
        parts[i + 1] = string.pack("<s4", frame)
    end
    local out = support.must(support.compile("filter_engines.c", "-lpcap"),
        table.concat(parts) .. table.concat(questions))
    assert.equal(#questions * (#frames + 1), #out)
    return function(n, i)
        return out:byte((n - 1) * (#frames + 1) + 1 + (i or 0))
    end
end

-- Frames that were captured, a few of each file.
local function captured_frames(count)
    local list, files = {}, {}
    local pipe = assert(io.popen("ls " .. CAPTURES .. "/*.pcap* 2>/dev/null"))
    for path in pipe:lines() do
        files[#files + 1] = path
    end
    pipe:close()
    for _, path in ipairs(files) do
        local src <close> = ringtap.read(path)
        local rest = 3
        if src and src:linktype() == 1 then
            pcall(function() -- some are damaged
                for pkt in src:packets() do
                    if #pkt > 0 and #pkt < 9000 and pkt.linktype == 1 then
                        list[#list + 1] = pkt:bytes()
                        rest = rest - 1
                    end
                    if rest == 0 then
                        break
                    end
                end
            end)
        end
    end
    local step, chosen = math.max(1, #list // count), {}
    for i = 1, #list, step do
        chosen[#chosen + 1] = #chosen < count and list[i] or nil
    end
    return chosen
end

local function all_frames()
    local frames = captured_frames(120)
    for _, frame in ipairs(cases.frames(SEED, 500 - #frames)) do
        frames[#frames + 1] = frame
    end
    return frames
end

-- Without what this libpcap doesn't know.
local function all_expressions()
    local list, known = {}, { geneve = filter.compile("geneve"), vxlan = filter.compile("vxlan") }
    for _, expr in ipairs(cases.expressions()) do
        local word = expr:match("geneve") or expr:match("vxlan")
        if not word or known[word] then
            list[#list + 1] = expr
        end
    end
    return list
end

-- ------------------------------------------------------------------ one answer

local ONE_BUFFER = 3072 -- without frags

-- The XDP program's answers against what the frame's answer has to be; how many there were.
local function check_xdp(f, frame, want, rnd)
    local runs = 0
    local function check(options)
        local got, message = f:xdp_matches(frame, options)
        if got ~= want then
            error(("seed %d: %q on %s (frags %s, linear %s): expected %s, got %s %s"):format(SEED, f:expression(),
                hex(frame), options.frags, options.linear, want, got, message or ""))
        end
        runs = runs + 1
    end
    if #frame <= ONE_BUFFER then
        check { frags = false }
    end
    check { frags = true }
    if cases.linear and #frame > 14 then
        check { frags = true, linear = 14 + rnd(math.min(#frame - 14, 70)) }
    end
    return runs
end

-- Is the kernel one that lets a run say how the frame lies?
local function can_split()
    return compile("ip"):xdp_matches(dns, { frags = true, linear = 20 }) ~= nil
end

local function compare(expressions, frames, may_refuse)
    local filters, questions, rnd = {}, {}, cases.random(SEED)
    local asked, in_kernel, runs, matched = 0, 0, 0, 0
    for n, expr in ipairs(expressions) do
        local f, message = filter.compile(expr)
        assert(f or may_refuse, message)
        local program = f and f:kernel_program()
        filters[n] = f or false
        questions[n] = question(expr, program)
        in_kernel = in_kernel + (program and 1 or 0)
    end
    local others = ask_others(frames, questions)
    for n, expr in ipairs(expressions) do
        local f = filters[n]
        local program = f and f:kernel_program()
        assert.is_true(not f or others(n) == 1, expr)
        for i, frame in ipairs(f and frames or {}) do
            local want = others(n, i) & 1 == 1
            asked = asked + 1
            matched = matched + (want and 1 or 0)
            if program and (others(n, i) & 2 == 2) ~= want or f:matches(frame) ~= want then
                error(("seed %d: %q on %s: libpcap says %s, the socket filter %s, matches() %s"):format(SEED, expr,
                    hex(frame), want, program and others(n, i) & 2 == 2, f:matches(frame)))
            end
            if #frame >= 14 then
                runs = runs + check_xdp(f, frame, want, rnd)
            end
        end
        filters[n] = nil -- its programs go with it
    end
    return { asked = asked, in_kernel = in_kernel, runs = runs, matched = matched }
end

describe("a filter in XDP", function()
    local frames

    setup(function()
        frames = all_frames()
        cases.linear = support.is_root() and can_split()
    end)

    teardown(support.cleanup)

    root_it("means what it means everywhere #root", function()
        local expressions = all_expressions()
        assert.is_true(#expressions > 300)
        assert.equal(500, #frames)
        local did = compare(expressions, frames)
        assert.is_true(did.runs > 300 * 500 * 2)
        assert.is_true(did.in_kernel > #expressions - 20) -- all but the loops of protochain
        assert.is_true(did.matched > did.asked // 20) -- there is something to find
    end)

    root_it("means the same where it computes places and values #root", function()
        local make, expressions, some = cases.expression_maker(SEED), {}, {}
        for i = 1, 120 do
            expressions[i] = make()
        end
        table.move(frames, #frames - 149, #frames, 1, some)
        local did = compare(expressions, some, true)
        assert.is_true(did.asked > 70 * #some)
    end)

    root_it("means the same without libpcap's optimizer #root", function()
        local rnd, some = cases.random(SEED), {}
        table.move(frames, #frames - 99, #frames, 1, some)
        for _, expr in ipairs(all_expressions()) do
            local f = compile(expr, { optimize = false })
            for _, frame in ipairs(#f:bytecode() < 3000 and some or {}) do
                if #frame >= 14 then
                    check_xdp(f, frame, f:matches(frame), rnd)
                end
            end
        end
    end)

    -- What the device took out of a frame is to be seen as if it were there.
    root_it("knows the tag that the device took out #root", function()
        local runs = 0
        for n, expr in ipairs(all_expressions()) do
            local f = compile(expr)
            for i = n % 5 + 1, #frames, 5 do
                local frame = frames[i]
                local tpid, tci = 0, 0
                if #frame >= 18 then
                    tpid, tci = string.unpack(">I2I2", frame, 13)
                end
                if tpid == 0x8100 or tpid == 0x88a8 or tpid == 0x9100 then
                    local rest = frame:sub(1, 12) .. frame:sub(17)
                    for _, frags in ipairs { false, true } do
                        if #rest <= ONE_BUFFER or frags then
                            local got, message = f:xdp_matches(rest, { frags = frags, tpid = tpid, tci = tci })
                            if got ~= f:matches(frame) then
                                error(("seed %d: %q on %s, tag beside it: expected %s, got %s %s"):format(SEED, expr,
                                    hex(frame), f:matches(frame), got, message or ""))
                            end
                            assert.equal(f:matches(rest), (f:xdp_matches(rest, { frags = frags, tpid = 0 })))
                            runs = runs + 1
                        end
                    end
                end
            end
        end
        assert.is_true(runs > 10000)
    end)

    root_it("sees bytes to both sides of the first buffer's end #root", function()
        if not cases.linear then
            return pending("needs Linux 6.18")
        end
        local bytes = {}
        for i = 0, 199 do
            bytes[i + 1] = string.char(i)
        end
        local frame = table.concat(bytes)
        for size = 1, 4, 1 do
            for offset = 10, size == 3 and 0 or 60 do
                local value = string.unpack(">I" .. size, frame, offset + 1)
                local direct = compile(("ether[%d:%d] = %d"):format(offset, size, value))
                local indirect = compile(("ether[ether[%d]:%d] = %d"):format(offset, size, value))
                for linear = math.max(14, offset - 2), offset + 6 do
                    assert.is_true(direct:xdp_matches(frame, { frags = true, linear = linear }))
                    assert.is_true(indirect:xdp_matches(frame, { frags = true, linear = linear }))
                    local cut = frame:sub(1, offset + size - 1)
                    assert.is_true(#cut < 14 or not direct:xdp_matches(cut, { frags = true, linear = 14 }))
                end
            end
        end
        local f = compile("len = 200")
        for linear = 14, 200, 31 do
            assert.is_true(f:xdp_matches(frame, { frags = true, linear = linear }))
        end
    end)

    root_it("goes round protochain's loop as often as there are headers #root", function()
        local f = compile("ip6 protochain 17")
        for _, count in ipairs { 0, 1, 2, 50, 180, 900 } do
            for last = 17, 18 do
                local frame = "\2\0\0\0\0\2\2\0\0\0\0\1\x86\xdd\x60\0\0\0" .. string.pack(">I2", 8 * count + 8)
                    .. (count > 0 and "\60" or string.char(last)) .. "\x40" .. ("\1"):rep(32)
                    .. ("\60\0\1\4\0\0\0\0"):rep(count - 1)
                    .. (count > 0 and string.char(last) .. "\0\1\4\0\0\0\0" or "")
                    .. ("\0"):rep(8)
                for _, frags in ipairs { false, true } do
                    if frags or #frame <= ONE_BUFFER then
                        assert.equal(last == 17, f:xdp_matches(frame, { frags = frags }))
                    end
                end
                assert.equal(last == 17, f:matches(frame))
            end
        end
    end)
end)

describe("the XDP program of a filter", function()
    local RET, GOTOL, TAIL_CALL = 0x95, 0x06, 0x85

    local function codes(program)
        local set = {}
        for _, i in ipairs(program) do
            set[i.code] = (set[i.code] or 0) + 1
        end
        return set
    end

    -- Unoptimized, so that libpcap is quick.
    local function long(count)
        local parts = {}
        for i = 1, count do
            parts[i] = ("src host 10.1.%d.%d"):format(i >> 8, i & 255)
        end
        return compile(table.concat(parts, " or "), { optimize = false }), count
    end

    local function from(i)
        return dns:sub(1, 26) .. string.char(10, 1, i >> 8, i & 255) .. dns:sub(31)
    end

    it("is shown", function()
        local program = compile("ip"):xdp_program()
        assert.same({ code = 0xbf, dst = 9, src = 1, off = 0, imm = 0 }, program[1])
        assert.equal(RET, program[#program].code)
        assert.is_nil(codes(program)[TAIL_CALL])
        assert.is_truthy(codes(compile("ip"):xdp_program { frags = true })[TAIL_CALL]) -- the helper for other buffers
        assert.is_true(#compile(""):xdp_program() < 10)
        assert.error_matches(function() compile("ip"):xdp_program { frag = true } end, "did you mean 'frags'", 1, true)
        local f, message = filter.compile("link[0] = 1", { linktype = 276 })
        assert(f, message)
        local none, words, errno = f:xdp_program()
        if not none then
            assert.equal(22, errno, words)
        end
    end)

    root_it("is refused frames that are none #root", function()
        local f = compile("ip")
        assert.is_true(f:xdp_matches(dns))
        local none, message, errno = f:xdp_matches("short")
        assert.is_nil(none)
        assert.equal(22, errno)
        assert.matches("Invalid argument", message)
        assert.is_nil((f:xdp_matches(("x"):rep(5000))))
        assert.is_false(f:xdp_matches(("x"):rep(5000), { frags = true }))
        local src <close> = assert(ringtap.memory({ dns:sub(15) }, { linktype = 101 }))
        assert.error_matches(function() f:xdp_matches(src:next(0)) end, "Ethernet frames only")
    end)

    root_it("jumps as far as a long list needs #root", function()
        local short, far = long(20), (long(1500))
        assert.is_nil(codes(short:xdp_program())[GOTOL])
        assert.is_truthy(codes(far:xdp_program())[GOTOL])
        for _, i in ipairs { 1, 2, 750, 1499, 1500 } do
            assert.is_true(far:xdp_matches(from(i)))
        end
        assert.is_false(far:xdp_matches(from(1501)))
        assert.is_false(far:xdp_matches(dns))
        local with_frags = long(250)
        assert.is_true(with_frags:xdp_matches(from(250), { frags = true }))
        assert.is_false(with_frags:xdp_matches(from(251), { frags = true }))
    end)

    root_it("can be too long #root", function()
        local none, message, errno = long(2500):xdp_program { frags = true }
        assert.is_nil(none)
        assert.equal(7, errno)
        assert.matches("too long for XDP with frames in several buffers", message)
        assert.is_truthy(long(2500):xdp_program())
    end)

    root_it("is refused with the verifier's words and the way out #root", function()
        local function without(capabilities, expr)
            return support.must(("setpriv --bounding-set %s --inh-caps -all env LUA_PATH=%s LUA_CPATH=%s lua5.4 -e %s")
                :format(capabilities, support.quote(package.path), support.quote(package.cpath),
                support.quote("print(require 'ringtap'.filter.compile('" .. expr .. "'):xdp_matches(('x'):rep(60)))")))
        end
        assert.matches("^nil\t.*Operation not permitted %(needs CAP_BPF and CAP_NET_ADMIN.*\t1\n$",
            without("-all", "ip"))
        assert.equal("false\n", without("-all,+bpf,+net_admin", "ip"))
        assert.matches("^nil\t.*: Permission denied: .*!root %(a place .* needs CAP_PERFMON, too%)\t13\n$",
            without("-all,+bpf,+net_admin", "tcp port 80"))
        assert.equal("false\n", without("-all,+bpf,+net_admin,+perfmon", "tcp port 80"))
    end)
end)
