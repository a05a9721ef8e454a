--- busted output: what failed and what could not run, and "N passed, N failed, N skipped" as the last line.
return function(options)
    local busted = require "busted"
    local handler = require "busted.outputHandlers.base"()

    local function where(element)
        return handler.getFullName(element)
    end

    local function suite_end()
        for _, list in ipairs { handler.failures, handler.errors } do
            for _, f in ipairs(list) do
                local message = f.message
                if type(message) ~= "string" then
                    message = require("pl.pretty").write(message)
                end
                io.write("FAILED ", f.name or where(f.element), "\n  ", (message:gsub("\n", "\n  ")), "\n")
                if options.verbose and f.trace and f.trace.traceback then
                    io.write("  ", (f.trace.traceback:gsub("\n", "\n  ")), "\n")
                end
            end
        end
        for _, p in ipairs(handler.pendings) do
            io.write("SKIPPED ", p.name or where(p.element), p.message and ": " .. tostring(p.message) or "", "\n")
        end
        io.write(("%d passed, %d failed, %d skipped\n"):format(
            handler.successesCount, handler.failuresCount + handler.errorsCount, handler.pendingsCount))
        io.flush()
        return nil, true
    end

    busted.subscribe({ "suite", "end" }, suite_end)
    return handler
end
