-- One room, one atomic step: the rules of src/core/room_state.h, whose comments decide every tie and order. Read it first; the
-- functions here have the names they have there, and a differential test holds the two together.
-- The script is this file, waiting_room_due.lua and waiting_room_callers.lua, one behind the other.
--
-- KEYS   state   the counters and moments of the room, packed
--        line    number -> sid of those who wait; the rank is the place in line
--        due     when they are due, or earlier -> sid; each poll moves it, so they are filed anew only when it comes up
--        inside  expiry -> sid of those inside
--        session sid -> all that is known of it, packed
--        lost    kept until -> sid
--        ended   version -> sid
--        recent  times of the last admissions
-- ARGV   settings, memory, changes wanted, cut, operations (protocol.cpp writes them)
-- Reply  flat: the summary, eight numbers an operation, the changes if wanted, the cut if any
--
-- Numbers are times in µs and far below 2^53, so Lua's doubles hold them exactly. They go into calls and replies as numbers (the
-- server writes all 17 digits, or an integer) and never through tostring or .., which keep 14.

-- Replicate what was done, not the script: the default, but servers before 7.0 can be told otherwise.
if redis.replicate_commands then redis.replicate_commands() end

local call = redis.call
local STATE, LINE, DUE, INSIDE_KEY, SESSION, LOST_KEY, ENDED_KEY, RECENT = unpack(KEYS)
local WAITING, INSIDE, LOST, ENDED = 0, 1, 2, 3 -- places
local ADMITTED, WAITS, FULL, CLOSED, GONE, UNKNOWN, RELEASED, NO_MEMORY = 0, 1, 2, 3, 4, 5, 6, 7
local NORMAL, OPEN, SHUT = 0, 2, 3 -- modes; hold (1) only differs from normal
local WORK_PER_STEP, MAX_CUTS, LAYOUT = 200, 16, 2

-- Arguments

local taken = 0
local function text()
  taken = taken + 1
  return ARGV[taken]
end
local function number() return tonumber(text()) end

local set = {
  capacity = number(), rate = number(), rate_window = number(), session_timeout = number(), session_max = number(),
  grant_timeout = number(), abandon_timeout = number(), return_grace = number(), max_waiting = number(),
  poll_min = number(), poll_max = number(), mode = number(),
}
local memory = {
  epoch = number(), version = number(), last = number(), inside = number(), waiting = number(), outage_ended = number() == 1,
}
local changes = {wanted = number() == 1, since = number(), limit = number()}
local cut = {kind = text(), net = text(), line = number() == 1, id = number()}
-- Tables are made with all their fields, since each later one may cost a new table inside. A state of false is that of a newcomer.
local operations = {}
for i = 1, number() do
  local at = taken + 7 * (i - 1)
  local epoch, place = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  operations[i] = {
    kind = ARGV[at + 1], sid = ARGV[at + 2], epoch = epoch, number = place, claim = epoch ~= 0 and place ~= 0,
    admitted = tonumber(ARGV[at + 5]), net = ARGV[at + 6], gap = tonumber(ARGV[at + 7]), state = false, created = false, came_in = false,
  }
end

-- How long a token written now may be of use at most.
local token_life = math.max(set.abandon_timeout, set.session_timeout) + set.return_grace + 60000000
local recovery_window = math.max(set.poll_max + 5000000, set.rate_window)
-- A room that nobody calls is gone after so many ms.
local function key_life(life) return math.floor((2 * life + set.session_max) / 1000) + 3600000 end

-- Memory: a server that is full refuses writes that may grow, unless the script has written before. Asked first, by a write that
-- changes nothing, it says so; after a write that it always allows the script may go on, and adds no session.

local full = false
local probe = redis.pcall('ZADD', DUE, 'XX', 0, '')
if type(probe) == 'table' and probe.err then
  if not string.find(probe.err, 'OOM', 1, true) then return probe end
  full = true
  call('PEXPIRE', STATE, key_life(token_life))
end

-- State

-- The keys that exist besides the state, told by its counters.
local function expected(s)
  local keys = {}
  local function add(key, size)
    if size > 0 then keys[#keys + 1] = key end
  end
  add(LINE, s.waiting)
  add(DUE, s.waiting)
  add(INSIDE_KEY, s.inside)
  add(SESSION, s.waiting + s.inside + s.lost + s.ended)
  add(LOST_KEY, s.lost)
  add(ENDED_KEY, s.ended)
  add(RECENT, s.recents)
  return keys
end

-- A state of which a key is missing (evicted) is lost as a whole: the recovery makes it good.
local function load_state()
  local packed = call('GET', STATE)
  local s = packed and cmsgpack.unpack(packed)
  if s and s.layout ~= LAYOUT then s = nil end
  if call('EXISTS', LINE, DUE, INSIDE_KEY, SESSION, LOST_KEY, ENDED_KEY, RECENT) ~= (s and #expected(s) or 0) then
    call('UNLINK', unpack(KEYS))
    s = nil
  end
  return s or {
    layout = LAYOUT, epoch = 0, version = 0, last = 0, clock = 0, offset = 0, waiting = 0, inside = 0, granted = 0, admitted = 0,
    abandoned = 0, recovery_until = 0, had_recovery = false, somebody_waited = false, keep_until = 0, remembered = 0, back = 0,
    reserve_until = 0, horizon = 0, lost = 0, ended = 0, oldest_ended = 0, ring = 0, recents = 0, renewed = 0, cuts = {},
  }
end

local s = load_state()
local existed = table.concat(expected(s), ' ')
local now
local more_work = false

-- Records: read once, changed here, written by flush

local records = {}
local dirty = {}

local function load(sids)
  local ask = {}
  for _, sid in ipairs(sids) do
    if not records[sid] then
      -- when, stamp: as in room_record.h. place and was (the place as stored): false for none.
      records[sid] = {
        sid = sid, place = false, was = false, number = 0, when = 0, stamp = 0, lost = 0, net = '', claimed = false, called = false,
        dirty = false, filed = false, rank = false,
      }
      ask[#ask + 1] = sid
    end
  end
  if #ask == 0 then return end
  local packed = call('HMGET', SESSION, unpack(ask))
  for i, sid in ipairs(ask) do
    if packed[i] then
      local r = records[sid]
      r.place, r.number, r.when, r.stamp, r.lost, r.net, r.claimed = cmsgpack.unpack(packed[i])
      r.was = r.place
    end
  end
end

local function touch(r)
  if not r.dirty then
    r.dirty = true
    dirty[#dirty + 1] = r
  end
end

local function count(r, by)
  if r.place == WAITING then s.waiting = s.waiting + by end
  if r.place == INSIDE then
    s.inside = s.inside + by
    if not r.claimed then s.granted = s.granted + by end
  end
end

-- place false: forgotten.
local function put(r, place, number, when, stamp, claimed)
  count(r, -1)
  r.place, r.number, r.when, r.stamp, r.claimed, r.filed = place, number, when, stamp, claimed or false, true
  count(r, 1)
  touch(r)
end

-- Appends one value or two.
local function push(list, a, b)
  list[#list + 1] = a
  list[#list + 1] = b
end

local function send(command, key, list)
  if #list > 0 then call(command, key, unpack(list)) end
end

local indexes = {[WAITING] = DUE, [INSIDE] = INSIDE_KEY, [LOST] = LOST_KEY, [ENDED] = ENDED_KEY}

local function flush()
  if #dirty == 0 then return end
  local add = {[LINE] = {}, [DUE] = {}, [INSIDE_KEY] = {}, [LOST_KEY] = {}, [ENDED_KEY] = {}}
  local remove = {[LINE] = {}, [DUE] = {}, [INSIDE_KEY] = {}, [LOST_KEY] = {}, [ENDED_KEY] = {}}
  local write, erase = {}, {}
  for _, r in ipairs(dirty) do
    if r.was ~= r.place then
      if r.was then push(remove[indexes[r.was]], r.sid) end
      if r.was == WAITING then push(remove[LINE], r.sid) end
      s.lost = s.lost - (r.was == LOST and 1 or 0) + (r.place == LOST and 1 or 0)
      s.ended = s.ended - (r.was == ENDED and 1 or 0) + (r.place == ENDED and 1 or 0)
      r.was = r.place
    end
    if r.filed and r.place then
      push(add[indexes[r.place]], r.when, r.sid)
      if r.place == WAITING then push(add[LINE], r.number, r.sid) end
    end
    if r.place then
      push(write, r.sid, cmsgpack.pack(r.place, r.number, r.when, r.stamp, r.lost, r.net, r.claimed))
    else
      push(erase, r.sid)
    end
    r.dirty, r.filed = false, false
  end
  dirty = {}
  for key, list in pairs(remove) do send('ZREM', key, list) end
  for key, list in pairs(add) do send('ZADD', key, list) end
  send('HDEL', SESSION, erase)
  send('HSET', SESSION, write)
end

-- A new record; false when there is no memory for it.
local function add(r, operation, place, number, when, stamp)
  if full then return false end
  r.net, r.lost = operation.net, 0
  put(r, place, number, when, stamp)
  return true
end

local function finish_session(r)
  if s.oldest_ended == 0 then s.oldest_ended = s.horizon end
  s.version = s.version + 1
  put(r, ENDED, 0, s.version, s.horizon)
end

local function lose(r)
  if r.lost == 0 then r.lost = now end
  put(r, LOST, 0, s.horizon, s.horizon)
end
