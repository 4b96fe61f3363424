-- sysbench's oltp_read_write that also writes when each transaction ended and how long it took, for what a report a second hides.
-- --timeline=PREFIX: thread N writes PREFIX-N, a line for a transaction: its end, seconds of CLOCK_MONOTONIC, and its milliseconds.

require("oltp_read_write")
local ffi = require("ffi")
ffi.cdef [[
   struct timeline_time { long seconds; long nanoseconds; };
   int clock_gettime(int clock, struct timeline_time *time);
]]

sysbench.cmdline.options.timeline = {"Where what each transaction took is written", "timeline"}

local CLOCK_MONOTONIC = 1
local time = ffi.new("struct timeline_time")

local function now()
   ffi.C.clock_gettime(CLOCK_MONOTONIC, time)
   return tonumber(time.seconds) + tonumber(time.nanoseconds) / 1e9
end

local transaction, done = event, thread_done
local ends, took = {}, {}

function event()
   local start = now()
   transaction()
   local stop = now()
   ends[#ends + 1] = stop
   took[#took + 1] = (stop - start) * 1e3
end

function thread_done()
   local file = assert(io.open(sysbench.opt.timeline .. "-" .. sysbench.tid, "w"))
   for n = 1, #ends do
      file:write(string.format("%.6f %.4f\n", ends[n], took[n]))
   end
   file:close()
   done()
end
