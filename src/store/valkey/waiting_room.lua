-- One room, one atomic step: the rules of src/core/room_state.h, whose comments decide every tie and order. Read it first; the
-- functions here have the names they have there, and a differential test holds the two together.
--
-- KEYS   state   the counters and moments of the room, packed
--        line    number -> sid of those who wait; the rank is the place in line
--        due     when they are due, or earlier -> sid; each poll moves it, so they are filed anew only when it comes up
--        inside  expiry -> sid of those inside
--        session sid -> all that is known of it, packed
--        lost    when lost last -> sid
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
local WORK_PER_STEP, MAX_CUTS, LAYOUT = 200, 16, 1

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
    admitted = tonumber(ARGV[at + 5]), net = ARGV[at + 6], gap = tonumber(ARGV[at + 7]), state = false, created = false,
  }
end

-- Until every token of a session is past all use.
local mark_life = math.max(set.abandon_timeout, set.session_timeout) + set.return_grace + 60000000
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
  call('PEXPIRE', STATE, key_life(mark_life))
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
    reserve_until = 0, life = 0, life_seen = 0, lost = 0, ended = 0, oldest_ended = 0, ring = 0, recents = 0, renewed = 0, cuts = {},
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
  if s.oldest_ended == 0 then s.oldest_ended = now end
  s.version = s.version + 1
  put(r, ENDED, 0, s.version, now)
end

local function lose(r)
  if r.lost == 0 then r.lost = now end
  put(r, LOST, 0, now, now)
end

-- Rate: the list grows as RateRing does, so that changed limits have the same effect.

local pushed = 0 -- admissions of this call, not yet in the list

local function nth_last(n)
  if n <= pushed then return now end
  return tonumber(call('LINDEX', RECENT, pushed - n))
end

local function make_room()
  if s.recents < s.ring or s.ring >= set.rate then return end
  if s.ring > 0 and nth_last(s.recents) <= now - set.rate_window then return end
  s.ring = math.min(set.rate, s.ring == 0 and 64 or s.ring * 2)
end

local function rate_allows()
  if set.rate_window == 0 then return true end
  if set.rate == 0 or (s.recents >= set.rate and nth_last(set.rate) > now - set.rate_window) then return false end
  make_room()
  return true
end

local function note_admission()
  if set.rate_window == 0 or set.rate == 0 then return end
  make_room()
  pushed = pushed + 1
  s.recents = math.min(s.recents + 1, s.ring)
end

local function flush_recent()
  if pushed == 0 then return end
  local times = {}
  for i = 1, math.min(pushed, s.recents) do times[i] = now end
  send('RPUSH', RECENT, times)
  call('LTRIM', RECENT, -s.recents, -1)
end

-- The room

local function recovering() return now < s.recovery_until end
local function holding_on() return recovering() or now < s.keep_until end

local function may_admit()
  local reserved = now < s.reserve_until and math.max(0, s.remembered - s.back) or 0
  return s.inside + reserved < set.capacity and rate_allows()
end

local function admit(r, number, claimed)
  local expiry = claimed and now + set.session_timeout or math.max(now + set.grant_timeout, r.stamp)
  if set.session_max > 0 then expiry = math.min(expiry, now + set.session_max) end
  put(r, INSIDE, number, expiry, now, claimed)
  s.admitted = s.admitted + 1
  note_admission()
end

local function draw_number() return math.max(now, s.last + 1) end

-- Cuts

local function covers(c, net) return c.net == '' or c.net == net end

local function cut_hits(r)
  for _, c in ipairs(s.cuts) do
    if covers(c, r.net) then
      if r.place == INSIDE and r.stamp <= c.at then return true end
      if r.place == WAITING and c.line and r.number <= c.number then return true end
    end
  end
  return false
end

local function cut_hits_pass(operation)
  for _, c in ipairs(s.cuts) do
    if covers(c, operation.net) and operation.admitted <= c.at then return true end
  end
  return false
end

local function cut_hits_claim(operation)
  for _, c in ipairs(s.cuts) do
    if c.line and covers(c, operation.net) and operation.number <= c.number then return true end
  end
  return false
end

-- Where the sweep of a cut goes on in an index: behind the member it saw last, or, that one gone, at its score.
local function cursor_rank(key, c)
  if not c.score then return 0 end
  local score = call('ZSCORE', key, c.sid)
  if score and tonumber(score) == c.score then return call('ZRANK', key, c.sid) + 1 end
  return call('ZCOUNT', key, '-inf', string.format('(%.0f', c.score))
end

local function sweep_cut(c, budget)
  local key = c.place == WAITING and LINE or INSIDE_KEY
  local from = cursor_rank(key, c)
  local found = call('ZRANGE', key, from, from + budget - 1, 'WITHSCORES')
  local sids = {}
  for i = 1, #found, 2 do push(sids, found[i]) end
  load(sids)
  for i, sid in ipairs(sids) do
    c.sid, c.score = sid, tonumber(found[2 * i])
    if cut_hits(records[sid]) then
      finish_session(records[sid])
      c.ended = c.ended + 1
    end
  end
  flush()
  budget = budget - #sids
  if budget > 0 and c.place == WAITING then
    c.place, c.sid, c.score = INSIDE, nil, nil
    return sweep_cut(c, budget)
  end
  c.done = budget > 0
  return budget
end

local function sweep_cuts()
  local budget = WORK_PER_STEP
  local kept = {}
  for _, c in ipairs(s.cuts) do
    local over = c.done and c.at + s.life <= now
    if not over then kept[#kept + 1] = c end
  end
  s.cuts = kept
  for _, c in ipairs(s.cuts) do
    if not c.done then
      if budget > 0 then budget = sweep_cut(c, budget) end
      more_work = more_work or not c.done
    end
  end
end

-- Makes place for one more: the oldest that is done goes. False when all are under way.
local function free_cut()
  if #s.cuts < MAX_CUTS then return true end
  local oldest
  for i, c in ipairs(s.cuts) do
    if c.done and (not oldest or c.version < s.cuts[oldest].version) then oldest = i end
  end
  if oldest then table.remove(s.cuts, oldest) end
  return oldest ~= nil
end

-- Recovery

local function behind()
  if memory.epoch > s.epoch then return true end
  if memory.epoch == s.epoch and (memory.version >= s.version or memory.last > s.last) then return true end
  for _, operation in ipairs(operations) do
    if operation.claim and (operation.epoch > s.epoch or (operation.epoch == s.epoch and operation.number > s.last)) then return true end
  end
  return false
end

local function open_epoch()
  local known = math.max(s.epoch, s.last, memory.epoch, memory.last)
  for _, operation in ipairs(operations) do known = math.max(known, operation.epoch, operation.number) end
  s.epoch = math.max(now, known + 1)
  s.last = s.epoch
  s.version = math.max(s.version, memory.version + 1)
  s.had_recovery, s.somebody_waited = false, false
  s.recovery_until, s.reserve_until = 0, 0
  s.remembered, s.back = 0, s.inside
end

local function recover_if_due()
  if s.epoch == 0 or behind() then open_epoch() end
  local told = memory.epoch ~= 0 and memory.epoch < s.epoch
  local shown = false
  for _, operation in ipairs(operations) do
    if operation.claim then
      shown = shown or operation.epoch < s.epoch
      s.last = math.max(s.last, operation.number)
    end
  end
  if (told or shown) and not s.had_recovery then
    s.had_recovery = true
    s.recovery_until = now + recovery_window
    s.reserve_until = now + set.session_timeout
  end
  if told then
    s.remembered = math.max(s.remembered, memory.inside)
    s.somebody_waited = s.somebody_waited or memory.waiting > 0
  end
end

-- What falls due by itself

-- Shorter settings shorten the life of marks only when the tokens of the longer ones have died out.
local function renew_life()
  if mark_life >= s.life or now - s.life_seen > s.life then s.life, s.life_seen = mark_life, now end
end

local function sweep_marks()
  if s.lost > 0 then
    local over = call('ZRANGEBYSCORE', LOST_KEY, '-inf', now - s.life, 'LIMIT', 0, WORK_PER_STEP)
    load(over)
    for _, sid in ipairs(over) do put(records[sid], false) end
  end
  if s.ended == 0 or s.oldest_ended + s.life > now then return end
  local oldest = call('ZRANGE', ENDED_KEY, 0, WORK_PER_STEP)
  load(oldest)
  s.oldest_ended = 0
  for i, sid in ipairs(oldest) do
    local r = records[sid]
    if i > WORK_PER_STEP or r.stamp + s.life > now then
      s.oldest_ended = r.stamp
      break
    end
    put(r, false)
  end
end

-- Looks at what is filed up to `latest`; returns what is left of the budget, below zero if it did not do.
local function sweep_due(key, latest, budget, drop)
  if budget < 0 then return budget end
  local over = call('ZRANGEBYSCORE', key, '-inf', latest, 'LIMIT', 0, budget + 1)
  load(over)
  for i, sid in ipairs(over) do
    if i > budget then
      more_work = true
      return -1
    end
    drop(records[sid])
  end
  return budget - #over
end

local function sweep()
  renew_life()
  sweep_marks()
  if not holding_on() then
    local budget = sweep_due(INSIDE_KEY, now, WORK_PER_STEP, function(r)
      if set.session_max > 0 and r.stamp + set.session_max <= now then finish_session(r) else lose(r) end
    end)
    if set.mode ~= SHUT then
      sweep_due(DUE, now - set.abandon_timeout, budget, function(r)
        if r.stamp + set.abandon_timeout > now then return put(r, WAITING, r.number, r.stamp, r.stamp) end
        lose(r)
        s.abandoned = s.abandoned + 1
      end)
    end
  end
  flush()
end

local function begin()
  s.version = s.version + 1
  recover_if_due()
  if memory.outage_ended then s.keep_until = math.max(s.keep_until, now + recovery_window) end
  sweep()
  sweep_cuts()
end

-- Callers. WAITS: whatever the record says in the end.

local function release(operation, r)
  if operation.kind == 'v' then
    if r.place ~= INSIDE then return UNKNOWN end
    finish_session(r)
    return RELEASED
  end
  if r.place then
    if r.place ~= ENDED then finish_session(r) end
    return RELEASED
  end
  if not operation.claim and operation.admitted == 0 then return RELEASED end
  if not add(r, operation, ENDED, 0, 0, now) then return NO_MEMORY end
  finish_session(r)
  if operation.claim and operation.admitted ~= 0 and operation.epoch ~= s.epoch then s.back = s.back + 1 end -- it was reserved a slot
  return RELEASED
end

local function extend(r)
  local expiry = now + set.session_timeout
  if set.session_max > 0 then
    local last = r.stamp + set.session_max
    if last <= now then
      finish_session(r)
      return GONE
    end
    expiry = math.min(expiry, last)
  end
  put(r, INSIDE, r.number, expiry, r.stamp, true)
  return WAITS
end

-- False: no pass to take over.
local function take_over(operation, r)
  if operation.claim and operation.epoch == s.epoch then return false end
  if cut_hits_pass(operation) then return GONE end
  local admitted = operation.admitted > 0 and math.min(operation.admitted, now) or now
  if set.session_max > 0 and admitted + set.session_max <= now then return not r.place and GONE end
  if s.inside >= set.capacity + set.max_waiting then return false end
  local number = operation.claim and operation.number or draw_number()
  local was_back = r.place == LOST -- it may have been counted before its slot ran out
  if r.place then
    put(r, INSIDE, number, now, admitted)
  elseif not add(r, operation, INSIDE, number, now, admitted) then
    return NO_MEMORY
  end
  if operation.claim and not was_back then s.back = s.back + 1 end
  if not operation.claim then s.last = number end
  operation.created = not operation.claim
  return extend(r)
end

local function rejoin(operation, r)
  if cut_hits_claim(operation) then return GONE end
  if r.place then
    put(r, WAITING, operation.number, now, now)
    return WAITS
  end
  return add(r, operation, WAITING, operation.number, now, now) and WAITS or NO_MEMORY
end

local function note(operation)
  local r = records[operation.sid]
  if r.place and cut_hits(r) then finish_session(r) end
  if operation.kind == 'r' or operation.kind == 'v' then return release(operation, r) end
  if r.place and operation.net ~= '' and operation.net ~= r.net then
    r.net = operation.net
    touch(r)
  end
  if r.place == ENDED then return GONE end
  if r.place == INSIDE then return extend(r) end
  if operation.kind == 'h' then
    local state = take_over(operation, r)
    if state then return state end
  end
  if r.place == LOST and now - r.lost > set.return_grace then return GONE end
  if r.place ~= WAITING then
    if not operation.claim then return false end
    local state = rejoin(operation, r)
    if state ~= WAITS then return state end
  end
  r.called = true
  if set.mode == OPEN then admit(r, r.number, true) end
  return WAITS
end

local function promote()
  if set.mode ~= NORMAL or recovering() then return end
  local seen = 0
  while s.waiting > 0 and may_admit() do
    if seen == WORK_PER_STEP then
      more_work = true
      return
    end
    -- Whoever was looked at has left the line, but not yet the index.
    local heads = call('ZRANGE', LINE, seen, seen + math.min(16, WORK_PER_STEP - seen) - 1)
    load(heads)
    for _, sid in ipairs(heads) do
      local r = records[sid]
      if not may_admit() then break end
      seen = seen + 1
      if cut_hits(r) then
        finish_session(r)
      elseif r.called or r.stamp >= now or holding_on() then
        admit(r, r.number, r.called)
      else
        lose(r)
        s.abandoned = s.abandoned + 1
      end
    end
  end
end

local function join(operation)
  local r = records[operation.sid]
  if r.place and r.place ~= LOST then return WAITS end
  if operation.kind == 'p' then return UNKNOWN end
  if set.mode == SHUT then return CLOSED end
  local allowed = set.mode == NORMAL and s.waiting == 0 and not (recovering() and s.somebody_waited)
  local direct = set.mode == OPEN or (allowed and may_admit())
  if not direct and s.waiting >= set.max_waiting then return FULL end
  local number = draw_number()
  if r.place then
    put(r, WAITING, number, now, now)
  elseif not add(r, operation, WAITING, number, now, now) then
    return NO_MEMORY
  end
  s.last = number
  if direct then admit(r, number, true) end
  operation.created = true
  return WAITS
end

local function poll_interval(rank)
  if set.poll_min <= 0 or set.poll_max <= set.poll_min then return set.poll_max end
  return math.min(set.poll_max, math.max(set.poll_min, math.floor(set.poll_min * rank / 50)))
end

-- The answer to one operation, appended to `reply`.
local function fill(operation, reply)
  local r = records[operation.sid]
  local state, rank, interval, epoch, number, expires, admitted = operation.state, 0, 0, 0, 0, 0, 0
  if state == WAITS then
    if r.place == INSIDE then
      state, epoch, number, expires, admitted = ADMITTED, s.epoch, r.number, r.when, r.stamp
    elseif r.place == WAITING then
      r.rank = r.rank or call('ZRANK', LINE, r.sid) + 1
      epoch, number, rank, interval = s.epoch, r.number, recovering() and 0 or r.rank, poll_interval(r.rank)
      local gap = math.min(operation.gap + math.floor(operation.gap / 2), 90000000)
      local due = now + math.max(2 * interval, gap)
      if due < r.when then put(r, WAITING, r.number, due, due) end
      r.stamp = due
      touch(r)
      if set.mode == SHUT then state = CLOSED end
    else
      state = GONE
    end
  end
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = state, operation.created and 1 or 0, rank, interval
  reply[n + 5], reply[n + 6], reply[n + 7], reply[n + 8] = epoch, number, expires, admitted
end

local function append_changes(reply)
  local ended = call('ZRANGEBYSCORE', ENDED_KEY, changes.since + 1, '+inf', 'WITHSCORES', 'LIMIT', 0, changes.limit + 1)
  local fits = math.min(changes.limit, #ended / 2)
  push(reply, fits, #ended / 2 > fits and 1 or 0)
  for i = 1, fits do push(reply, ended[2 * i - 1], tonumber(ended[2 * i])) end
  local at = #reply + 1
  reply[at] = 0
  for _, c in ipairs(s.cuts) do
    if c.version > changes.since then
      reply[at] = reply[at] + 1
      push(reply, c.net, c.line and 1 or 0)
      push(reply, c.at, c.number)
      push(reply, c.version)
    end
  end
end

local function append_cut(reply)
  for _, c in ipairs(s.cuts) do
    if cut.id ~= 0 and c.version == cut.id then
      push(reply, c.version, c.ended)
      push(reply, c.done and 1 or 0)
      return
    end
  end
  push(reply, 0, 0)
  push(reply, 0)
end

-- The call

local time = redis.call('TIME')
now = time[1] * 1000000 + time[2]
if now + s.offset < s.clock then s.offset = s.clock - now end
now = now + s.offset
s.clock = now

begin()
if cut.kind == 'new' and free_cut() then
  s.version = s.version + 1
  cut.id = s.version
  s.cuts[#s.cuts + 1] = {
    version = cut.id, net = cut.net, line = cut.line, at = now, number = s.last, ended = 0, done = false, place = WAITING,
  }
  now, s.clock, s.offset = now + 1, s.clock + 1, s.offset + 1 -- whoever is admitted from here on is later than the cut
  sweep_cuts()
end

local sids = {}
for i, operation in ipairs(operations) do sids[i] = operation.sid end
load(sids)
for _, operation in ipairs(operations) do operation.state = note(operation) end
flush()
promote()
for _, operation in ipairs(operations) do operation.state = operation.state or join(operation) end
flush()

local reply = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} -- the summary, last of all
for _, operation in ipairs(operations) do fill(operation, reply) end
flush()
flush_recent()
if changes.wanted then append_changes(reply) end
if cut.kind ~= '' then append_cut(reply) end

reply[1], reply[2], reply[3], reply[4] = now, s.epoch, s.version, s.last
reply[5], reply[6], reply[7] = s.inside, s.granted, s.waiting
reply[8], reply[9], reply[10], reply[11] = s.admitted, s.abandoned, recovering() and 1 or 0, more_work and 1 or 0

-- Keys live on together: all are renewed when a quarter of the life is over, new ones at once.
local keys = expected(s)
local life = key_life(math.max(mark_life, s.life))
if now - s.renewed > life * 250 or table.concat(keys, ' ') ~= existed then
  s.renewed = now
  for _, key in ipairs(keys) do call('PEXPIRE', key, life) end
end
call('SET', STATE, cmsgpack.pack(s), 'PX', life)
return reply
